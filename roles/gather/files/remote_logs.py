# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read over SSH what serial consoles show (``ssh ID@HOST log``) and the journals of machines (``ssh core@ADDRESS journalctl``).

The sandbox prints all that a console has shown since the device was ordered, and ends the session. A console service without that
command shows what comes until the time is over. Host keys are not verified: nothing secret is sent, and what is received is shown to
people as text.
"""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

WITHIN = 20.0
"""Seconds for one log."""
WITHIN_ALL = 60.0
"""Seconds for all logs; those whose turn has not come by then are left out."""
AT_ONCE = 16
JOURNAL = "journalctl --no-pager --no-hostname --output=short-iso --lines=20000"
"""The user core of RHEL CoreOS may read it."""
LARGEST = 5_000_000
"""Bytes of one log; of a longer one its end is kept."""

_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "LogLevel=ERROR", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"),
    *("GlobalKnownHostsFile=/dev/null", "ForwardAgent=no", "ClearAllForwardings=yes", "RequestTTY=no"),
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Log:
    """A console or journal; ``problem``: why it is not complete, empty if it is."""

    text: str
    problem: str


def read_logs(logs: Sequence[Mapping[str, Any]], key: str) -> Iterator[Log]:
    """Return logs in the same order. Each of ``logs`` has ``user``, ``host``, ``port`` (0: the default of SSH) and ``command``.

    ``key``: file of the private key; empty for those of the SSH agent and the usual files.
    """
    end = time.monotonic() + WITHIN_ALL
    with ThreadPoolExecutor(AT_ONCE) as workers:
        yield from workers.map(lambda each: _read(each, key, end), logs)


def _read(log: Mapping[str, Any], key: str, end: float) -> Log:
    seconds = min(WITHIN, end - time.monotonic())
    if seconds <= 0:
        return Log("", f"no time was left: all logs have {WITHIN_ALL:g} s")
    command = ["ssh", *(word for each in _OPTIONS for word in ("-o", each))]
    command += ["-i", key, "-o", "IdentitiesOnly=yes"] if key else []
    command += ["-p", str(log["port"])] if log["port"] else []
    command += ["-l", str(log["user"]), "--", str(log["host"]), log["command"]]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return Log("", f"ssh: {error.strerror}")
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    with process:
        output, errors = _streams(process)
    timer.cancel()
    problem = ""
    if process.returncode == -signal.SIGKILL:
        problem = f"it did not end within {seconds:.0f} s"
    elif process.returncode:
        problem = errors.strip().splitlines()[-1] if errors.strip() else f"ssh ended with {process.returncode}"
    return Log(output, problem)


def _streams(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Return the end of what a process writes to both of its streams, as text without control characters but tabs and line ends."""
    kept: list[deque[bytes]] = [deque(maxlen=LARGEST // 4096 + 1), deque(maxlen=16)]

    def collect(stream: Any, blocks: deque[bytes]) -> None:
        while block := stream.read1(4096):
            blocks.append(block)

    errors = threading.Thread(target=collect, args=(process.stderr, kept[1]))
    errors.start()
    collect(process.stdout, kept[0])
    errors.join()
    first, second = (_CONTROLS.sub("", _ESCAPES.sub("", b"".join(blocks).decode("utf-8", "replace"))) for blocks in kept)
    return first, second
