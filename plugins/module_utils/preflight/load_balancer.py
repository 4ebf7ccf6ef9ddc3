# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the load balancer of the API and the routers.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    counted,
    failed,
    listed,
    not_checkable,
    passed,
    passed_if,
)

API_PORT = 6443
FIREWALL = "check that this is the address of the load balancer, and that no firewall drops the controller's packets to it"


def kind(context: Context) -> Finding:
    chosen, hosts, provider = context.text("load_balancer"), len(context.groups["load_balancer"]), context.text("dns_provider")
    valid = (chosen == "dns" and hosts == 0) or (chosen == "haproxy" and hosts == 1 and provider == "rfc2136")
    return passed_if(valid, f"{chosen}, {counted(hosts, 'host')} in the group load_balancer, DNS provider {provider}")


def ports(context: Context) -> Finding:
    reading = context.readings.get("load_balancer") or {}
    results = reading.get("results") or []
    if not results and context.text("load_balancer") != "haproxy":
        return passed("no load balancer: the DNS records have several addresses")
    if not results:
        return not_checkable("not checked: this run creates the load balancer")
    ports_by_answer = {
        answer: [f"{each['address']} port {each['port']}" for each in results if each["answer"] == answer]
        for answer in ("open", "refused", "silent")
    }
    found = "; ".join(f"{answer}: {listed(where)}" for answer, where in ports_by_answer.items() if where)
    if not ports_by_answer["refused"] and not ports_by_answer["silent"]:
        return passed(found)
    if not reading.get("own"):
        return _external(context, found, {each["answer"] for each in results if each["port"] == API_PORT}, bool(ports_by_answer["silent"]))
    if not context.is_bootstrapped:
        return not_checkable(f"{found}; this run waits for the load balancer")
    return failed(found, FIREWALL if ports_by_answer["silent"] else None)


def _external(context: Context, found: str, api: set[str], silent: bool) -> Finding:
    """Return the finding for a load balancer of another owner.

    It may refuse connections while it has no backends, and drop the controller's packets to other ports than the API's.
    """
    if "silent" in api:
        return failed(found, FIREWALL)
    if context.is_bootstrapped and "refused" in api:
        return failed(found, "check why the load balancer has no backends")
    if silent:
        return not_checkable(f"{found}; the machines may have access although the controller has none")
    return passed(f"{found}; the load balancer is reachable and has no backends yet")
