# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time servers of all machines, for chrony: MachineConfigs of the nodes, and the file for the other Ignition configs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.boot.ignition import ignition_file
from .machine_config import machine_config, owned

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
    if servers := settings.get("time_servers"):
        for pool in ("master", "worker"):
            yield owned(machine_config(pool, SUBJECT, [chrony_file(servers)]))


def chrony_file(servers: Sequence[str]) -> dict[str, Any]:
    """Return the file of an Ignition config with these time servers."""
    return ignition_file(PATH, "".join(f"server {server} iburst\n" for server in servers) + OPTIONS)


def with_bootstrap_time_servers(bootstrap_ign: str, settings: Mapping[str, Any]) -> str:
    """Return bootstrap.ign (JSON) with ``time_servers``: MachineConfigs do not apply to the bootstrap device."""
    if not settings.get("time_servers"):
        return bootstrap_ign
    config = json.loads(bootstrap_ign)
    storage = config.setdefault("storage", {})
    # Ignition refuses two files of one path.
    others = [file for file in storage.get("files") or [] if file["path"] != PATH]
    storage["files"] = [*others, chrony_file(settings["time_servers"])]
    return json.dumps(config, separators=(",", ":"))
