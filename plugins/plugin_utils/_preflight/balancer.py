# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who answers where the cluster's balancer is: the machine of an earlier run, or one that is there already and has the names.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

API_PORTS = (6443, 22623)
APPS_PORTS = (443, 80)


def look(wanted: Mapping[str, Any], world: Mapping[str, Any]) -> dict[str, Any]:
    """``balancer``: ``own``, and ``results``, each of address, port and answer: ``open``, ``refused`` or ``silent``."""
    devices = (world.get("devices") or {}).get("devices") or []
    own = [device["addresses"]["public_ipv4"] for device in devices if "openshift-role=load-balancer" in device["tags"]]
    if own and own[0]:
        doors = [(own[0], port) for port in (*API_PORTS, *APPS_PORTS)]
    elif wanted["dns_provider"] == "none":
        doors = _named_doors(devices, (world.get("resolver") or {}).get("names") or {})
    else:
        doors = []
    if not doors:
        return {}
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(partial(_knock, timeout=float(wanted["connect_timeout"])), doors))
    results = [{"address": address, "port": port, "answer": answer} for (address, port), answer in zip(doors, answers, strict=True)]
    return {"balancer": {"own": bool(own), "results": results}}


def _named_doors(devices: list[Mapping[str, Any]], names: Mapping[str, list[str]]) -> list[tuple[str, int]]:
    """Where names that somebody made by hand lead, unless to the cluster's own machines: before those stands nobody."""
    ours = {entry["address"] for device in devices for entry in device["ip_addresses"]}
    doors = {
        (address, port): None
        for name, addresses in names.items()
        for address in addresses
        if address not in ours
        for port in (API_PORTS if name.startswith("api") else APPS_PORTS)
    }
    return list(doors)


def _knock(door: tuple[str, int], timeout: float) -> str:
    try:
        socket.create_connection(door, timeout=timeout).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "silent"
    return "open"
