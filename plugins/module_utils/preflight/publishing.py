# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of where machines are to find what they boot.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import NAME, Situation

PRIVATE = [ipaddress.ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")]
"""RFC 1918, RFC 6598, RFC 4193."""


def place(situation: Situation) -> Finding:
    way = situation.text("publish")
    if way == "object_storage":
        bucket = situation.text("publish_bucket")
        return passed(f"the bucket {bucket}") if bucket else failed("no bucket is named", "set openshift_publish_bucket to one")
    if way == "host" and not situation.text("publish_host"):
        return failed("no host is named that publishes", "set openshift_publish_host to a host of the inventory")
    return _address(situation)


def _address(situation: Situation) -> Finding:
    address = situation.text("publish_address")
    if not re.fullmatch(r"[0-9A-Za-z.:-]+", address) or "//" in address:
        return failed(f"'{address}'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        if re.fullmatch(r"[0-9.]+", address) or not NAME.fullmatch(address.lower()):
            return failed(f"'{address}' is neither an address nor a name")
        return not_checkable(f"{address} is a name: no machine is there yet that could say whether it finds it")
    if parsed.is_unspecified:
        return failed(f"{address} is every address of this computer and none for others")
    if parsed.is_loopback:
        local = re.search(r"//(127\.|\[::1\]|localhost)", situation.text("metal_api_url"))
        return either(bool(local), f"{address} is loopback" + (", as the Metal API is" if local else ": only this computer reaches it"))
    private = any(parsed in network for network in PRIVATE if network.version == parsed.version)
    return not_checkable(
        f"no machine is there yet that could say whether it reaches {address}"
        + (", which is a private address: only networks that have a way to it do" if private else "")
    )


def ports(situation: Situation) -> Finding:
    if situation.standing and not situation.missing:
        return not_checkable("nothing is to be published: all machines are there")
    if situation.text("publish") in ("host", "object_storage"):
        return not_checkable("none of this computer: it does not publish (openshift_publish)")
    read = situation.world.get("publish") or {}
    ports: Mapping[str, str] = read.get("ports") or {}
    where = situation.text("publish_bind_address") or situation.text("publish_address")
    if not ports:
        return not_checkable("without an address and ports there is nothing to look at")
    impossible = {port: state for port, state in ports.items() if state not in ("free", "taken")}
    if impossible:
        return failed(
            f"nobody can listen at {where}: " + "; ".join(f"{port}: {state}" for port, state in impossible.items()),
            "set openshift_publish_bind_address to an address of this computer, and ports above 1023",
        )
    # This cluster's own server of an earlier run listens on both; the role that starts it knows it by its id.
    taken = [port for port, state in ports.items() if state == "taken"]
    if taken and not read.get("ours"):
        return failed(f"another program has {listed(taken)} at {where}")
    return passed(f"{listed(ports)}, with our server of an earlier run" if taken else listed(ports))
