# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the ports of the cluster's load balancer: the device of an earlier run, the addresses that nodes announce by ARP, or an external
load balancer that the DNS records lead to."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from ...module_utils.base.tags import ROLE_TAG
from ..preflight.load_balancer import API_PORT, HTTPS_PORT, MACHINE_CONFIG_PORT

APPS_PORTS = (HTTPS_PORT, 80)
FOREIGN_API_PORTS = (API_PORT, MACHINE_CONFIG_PORT)
"""Ports of a load balancer of another owner. Devices of the cluster close the second one to the controller."""


def collect(settings: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``load_balancer``: ``own``, and ``results``, each with address, port and answer: ``open``, ``refused`` or ``silent``."""
    devices = (readings.get("devices") or {}).get("devices") or []
    own = [device["addresses"]["public_ipv4"] for device in devices if f"{ROLE_TAG}load-balancer" in device["tags"]]
    if any(own):
        endpoints = [(address, port) for address in own if address for port in (API_PORT, *APPS_PORTS)]
    elif settings["load_balancer"] == "kube_vip" and settings["api_address"]:
        endpoints = [(settings["api_address"], API_PORT), *((address, HTTPS_PORT) for address in [settings["ingress_address"]] if address)]
    elif settings["load_balancer"] == "external":
        targets = ((settings["api_address"], FOREIGN_API_PORTS), (settings["ingress_address"], APPS_PORTS))
        endpoints = [(address, port) for address, ports in targets if address for port in ports]
    elif settings["dns_provider"] != "rfc2136":
        endpoints = _external_endpoints(devices, (readings.get("resolver") or {}).get("names") or {})
    else:
        endpoints = []
    if not endpoints:
        return {}
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(partial(_connect, timeout=float(settings["connect_timeout"])), endpoints))
    results = [{"address": address, "port": port, "answer": answer} for (address, port), answer in zip(endpoints, answers, strict=True)]
    return {"load_balancer": {"own": bool(own), "results": results}}


def _external_endpoints(devices: list[Mapping[str, Any]], names: Mapping[str, list[str]]) -> list[tuple[str, int]]:
    """Return addresses and ports of records that were created by hand, without the cluster's own devices, which have no load balancer."""
    own = {entry["address"] for device in devices for entry in device["ip_addresses"]}
    endpoints = {
        (address, port): None
        for name, addresses in names.items()
        for address in addresses
        if address not in own
        for port in (FOREIGN_API_PORTS if name.startswith("api") else APPS_PORTS)
    }
    return list(endpoints)


def _connect(endpoint: tuple[str, int], timeout: float) -> str:
    try:
        socket.create_connection(endpoint, timeout=timeout).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "silent"
    return "open"
