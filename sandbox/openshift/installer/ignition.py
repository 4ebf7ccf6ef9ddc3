# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three Ignition configs, all of spec 3.2.0: every RHCOS since 4.7 reads it, also those newer than the cluster.

``master.ign`` and ``worker.ign`` are pointers to the machine config server. ``bootstrap.ign`` carries everything:

=====================================================  ===========================================================
``/opt/openshift/tls/<name>.crt`` and ``.key``          the pairs of `certificates`, ``service-account.key/.pub`` and
                                                        ``bound-service-account-signing-key.key/.pub``
``/opt/openshift/tls/<name>-ca-bundle.crt``             what clients of these trust (PEM, several)
``/opt/openshift/auth/kubeconfig``                      administrator, by ``https://api-int.<cluster>.<domain>:6443``
``/opt/openshift/auth/kubeconfig-kubelet``              the service account node-bootstrapper, as a client certificate, by api-int
``/opt/openshift/auth/kubeconfig-loopback``             administrator, by ``https://localhost:6443``
``/opt/openshift/manifests/<file>`` and                 all manifests, users' own too, in the two directories they
``/opt/openshift/openshift/<file>``                     have in the asset directory; bootkube.sh joins them
``/opt/openshift/original_cvo_overrides.patch``         what ends the overrides in ``manifests/cvo-overrides.yaml``
=====================================================  ===========================================================
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from .catalogue import Release
from .host_files import host_files
from .install_config import InstallConfig

SPEC: Final = "3.2.0"

_UNIT_BOOTKUBE: Final = """[Unit]
Description=Bootstrap a Kubernetes cluster
Requires=crio-configure.service node-image-overlay.service
Wants=kubelet.service
After=kubelet.service crio-configure.service node-image-overlay.service
ConditionPathExists=!/opt/openshift/.bootkube.done

[Service]
WorkingDirectory=/opt/openshift
ExecStart=/usr/local/bin/bootkube.sh
Restart=on-failure
RestartSec=5s
"""
_UNIT_KUBELET: Final = """[Unit]
Description=Kubernetes Kubelet
Wants=rpc-statd.service crio.service release-image.service
After=crio.service release-image.service node-image-overlay.service

[Service]
Type=notify
NotifyAccess=all
Environment=KUBELET_RUNTIME_REQUEST_TIMEOUT=10m
ExecStart=/usr/local/bin/kubelet.sh
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
"""
_UNIT_APPROVE_CSR: Final = """[Unit]
Description=Approve CSRs during bootstrap phase
Wants=bootkube.service
After=bootkube.service

[Service]
ExecStart=/usr/local/bin/approve-csr.sh /opt/openshift/auth/kubeconfig
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=multi-user.target
"""
_UNIT_PROGRESS: Final = """[Unit]
Description=Report the completion of the cluster bootstrap process
Wants=bootkube.service
After=bootkube.service

[Service]
ExecStart=/usr/local/bin/report-progress.sh /opt/openshift/auth/kubeconfig
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=multi-user.target
"""
_UNIT_ONESHOT: Final = """[Unit]
Description={description}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/local/bin/{script}.sh
RemainAfterExit=true
Restart=on-failure
RestartSec=10

[Install]
WantedBy=multi-user.target
"""

_SCRIPT_BOOTKUBE: Final = """#!/usr/bin/env bash
# Renders and runs the temporary control plane, then waits until the cluster's own has taken over.
set -euoE pipefail
. /usr/local/bin/release-image.sh
while [ ! -f /opt/openshift/.bootkube.done ]; do
    for stage in api-bootstrap auth-api-bootstrap config-bootstrap cvo-bootstrap etcd-bootstrap kube-apiserver-bootstrap \\
            kube-controller-manager-bootstrap kube-scheduler-bootstrap ingress-operator-bootstrap mco-bootstrap; do
        [ -f "/opt/openshift/$stage.done" ] || { echo "Rendering $stage of $RELEASE_IMAGE_DIGEST"; touch "/opt/openshift/$stage.done"; }
    done
    podman run --quiet --net=host --name cluster-bootstrap --rm --volume "$PWD:/assets:z" --volume /etc/kubernetes:/etc/kubernetes:z \\
        "$(image_for cluster-bootstrap)" start --tear-down-early=false --asset-dir=/assets \\
        --required-pods="openshift-kube-apiserver/kube-apiserver,openshift-kube-scheduler/openshift-kube-scheduler,openshift-kube-controller-manager/kube-controller-manager,openshift-cluster-version/cluster-version-operator"
    touch /opt/openshift/.bootkube.done
    echo "bootkube.service complete"
done
"""
_SCRIPT_APPROVE_CSR: Final = """#!/usr/bin/env bash
# Every pending request, each 20 seconds, until the bootstrap is done.
KUBECONFIG=$1
export KUBECONFIG
while [ ! -f /opt/openshift/.bootkube.done ]; do
    oc get csr --no-headers | grep Pending | awk '{print $1}' | xargs --no-run-if-empty oc adm certificate approve
    sleep 20
done
"""
_SCRIPT_PROGRESS: Final = """#!/usr/bin/env bash
KUBECONFIG=$1
export KUBECONFIG
while [ ! -f /opt/openshift/.bootkube.done ]; do sleep 5; done
oc create configmap bootstrap --namespace kube-system --from-literal status=complete
"""
_SCRIPT_KUBELET: Final = """#!/usr/bin/env bash
exec /usr/bin/kubelet --anonymous-auth=false --container-runtime-endpoint=/var/run/crio/crio.sock \\
    --pod-manifest-path=/etc/kubernetes/manifests --minimum-container-ttl-duration=6m0s --cluster-domain=cluster.local \\
    --cgroup-driver=systemd --serialize-image-pulls=false --v=2 --volume-plugin-dir=/etc/kubernetes/kubelet-plugins/volume/exec
"""
_SCRIPT_DOWNLOAD: Final = """#!/usr/bin/env bash
# Downloads the release image, again and again until it succeeds.
set -euo pipefail

RELEASE_IMAGE={image}

echo "Pulling $RELEASE_IMAGE..."
until podman pull "$RELEASE_IMAGE"; do
    echo "Pull failed. Retrying $RELEASE_IMAGE..."
done
"""
_SCRIPT_RELEASE_IMAGE: Final = """#!/usr/bin/env bash
# For other scripts: image_for NAME prints the image of a component.
RELEASE_IMAGE_DIGEST="{image}"

image_for() {{
    podman run --quiet --rm --net=none "${{RELEASE_IMAGE_DIGEST}}" image "${{1}}"
}}
"""
_SCRIPT_NODE_IMAGE: Final = """#!/usr/bin/env bash
set -euo pipefail
. /usr/local/bin/release-image.sh
until podman pull --quiet --authfile=/root/.docker/config.json "$(image_for rhel-coreos)"; do
    echo "Pull failed. Retrying {name}..."
    sleep 10
done
"""
_ONESHOTS: Final[Mapping[str, str]] = {
    "release-image": "Download the OpenShift Release Image",
    "node-image-pull": "Node Image Pull",
    "node-image-overlay": "Node Image Overlay",
    "crio-configure": "Configure CRI-O to use the pause image",
    "bootstrap-gather": "Prepare gathering of bootstrap logs",
}
_SCRIPT_OF: Final[Mapping[str, str]] = {"release-image": "release-image-download"}
"""Units whose script has another name."""


def pointer(cluster_domain: str, role: str, root_ca: bytes) -> bytes:
    """Return ``master.ign`` or ``worker.ign``: where to get the config, and whom to trust for it."""
    source = f"data:text/plain;charset=utf-8;base64,{base64.b64encode(root_ca).decode()}"
    return _dump(
        {
            "ignition": {
                "config": {"merge": [{"source": f"https://api-int.{cluster_domain}:22623/config/{role}"}]},
                "security": {"tls": {"certificateAuthorities": [{"source": source}]}},
                "version": SPEC,
            }
        }
    )


def bootstrap(config: InstallConfig, release: Release, files: Mapping[str, bytes], *, ssh_key: str) -> bytes:
    """Return ``bootstrap.ign``; ``files`` are the contents below ``/opt/openshift`` by relative path; ``ssh_key`` is its own."""
    scripts = {
        "bootkube": _SCRIPT_BOOTKUBE,
        "approve-csr": _SCRIPT_APPROVE_CSR,
        "report-progress": _SCRIPT_PROGRESS,
        "kubelet": _SCRIPT_KUBELET,
        "release-image": _SCRIPT_RELEASE_IMAGE.format(image=release.image),
        "release-image-download": _SCRIPT_DOWNLOAD.format(image=release.image),
    }
    units = {"bootkube": _UNIT_BOOTKUBE, "approve-csr": _UNIT_APPROVE_CSR, "progress": _UNIT_PROGRESS, "kubelet": _UNIT_KUBELET}
    for name, description in _ONESHOTS.items():
        script = _SCRIPT_OF.get(name, name)
        scripts.setdefault(script, _SCRIPT_NODE_IMAGE.format(name=name))
        units[name] = _UNIT_ONESHOT.format(script=script, description=description)
    contents: dict[str, tuple[bytes, int]] = {
        "/etc/motd": (_MOTD.encode(), 0o644),
        "/root/.docker/config.json": (str(config.data["pullSecret"]).encode(), 0o600),
    }
    for name, text in scripts.items():
        contents[f"/usr/local/bin/{name}.sh"] = (text.encode(), 0o555)
    contents |= {path: (content, 0o644) for path, content in host_files(config).items()}
    for path, content in files.items():
        contents[f"/opt/openshift/{path}"] = (content, 0o600)
    # The user's keys are one text, as in the install-config.
    keys = [str(config.data.get("sshKey") or ""), ssh_key]
    return _dump(
        {
            "ignition": {"version": SPEC},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": keys}]},
            "storage": {"files": [_file(path, content, mode) for path, (content, mode) in sorted(contents.items())]},
            "systemd": {
                "units": [
                    # bootkube is started by what needs it, all others by their target
                    {"name": f"{name}.service", "contents": text, **({} if name == "bootkube" else {"enabled": True})}
                    for name, text in sorted(units.items())
                ]
            },
        }
    )


_MOTD: Final = """This is the bootstrap node; it will be destroyed when the master is fully up.

The primary services are release-image.service followed by bootkube.service. To watch their status, run e.g.

  journalctl -b -f -u release-image.service -u bootkube.service
"""


def _file(path: str, content: bytes, mode: int) -> dict[str, Any]:
    source = f"data:text/plain;charset=utf-8;base64,{base64.b64encode(content).decode()}"
    return {"contents": {"source": source}, "mode": mode, "overwrite": True, "path": path, "user": {"name": "root"}}


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
