# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A backup of etcd by ``cluster-backup.sh`` on a control plane machine (OpenShift, "Backing up etcd data").

The script is on the machine, not in an image: a privileged pod runs it in the machine's file system, as ``oc debug node`` would.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options
from ..base.diff import shown
from ..base.errors import ClusterConflictError, ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import ETCD_PODS, object_path
from ..base.printable import printable
from .members import CONTAINER, NAMESPACE, read_members

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

SCRIPT = "/usr/local/bin/cluster-backup.sh"
CREATED, ENDED = "created", "ended"
"""States of a backup in a wait: its pod exists, and it has succeeded, after which its pod is deleted."""

ETCD_BACKUP_OPTIONS = Options(
    {
        "directory": {"type": "str", "default": "/home/core/assets/backup"},
        "not_on": {"type": "list", "elements": "str", "default": []},
        "force": {"type": "bool", "default": False},
    }
)


class Backup:
    """One backup: a pod on a machine with a healthy member, until its container has ended."""

    def __init__(self, client: ClusterClient, params: Mapping[str, Any], result: dict[str, Any]) -> None:
        self._client = client
        self._params = params
        self._result = result
        self._pod = self._node = self._image = self._state = ""
        result.update(node="", directory=params["directory"])
        self._absent = False

    def poll(self) -> list[str]:
        """Create the pod, then read its state; return what is waited for."""
        if not self._pod:
            node, image = self._place()
            self._pod, self._node, self._image = f"etcd-backup-{secrets.token_hex(4)}", node, image
        self._result["node"] = self._node
        if not self._state:
            self._result["changed"] = True
            backup = f"{self._params['directory']} on {self._node}"
            self._result["diff"] = shown({"backup": None}, {"backup": backup}, "backup of etcd")
            if self._client.read_only:
                return []
            self._create()
            self._state = CREATED
        return self._follow(self._pod)

    def _place(self) -> tuple[str, str]:
        """Return a Node with a healthy member, and the image of its etcd pod, which is on the machine already."""
        healthy = {member.name for member in read_members(self._client) if member.healthy} - set(self._params["not_on"])
        for pod in self._client.objects(ETCD_PODS):
            spec = mapping(pod.get("spec"))
            node = text(spec.get("nodeName"))
            images = [text(container.get("image")) for container in mappings(spec.get("containers")) if container.get("name") == CONTAINER]
            if node in healthy and images and mapping(mapping(pod.get("metadata")).get("labels")).get("app") == "etcd":
                return node, images[0]
        if healthy:
            raise self._pending(f"no etcd pod is listed on {', '.join(sorted(healthy))}")
        others = f" besides {', '.join(self._params['not_on'])}" if self._params["not_on"] else ""
        raise CollectionError(
            f"Cannot back up etcd: no control plane node{others} has a healthy member. Run without a backup, or repair one."
        )

    def _pending(self, reason: str) -> ClusterUnreachableError:
        return self._client.add_origin(ClusterUnreachableError(f"Cannot back up etcd: {reason}"))

    def _create(self) -> None:
        try:
            self._client.create(
                ETCD_PODS, backup_pod(self._pod, self._node, self._image, self._params["directory"], force=self._params["force"])
            )
        except ClusterConflictError:
            # An earlier request had its effect, and its answer was lost: the name is random.
            return

    def _follow(self, name: str) -> list[str]:
        pod = self._client.get(object_path(ETCD_PODS, name))
        if pod is None:
            if self._state == ENDED:
                return []
            if not self._absent:
                # Read again before it is an error, since the backup may have been made.
                self._absent = True
                raise self._pending(f"the cluster returns no pod {NAMESPACE}/{name}")
            raise CollectionError(f"Cannot back up etcd: the pod {NAMESPACE}/{name} was deleted before it had ended. Run again.")
        self._absent = False
        status = mapping(pod.get("status"))
        phase = text(status.get("phase"))
        if phase not in ("Succeeded", "Failed"):
            return [f"the backup of etcd on {self._node} runs: pod {NAMESPACE}/{name} is {phase or 'Pending'}"]
        states = [mapping(mapping(container.get("state")).get("terminated")) for container in mappings(status.get("containerStatuses"))]
        message = "; ".join(printable(text(entry.get("message") or entry.get("reason")), 300) for entry in states)
        if phase == "Failed":
            # The script refuses while an operator of the control plane is progressing, as while a machine is down.
            advice = "If an operator is progressing, wait until it is not, or run with force (openshift_etcd_backup_force=true)."
            raise CollectionError(
                f"Cannot back up etcd: {SCRIPT} failed on {self._node}: {message or 'no message'}. The log is in the pod"
                f" {NAMESPACE}/{name}; delete the pod after reading it.{'' if self._params['force'] else ' ' + advice}"
            )
        self._state = ENDED
        self._client.delete(object_path(ETCD_PODS, name))
        # Deleted again if it exists when it is read again.
        if self._client.get(object_path(ETCD_PODS, name)) is not None:
            raise self._pending(f"the pod {NAMESPACE}/{name} was deleted and exists still")
        return []


def backup_pod(name: str, node: str, image: str, directory: str, *, force: bool = False) -> dict[str, Any]:
    """Return the pod that runs the script in the file system of a Node's machine."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "etcd-backup"}},
        "spec": {
            "nodeName": node,
            "restartPolicy": "Never",
            "hostNetwork": True,
            "hostPID": True,
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "backup",
                    "image": image,
                    "command": ["chroot", "/host", SCRIPT, *(["--force"] if force else []), directory],
                    "securityContext": {"privileged": True, "runAsUser": 0},
                    "volumeMounts": [{"name": "host", "mountPath": "/host"}],
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                }
            ],
            "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
        },
    }
