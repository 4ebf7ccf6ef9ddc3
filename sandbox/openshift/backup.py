# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``cluster-backup.sh`` of a control plane machine, run by a pod in the machine's file system (OpenShift, "Backing up etcd data").

It leaves the names of the files that the real one leaves, without data.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sandbox.openshift.api import Object

SCRIPT: Final = "/usr/local/bin/cluster-backup.sh"
SECONDS: Final = 30.0
"""Duration of the script in simulated seconds."""


class BackupError(Exception):
    """The script ends with an error; the text is its last line."""


def is_backup(pod: Object) -> bool:
    """Return whether a pod runs the script once."""
    containers = pod["spec"]["containers"]
    return pod["spec"].get("restartPolicy") == "Never" and len(containers) == 1 and SCRIPT in _command(containers[0])


def run(pod: Object, disk: Path | None, *, is_member: bool) -> list[str]:
    """Write the files of a backup to a machine's disk and return their names. ``is_member``: its etcd member is healthy.

    Raises :class:`BackupError`.
    """
    container = pod["spec"]["containers"][0]
    command = _command(container)
    mounted = {volume["name"]: (volume.get("hostPath") or {}).get("path") for volume in pod["spec"].get("volumes") or []}
    root = next((mount["mountPath"] for mount in container.get("volumeMounts") or [] if mounted.get(mount["name"]) == "/"), None)
    if (container.get("securityContext") or {}).get("privileged") is not True or root is None or not pod["spec"].get("hostNetwork"):
        raise BackupError("chroot: cannot change root directory: Operation not permitted")
    if [part.rpartition("/")[2] for part in command[:1]] != ["chroot"] or command[1:3] != [root, SCRIPT]:
        raise BackupError(f"{SCRIPT}: No such file or directory")
    arguments = [argument for argument in command[3:] if argument != "--force"]
    if len(arguments) != 1 or not PurePosixPath(arguments[0]).is_absolute():
        raise BackupError("Path to backup dir required: ./cluster-backup.sh [--force] <path-to-backup-dir>")
    if disk is None or not is_member:
        raise BackupError("etcd is not running on this machine")
    folder = disk / PurePosixPath(arguments[0]).relative_to("/")
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y-%m-%d_%H%M%S")
    names = [f"snapshot_{stamp}.db", f"static_kuberesources_{stamp}.tar.gz"]
    for name in names:
        (folder / name).touch(mode=0o600)
    return names


def ended(status: Object, code: int, message: str) -> dict[str, Any]:
    """Return the status of a pod whose container has ended."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message, "finishedAt": now}}
    containers = [{**container, "ready": False, "started": False, "state": state} for container in status["containerStatuses"]]
    reason = {"status": "False", "reason": "PodFailed" if code else "PodCompleted", "lastTransitionTime": now}
    conditions = [
        {**condition, **(reason if condition["type"] in {"Ready", "ContainersReady"} else {})} for condition in status["conditions"]
    ]
    return {**status, "phase": "Failed" if code else "Succeeded", "conditions": conditions, "containerStatuses": containers}


def _command(container: Object) -> list[str]:
    return [*(container.get("command") or []), *(container.get("args") or [])]
