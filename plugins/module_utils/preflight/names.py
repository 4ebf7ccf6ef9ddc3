# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of DNS.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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

ALIAS_ADVICE = "remove the alias (CNAME), since a name with an alias cannot have an address, or choose another openshift_cluster_name"
UPDATE_ADVICE = {
    "REFUSED": "let openshift_dns_key_name update all names below the cluster's domain (in BIND: allow-update or update-policy)",
}
"""What to do, by the response code of the server."""


def settings(context: Context) -> Finding:
    provider, zone, domain = (context.text(name) for name in ("dns_provider", "dns_zone", "base_domain"))
    if provider == "none":
        return passed("none: the playbook prints the records to create")
    secret = context.text("dns_key_secret")
    complete = provider == "rfc2136" and all(context.text(f"dns_{name}") for name in ("server", "key_name", "key_secret"))
    below = domain == zone or domain.endswith(f".{zone}")
    found = (
        f"provider {provider}, server '{context.text('dns_server')}', zone '{zone}', key '{context.text('dns_key_name')}' "
        f"{'with' if secret else 'without'} a secret"
    )
    return passed_if(complete and below, found)


def zone(context: Context) -> Finding:
    if context.text("dns_provider") != "rfc2136":
        return not_checkable("not checked: openshift_dns_provider is not rfc2136")
    answer = context.readings.get("dns") or {}
    if not answer or answer.get("skipped"):
        return not_checkable("not checked: the DNS settings are incomplete")
    code = str(answer.get("dns_rc_str") or "")
    where = f"{context.text('dns_zone')} at {context.text('dns_server')} port {context.text('dns_port')}"
    return passed_if(
        code == "NOERROR", f"{where}: {answer.get('msg') or 'the server answered ' + (code or 'nothing')}", UPDATE_ADVICE.get(code)
    )


def stale_records(context: Context) -> Finding:
    if context.text("dns_provider") != "rfc2136":
        return not_checkable("not checked: openshift_dns_provider is not rfc2136")
    records: Mapping[str, Mapping[str, Any]] = context.readings.get("records") or {}
    aliases = [f"{name} is an alias of {record['alias']}" for name, record in records.items() if record.get("alias")]
    found = {name: set(record.get("addresses") or []) for name, record in records.items()}
    foreign = {name: others for name, values in found.items() if (others := sorted(values - context.addresses))}
    stale = listed(f"{name} is {'/'.join(values)}" for name, values in foreign.items())
    if aliases:
        return failed("; ".join([listed(aliases), *([stale] if stale else [])]), ALIAS_ADVICE)
    if foreign and not context.devices and not context.settings.get("folder_exists"):
        return failed(stale)
    unread = {name: record["problem"] for name, record in records.items() if record.get("problem")}
    if unread or not records:
        reasons = listed(f"{name}: {problem}" for name, problem in unread.items())
        return not_checkable(
            f"records cannot be read from {context.text('dns_server')}: {reasons}" if reasons else "not checked: the DNS updates failed"
        )
    own = f"{counted(sum(map(len, found.values())), 'record')}, all of this cluster"
    return passed(f"this run corrects records of an earlier one: {stale}" if foreign else own)


def resolver(context: Context) -> Finding:
    answer = context.readings.get("resolver") or {}
    if not answer:
        return not_checkable(
            "the resolver of the nodes is unknown: openshift_resolver is not set, and the controller's cannot reach the server"
        )
    where = str(context.text("resolver") or f"{answer.get('at')}, the controller's resolver")
    names: Mapping[str, Sequence[str]] = answer.get("names") or {}
    resolved = "; ".join(f"{name} is {'/'.join(addresses)}" for name, addresses in names.items() if addresses)
    lacking = [name for name, addresses in names.items() if not addresses]
    problems = []
    if context.text("dns_provider") == "rfc2136":
        if not answer.get("own"):
            return not_checkable("the DNS server does not return the SOA of the zone")
        if answer.get("seen") != answer["own"]:
            problems.append(f"{'another zone' if answer.get('seen') else 'nothing'} for {context.text('dns_zone')}")
    elif not context.is_bootstrapped and not resolved:
        return not_checkable("not checked: the records are created by hand after the devices")
    if context.is_bootstrapped and lacking and not problems:
        problems.append(f"no address for {listed(lacking)}")
    if not problems:
        return passed(f"{where}: {resolved or 'finds ' + context.text('dns_zone') + ' on the DNS server'}")
    found = f"{where} finds {' and '.join(problems)}"
    if context.text("resolver"):
        return failed(found)
    return not_checkable(f"{found}; the resolver of the nodes is unknown (openshift_resolver)")
