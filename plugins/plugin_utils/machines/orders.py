# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Order bodies of devices, from the inventory's machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.base.tags import ROLE_TAG, VLAN_ADDRESS_TAG, VLAN_GATEWAY_TAG, VLAN_TAG
from ...module_utils.machines.set import MACHINE_OPTIONS
from ..boot.files import PACKET
from ..boot.pointer import ROLES_OF_NODES, machine_pointer
from ..settings.vlan import address_in
from .default_plans import IPXE

ORDER_OPTIONS = frozenset(MACHINE_OPTIONS)
"""What of a machine is sent with its order: every option that ``metal_device_set`` has for one machine, and nothing else."""


def device_orders(
    machines: Iterable[Mapping[str, Any]],
    options: Mapping[str, Any] | None = None,
    *,
    role: str | None = None,
    boot: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return ``machines`` of ``metal_device_set``, in the order given.

    ``options`` apply to each machine and take precedence over its own; a userdata that is empty is left out. ``role`` is added as a tag.
    ``boot`` is for machines that boot over iPXE: ``architecture`` of machines without a boot profile, ``ignition_platform``, ``url`` below
    which boot scripts are published, and ``signed`` with the address of each that was signed, if any. The userdata of nodes is the Ignition
    pointer of their role; each gets its own from it. ``vlan`` of ``boot``: as ``cluster_vlan`` returns it; each machine gets its address
    there as tags, and in layer 2 its default gateway.
    """
    vlan = (boot or {}).get("vlan")
    forced = {name: value for name, value in (options or {}).items() if value or name != "userdata"}
    return [
        {name: value for name, value in machine.items() if name in ORDER_OPTIONS}
        | {"tags": list(dict.fromkeys([*machine.get("tags", []), *([ROLE_TAG + role] if role else []), *_vlan_tags(machine, vlan)]))}
        | (_boot(machine, boot) if boot is not None else {})
        | forced
        | ({"userdata": machine_pointer(forced["userdata"], machine)} if role in ROLES_OF_NODES and "userdata" in forced else {})
        for machine in machines
    ]


def _vlan_tags(machine: Mapping[str, Any], vlan: Mapping[str, Any] | None) -> list[str]:
    """Return the tags by which a machine knows its VLAN and its address there: it reads them from its metadata."""
    if not vlan or not vlan.get("subnet") or not machine.get("vlan_address"):
        return []
    prefix = str(vlan["subnet"]).partition("/")[2]
    address = address_in(str(vlan["subnet"]), str(machine["vlan_address"]))
    gateway = [f"{VLAN_GATEWAY_TAG}{vlan['gateway']}"] if vlan.get("gateway") else []
    return [f"{VLAN_TAG}{vlan['vxlan']}", f"{VLAN_ADDRESS_TAG}{address}/{prefix}", *gateway]


def _boot(machine: Mapping[str, Any], boot: Mapping[str, Any]) -> dict[str, str]:
    shared = boot["ignition_platform"] == PACKET
    script = f"{machine.get('boot_profile', boot['architecture']) if shared else machine['hostname']}.ipxe"
    signed = boot.get("signed", {}).get(script, {})
    return {
        "operating_system": machine.get("operating_system") or IPXE,
        "ipxe_script_url": signed.get("url", f"{boot['url']}/{script}"),
    }
