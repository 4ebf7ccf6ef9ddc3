# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of clusters are on the controller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM = Path("/etc/ansible")
CLUSTERS = "clusters"
STORES: Mapping[str, str] = {
    "object_storage": "the bucket of the state store",
    "cluster": "the state store in the cluster",
}
"""Where files are saved, by the value of openshift_state_store."""


def clusters_directory(setting: str, config_file: str | None, current: Path, home: Path) -> Path:
    """Return the folder with the folders of all clusters: the given one, else ``clusters`` beside the ansible.cfg in use.

    The configuration of a user (``~/.ansible.cfg``) or of the computer (below ``/etc/ansible``) is of no project: with these, and without
    any, it is ``clusters`` in the current folder.
    """
    if setting:
        return _absolute(setting, current, home)
    beside = Path(config_file).parent if config_file else current
    is_of_project = beside not in {home, SYSTEM} and SYSTEM not in beside.parents
    return (beside if is_of_project else current) / CLUSTERS


def cluster_directory(setting: str, cluster: str, clusters: Path, current: Path, home: Path) -> Path:
    """Return the folder of one cluster: the given one, else that of its full name below ``clusters``."""
    return _absolute(setting, current, home) if setting else clusters / cluster


def _absolute(path: str, current: Path, home: Path) -> Path:
    expanded = home / path[2:] if path.startswith("~/") else Path(path).expanduser()
    return current / expanded


def is_in_job_folder(path: str) -> bool:
    """Return whether the path is in the private folder of a job of AWX, which is removed at the job's end.

    It is ``/runner`` in the container of an execution environment; AWX names the folder of the node in the environment.
    """
    try:
        folder = Path(path).expanduser().absolute()
    except (OSError, RuntimeError):
        return False
    private = [Path(text) for text in ("/runner", os.environ.get("AWX_PRIVATE_DATA_DIR", "")) if text.startswith("/")]
    return any(parent in folder.parents for parent in private)


def kept_place(path: str, store: str) -> str:
    """Return where a file is after the run: its path, unless an AWX job removes it at its end.

    ``store`` is the value of openshift_state_store; empty for a file that is not saved there.
    """
    if not is_in_job_folder(path):
        return path
    name = Path(path).name
    return f"{name} in {STORES[store]}" if store in STORES else f"{name}, which is removed with the container of this job"
