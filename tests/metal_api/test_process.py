# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Children of a server: kept running, and never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from metal_api.process import Child
from tests.eventually import eventually

_PARENT = """
import asyncio, pathlib, sys
from metal_api.process import Child
async def main():
    folder = pathlib.Path(sys.argv[1])
    child = Child("sleeper", lambda: ["/bin/sh", "-c", "echo $$ > pid; exec sleep 300"], directory=folder, log=folder / "log")
    await child.start()
    await asyncio.sleep(300)
asyncio.run(main())
"""


def _lives(pid: int) -> bool:
    """Whether a process exists and is no zombie: nobody may be there to bury it in a container."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def test_killing_the_parent_kills_the_child(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _PARENT, str(tmp_path), cwd=Path(__file__).parents[2])
    written = tmp_path / "pid"

    async def started() -> int:
        return int(written.read_text().strip() or 0) if written.exists() else 0

    async def ended() -> bool:
        return not _lives(pid)

    pid = await eventually(started)
    assert _lives(pid)
    parent.kill()
    await parent.wait()
    await eventually(ended, what="child is gone")


async def test_a_child_that_ends_is_started_again_until_stopped(tmp_path: Path) -> None:
    child = Child("short", lambda: ["/bin/sh", "-c", "echo started; sleep 300"], directory=tmp_path, log=tmp_path / "log")
    await child.start()

    async def running() -> int | None:
        return child.pid if "started" in child.last_words() else None

    first = await eventually(running)
    os.kill(first, signal.SIGKILL)

    async def again() -> bool:
        return child.last_words().count("started") == 2

    await eventually(again)
    last = child.pid
    assert last not in {None, first}
    await child.stop()
    assert child.pid is None
    assert last is not None
    assert not _lives(last)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
