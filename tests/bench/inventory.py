"""The inventory of N devices: calls and seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.bench.figures import Column, Report, Table

SIZES = (10, 100, 1_000, 10_000)
LARGEST_CACHE = 1_000
MOST_CALLS = 2
TAGS = ["openshift-cluster=bench.metal.test", "openshift-role=worker"]


class Inventory:
    def __init__(self, sandbox: RunningSandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._environment = {
            **os.environ,
            **sandbox.environment,
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "PYTHONPATH": str(REPOSITORY),
        }

    def list(self, size: int, **options: object) -> tuple[float, int]:
        """Return the seconds of one ``ansible-inventory --list``, and the calls it took. All devices have to be in it."""
        source, hosts = (self._folder / name for name in ("bench.metal.yml", "hosts.json"))
        source.write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")
        self._sandbox.forget()
        started = time.monotonic()
        subprocess.run(
            [Path(sys.executable).parent / "ansible-inventory", "-i", str(source), "--list", "--output", str(hosts)],
            cwd=self._folder,
            env=self._environment,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        seconds = time.monotonic() - started
        found = len(json.loads(hosts.read_text(encoding="utf-8"))["_meta"]["hostvars"])
        if found != size:
            raise RuntimeError(f"{found} hosts of {size} devices")
        return seconds, len(self._sandbox.journal())


def read_with_client(environment: dict[str, str]) -> float:
    """Seconds in which our client reads the whole list, with nothing of Ansible around it."""
    client = MetalClient(url=environment["METAL_API_URL"], token=environment["METAL_AUTH_TOKEN"], read_only=True)
    started = time.monotonic()
    client.read_list(f"projects/{environment['METAL_PROJECT_ID']}/devices", "devices", doing="list the devices")
    return time.monotonic() - started


def bench(report: Report, folder: Path) -> None:
    calls = Table(
        "Inventory: calls and seconds",
        [
            Column("devices"),
            Column("calls"),
            Column("--list, s", ".2f"),
            Column("from cache: calls"),
            Column("--list, s", ".2f"),
            Column("read only: calls"),
            Column("s", ".2f"),
        ],
        ["--list: seconds of `ansible-inventory --list`. Read only: the same list by the client alone."],
    )
    with RunningSandbox(folder / "state", log=folder / "log") as sandbox:
        inventory = Inventory(sandbox, folder)
        there = 0
        for size in SIZES:
            report.note(f"inventory: {size:,} devices")
            for start in range(there, size, 1_000):
                count = min(1_000, size - start)
                sandbox.call("POST", "devices", json={"count": count, "hostname": f"bench-{start}-{{{{index}}}}", "tags": TAGS})
            there = size
            runs = sorted(inventory.list(size) for _run in range(3 if size <= 1_000 else 1))
            cold, cold_calls = runs[len(runs) // 2]
            cached_calls = cached = None
            if size <= LARGEST_CACHE:
                cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(folder / f"cache-{size}")}
                inventory.list(size, **cache)
                cached, cached_calls = inventory.list(size, **cache)
            sandbox.forget()
            alone = read_with_client(sandbox.environment)
            alone_calls = len(sandbox.journal())
            calls.row(size, cold_calls, cold, cached_calls, cached, alone_calls, alone)
            if size == 1_000:
                report.target("inventory of 1,000, cold: calls", str(cold_calls), f"at most {MOST_CALLS}", met=cold_calls <= MOST_CALLS)
                report.target("inventory of 1,000, from cache: calls", str(cached_calls), "0", met=cached_calls == 0)
    report.show(calls)
