"""What tests share that kill a server or its Ironic: the moments, and that both sides have the same devices afterwards."""

import random
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from metal_api.ironic.mapping import FREE


def moments(count: int, seconds: float) -> list[float]:
    """Return so many moments of work that takes ``seconds``, spread evenly with some chance."""
    chance = random.Random(14)  # noqa: S311
    return [seconds * (number + chance.random()) / count for number in range(count)]


def differences(devices: Collection[str], nodes: Iterable[Mapping[str, Any]], allocations: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what contradicts that every device is one node, and every other node is free. Empty when all is well.

    ``devices``: their ids. ``nodes``, ``allocations``: as Ironic's API lists them.
    """
    found, used = [], []
    for node in nodes:
        instance, state = node["instance_uuid"], node["provision_state"]
        used += [instance] if instance else []
        if state != ("active" if instance else FREE):
            found.append(f"node {node['name']} is {state}, its instance {instance or 'none'}: {node['last_error']}")
        if node["maintenance"]:
            found.append(f"node {node['name']} is in maintenance: {node['maintenance_reason'] or node['last_error']}")
        if pending := [name for name in ("reservation", "target_power_state", "target_provision_state") if node[name]]:
            found.append(f"node {node['name']} is busy: {', '.join(f'{name} {node[name]}' for name in pending)}")
    allocated = sorted(each["uuid"] for each in allocations)
    if not sorted(devices) == sorted(used) == allocated:
        found.append(f"devices {sorted(devices)}, instances of nodes {sorted(used)}, allocations {allocated}")
    return found
