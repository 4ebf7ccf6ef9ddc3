# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of files and folders on the controller."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Any

from ansible import constants

from ...module_utils.base.errors import CollectionError
from ...module_utils.cluster.devices import devices_by_role
from ...module_utils.nodes.addresses import MACHINE_NETWORKS, api_addresses, reachable_addresses
from ..cluster_folder import folders
from ..cluster_folder.kubeconfig import kubeconfig_text
from ..settings.file_text import file_text as text_of

__all__ = [
    "cluster_directory",
    "clusters_directory",
    "file_text",
    "installer_cache",
    "is_private_file",
    "kubeconfig_text",
    "run_directory",
    "state",
]

INSTALLERS = "equinix_metal.openshift/installers"
MODE = 0o600


def clusters_directory(directory: str) -> str:
    """Return the folder with the folders of all clusters: the given one, else ``clusters`` beside the ansible.cfg in use."""
    return str(folders.clusters_directory(str(directory or ""), constants.CONFIG_FILE, Path.cwd(), Path.home()))


def cluster_directory(directory: str, name: str, domain: str, clusters: str = "") -> str:
    """Return the folder of a cluster's files as an absolute path: the given one, else ``<name>.<domain>`` in the folder of all clusters."""
    current, home = Path.cwd(), Path.home()
    beside = folders.clusters_directory(str(clusters or ""), constants.CONFIG_FILE, current, home)
    return str(folders.cluster_directory(str(directory or ""), f"{name}.{domain}", beside, current, home))


def file_text(value: Any, variable: str, strict: bool = True) -> Any:
    """Return the text of a variable that can be a text or the path of a file with it. Values that are no text are returned for the checks
    of their types; without ``strict`` also the path of a file that cannot be read.
    """
    if not isinstance(value, str):
        return value
    try:
        return text_of(value, variable)
    except CollectionError:
        if strict:
            raise
        return value


def run_directory(name: str) -> str:
    """Return the path of a folder that Ansible creates for a run, accessible to its user only, and deletes at the end of the run."""
    return str(Path(constants.DEFAULT_LOCAL_TMP) / Path(str(name)).name)


def installer_cache(directory: str) -> str:
    """Return the folder that keeps downloaded installers: the given one, else a folder in the cache of the user.

    If that cannot be written, such as in a container with a read-only home, it is a folder that Ansible deletes at the end of the run.
    """
    if directory:
        return str(directory)
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()) / INSTALLERS
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return str(Path(constants.DEFAULT_LOCAL_TMP) / INSTALLERS)
    return str(folder if os.access(folder, os.W_OK | os.X_OK) else Path(constants.DEFAULT_LOCAL_TMP) / INSTALLERS)


def is_private_file(path: str, text: str) -> bool:
    """Return whether the file is as a task would write it; no link, which such a task replaces."""
    file = Path(str(path))
    try:
        state = file.lstat()
        return S_ISREG(state.st_mode) and S_IMODE(state.st_mode) == MODE and file.read_text(encoding="utf-8").rstrip() == str(text).rstrip()
    except (OSError, ValueError):
        return False


def state(directory: str, devices: Iterable[Mapping[str, Any]] = (), network: str = "layer3") -> dict[str, Any]:
    """Return the state of a cluster, from its folder and its devices as ``metal_device_info`` returns them.

    ``begun``: whether an installation was started in the folder; ``adopted``: whether the cluster was installed by other means.
    ``addresses``: by role, at which the controller reaches each device; ``api_addresses``: at which it reaches the API of the control
    plane, see ``nodes/addresses``. Raises CollectionError for an unreadable metadata.json or an unknown machine network.
    """
    if network not in MACHINE_NETWORKS:
        raise CollectionError(f"network has to be one of {', '.join(MACHINE_NETWORKS)}, not {network}")
    folder = Path(directory).expanduser()
    metadata = _metadata(folder / "ignition" / "metadata.json")
    by_role = devices_by_role(devices)
    return {
        "bootstrap_complete": (folder / "kubeconfig").is_file(),
        "begun": (folder / "project").is_file(),
        "adopted": (folder / "adopted").is_file(),
        "infra_id": metadata.get("infraID", ""),
        "cluster_id": metadata.get("clusterID", ""),
        "devices": by_role,
        "addresses": {role: reachable_addresses(members, network) for role, members in by_role.items()},
        "api_addresses": api_addresses(by_role, network),
        "bootstrap_api_addresses": api_addresses(by_role, network, bootstrap=True),
    }


def _metadata(path: Path) -> dict[str, Any]:
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise CollectionError(f"cannot read {path}: {problem}") from problem
    return metadata if isinstance(metadata, dict) else {}
