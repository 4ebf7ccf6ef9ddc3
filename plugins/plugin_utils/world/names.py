# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state of DNS: whether the provider accepts the credentials, which records exist, and the answers of the nodes' resolver."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ansible.errors import AnsibleLookupError

from ...module_utils.base.errors import CollectionError
from ...module_utils.clients.dns import DNSPYTHON_IMPORT_ERROR, DNSClient
from ...module_utils.cluster.dns import ownership_name, to_read
from ...module_utils.frame.dns import PROVIDERS

with contextlib.suppress(ImportError):
    import dns.exception
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdatatype
    import dns.resolver
    import dns.tsig
    import dns.tsigkeyring
    import dns.update

APPS = "validate.apps"
"""A name below the wildcard, like that of a route."""
UNUSED_ADDRESS = "240.0.0.0"
"""An address that no machine can have (RFC 1112, 4)."""
UNUSED_TEXT = '"heritage=nobody"'


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of the DNS provider and of the nodes' resolver.

    ``dns`` (dns_rc_str or msg) of the updates; ``records`` by name (addresses, alias, texts: its ownership records, or problem: no answer);
    ``resolver`` (at: its address, own and seen: the SOA's primary server by DNS server and resolver, names: addresses by name);
    ``wildcard`` (at: the server that was queried, name: one that nobody has, addresses: of that name, problem: why there was no answer).
    """
    if DNSPYTHON_IMPORT_ERROR is not None:
        raise AnsibleLookupError(f"The Python library dnspython is not installed on the controller: {DNSPYTHON_IMPORT_ERROR}")
    readings = collect_records(settings, tries_update=True)
    if _is_configured(settings) and "records" not in readings:
        return readings
    server = _server(settings) if _is_configured(settings) else None
    if at := nodes_resolver(settings):
        zone = str(settings["dns_zone"])
        readings["resolver"] = {
            "at": at.name,
            "own": server.primary(zone) if server else "",
            "seen": at.primary(zone),
            "names": at.addresses([f"{name}.{_cluster(settings)}" for name in ("api", "api-int", APPS)]),
        }
    if asked := at or server:
        # A new one each time: resolvers keep answers.
        nobody = f"no-such-host-{secrets.token_hex(4)}.{_cluster(settings)}"
        answers = asked.answers([nobody])[nobody]
        readings["wildcard"] = {
            "at": asked.name,
            "name": nobody,
            "addresses": _values(answers),
            "problem": max(answer.problem for answer in answers),
        }
    return readings


def collect_records(settings: Mapping[str, Any], *, tries_update: bool = False) -> dict[str, Any]:
    """Return the readings ``dns`` and ``records`` alone. ``tries_update``: send an update that changes nothing to a server, too."""
    if DNSPYTHON_IMPORT_ERROR is not None:
        return {"dns": {"msg": "the Python library dnspython is not installed on the controller"}}
    if settings["dns_provider"] in PROVIDERS and settings["dns_provider"] != "rfc2136":
        return _of_service(settings)
    if not _is_configured(settings):
        return {}
    try:
        server = _server(settings)
        readings = {"dns": {"dns_rc_str": _try_update(server, settings)}} if tries_update else {}
    except (OSError, EOFError, ValueError, OverflowError, dns.exception.DNSException) as problem:
        return {"dns": {"msg": str(problem) or type(problem).__name__}}
    return {**readings, "records": _without_wildcards(server.records(_names(settings)), settings)}


def _is_configured(settings: Mapping[str, Any]) -> bool:
    if settings["dns_provider"] != "rfc2136":
        return False
    return all(str(settings[f"dns_{name}"]) for name in ("server", "key_name", "key_secret")) and str(settings["dns_port"]).isdecimal()


def _server(settings: Mapping[str, Any]) -> _Server:
    return _Server(str(settings["dns_server"]), int(settings["dns_port"]), float(settings["timeout"]))


class _Server:
    """A DNS server to query. Raises OSError when its name cannot be resolved."""

    def __init__(self, name: str, port: int, timeout: float) -> None:
        self.name = name
        self.port = port
        self.timeout = timeout
        self.address = str(socket.getaddrinfo(name, port, type=socket.SOCK_DGRAM)[0][4][0])

    def primary(self, zone: str) -> str:
        """Return the primary server of the zone by its SOA; empty without an answer."""
        return next(iter(self._query(zone, "SOA").values), "").partition(" ")[0]

    def addresses(self, names: list[str]) -> dict[str, list[str]]:
        """Return the addresses of each name, through aliases; none without an answer."""
        return {name: _values(answers) for name, answers in self.answers(names).items()}

    def records(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Return the records of each name: ``addresses``, or ``alias``, and ``texts``; ``problem`` is the error instead of an answer."""
        with ThreadPoolExecutor() as pool:
            texts = dict(zip(names, pool.map(lambda name: self._query(ownership_name(name), "TXT"), names), strict=True))
        return {
            name: {
                "addresses": sorted(value for answer in answers if not answer.alias for value in answer.values),
                "alias": max(answer.alias for answer in answers),
                "texts": list(texts[name].values),
                "problem": max(answer.problem for answer in [*answers, texts[name]]),
            }
            for name, answers in self.answers(names).items()
        }

    def answers(self, names: list[str]) -> dict[str, list[_Answer]]:
        """Return the answers for IPv4 and IPv6, by name."""
        with ThreadPoolExecutor() as pool:
            queries = {name: [pool.submit(self._query, name, kind) for kind in ("A", "AAAA")] for name in dict.fromkeys(names)}
        return {name: [answer.result() for answer in answers] for name, answers in queries.items()}

    def _query(self, name: str, kind: str) -> _Answer:
        try:
            question = dns.message.make_query(name, kind)
        except dns.exception.DNSException:
            # No server has a name that does not fit into a message; the check of the host names reports it.
            return _Answer()
        try:
            answer, _over_tcp = dns.query.udp_with_fallback(question, self.address, timeout=self.timeout, port=self.port)
        except (OSError, EOFError, OverflowError, dns.exception.DNSException) as problem:
            return _Answer(problem=str(problem) or type(problem).__name__)
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            return _Answer(problem=f"the server answered {dns.rcode.to_text(answer.rcode())}")
        rdtype = dns.rdatatype.from_text(kind)
        queried = question.question[0].name
        return _Answer(
            values=tuple(item.to_text() for record_set in answer.answer if record_set.rdtype == rdtype for item in record_set),
            # A server returns an alias for queries of every type (RFC 1034, 3.6.2).
            alias=next(
                (
                    record_set[0].to_text()
                    for record_set in answer.answer
                    if record_set.rdtype == dns.rdatatype.CNAME and record_set.name == queried
                ),
                "",
            ),
        )


@dataclass(frozen=True)
class _Answer:
    """``values`` of the queried type, ``alias`` the target of a CNAME, ``problem`` why there is no answer."""

    values: tuple[str, ...] = ()
    alias: str = ""
    problem: str = ""


def _values(answers: list[_Answer]) -> list[str]:
    return sorted(value for answer in answers for value in answer.values)


def _try_update(server: _Server, settings: Mapping[str, Any]) -> str:
    """Return the server's response code to a signed update that changes nothing: it deletes an address that the names do not have.

    The names are those that the run will set, since a key may have no permission for them. An update with a prerequisite that fails would
    not show that: the server may check permissions later (RFC 2136, 3.2 comes before 3.3).
    """
    chosen = str(settings["dns_key_algorithm"])
    # Each has a constant, for not every name is the one on the wire (RFC 8945, 6).
    algorithm = vars(dns.tsig).get(chosen.upper().replace("-", "_")) if chosen.startswith("hmac-") else None
    if algorithm is None:
        raise ValueError(f"unknown TSIG algorithm {chosen}")
    keyring = dns.tsigkeyring.from_text({str(settings["dns_key_name"]): str(settings["dns_key_secret"])})
    update = dns.update.UpdateMessage(str(settings["dns_zone"]), keyring=keyring, keyalgorithm=algorithm)
    for name in _names_to_set(settings):
        update.delete(name, "A", UNUSED_ADDRESS)
        update.delete(ownership_name(name.to_text()), "TXT", UNUSED_TEXT)
    answer = dns.query.tcp(update, server.address, timeout=server.timeout, port=server.port)
    return str(dns.rcode.to_text(answer.rcode()))


def _without_wildcards(records: dict[str, dict[str, Any]], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the records without the answers of a wildcard above a name, or all of them if the server does not return that."""
    answered = [name for name, record in records.items() if record["addresses"] or record["alias"]]
    marked = [name for name, record in records.items() if record["texts"]]
    try:
        client = DNSClient(_client_options(settings))
        wildcards = [name for name, own in zip(answered, client.own(answered), strict=True) if not own]
        unmarked = [name for name, own in zip(marked, client.own([ownership_name(name) for name in marked]), strict=True) if not own]
    except CollectionError:
        return records
    answers = {**records, **{name: {**records[name], "addresses": [], "alias": "", "problem": ""} for name in wildcards}}
    return {**answers, **{name: {**answers[name], "texts": []} for name in unmarked}}


def _of_service(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the readings ``dns`` and ``records`` of a provider whose API returns its records."""
    provider = PROVIDERS[str(settings["dns_provider"])]
    if provider.import_error:
        return {"dns": {"msg": f"the Python library {provider.library} is not installed on the controller"}}
    if missing := [name for name in provider.required if not settings[f"dns_{name}"]]:
        return {"dns": {"skipped": f"without {', '.join(missing)}"}}
    names = _names(settings)
    desired_sets = to_read(names)
    try:
        by_name = dict(
            zip(
                ((record_set["name"], record_set["type"]) for record_set in desired_sets),
                provider.client(_client_options(settings)).find(desired_sets),
                strict=True,
            )
        )
    except CollectionError as problem:
        return {"dns": {"msg": str(problem)}}
    records = {
        name: {
            "addresses": sorted(by_name[name, "A"].values + by_name[name, "AAAA"].values),
            "alias": by_name[name, "A"].alias,
            "texts": by_name[ownership_name(name), "TXT"].values,
            "problem": "",
        }
        for name in names
    }
    return {"dns": {"dns_rc_str": "NOERROR"}, "records": records}


def _client_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the provider's client: its variables have the same names."""
    provider = str(settings["dns_provider"])
    own = settings.get(f"dns_{provider}") or {}
    options = {name: own.get(name, settings.get(f"dns_{name}", "")) for name in ("zone", *PROVIDERS[provider].options)}
    return {**options, "port": int(settings["dns_port"] or 53), "timeout": float(settings["timeout"])}


def nodes_resolver(settings: Mapping[str, Any]) -> _Server | None:
    """Return the resolver of the nodes if it is known, else the controller's."""
    if settings["resolver"]:
        name, port = str(settings["resolver"]), int(settings["resolver_port"])
    else:
        # No resolver can reach a DNS server on loopback.
        if str(settings["dns_server"]).startswith(("127.", "::1")):
            return None
        try:
            name, port = str(dns.resolver.get_default_resolver().nameservers[0]), 53
        except (dns.resolver.NoResolverConfiguration, IndexError):
            return None
    try:
        return _Server(name, port, float(settings["timeout"]))
    except (OSError, ValueError, OverflowError):
        return None


def _cluster(settings: Mapping[str, Any]) -> str:
    return f"{settings['cluster_name']}.{settings['base_domain']}"


def _names(settings: Mapping[str, Any]) -> list[str]:
    own = [f"{name}.{_cluster(settings)}" for name in ("api", "api-int", "*.apps", "api-members", "ingress-members", "nodes")]
    return own + [str(machine["hostname"]) for machines in settings["machines"].values() for machine in machines]


def _names_to_set(settings: Mapping[str, Any]) -> list[dns.name.Name]:
    """Return the names that the role ``dns`` sets: members only for a load balancer, and only names below the cluster's domain."""
    members = () if settings["load_balancer"] != "dns" else ("api-members.", "ingress-members.")
    names = []
    for text in _names(settings):
        if text.endswith(f".{_cluster(settings)}") and not text.startswith(members):
            try:
                names.append(dns.name.from_text(text))
            except dns.exception.DNSException:
                continue  # reported by the check of the host names
    return names
