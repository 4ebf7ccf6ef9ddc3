# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The static pods of a control plane machine whose system runs, and what their installer pods, or bootkube.sh, write to its disk.

Containers of the image :data:`IMAGE` are processes in the machine (``sandbox/controlplane/kubelet/runtime.go``), which has the programs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox.openshift import pki
from sandbox.openshift.assets import Assets
from sandbox.openshift.control_plane import CONTROLLERS_FLAGS, apiserver_flags
from sandbox.openshift.real_etcd import LOCAL_URL, METRICS_PORT, etcd_flags
from sandbox.openshift.resources import ETCD_NAMESPACE

IMAGE: Final = "localhost/machine"
ENDPOINTS: Final = "etcd-endpoints"
"""File of the addresses of the members that a new one asks before its start."""
API_PORT: Final = 6443
INSECURE_READYZ: Final = 6080
RESOURCES: Final = "/etc/kubernetes/static-pod-resources"
_MANIFESTS: Final = "/etc/kubernetes/manifests"
_ETCD_CLIENT: Final = ("etcd-certs/ca.crt", "etcd-certs/etcd-client.crt", "etcd-certs/etcd-client.key")


class Disk:
    """The disk of a machine. ``root``: where its file system is mounted."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files of static pods that differ, by their paths below :data:`RESOURCES`."""
        for name, content in files.items():
            path = self._below(RESOURCES) / name
            if not path.exists() or path.read_bytes() != content:
                pki.write_file(path, content)

    def has(self, pod: str) -> bool:
        """Return whether the kubelet runs a static pod."""
        return self._manifest(pod).exists()

    def install(self, pod: str, manifest: Mapping[str, Any]) -> None:
        """Let the kubelet run a static pod."""
        # The kubelet reads all files of its folder, also one that is not complete.
        path = self._below(RESOURCES) / f"{pod}-pod.yaml"
        pki.write_file(path, json.dumps(manifest, indent=1).encode())
        path.replace(self._manifest(pod))

    def remove_all(self) -> None:
        """Let the kubelet end all static pods."""
        for manifest in self._below(_MANIFESTS).iterdir():
            manifest.unlink()

    def _manifest(self, pod: str) -> Path:
        return self._below(_MANIFESTS) / f"{pod}-pod.yaml"

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")


def etcd(node: str, address: str, *, is_first: bool = False) -> dict[str, Any]:
    """Return the static pod of a member, which joins those of the cluster unless it ``is_first``."""
    command = [
        "etcd",
        "--data-dir=/var/lib/etcd",
        f"--listen-metrics-urls=http://127.0.0.1:{METRICS_PORT}",
        *etcd_flags(node, address),
    ]
    if not is_first:
        discover = f"ETCD_INITIAL_CLUSTER=$(discover-etcd-initial-cluster {node} {address})"
        join = ["exec", *command, "--initial-cluster-state=existing"]
        command = ["bash", "-c", f"{discover} && export ETCD_INITIAL_CLUSTER && {shlex.join(join)}"]
    probe = {"httpGet": {"host": "127.0.0.1", "port": METRICS_PORT, "path": "/health"}}
    # As in the pod of OpenShift: commands run in a container of their own, also while the member does not.
    return _pod(ETCD_NAMESPACE, "etcd", [_container("etcdctl", ["sleep", "infinity"]), _container("etcd", command, probe)])


def kube_apiserver(assets: Assets, address: str) -> dict[str, Any]:
    """Return the static pod of an API server, which uses the etcd member of its machine.

    It listens at all addresses of both IP versions, also in a cluster of IPv4: OpenShift's bindAddress 0.0.0.0:6443 is the default of
    the flags, and the bindNetwork tcp4 beside it becomes none (openshift/kubernetes, ConfigToFlags).
    """
    ca, certificate, key = _ETCD_CLIENT
    command = [
        "kube-apiserver",
        f"--advertise-address={address}",
        f"--secure-port={API_PORT}",
        f"--etcd-servers={LOCAL_URL}",
        *(f"--etcd-cafile={ca}", f"--etcd-certfile={certificate}", f"--etcd-keyfile={key}"),
        *apiserver_flags(assets),
    ]
    probe = {"httpGet": {"host": "127.0.0.1", "port": API_PORT, "path": "/readyz", "scheme": "HTTPS"}}
    insecure = [f"--insecure-port={INSECURE_READYZ}", f"--delegate-url=https://localhost:{API_PORT}/readyz"]
    readyz = _container("kube-apiserver-insecure-readyz", ["cluster-kube-apiserver-operator", "insecure-readyz", *insecure])
    return _pod("openshift-kube-apiserver", "kube-apiserver", [_container("kube-apiserver", command, probe), readyz])


def kube_controller_manager() -> dict[str, Any]:
    """Return the static pod of a kube-controller-manager. One of the cluster's is the leader."""
    command = ["kube-controller-manager", "--leader-elect=true", *CONTROLLERS_FLAGS]
    return _pod("openshift-kube-controller-manager", "kube-controller-manager", [_container("kube-controller-manager", command)])


def kube_scheduler() -> dict[str, Any]:
    """Return the static pod of a kube-scheduler. One of the cluster's is the leader."""
    kubeconfigs = [f"--{flag}=pki/scheduler.kubeconfig" for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")]
    command = ["kube-scheduler", "--leader-elect=true", "--secure-port=0", *kubeconfigs]
    return _pod("openshift-kube-scheduler", "openshift-kube-scheduler", [_container("kube-scheduler", command)])


def _container(name: str, command: Sequence[str], readiness: Mapping[str, Any] | None = None) -> dict[str, Any]:
    probe = {} if readiness is None else {"readinessProbe": {**readiness, "periodSeconds": 5, "timeoutSeconds": 5}}
    return {"name": name, "image": IMAGE, "command": list(command), "workingDir": RESOURCES, **probe}


def _pod(namespace: str, name: str, containers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name, "k8s-app": name}},
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "priority": 2000001000,
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 30,
            "containers": list(containers),
        },
    }
