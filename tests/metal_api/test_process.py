"""Children of a server: kept running, and never left behind."""

import asyncio
import sys
from pathlib import Path

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
