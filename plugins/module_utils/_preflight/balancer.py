# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of who stands before the API and the routers.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import (
    Finding,
    either,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation


def choice(situation: Situation) -> Finding:
    kind, hosts, provider = situation.text("load_balancer"), len(situation.groups["load_balancer"]), situation.text("dns_provider")
    good = (kind == "dns" and hosts == 0) or (kind == "haproxy" and hosts == 1 and provider == "rfc2136")
    return either(good, f"{kind}, {hosts} hosts in the group load_balancer, names by {provider}")


def ports(situation: Situation) -> Finding:
    if situation.text("load_balancer") != "haproxy":
        return passed("no machine balances: the names have several addresses")
    probes = (situation.world.get("balancer") or {}).get("results") or []
    if not probes:
        return not_checkable("the balancer is made by this run: its ports are its own, and free")
    # A port that is waited for in vain leaves a message.
    closed = [str(probe["item"]) for probe in probes if probe.get("msg")]
    if closed and not situation.standing:
        return not_checkable(f"{listed(closed)} do not answer yet; this run waits for them")
    return either(not closed, f"closed: {listed(closed)}" if closed else listed(probe["item"] for probe in probes))
