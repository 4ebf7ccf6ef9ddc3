# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineConfigs with the time servers of all nodes, for chrony.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.machine_config import (
    machine_config,
    owned,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.ignition import ignition_file

SUBJECT = "chrony"
PATH = "/etc/chrony.conf"

# Red Hat's file for OpenShift, with other servers.
OPTIONS = """\
driftfile /var/lib/chrony/drift
makestep 1.0 3
rtcsync
logdir /var/log/chrony
"""


def chrony_manifests(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a MachineConfig for the control plane and one for workers, with ``time_servers``. Without servers there is none."""
    servers: Sequence[str] = settings.get("time_servers") or ()
    if servers:
        content = "".join(f"server {server} iburst\n" for server in servers) + OPTIONS
        for pool in ("master", "worker"):
            yield owned(machine_config(pool, SUBJECT, [ignition_file(PATH, content)]))
