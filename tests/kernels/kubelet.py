"""The kubelet of a machine with a kernel: its program on a disk of its own, and a real control plane that it joins."""

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.containers.command import run
from sandbox.containers.tree import CONTROL_PLANE, KUBELET
from sandbox.openshift.binaries import ensure_binaries, ensure_kubelet
from sandbox.openshift.machine_config_server import KUBECONFIG, KUBELET_CA_FILE, KUBELET_UNIT
from sandbox.openshift.resources import is_ready
from tests.cluster.control_plane import BOOTSTRAPPER, NODES, ControlPlane
from tests.eventually import eventually

MOUNT = f"{CONTROL_PLANE.strip('/').replace('/', '-')}.mount"
REGISTERS_WITHIN = 600.0
"""Seconds, each instruction is emulated."""


@contextmanager
def joined_cluster(folder: Path, address: str) -> Iterator[ControlPlane]:
    """Yield a control plane at an address, whose controller approves the first certificate of each node."""
    folder.mkdir()
    with ControlPlane(folder, ensure_binaries(), address=address).running() as cluster:
        role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
        cluster.create_object(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {
                "metadata": {"name": "approved"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BOOTSTRAPPER}],
            },
        )
        yield cluster


async def disk(folder: Path) -> list[str]:
    """Make a disk with the program in the folder of machines; return the options of QEMU for it."""
    content = folder / "programs"
    content.mkdir()
    os.link(ensure_kubelet(), content / "kubelet")
    await run("mke2fs", "-q", "-t", "ext4", "-L", "programs", "-d", str(content), str(folder / "programs.ext4"), "160M")
    return ["-drive", "if=none,id=programs,file=programs.ext4,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=programs"]


def add(config: dict[str, Any], cluster: ControlPlane) -> None:
    """Add to a rendered config what the machine config server appends to it, and where the program is."""
    kubeconfig = cluster.write_kubeconfig(cluster.directory / "bootstrap", server=cluster.url, token=cluster.TOKEN)
    for path, source in ((KUBECONFIG, kubeconfig), (KUBELET_CA_FILE, cluster.directory / "ca.crt")):
        contents = {"source": f"data:;base64,{base64.b64encode(source.read_bytes()).decode()}"}
        config["storage"]["files"].append({"path": path, "mode": 0o600, "overwrite": True, "contents": contents})
    link = {"path": KUBELET, "target": f"{CONTROL_PLANE}/kubelet", "overwrite": True}
    config["storage"]["links"] = [link]
    mount = f"[Mount]\nWhat=/dev/disk/by-label/programs\nWhere={CONTROL_PLANE}\nType=ext4\nOptions=ro\n"
    config["systemd"]["units"].append({"name": MOUNT, "contents": mount})
    (unit,) = [unit for unit in config["systemd"]["units"] if unit["name"] == KUBELET_UNIT]
    unit.setdefault("dropins", []).append({"name": "50-program.conf", "contents": f"[Unit]\nRequiresMountsFor={CONTROL_PLANE}\n"})


async def addresses(cluster: ControlPlane, node: str, boot: str) -> list[str]:
    """Wait until a node is Ready since this boot, by its id; return its internal addresses."""

    async def ready() -> dict[str, Any] | None:
        answer = cluster.call("GET", f"{NODES}/{node}")
        found = answer.json()
        return found if answer.is_success and is_ready(found) and found["status"]["nodeInfo"]["bootID"] == boot else None

    found = await eventually(ready, within=REGISTERS_WITHIN, what=f"{node} is Ready")
    return [entry["address"] for entry in found["status"]["addresses"] if entry["type"] == "InternalIP"]
