# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real kubelet for a machine: Kubernetes' own program as a child process, with a container runtime in memory.

It reads the files of the machine's Ignition config (configuration, bootstrap kubeconfig, CA bundle) and has a folder of the machine's
disk as its ``/var``: so its keys and certificates, and its logs, live and die with that disk. It requests its certificates, renews them,
registers and renews its Node by itself. It accepts no loopback address as its own, but one that a cloud provider wrote into its Node: so
there is a small cloud provider, beside the machine config daemon (:mod:`sandbox.openshift.config_daemon`).

The process has user and mount namespaces of its own, also for root. Its mounts give it its own ``/var``, and keep it from
the computer's kernel settings and control groups, which a kubelet sets as it likes them: all below ``/proc`` and ``/sys`` is read-only.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from metal_api.process import Child
from sandbox.machines import Machine
from sandbox.openshift import pki
from sandbox.openshift.api import NODES, ClusterAPI, Object
from sandbox.openshift.cluster import Clusters
from sandbox.openshift.config_daemon import ConfigDaemon
from sandbox.openshift.kubelet import PORT, Execute, KubeletConfig, OnReady
from sandbox.openshift.machine_config_server import KUBECONFIG, KUBELET_CA_FILE, KUBELET_CONFIGURATION
from sandbox.openshift.resources import ROLE_LABEL

# What the process sees; on the machine's disk it is below var/.
_SETTINGS: Final = "/var/kubernetes"
_RUNTIME: Final = "unix:///var/lib/crio/crio.sock"

# Mounts that came from outside keep their flags locked, so those are set again. The program is mounted in the new /var: it may be
# below the one that is hidden by it, where services have their caches.
_START: Final = """\
while read -r _ _ _ _ target _; do
  case $target in
    /proc|/proc/*|/sys|/sys/*) mount -o remount,bind,ro,nosuid,nodev,noexec "$target" || exit ;;
  esac
done < /proc/self/mountinfo
mount --bind "$1" "$2/kubelet" && mount --rbind "$2" /var && shift 2 && exec /var/kubelet "$@"
"""
_NAMESPACES: Final = ("--user", "--map-root-user", "--mount")

# The taint of a kubelet that waits for its cloud provider (k8s.io/cloud-provider/api).
_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"


class NamespacesError(Exception):
    """This computer does not allow what a real kubelet needs; the text has the refusal."""


def require_namespaces() -> None:
    """Raise :class:`NamespacesError` where a process may not have user and mount namespaces of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kubelet").touch()
        command = [_unshare(), *_NAMESPACES, "/bin/sh", "-c", _START, "try", shutil.which("true") or "/bin/true", folder]
        tried = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if tried.returncode:
        raise NamespacesError(tried.stderr.strip() or f"unshare ended with code {tried.returncode}")


def _unshare() -> str:
    path = shutil.which("unshare")
    if path is None:
        raise NamespacesError("there is no unshare command (package util-linux)")
    return path


class RealKubelets:
    """Makes the kubelets of the machines of ``clusters``; ``program`` is the built kubelet."""

    def __init__(self, program: Path, clusters: Clusters) -> None:
        self._program = program
        self._clusters = clusters

    def __call__(
        self, machine: Machine, config: KubeletConfig, on_ready: OnReady | None = None, execute: Execute | None = None
    ) -> RealKubelet:
        """``execute`` is not used: its container runtime runs no commands."""
        return RealKubelet(machine, config, on_ready, program=self._program, clusters=self._clusters)


class RealKubelet:
    """The kubelet of ``machine``; ``on_ready`` is awaited once when its Node is Ready for the first time in this boot."""

    def __init__(
        self, machine: Machine, config: KubeletConfig, on_ready: OnReady | None = None, *, program: Path, clusters: Clusters
    ) -> None:
        self._machine = machine
        self._config = config
        self._on_ready = on_ready
        self._program = program
        self._clusters = clusters
        self._var = machine.directory / "var"
        self._address = config.network.address if config.network is not None else machine.hardware.address
        self.node = machine.hardware.hostname.lower()
        self._child = Child("kubelet", self._command, directory=machine.directory, log=machine.directory / "kubelet.log")

    async def run(self) -> None:
        """Work until cancelled."""
        await asyncio.to_thread(self._prepare)
        try:
            await self._child.start()
            await ConfigDaemon(self._machine, self._config, self._clusters, self._on_ready, self._initialize).run()
        finally:
            # It ends at once, as without power.
            await self._child.stop(patience=0)

    # --- the process ---------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Write the files that Ignition put on the machine, and one with the differences of this machine."""
        settings = self._inside(_SETTINGS)
        (settings / "manifests").mkdir(parents=True, exist_ok=True)
        # What the program is mounted on.
        (self._var / "kubelet").touch()
        for name in (KUBECONFIG, KUBELET_CONFIGURATION, KUBELET_CA_FILE):
            pki.write_file(settings / Path(name).name, self._config.files[name])
        pki.write_file(settings / "kubelet.conf.d" / "90-sandbox.conf", yaml.safe_dump(self._differences()).encode())

    def _inside(self, path: str) -> Path:
        """Where a path of the process is on the machine's disk."""
        return self._var / Path(path).relative_to("/var")

    def _differences(self) -> dict[str, Any]:
        """A drop-in over the machine's own kubelet.conf: no containers, an address of many on one computer, nothing of the host touched."""
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._address,
            "port": PORT,
            "healthzPort": 0,
            "authentication": {"x509": {"clientCAFile": f"{_SETTINGS}/{Path(KUBELET_CA_FILE).name}"}},
            "containerRuntimeEndpoint": _RUNTIME,
            "staticPodPath": f"{_SETTINGS}/manifests",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            "podLogsDir": "/var/log/pods",
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "protectKernelDefaults": False,
            "oomScoreAdj": 0,
            # The computer's disk and memory are not the machine's: no pressure, no images thrown away.
            "evictionHard": dict.fromkeys(("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available"), "0%"),
            "imageGCHighThresholdPercent": 100,
            "featureGates": {"KubeletInUserNamespace": True},
        }

    def _command(self) -> Sequence[str]:
        # The program refuses roles among its labels (OpenShift's is patched to take its own); the operators set them.
        labels = {key: value for key, value in self._config.labels.items() if not key.startswith(ROLE_LABEL)}
        own = self._config.taints
        # The unit before the kubelet has a condition on this file.
        if not self._inside("/var/lib/kubelet/kubeconfig").exists():
            labels |= self._config.first.labels
            own += self._config.first.taints
        taints = (f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in own)
        server, port = self._machine.name_server
        return [
            "/usr/bin/env",
            f"SANDBOX_ADDRESS={self._address}",
            f"SANDBOX_NAME_SERVER={server}:{port}",
            f"SANDBOX_CONTAINER_RUNTIME={_RUNTIME}",
            *(_unshare(), *_NAMESPACES, "/bin/sh", "-c", _START, "kubelet", str(self._program), str(self._var.resolve())),
            f"--config={_SETTINGS}/{Path(KUBELET_CONFIGURATION).name}",
            f"--config-dir={_SETTINGS}/kubelet.conf.d",
            f"--bootstrap-kubeconfig={_SETTINGS}/{Path(KUBECONFIG).name}",
            "--kubeconfig=/var/lib/kubelet/kubeconfig",
            f"--hostname-override={self.node}",
            f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
            f"--register-with-taints={','.join(taints)}",
            "--cloud-provider=external",
            "--v=2",
        ]

    async def _initialize(self, api: ClusterAPI, node: Object) -> None:
        """As a cloud provider does: the machine's addresses, then the taint that waits for them away."""
        addresses = [
            {"type": "InternalIP", "address": self._address},
            {"type": "Hostname", "address": self.node},
        ]
        path = f"{NODES}/{self.node}"
        if node["status"].get("addresses") != addresses:
            node = await api.patch(f"{path}/status", {"status": {"addresses": addresses}})
            self._machine.console("kubelet: node registered")
        taints = node["spec"].get("taints") or []
        if any(taint["key"] == _UNINITIALIZED for taint in taints):
            # With the version: a taint that was added meanwhile must not get lost, the next poll tries again.
            version = {"resourceVersion": node["metadata"]["resourceVersion"]}
            await api.patch(path, {"metadata": version, "spec": {"taints": [taint for taint in taints if taint["key"] != _UNINITIALIZED]}})
