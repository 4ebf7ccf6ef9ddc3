"""The inventory of N devices: calls, seconds, and how much of the time is ours."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.bench.figures import Report, Table, columns
from tests.bench.inventory_parts import ADD, ANSIBLE, LOAD, OTHER, OURS, READ

SIZES = (10, 100, 1_000, 10_000)
LARGEST_CACHE = 1_000
LARGEST_SHARE = 0.15
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

    def list(self, size: int, **options: object) -> tuple[dict[str, float], int]:
        """The parts of one ``ansible-inventory --list`` in seconds, and the calls it took. All devices have to be in it."""
        source, parts, hosts = (self._folder / name for name in ("bench.metal.yml", "parts.json", "hosts.json"))
        source.write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")
        self._sandbox.forget()
        subprocess.run(
            [sys.executable, "-m", "tests.bench.inventory_parts", str(parts), "-i", str(source), "--list", "--output", str(hosts)],
            cwd=self._folder,
            env=self._environment,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        found = len(json.loads(hosts.read_text(encoding="utf-8"))["_meta"]["hostvars"])
        if found != size:
            raise RuntimeError(f"{found} hosts of {size} devices")
        result: dict[str, float] = json.loads(parts.read_text(encoding="utf-8"))
        return result, len(self._sandbox.journal())


def share(parts: dict[str, float]) -> float:
    return sum(parts.get(name, 0) for name in OURS) / parts["whole"]


def read_with_client(environment: dict[str, str]) -> float:
    """Seconds in which our client reads the whole list, with nothing of Ansible around it."""
    client = MetalClient(url=environment["METAL_API_URL"], token=environment["METAL_AUTH_TOKEN"], read_only=True)
    started = time.monotonic()
    client.read_list(f"projects/{environment['METAL_PROJECT_ID']}/devices", "devices", doing="list the devices")
    return time.monotonic() - started


def bench(report: Report, folder: Path) -> None:
    calls = Table(
        "Inventory: calls and seconds",
        columns("devices | calls | --list, s = .2f | from cache: calls | --list, s = .2f | read only: calls | s = .2f"),
        ["--list: seconds of `ansible-inventory --list`. Read only: the same list by the client alone."],
    )
    parts = Table(
        "Inventory: whose time it is (processor seconds)",
        columns(
            "devices | Ansible = .2f | load our plugin = .2f | read and decode = .2f | add hosts = .2f | other of ours = .2f | "
            "our part = .1%"
        ),
        [
            "Processor time of the whole `ansible-inventory --list`, its start and output included; waiting for the service is none.",
            "Ours: loading the plugin with its libraries, and its parse() without the functions of Ansible that it calls.",
            "The median of three runs, of one at 10,000.",
        ],
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
            runs = sorted((inventory.list(size) for _run in range(3 if size <= 1_000 else 1)), key=lambda run: share(run[0]))
            median, cold_calls = runs[len(runs) // 2]
            cold = statistics.median(run[0]["wall"] for run in runs)
            cached_calls = cached = None
            if size <= LARGEST_CACHE:
                cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(folder / f"cache-{size}")}
                inventory.list(size, **cache)
                result, cached_calls = inventory.list(size, **cache)
                cached = result["wall"]
            sandbox.forget()
            alone = read_with_client(sandbox.environment)
            alone_calls = len(sandbox.journal())
            calls.row(size, cold_calls, cold, cached_calls, cached, alone_calls, alone)
            parts.row(size, *(median.get(name, 0.0) for name in (ANSIBLE, LOAD, READ, ADD, OTHER)), share(median))
            if size == 1_000:
                report.target("inventory of 1,000, cold: calls", str(cold_calls), f"at most {MOST_CALLS}", met=cold_calls <= MOST_CALLS)
                report.target("inventory of 1,000, from cache: calls", str(cached_calls), "0", met=cached_calls == 0)
            if size >= 1_000:
                met = share(median) < LARGEST_SHARE
                report.target(f"inventory of {size:,}: our part of the time", f"{share(median):.1%}", f"under {LARGEST_SHARE:.0%}", met=met)
    report.show(calls)
    report.show(parts)
