"""A worker with a real kubelet among pretended ones, in the order of its life: each test goes on from where the one before left it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.openshift import BinariesError, NamespacesError, RealKubelets, ensure_kubelet, require_namespaces
from sandbox.openshift.api import CSRS, Object
from sandbox.openshift.passing_time import ClusterRunsError, pass_days
from sandbox.openshift.resources import annotations_of, is_ready, labels_of

if TYPE_CHECKING:
    from tests.sandbox.openshift.conftest import Lab, PretendedMachine

pytestmark = pytest.mark.asyncio(loop_scope="session")

Eventually = Callable[..., Awaitable[Any]]
WORKER = "worker-0"
NODE = "worker-0.demo.metal.test"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"


KERNEL_FLAGS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1}
"""Kernel settings that a kubelet sets, and to what (setupKernelTunables). A computer on which one ran before may have them already."""


@pytest.fixture(scope="module")
def kernel() -> dict[str, int]:
    """Return the computer's kernel settings before a kubelet is started."""
    return _kernel_flags()


def _kernel_flags() -> dict[str, int]:
    return {name: int(Path("/proc/sys", name).read_text()) for name in KERNEL_FLAGS}


@pytest_asyncio.fixture(scope="module", loop_scope="session", name="lab")
async def _lab(second_lab: Lab, kernel: dict[str, int]) -> Lab:
    """The worker's power goes, and when it comes back its kubelet is a real one."""
    try:
        require_namespaces()
    except NamespacesError as error:
        pytest.skip(f"no real kubelet can run here: {error}")
    try:
        program = await asyncio.to_thread(ensure_kubelet)
    except BinariesError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no kubelet (`python -m sandbox build --kubelets real` builds it): {error}")
    await second_lab.power_off(WORKER)
    for item in await second_lab.cluster.api.items(CSRS):
        await second_lab.cluster.api.delete(f"{CSRS}/{item['metadata']['name']}")
    await second_lab.serve_names()
    second_lab.kubelets[WORKER] = RealKubelets(program, second_lab.clusters)
    second_lab.power_on(WORKER, "worker")
    return second_lab


@pytest.fixture
def worker(lab: Lab) -> PretendedMachine:
    return lab.machines[WORKER]


def _parsed(request: Object) -> x509.CertificateSigningRequest:
    parsed = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
    assert parsed.subject.rfc4514_string() == f"CN=system:node:{NODE},O=system:nodes"
    key = parsed.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert parsed.is_signature_valid
    return parsed


async def _pending(lab: Lab, signer: str, user: str) -> list[Object]:
    found = await lab.cluster.api.items(CSRS)
    mine = [item for item in found if item["spec"]["signerName"].endswith(signer) and item["spec"]["username"] == user]
    return [item for item in mine if not (item.get("status") or {}).get("conditions")]


async def _approve(lab: Lab, request: Object) -> None:
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "decided by a test"}
    await lab.cluster.api.put(f"{CSRS}/{request['metadata']['name']}/approval", {**request, "status": {"conditions": [condition]}})


def _processes(state: Path) -> list[int]:
    """The kubelets of a state folder: their working directory is in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(state) and b"kubelet.conf" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


async def test_it_asks_for_its_client_certificate(lab: Lab, eventually: Eventually) -> None:
    async def asks() -> list[Object]:
        return await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER)

    (request,) = await eventually(asks, within=30)
    spec = request["spec"]
    assert request["metadata"]["name"].startswith("csr-")
    assert sorted(spec["groups"]) == [
        "system:authenticated",
        "system:serviceaccounts",
        "system:serviceaccounts:openshift-machine-config-operator",
    ]
    assert spec["usages"] == ["digital signature", "client auth"]
    assert len(_parsed(request).extensions) == 0
    assert await lab.node(WORKER) is None


async def test_it_joins_with_two_approvals(lab: Lab, worker: PretendedMachine, eventually: Eventually) -> None:
    (first,) = await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER)
    await _approve(lab, first)

    async def asks() -> list[Object]:
        return await _pending(lab, "kubelet-serving", f"system:node:{NODE}")

    (request,) = await eventually(asks, within=60, what="serving request")
    assert sorted(request["spec"]["groups"]) == ["system:authenticated", "system:nodes"]
    assert request["spec"]["usages"] == ["digital signature", "server auth"]
    (extension,) = _parsed(request).extensions
    names = extension.value
    assert isinstance(names, x509.SubjectAlternativeName)
    assert names.get_values_for_type(x509.DNSName) == [NODE]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [worker.hardware.address]
    assert len(list(names)) == 2
    await _approve(lab, request)

    async def ready() -> Object | None:
        node = await lab.node(WORKER)
        done = node is not None and is_ready(node) and "node-role.kubernetes.io/worker" in labels_of(node)
        return node if done and annotations_of(node or {}).get("machineconfiguration.openshift.io/state") == "Done" else None

    node = await eventually(ready, within=60, what="worker is ready and has its role")
    assert {entry["type"]: entry["address"] for entry in node["status"]["addresses"]} == {
        "InternalIP": worker.hardware.address,
        "Hostname": NODE,
    }
    assert labels_of(node)["node.openshift.io/os_id"] == "rhel"

    # The node lifecycle controller takes its own taint away after the Node is Ready.
    async def untainted() -> bool:
        found = await lab.node(WORKER)
        return found is not None and not found["spec"].get("taints")

    await eventually(untainted, within=60, what="the worker has no taints")
    assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.")


async def test_a_kubelet_serves_with_its_certificate_and_refuses_unauthorized_clients(
    lab: Lab, worker: PretendedMachine, eventually: Eventually
) -> None:
    async def answers() -> httpx.Response | None:
        with contextlib.suppress(httpx.ConnectError):
            return await lab.machines["master-0"].http.request(
                "GET", f"https://{NODE}:10250/healthz", ca_pem=lab.cluster.keys.node_certificate_authorities
            )
        return None

    assert (await eventually(answers, within=30)).status_code == 401
    served = await asyncio.to_thread(ssl.get_server_certificate, (worker.hardware.address, 10250))
    assert x509.load_pem_x509_certificate(served.encode()).subject.rfc4514_string() == f"CN=system:node:{NODE},O=system:nodes"


def _connects(address: str) -> bool:
    try:
        ssl.get_server_certificate((address, 10250), timeout=2)
    except OSError:
        return False
    return True


async def test_it_touches_nothing_of_the_computer(
    lab: Lab, worker: PretendedMachine, kernel: dict[str, int], eventually: Eventually
) -> None:
    async def serves() -> bool:
        return await asyncio.to_thread(_connects, worker.hardware.address)

    await eventually(serves, within=30)  # before it is the kubelet it is the shell that mounts
    await asyncio.to_thread(_nothing_is_touched, lab, worker, kernel)


def _nothing_is_touched(lab: Lab, worker: PretendedMachine, kernel: dict[str, int]) -> None:
    """What a kubelet writes below /var is on the machine's disk, and the kernel's settings stay as they were."""
    assert (worker.directory / "var/lib/kubelet/pki/kubelet-client-current.pem").is_symlink()
    log = (worker.directory / "kubelet.log").read_text(encoding="utf-8", errors="replace")
    updates = set(re.findall(r'"Updating kernel flag" flag="([^"]+)"', log))
    different = {name for name, value in kernel.items() if value != KERNEL_FLAGS[name]}
    assert updates & KERNEL_FLAGS.keys() == different, "the kubelet would have set them"
    assert _kernel_flags() == kernel
    (pid,) = _processes(lab.state)
    mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8").splitlines()]
    writable = {mount[4] for mount in mounts if mount[4].startswith(("/proc", "/sys")) and "ro" not in mount[5].split(",")}
    assert writable == set()
    assert Path(f"/proc/{pid}/root/var").samefile(worker.directory / "var"), "the kubelet's /var is on the machine's disk"


async def test_days_pass_only_while_the_machines_are_off(lab: Lab) -> None:
    with pytest.raises(ClusterRunsError, match="switch the machines of demo"):
        pass_days(lab.clusters, lab.state / "machines", 31)


async def test_power_off_leaves_no_process(lab: Lab) -> None:
    await lab.power_off(WORKER)
    assert _processes(lab.state) == []
