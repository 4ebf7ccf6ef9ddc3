# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps nodes of Ironic to servers of the Metal API: plan, metro, address, and the reason why a node is not offered.

| server | node |
|---|---|
| plan | ``resource_class``, the slug of a plan |
| metro | trait ``CUSTOM_METAL_METRO_<CODE>``, else ``conductor_group``, else the only metro of the rack |
| address, project it is reserved for | ``extra.metal``: ``{"address": ..., "reserved_for": ...}`` |
| MAC addresses | its ports, those that boot from the network first |
| architecture | ``properties.cpu_arch`` |

Enrolment writes these; an operator of an existing Ironic sets them with its own client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from metal_api.servers import FoundServer

METRO_TRAIT: Final = "CUSTOM_METAL_METRO_"
EXTRA: Final = "metal"
"""Key of what the Metal API keeps in ``extra`` of a node."""

ARCHITECTURE: Final = "x86_64"
"""Of nodes whose inspection has found none."""
ARM: Final = frozenset({"aarch64", "arm64", "arm"})
"""Architectures, in words of Ironic and of operators, for which DHCP and the boot ISO have no loaders."""

FREE: Final = "available"
"""The provision state of a node that can be deployed."""


CLEANING: Final = frozenset({"cleaning", "clean wait"})

POWER_FAILURE: Final = "power failure"
CLEAN_FAILURE: Final = "clean failure"
"""Values of ``fault``: why Ironic has set a node in maintenance by itself. In an operator's maintenance there is none."""


def metro_trait(code: str) -> str:
    """Return the trait of the nodes in a metro."""
    return METRO_TRAIT + code.upper()


def server_of_node(node: Mapping[str, Any], macs: Iterable[str], *, plans: Collection[str], metros: Collection[str]) -> FoundServer:
    """Return ``node`` (the fields of Ironic's API) with the MAC addresses of its ports as a server.

    ``plans``, ``metros``: slugs and codes of the catalogue; a node with another one is unavailable, with this reason.
    """
    extra = (node.get("extra") or {}).get(EXTRA) or {}
    plan, metro = node.get("resource_class") or "", _metro(node, metros)
    return FoundServer(
        id=node["uuid"],
        name=node.get("name") or node["uuid"],
        plan=plan,
        metro=metro,
        macs=tuple(macs),
        address=extra.get("address") or "",
        architecture=architecture(node),
        reserved_for=extra.get("reserved_for") or "",
        instance=node.get("instance_uuid") or "",
        cleaning=node.get("provision_state") in CLEANING,
        unavailable=_unavailable(node, plan, metro, plans, metros),
    )


def architecture(node: Mapping[str, Any]) -> str:
    """Return the architecture of a node, as inspection or its operator has set it."""
    return str((node.get("properties") or {}).get("cpu_arch") or ARCHITECTURE)


def has_secure_boot(node: Mapping[str, Any]) -> bool:
    """Return whether the firmware of a node boots signed loaders only, as Ironic reads it with each check of the power, not by IPMI."""
    capabilities = str((node.get("properties") or {}).get("capabilities") or "").split(",")
    return node.get("secure_boot") is True and "boot_mode:bios" not in capabilities


def _metro(node: Mapping[str, Any], metros: Collection[str]) -> str:
    for trait in node.get("traits") or ():
        if trait.startswith(METRO_TRAIT):
            return str(trait.removeprefix(METRO_TRAIT).lower())
    group = node.get("conductor_group") or ""
    if group:
        return str(group.lower())
    return next(iter(metros)) if len(metros) == 1 else ""


def _unavailable(node: Mapping[str, Any], plan: str, metro: str, plans: Collection[str], metros: Collection[str]) -> str:
    """Return why a node is not offered, empty if it is."""
    return _unsuitable(node, plan, metro, plans, metros) or _not_ready(node)


def _unsuitable(node: Mapping[str, Any], plan: str, metro: str, plans: Collection[str], metros: Collection[str]) -> str:
    if plan not in plans:
        return f"its resource class {plan!r} is not a plan" if plan else "it has no resource class, so no plan"
    if metro not in metros:
        return f"its metro {metro!r} is not one of {', '.join(sorted(metros))}" if metro else "it has no metro"
    if architecture(node) in ARM:
        return f"its architecture {architecture(node)} cannot be booted: DHCP and the boot ISO have loaders for {ARCHITECTURE} only"
    if has_secure_boot(node):
        return "Secure Boot is on, and the boot ISO and iPXE are not signed: switch it off in the firmware"
    return ""


def _not_ready(node: Mapping[str, Any]) -> str:
    state, error = node.get("provision_state"), node.get("last_error") or ""
    if node.get("maintenance"):
        reason = node.get("maintenance_reason") or error
        return f"in maintenance{': ' + reason if reason else ''}"
    if state != FREE:
        return f"in provision state {state}{': ' + error if error and str(state).endswith('failed') else ''}"
    if node.get("power_state") in (None, "error"):
        return f"its power state is unknown{': ' + error if error else ''}"
    return ""
