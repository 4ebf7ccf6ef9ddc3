# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of who stands before the API and the routers.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

API_PORT = 6443
FIREWALL = "nobody answers there at all: see that the address is the balancer's, and that no firewall drops what this computer sends it"


def choice(situation: Situation) -> Finding:
    kind, hosts, provider = situation.text("load_balancer"), len(situation.groups["load_balancer"]), situation.text("dns_provider")
    good = (kind == "dns" and hosts == 0) or (kind == "haproxy" and hosts == 1 and provider == "rfc2136")
    return either(good, f"{kind}, {hosts} hosts in the group load_balancer, names by {provider}")


def ports(situation: Situation) -> Finding:
    balancer = situation.world.get("balancer") or {}
    results = balancer.get("results") or []
    if not results and situation.text("load_balancer") != "haproxy":
        return passed("no machine balances: the names have several addresses")
    if not results:
        return not_checkable("the balancer is made by this run: its ports are its own, and free")
    doors = {
        answer: [f"{each['address']} port {each['port']}" for each in results if each["answer"] == answer]
        for answer in ("open", "refused", "silent")
    }
    found = "; ".join(f"{answer}: {listed(where)}" for answer, where in doors.items() if where)
    if not doors["refused"] and not doors["silent"]:
        return passed(found)
    if not balancer.get("own"):
        return _of_others(situation, found, {each["answer"] for each in results if each["port"] == API_PORT}, bool(doors["silent"]))
    if not situation.standing:
        return not_checkable(f"{found}; this run waits for it")
    return failed(found, FIREWALL if doors["silent"] else None)


def _of_others(situation: Situation, found: str, api: set[str], silent: bool) -> Finding:
    """A balancer that others made. It may refuse as long as nobody is behind it, and shut this computer out of all but the API."""
    if "silent" in api:
        return failed(found, FIREWALL)
    if situation.standing and "refused" in api:
        return failed(found, "see why the balancer has nobody behind it")
    if silent:
        return not_checkable(f"{found}; machines may be let through where this computer is not")
    return passed(f"{found}; it can be reached, and has nobody behind it yet")
