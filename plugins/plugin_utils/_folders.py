# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of clusters are on the controller.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from pathlib import Path

SYSTEM = Path("/etc/ansible")
CLUSTERS = "clusters"


def clusters_directory(given: str, config_file: str | None, current: Path, home: Path) -> Path:
    """Return the folder with the folders of all clusters: the given one, else ``clusters`` beside the ansible.cfg in use.

    The configuration of a user (``~/.ansible.cfg``) or of the computer (below ``/etc/ansible``) is of no project: with these, and without
    any, it is ``clusters`` in the current folder.
    """
    if given:
        return _absolute(given, current, home)
    beside = Path(config_file).parent if config_file else current
    is_of_project = beside not in {home, SYSTEM} and SYSTEM not in beside.parents
    return (beside if is_of_project else current) / CLUSTERS


def cluster_directory(given: str, cluster: str, clusters: Path, current: Path, home: Path) -> Path:
    """Return the folder of one cluster: the given one, else that of its full name below ``clusters``."""
    return _absolute(given, current, home) if given else clusters / cluster


def _absolute(path: str, current: Path, home: Path) -> Path:
    expanded = home / path[2:] if path.startswith("~/") else Path(path).expanduser()
    return current / expanded
