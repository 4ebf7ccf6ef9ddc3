# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Ignition pointer of one machine: its MachineConfigPool, and the labels and taints that its node registers with.

A taint that is set after a node has joined comes too late: pods may run there by then. The kubelet sets taints and labels when it
creates its Node, by its flags ``--register-with-taints`` and ``--node-labels``, which machine-config-operator uses in its own units of all
releases. Its unit for workers reads labels from a variable and has none for taints, and only newer releases read drop-ins of kubelet.conf.
So a unit before the kubelet appends both flags to the kubelet's command, whatever that is in a release. It runs until the machine has
joined, so later updates of the operating system never meet it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any

from ...module_utils.boot.ignition import ignition_file, unit

ROLES_OF_NODES = ("control-plane", "worker")
"""Roles of machines with pointers of their own: the bootstrap device becomes no node."""

SCRIPT_PATH = "/usr/local/bin/kubelet-registration"
UNIT_NAME = "kubelet-registration.service"

SCRIPT = r"""#!/usr/bin/env bash
# Appends flags to the command of kubelet.service until the next boot: --node-labels=... and --register-with-taints=...
set -euo pipefail
folder=${KUBELET_REGISTRATION_ROOT:-}/run/systemd/system/kubelet.service.d

# The last command of the unit and its drop-ins, as one line.
command=$(systemctl cat kubelet.service | sed -e ':more' -e '/\\$/{N; s/\\\n[[:space:]]*/ /; b more' -e '}' |
    sed -n 's/^[[:space:]]*ExecStart=\(.*[^[:space:]]\)[[:space:]]*$/\1/p' | tail -n 1)
[ -n "$command" ] || { echo "kubelet.service has no ExecStart" >&2; exit 1; }

for flag in "$@"; do
    # Of this flag the kubelet takes the last one alone. That of labels adds to an earlier one.
    if [[ $flag == --register-with-taints=* && $command =~ --register-with-taints=([^[:space:]]+) ]]; then
        flag=$flag,${BASH_REMATCH[1]}
    fi
    command+=" $flag"
done
mkdir -p "$folder"
printf '[Service]\nExecStart=\nExecStart=%s\n' "$command" >"$folder/90-registration.conf"
systemctl daemon-reload
"""

UNIT = """\
[Unit]
Description=Set the labels and taints that this node registers with
Before=kubelet.service
ConditionPathExists=!/var/lib/kubelet/kubeconfig

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={command}

[Install]
RequiredBy=kubelet.service
"""

RESERVED = re.compile(r"(?:^|\.)(?:kubernetes|k8s)\.io$")
ALLOWED = re.compile(r"(?:^|\.)(?:kubelet|node)\.kubernetes\.io$")
"""Domains of labels that the API server accepts from a kubelet although they are Kubernetes' own (admission plugin NodeRestriction)."""
WELL_KNOWN = frozenset({"topology.kubernetes.io/region", "topology.kubernetes.io/zone"})

POOL_URL = re.compile(r"(?<=/config/)[^/?#]+$")


def machine_pointer(pointer: str, machine: Mapping[str, Any]) -> str:
    """Return a machine's Ignition pointer, made from that of its role (JSON). Without own settings it is the same text."""
    if not pointer or not (registration_command(machine) or machine.get("machine_config_pool")):
        return pointer
    # As the installer writes it, so that the userdata is the same by the installer's pointer and by the cluster's.
    return json.dumps(with_own_settings(json.loads(pointer), machine), separators=(",", ":"), sort_keys=True)


def with_own_settings(pointer: Mapping[str, Any], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's Ignition pointer, made from that of its role: with its MachineConfigPool and the flags of its kubelet."""
    config = copy.deepcopy(dict(pointer))
    pool, command = machine.get("machine_config_pool"), registration_command(machine)
    if pool:
        for reference in config["ignition"]["config"]["merge"]:
            reference["source"] = POOL_URL.sub(str(pool), reference["source"])
    if command:
        config["storage"] = {"files": [ignition_file(SCRIPT_PATH, SCRIPT, 0o755)]}
        config["systemd"] = {"units": [unit(UNIT_NAME, UNIT.format(command=command))]}
    return config


def registration_command(machine: Mapping[str, Any]) -> str:
    """Return the command that gives the kubelet its flags, empty for a machine without labels and taints to register with."""
    labels = [f"{key}={value}" for key, value in sorted((machine.get("labels") or {}).items()) if is_registrable(key)]
    taints = [f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}" for taint in machine.get("taints") or ()]
    flags = [f"--{name}={','.join(values)}" for name, values in (("node-labels", labels), ("register-with-taints", taints)) if values]
    return " ".join([SCRIPT_PATH, *flags]) if flags else ""


def labels_of_administrators(machine: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels that the kubelet of a machine may not set on its own Node, such as that of its MachineConfigPool."""
    return {key: value for key, value in (machine.get("labels") or {}).items() if not is_registrable(key)}


def is_registrable(label: str) -> bool:
    """Return whether a kubelet may set this label on its own Node. Others are set by an administrator after the node has joined."""
    domain, slash, _name = label.partition("/")
    return not slash or label in WELL_KNOWN or not RESERVED.search(domain) or bool(ALLOWED.search(domain))
