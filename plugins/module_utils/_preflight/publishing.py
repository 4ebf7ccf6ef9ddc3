# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of where machines are to find what they boot.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
import re

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import NAME, Situation


def address(situation: Situation) -> Finding:
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
    return not_checkable(f"no machine is there yet that could say whether it reaches {address}")


def ports(situation: Situation) -> Finding:
    if situation.standing and not situation.missing:
        return not_checkable("nothing is to be published: all machines are there")
    probes = (situation.world.get("publish") or {}).get("results") or []
    if not probes:
        return not_checkable("without an address there is nothing to look at")
    # A port that is asked to be free and is not leaves a message.
    taken = [str(probe.get("item")) for probe in probes if probe.get("msg")]
    # Our own server of an earlier run listens on both; the role that starts it knows it by its id.
    ours = bool((situation.world.get("publish") or {}).get("ours"))
    told = listed(str(probe.get("item")) for probe in probes)
    if taken and not ours:
        return failed(f"something listens on {listed(taken)} at {situation.text('publish_address')}")
    return passed(f"{told}, with our server of an earlier run" if ours else told)
