"""Stands in for systemctl on a test's host, where no systemd runs: does what a unit's ExecStart and RuntimeMaxSec say, and no more.

Usage: systemctl.py UNITS VERB [UNIT], where UNITS is the folder of the unit files; in UNITS/state are process numbers and logs. Of how the
unit keeps the server in nothing is done here: systemd's own programs read and judge that in a test.
"""

import configparser
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

UNITS = Path(sys.argv[1])
STATE = UNITS / "state"


def running(unit: str) -> int:
    """The number of its process, or 0."""
    try:
        number = int((STATE / unit).read_text(encoding="utf-8"))
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return 0
    return 0 if state == "Z" else number


def start(unit: str) -> None:
    service = configparser.RawConfigParser(strict=False)
    service.read(UNITS / unit, encoding="utf-8")
    command = shlex.split(service["Service"]["ExecStart"])
    with (STATE / f"{unit}.log").open("ab") as log:
        process = subprocess.Popen(
            ["timeout", service["Service"]["RuntimeMaxSec"], *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (STATE / unit).write_text(str(process.pid), encoding="utf-8")


def stop(unit: str) -> None:
    if number := running(unit):
        os.kill(number, signal.SIGTERM)
        while running(unit):
            time.sleep(0.05)


def main() -> None:
    STATE.mkdir(exist_ok=True)
    verb, unit = [*(word for word in sys.argv[2:] if not word.startswith("-")), ""][:2]
    if verb == "show":
        loaded, active = ("loaded" if (UNITS / unit).exists() else "not-found"), ("active" if running(unit) else "inactive")
        print(f"Id={unit}\nLoadState={loaded}\nActiveState={active}\nSubState=running")
    elif verb == "status":
        print((STATE / f"{unit}.log").read_text(encoding="utf-8"))
    elif verb in {"stop", "restart", "start"}:
        if verb != "start":
            stop(unit)
        if verb != "stop" and not running(unit):
            start(unit)
    elif verb != "daemon-reload":
        sys.exit(f"systemctl: {verb} is not known here")


main()
