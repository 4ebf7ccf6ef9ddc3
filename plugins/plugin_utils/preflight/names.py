# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of DNS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.base.record_set import Found
from ...module_utils.cluster.dns import SERVICES, Owner, foreign_record, is_in_zone, ownership_name
from .context import Context
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if, warning

ALIAS_ADVICE = "remove the alias (CNAME), since a name with an alias cannot have an address, or choose another openshift_cluster_name"
UPDATE_ADVICE = {
    "REFUSED": "let openshift_dns_key_name update all names below the cluster's domain (in BIND: allow-update or update-policy)",
}
"""What to do, by the response code of the server."""
REQUIRED: Mapping[str, Sequence[str]] = {"rfc2136": ("server", "key_name", "key_secret"), "route53": (), "octodns": ()}
"""Variables that a provider needs."""
GREATEST_RECORDS: Mapping[str, int] = {"route53": 400}
"""Values of one record that a provider accepts (Route 53: quotas on records)."""
BIND_RECORDS = 100
"""BIND's default of ``max-records-per-type`` (since 9.18.28). It refuses an update with more by SERVFAIL."""


def _settings_of(context: Context, provider: str) -> Mapping[str, Any]:
    """Return the dictionary with the settings of a provider, without those that are not set."""
    options = context.settings.get(f"dns_{provider}")
    return {name: value for name, value in options.items() if value not in (None, "")} if isinstance(options, Mapping) else {}


def settings(context: Context) -> Finding:
    provider, zone = context.text("dns_provider"), context.text("dns_zone")
    if provider == "none":
        return passed("none: the playbook prints the records to create")
    if provider not in REQUIRED:
        return failed(f"provider {provider}")
    chosen = _settings_of(context, provider)
    lacking = [f"openshift_dns_{name}" for name in REQUIRED[provider] if not context.text(f"dns_{name}")]
    if provider == "route53" and ("access_key" in chosen) != ("secret_key" in chosen):
        lacking.append(f"{'secret_key' if 'access_key' in chosen else 'access_key'} in openshift_dns_route53")
    if provider == "octodns" and "service" not in chosen:
        lacking.append("service in openshift_dns_octodns")
    details = f"provider {provider}, zone '{zone}'" + (f", without {', '.join(lacking)}" if lacking else "")
    if provider == "octodns" and "service" in chosen:
        details += f", service {chosen['service']}"
    return passed_if(not lacking and is_in_zone(context.cluster, zone), details)


def delegation(context: Context) -> Finding:
    """Return whether the delegation is of a zone that this cluster alone uses, by a provider, to name servers."""
    parent, zone, servers = context.text("dns_parent_zone"), context.text("dns_zone"), context.settings.get("dns_name_servers")
    servers = servers if isinstance(servers, (list, tuple)) else [servers] if servers else []
    route53 = _settings_of(context, "route53")
    creates = route53.get("create_zone") is True
    if creates:
        private = route53.get("zone_private") is True
        if context.text("dns_provider") != "route53" or zone != context.cluster or "zone_id" in route53 or private:
            return failed(
                f"create_zone in openshift_dns_route53 with provider {context.text('dns_provider')} and zone {zone or 'that is not set'}"
                f"{', which is private' if private else ''}",
                f"set openshift_dns_provider to route53, openshift_dns_zone to {context.cluster}, and no zone_id; only a"
                " public zone of the cluster alone is created",
            )
        if not parent:
            return passed(f"{zone} is created if it does not exist; the run prints its name servers for the delegation by hand")
    if not parent and not servers:
        return passed("no delegation")
    default = "those of the zone in Route 53" if creates else "no name servers"
    observed = f"{zone or 'no zone'} in {parent or 'no parent zone'} to {', '.join(map(str, servers)) or default}"
    complete = bool(parent and (servers or creates)) and context.text("dns_provider") != "none"
    return passed_if(complete and zone == context.cluster and zone != parent and is_in_zone(zone, parent), observed)


def record_sizes(context: Context) -> Finding:
    """Return whether the largest record of the cluster is accepted: ``nodes``, with all addresses of all machines."""
    provider = context.text("dns_provider")
    addresses = 3 if context.text("machine_network") == "vlan" else 2
    size = addresses * len(context.machines)
    observed = f"nodes.{context.cluster} has {size} values of {len(context.machines)} machines"
    if provider == "rfc2136" and size > BIND_RECORDS:
        return warning(
            f"{observed}; BIND accepts {BIND_RECORDS} by default",
            f"set max-records-per-type in the options of BIND to at least {size}, if this is the DNS server",
        )
    limit = GREATEST_RECORDS.get(provider)
    if limit is None:
        return passed(f"no limit of the provider {provider} is known")
    return passed_if(size <= limit, f"{observed}; {provider} accepts {limit}")


def zone(context: Context) -> Finding:
    provider = context.text("dns_provider")
    if provider == "none":
        return not_checkable("not checked: openshift_dns_provider is none")
    answer = context.readings.get("dns") or {}
    if not answer or answer.get("skipped"):
        return not_checkable("not checked: the DNS settings are incomplete")
    code = str(answer.get("dns_rc_str") or "")
    place = (
        f"{context.text('dns_server')} port {context.text('dns_port')}"
        if provider == "rfc2136"
        else str(_settings_of(context, provider).get("service", provider))
    )
    returned = answer.get("msg") or ("the server answered " + (code or "nothing") if provider == "rfc2136" else "the zone can be read")
    return passed_if(code == "NOERROR", f"{context.text('dns_zone')} at {place}: {returned}", UPDATE_ADVICE.get(code))


def foreign_records(context: Context) -> Finding:
    """Return the records of names that the run will set and that another owner has. Those of a run that ended early are no such."""
    if context.text("dns_provider") == "none":
        return not_checkable("not checked: openshift_dns_provider is none")
    records: Mapping[str, Mapping[str, Any]] = context.readings.get("records") or {}
    current = {(name, "A"): Found(list(record.get("addresses") or []), str(record.get("alias") or "")) for name, record in records.items()}
    current |= {(ownership_name(name), "TXT"): Found(list(record.get("texts") or [])) for name, record in records.items()}
    owner = Owner(context.cluster, str(context.metadata.get("infraID") or ""))
    foreign = [
        record_set for name in records if _is_set(name, context) and (record_set := foreign_record(name, current, owner, context.addresses))
    ]
    aliases = [f"{record.name} is an alias of {record.values[0]}" for record in foreign if current[record.name, "A"].alias]
    others = [str(record) for record in foreign if not current[record.name, "A"].alias]
    if aliases:
        return failed("; ".join([listed(aliases), *([listed(others)] if others else [])]), ALIAS_ADVICE)
    if others:
        return failed(listed(others))
    unread = {name: record["problem"] for name, record in records.items() if record.get("problem")}
    if unread or not records:
        reasons = listed(f"{name}: {problem}" for name, problem in unread.items())
        place = context.text("dns_server") or context.text("dns_provider")
        return not_checkable(f"records cannot be read from {place}: {reasons}" if reasons else "not checked: the zone cannot be read")
    return passed(
        f"{counted(sum(len(record.values) for (_name, kind), record in current.items() if kind == 'A'), 'record')}, all of this cluster"
    )


def _is_set(name: str, context: Context) -> bool:
    label = name.removesuffix(f".{context.cluster}")
    if not name.endswith(f".{context.cluster}") or (context.is_adopted and label in SERVICES):
        return False
    return label not in ("api-members", "ingress-members") or context.text("load_balancer") == "haproxy"


def wildcard(context: Context) -> Finding:
    """Return whether a name without a record resolves. Nodes search the cluster's domain, so any name that a pod asks for would."""
    answer = context.readings.get("wildcard") or {}
    if not answer:
        return not_checkable("not checked: no DNS server is known that answers for the nodes")
    queried = f"{answer['at']} was queried for {answer['name']}"
    if answer["addresses"]:
        return failed(f"{queried}, which nobody has, and answered {'/'.join(answer['addresses'])}")
    if answer.get("problem"):
        return not_checkable(f"{queried}, without an answer: {answer['problem']}")
    return passed(f"none: {queried}")


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
    observed = f"{where} finds {' and '.join(problems)}"
    if context.text("resolver"):
        return failed(observed)
    return not_checkable(f"{observed}; the resolver of the nodes is unknown (openshift_resolver)")
