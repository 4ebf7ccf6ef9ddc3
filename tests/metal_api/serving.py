"""``python -m tests.metal_api.serving STATE API_PORT BOOT_PORT METADATA_PORT``: a Metal API in a process that a test may kill."""

import asyncio
import json
import sys
from pathlib import Path

from tests.metal_api.conftest import sandbox_in


async def main() -> None:
    ports = [int(each) for each in sys.argv[2:5]]
    async with sandbox_in(Path(sys.argv[1]), speed=400, strict=False, ports=(ports[0], ports[1], ports[2])) as running:
        print(json.dumps({"token": running.world.token, "project": running.world.project_id}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "calls":
                print(json.dumps(running.machines.calls), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
