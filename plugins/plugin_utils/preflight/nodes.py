# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of the devices that the nodes of an installed cluster are on."""

from __future__ import annotations

from ...module_utils.base.kubernetes_objects import device_of_provider_id
from ...module_utils.base.printable import printable
from ...module_utils.nodes.identity import identify
from .context import Context
from .findings import Finding, counted, failed, listed, not_checkable, passed, warning


def devices(context: Context) -> Finding:
    """Return whether each device has the name of its Node. Another device would be ordered for a renamed one, which would be deleted."""
    reading = context.readings.get("kubeconfig") or {}
    nodes = reading.get("nodes")
    if nodes is None:
        return not_checkable("the nodes of the cluster cannot be read") if reading else passed("no cluster is installed yet")
    identities = identify(nodes, context.devices)
    if identities.renamed:
        return failed("; ".join(problem.text for problem in identities.renamed))
    on_devices = [(node, device) for node in nodes if (device := identities.device_of(node["name"])) is not None]
    foreign = [
        f"{node['name']} ({printable(node['provider_id'])})"
        for node, device in on_devices
        if node.get("provider_id") and device_of_provider_id(str(node["provider_id"])) != device.id
    ]
    if foreign:
        return warning(f"nodes whose providerID is not that of their device, which cannot be changed: {listed(foreign)}")
    return passed(f"{counted(len(on_devices), 'node')} on devices of their names")
