# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of DNS.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

ALIAS_ADVICE = "remove the alias (CNAME): no address can be set beside it; or take another openshift_cluster_name"
UPDATE_ADVICE = {
    "REFUSED": "let openshift_dns_key_name update all names below the cluster's (in BIND with allow-update or update-policy)",
}
"""What to do, by the server's answer."""


def settings(situation: Situation) -> Finding:
    provider, zone, domain = (situation.text(name) for name in ("dns_provider", "dns_zone", "base_domain"))
    if provider == "none":
        return passed("none: the playbook prints the records to make")
    secret = situation.text("dns_key_secret")
    good = provider == "rfc2136" and all(situation.text(f"dns_{name}") for name in ("server", "key_name", "key_secret"))
    below = domain == zone or domain.endswith(f".{zone}")
    found = (
        f"provider {provider}, server '{situation.text('dns_server')}', zone '{zone}', key '{situation.text('dns_key_name')}' "
        f"{'with' if secret else 'without'} a secret"
    )
    return either(good and below, found)


def zone(situation: Situation) -> Finding:
    if situation.text("dns_provider") != "rfc2136":
        return not_checkable("no server is set that takes updates (openshift_dns_provider)")
    answer = situation.world.get("dns") or {}
    if not answer or answer.get("skipped"):
        return not_checkable("not asked: settings are missing")
    code = str(answer.get("dns_rc_str") or "")
    where = f"{situation.text('dns_zone')} at {situation.text('dns_server')} port {situation.text('dns_port')}"
    return either(code == "NOERROR", f"{where}: {answer.get('msg') or 'answers ' + (code or 'nothing')}", UPDATE_ADVICE.get(code))


def stale_records(situation: Situation) -> Finding:
    if situation.text("dns_provider") != "rfc2136":
        return not_checkable("no server is set that could be asked (openshift_dns_provider)")
    records: Mapping[str, Mapping[str, Any]] = situation.world.get("records") or {}
    aliases = [f"{name} is an alias of {record['alias']}" for name, record in records.items() if record.get("alias")]
    found = {name: set(record.get("addresses") or []) for name, record in records.items()}
    foreign = {name: strange for name, values in found.items() if (strange := sorted(values - situation.addresses))}
    told = listed(f"{name} is {'/'.join(values)}" for name, values in foreign.items())
    if aliases:
        return failed("; ".join([listed(aliases), *([told] if told else [])]), ALIAS_ADVICE)
    if foreign and not situation.devices and not situation.wanted.get("folder_exists"):
        return failed(told)
    untold = {name: record["problem"] for name, record in records.items() if record.get("problem")}
    if untold or not records:
        why = listed(f"{name}: {problem}" for name, problem in untold.items())
        return not_checkable(f"{situation.text('dns_server')} does not tell: {why}" if why else "the server was not asked")
    own = f"{sum(map(len, found.values()))} records, all ours"
    return passed(f"this run sets right what an earlier one left: {told}" if foreign else own)


def resolver(situation: Situation) -> Finding:
    answer = situation.world.get("resolver") or {}
    if not answer:
        return not_checkable("which resolver nodes use is not known (openshift_resolver), and this computer's cannot be asked for it")
    where = str(situation.text("resolver") or f"{answer.get('at')}, which this computer uses")
    names: Mapping[str, Sequence[str]] = answer.get("names") or {}
    told = "; ".join(f"{name} is {'/'.join(addresses)}" for name, addresses in names.items() if addresses)
    lacking = [name for name, addresses in names.items() if not addresses]
    problems = []
    if situation.text("dns_provider") == "rfc2136":
        if not answer.get("own"):
            return not_checkable("the server does not tell who keeps the zone")
        if answer.get("seen") != answer["own"]:
            problems.append(f"{'another zone' if answer.get('seen') else 'nothing'} for {situation.text('dns_zone')}")
    elif not situation.standing and not told:
        return not_checkable("the records are made by hand when the machines have addresses: nothing is there to ask for yet")
    if situation.standing and lacking and not problems:
        problems.append(f"no address for {listed(lacking)}")
    if not problems:
        return passed(f"{where}: {told or 'finds ' + situation.text('dns_zone') + ' where the server keeps it'}")
    found = f"{where} finds {' and '.join(problems)}"
    if situation.text("resolver"):
        return failed(found)
    return not_checkable(f"{found}; which resolver nodes use is not known (openshift_resolver)")
