"""Five hundred machines join at a real API server and are let in by csr_approval; and ten thousand strangers ask at once.

Both ends of every delay are of one clock: the API server's audit log has to the microsecond when a request was filed and when it was
approved, and by the user agent what the module itself called. The module runs as Ansible runs it, in a process of its own.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sandbox.openshift.binaries import ensure_binaries
from tests.bench.figures import Report, Table, columns
from tests.bench.memory import high_water
from tests.cluster.control_plane import ADDRESS, NODES, REQUESTS, ControlPlane, delays
from tests.unit.plugins.module_utils.csr_cases import client, dns, ips, key, made, serving

MACHINES = 500
SPREAD = 60.0
"""Seconds within which all of them ask first; each takes as long for its other steps as the API server does."""
STRANGERS = 10_000
DELAY = 1.0
MEMORY = 300
"""MiB of the module's process, of which the libraries are a good part."""
AGENT = "equinix_metal.openshift"
LIMIT = 600
AT_ONCE = 16
MEASURE_INTERVAL = 0.02
"""Seconds between two measurements of the module's memory."""


@dataclass(frozen=True)
class Machine:
    """One machine to be, with what its kubelet asks for."""

    name: str
    address: str
    first: dict[str, Any]
    second: dict[str, Any]


def machines(number: int) -> list[Machine]:
    made_here = []
    for index in range(number):
        name, address = f"worker-{index}.bench.metal.test", f"127.65.{index // 250}.{index % 250 + 1}"
        own = key(name)
        first = client(made(f"system:node:{name}", signed_with=own))["spec"]
        second = serving(made(f"system:node:{name}", names=dns(name) + ips(address), signed_with=own))["spec"]
        made_here.append(Machine(name, address, first, {**second, "username": f"system:node:{name}"}))
    return made_here


class Kubelets:
    """Plays the kubelets: each files, registers when it was let in, files again, and is Ready when that was issued.

    ``give_up`` is called when one of them fails: nobody needs to wait for it then.
    """

    def __init__(self, cluster: ControlPlane, joining: list[Machine], spread: float, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._cluster = cluster
        self._joining = joining
        self._spread = spread
        self._by_request = {f"{kind}-{machine.name}": (kind, machine) for machine in joining for kind in ("client", "serving")}
        self._steps = ThreadPoolExecutor(AT_ONCE)
        self._left = len(joining)
        self._stop = threading.Event()
        self.failures: list[str] = []

    def run(self) -> None:
        """Until all are Ready, or `stop` is called."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        began = time.monotonic()
        for index, machine in enumerate(self._joining):
            if self._stop.wait(max(0.0, began + self._spread * index / len(self._joining) - time.monotonic())):
                break
            self._steps.submit(self._step, self._file_first, machine)
        watcher.join(LIMIT)
        self._steps.shutdown(wait=True, cancel_futures=self._stop.is_set())

    def stop(self) -> None:
        self._stop.set()

    def _step(self, step: Any, machine: Machine) -> None:
        try:
            step(machine)
        except (httpx.HTTPError, KeyError, ValueError) as problem:
            self.failures.append(f"{machine.name}: {problem!r}")
            self._stop.set()
            self._give_up()

    def _watch(self) -> None:
        """One watch for all, so that the kubelets cost the API server little."""
        issued: set[str] = set()
        for obj in self._cluster.watch(REQUESTS):
            if self._stop.is_set():
                return
            name = obj["metadata"]["name"]
            if name in issued or name not in self._by_request or not obj.get("status", {}).get("certificate"):
                continue
            issued.add(name)
            kind, machine = self._by_request[name]
            self._steps.submit(self._step, self._register if kind == "client" else self._ready, machine)
            self._left -= kind == "serving"
            if not self._left:
                return

    def _file_first(self, machine: Machine) -> None:
        self._cluster.file(f"client-{machine.name}", machine.first).raise_for_status()

    def _register(self, machine: Machine) -> None:
        status = {
            "conditions": [_condition(ready=False)],
            "images": IMAGES,
            "addresses": [{"type": "InternalIP", "address": machine.address}],
        }
        self._cluster.call("POST", NODES, {"metadata": {"name": machine.name}, "status": status}).raise_for_status()
        self._cluster.file_as(f"serving-{machine.name}", machine.second).raise_for_status()

    def _ready(self, machine: Machine) -> None:
        path = f"{NODES}/{machine.name}"
        node = self._cluster.call("GET", path).raise_for_status().json()
        node["status"]["conditions"] = [_condition(ready=True)]
        self._cluster.call("PUT", f"{path}/status", node).raise_for_status()


IMAGES = [{"names": [f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{number:064x}"], "sizeBytes": 1} for number in range(50)]
"""A node lists fifty images by default, which makes most of its size."""


def _condition(*, ready: bool) -> dict[str, str]:
    return {"type": "Ready", "status": str(ready), "reason": "bench", "message": "as the bench wants it"}


@dataclass
class Ran:
    """The module's end: its result, how long it took, the most memory it had (bytes) and its processor seconds."""

    result: dict[str, Any]
    seconds: float
    memory: int
    processor: float


class Module:
    """csr_approval in a process of its own, as Ansible starts it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arguments = folder / "arguments.json"
        internal = {"_ansible_remote_tmp": str(folder), "_ansible_keep_remote_files": False}
        arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**options, **internal}}), encoding="utf-8")
        self._out = (folder / "out.json").open("w+b")
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ansible_collections.equinix_metal.openshift.plugins.modules.csr_approval", str(arguments)],
            stdout=self._out,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "collections")},
        )

    def stop(self) -> None:
        self._process.terminate()

    def ended(self) -> Ran:
        number, memory = self._process.pid, 0
        # Asked while it lives: what the kernel says of it afterwards begins with what this process had when it started it.
        while os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            memory = max(memory, high_water(number))
            time.sleep(MEASURE_INTERVAL)
        _pid, _status, used = os.wait4(number, 0)
        seconds = time.monotonic() - self._started
        self._out.seek(0)
        with self._out as out:
            result = json.loads(out.read() or b"{}")
        return Ran(result, seconds, memory, used.ru_utime + used.ru_stime)


def options(cluster: ControlPlane, joining: list[Machine], **changes: Any) -> dict[str, Any]:
    given = [{"name": machine.name, "addresses": [machine.address]} for machine in joining]
    return {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [ADDRESS], "machines": given, "wait_timeout": LIMIT, **changes}


def calls(log: list[dict[str, Any]]) -> Counter[str]:
    """What the module called."""
    return Counter(event["verb"] for event in log if event["userAgent"] == AGENT)


def share(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def bench(report: Report, folder: Path) -> None:
    table = Table(
        f"csr_approval: {MACHINES} machines join at a real API server",
        columns(
            "their first requests | approvals | delay p50, s = .3f | p99, s = .3f | most, s = .3f | reads | lists | watches | "
            "approvals sent | memory, MiB = .0f | processor s = .1f | s = .0f"
        ),
        ["The delay is by the API server's audit log; kubelets, API server, etcd and signer share the computer with the module."],
    )
    joining = machines(MACHINES)
    folder.joinpath("cluster").mkdir()
    with ControlPlane(folder / "cluster", ensure_binaries(), audited=True).running() as cluster:
        for label, spread in ((f"within {SPREAD:.0f} s", SPREAD), ("all at once", 0.0)):
            report.note(f"csr_approval: {MACHINES} machines ask {label}")
            cluster.clear()
            seen = cluster.audited_until()
            module = Module(folder / label.replace(" ", "-"), **options(cluster, joining))
            kubelets = Kubelets(cluster, joining, spread, module.stop)
            player = threading.Thread(target=kubelets.run)
            cluster.until_watched(AGENT, seen)
            player.start()
            ran = module.ended()
            kubelets.stop()
            player.join(60)
            if kubelets.failures or ran.result.get("failed") or not ran.result:
                raise RuntimeError(f"{ran.result.get('msg')}; {kubelets.failures[:3]}")
            log = cluster.audit(seen)
            took, called = sorted(delays(log, AGENT).values()), calls(log)
            p50, p99 = share(took, 0.5), share(took, 0.99)
            table.row(
                label, len(took), p50, p99, took[-1], called["get"], called["list"], called["watch"], called["patch"],
                ran.memory / 2**20, ran.processor, ran.seconds,
            )  # fmt: skip
            report.target(f"{MACHINES} machines {label}: approved", str(len(took)), str(2 * MACHINES), met=len(took) == 2 * MACHINES)
            if spread:
                report.target(f"{MACHINES} machines {label}: delay p99", f"{p99:.2f} s", f"below {DELAY:g} s", met=p99 < DELAY)
            report.target(
                f"{MACHINES} machines {label}: memory",
                f"{ran.memory / 2**20:.0f} MiB",
                f"below {MEMORY} MiB",
                met=ran.memory < MEMORY * 2**20,
            )
        report.show(table)
        _strangers(report, folder, cluster, joining)


def _strangers(report: Report, folder: Path, cluster: ControlPlane, joining: list[Machine]) -> None:
    report.note(f"csr_approval: {STRANGERS:,} strangers ask")
    cluster.clear()
    spec = client(made("system:node:stranger.bench.metal.test"))["spec"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for answer in pool.map(lambda number: cluster.file(f"stranger-{number}", spec), range(STRANGERS)):
            answer.raise_for_status()
    cluster.file("good", joining[0].first).raise_for_status()
    table = Table(
        f"csr_approval: {STRANGERS:,} strangers ask, and one machine",
        columns("pending limit | approved | refused | calls | memory, MiB = .0f | s = .1f"),
    )
    for limit, approved in ((None, []), (STRANGERS + 1, ["good"])):
        seen = cluster.audited_until()
        ran = Module(folder / f"strangers-{limit}", **options(cluster, joining, wait=False, pending_limit=limit)).ended()
        refused = len(ran.result["refused"])
        called = calls(cluster.audit(seen)).total()
        table.row(str(limit or "default"), len(ran.result["approved"]), refused, called, ran.memory / 2**20, ran.seconds)
        met = ran.result["approved"] == approved and refused == STRANGERS
        report.target(f"{STRANGERS:,} strangers, limit {limit or 'by default'}: refused by name", f"{refused:,}", f"{STRANGERS:,}", met=met)
        memory = ran.memory / 2**20
        report.target(
            f"{STRANGERS:,} strangers, limit {limit or 'by default'}: memory",
            f"{memory:.0f} MiB",
            f"below {MEMORY} MiB",
            met=memory < MEMORY,
        )
    report.show(table)
