# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real process as a child of a server: kept running, its output in a file, never outliving its parent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

_logger = logging.getLogger(__name__)

# PR_SET_PDEATHSIG (1) with SIGKILL (9), prctl(2). The child has to request it itself; done by a fresh interpreter
# and not in preexec_fn, which may deadlock in a process with threads. A parent that died before the call shows as another
# parent id.
_LAUNCHER: Final = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None, use_errno=True).prctl(1, 9, 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(125)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)
_LOG_LIMIT: Final = 32 << 20
_SHORTEST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_SETTLED_AFTER: Final = 30.0


class Child:
    """One program, started again (with growing pauses) whenever it ends by itself.

    ``command`` returns the argument list of each start, ``directory`` is its working directory, ``log`` the file
    that collects its output (started over when it has grown beyond 32 MiB).
    """

    def __init__(self, name: str, command: Callable[[], Sequence[str]], *, directory: Path, log: Path) -> None:
        self.name = name
        self._command = command
        self._directory = directory
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self) -> None:
        """Start it, and again after every unexpected end, until :meth:`stop`."""
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name=f"keep {self.name}")

    async def stop(self, patience: float = 5.0) -> None:
        """End it: SIGTERM, and SIGKILL after ``patience`` seconds (0: at once)."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if patience > 0:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), patience)
                return
            _logger.warning("%s does not end, killing it", self.name)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    def suspend(self) -> None:
        """Let it do nothing until :meth:`resume`, as a program that cannot go on."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def last_words(self, lines: int = 5) -> str:
        """Return the end of the log, for error messages."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - 4096))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])
        return ""

    async def _keep(self) -> None:
        pause = _SHORTEST_PAUSE
        while True:
            started = time.monotonic()
            try:
                self._process = await self._launch()
                code = await self._process.wait()
                ending = f"ended with code {code}"
            except OSError as error:
                ending = f"could not be started: {error}"
            pause = _SHORTEST_PAUSE if time.monotonic() - started > _SETTLED_AFTER else min(pause * 2, _LONGEST_PAUSE)
            _logger.warning("%s %s; starting it again in %.1f s. Log: %s", self.name, ending, pause, self._log)
            await asyncio.sleep(pause)

    async def _launch(self) -> asyncio.subprocess.Process:
        self.starts += 1
        too_large = self._log.exists() and self._log.stat().st_size > _LOG_LIMIT
        with self._log.open("wb" if too_large else "ab") as log:
            self._log.chmod(0o600)
            return await start_child(self._command(), directory=self._directory, output=log)


async def start_child(
    command: Sequence[str], *, directory: Path, output: int | BinaryIO, pass_fds: Sequence[int] = ()
) -> asyncio.subprocess.Process:
    """Start a program that does not outlive this process. ``output``: where its output and its errors go. Raises ``OSError``."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid())),
        *command,
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        # A terminal's Ctrl-C is for the server, which then ends its children in order.
        start_new_session=True,
        pass_fds=pass_fds,
    )
