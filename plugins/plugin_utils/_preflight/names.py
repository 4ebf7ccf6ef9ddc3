# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What DNS says: whether the server takes updates with our key, which names are there, and what nodes will be told.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import socket
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ansible.errors import AnsibleLookupError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.dns import DNSClient

LIBRARY_ERROR: str | None = None
try:
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
except ImportError:  # told by who asks, with the name of what to install
    LIBRARY_ERROR = traceback.format_exc()

APPS = "validate.apps"
"""A name below the wildcard: as routes have it."""
NOBODYS = "240.0.0.0"
"""An address that no machine can have (RFC 1112, 4)."""


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What the server and a resolver say.

    ``dns`` (dns_rc_str or msg); ``records``: what the server has of each name (addresses, alias, and problem when it did not tell);
    ``resolver``, as nodes ask it (own, seen, at, names).
    """
    if LIBRARY_ERROR is not None:
        raise AnsibleLookupError(f"The Python library dnspython is needed: {LIBRARY_ERROR}")
    world: dict[str, Any] = {}
    server = None
    given = all(str(wanted[f"dns_{name}"]) for name in ("server", "key_name", "key_secret")) and str(wanted["dns_port"]).isdecimal()
    if wanted["dns_provider"] == "rfc2136" and given:
        try:
            server = _Server(str(wanted["dns_server"]), int(wanted["dns_port"]), float(wanted["timeout"]))
            world["dns"] = {"dns_rc_str": _ask_for_updates(server, wanted)}
        except (OSError, EOFError, ValueError, OverflowError, dns.exception.DNSException) as problem:
            return {"dns": {"msg": str(problem) or type(problem).__name__}}
        world["records"] = _own(server.records(_names(wanted)), wanted)
    if at := _resolver(wanted):
        zone = str(wanted["dns_zone"])
        world["resolver"] = {
            "at": at.name,
            "own": server.keeper(zone) if server else "",
            "seen": at.keeper(zone),
            "names": at.addresses([f"{name}.{_cluster(wanted)}" for name in ("api", "api-int", APPS)]),
        }
    return world


class _Server:
    """A name server that can be asked. Raises OSError when its own name leads nowhere."""

    def __init__(self, name: str, port: int, timeout: float) -> None:
        self.name = name
        self.port = port
        self.timeout = timeout
        self.address = str(socket.getaddrinfo(name, port, type=socket.SOCK_DGRAM)[0][4][0])

    def keeper(self, zone: str) -> str:
        """Who keeps the zone, by its SOA; empty when nobody says."""
        return next(iter(self._ask(zone, "SOA").values), "").partition(" ")[0]

    def addresses(self, names: list[str]) -> dict[str, list[str]]:
        """Where each name leads, by whatever aliases; nowhere when nobody says."""
        return {name: sorted(value for answer in answers for value in answer.values) for name, answers in self._both(names).items()}

    def records(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """What the names themselves have: ``addresses``, or ``alias``; ``problem`` is what was said instead, or why nothing was."""
        return {
            name: {
                "addresses": sorted(value for answer in answers if not answer.alias for value in answer.values),
                "alias": max(answer.alias for answer in answers),
                "problem": max(answer.problem for answer in answers),
            }
            for name, answers in self._both(names).items()
        }

    def _both(self, names: list[str]) -> dict[str, list[_Answer]]:
        """The answers for IPv4 and IPv6, by name."""
        with ThreadPoolExecutor() as pool:
            asked = {name: [pool.submit(self._ask, name, kind) for kind in ("A", "AAAA")] for name in dict.fromkeys(names)}
        return {name: [answer.result() for answer in answers] for name, answers in asked.items()}

    def _ask(self, name: str, kind: str) -> _Answer:
        try:
            question = dns.message.make_query(name, kind)
        except dns.exception.DNSException:
            # No message can carry the name, so no server has it: others tell that.
            return _Answer()
        try:
            answer, _over_tcp = dns.query.udp_with_fallback(question, self.address, timeout=self.timeout, port=self.port)
        except (OSError, EOFError, OverflowError, dns.exception.DNSException) as problem:
            return _Answer(problem=str(problem) or type(problem).__name__)
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            return _Answer(problem=f"it answered {dns.rcode.to_text(answer.rcode())}")
        wanted = dns.rdatatype.from_text(kind)
        asked = question.question[0].name
        return _Answer(
            values=tuple(each.to_text() for found in answer.answer if found.rdtype == wanted for each in found),
            # A server tells it whatever it was asked for (RFC 1034, 3.6.2).
            alias=next(
                (found[0].to_text() for found in answer.answer if found.rdtype == dns.rdatatype.CNAME and found.name == asked),
                "",
            ),
        )


@dataclass(frozen=True)
class _Answer:
    """``values`` of the kind that was asked for, ``alias`` what the name is another name of, ``problem`` why there is no answer."""

    values: tuple[str, ...] = ()
    alias: str = ""
    problem: str = ""


def _ask_for_updates(server: _Server, wanted: Mapping[str, Any]) -> str:
    """The server's answer to an update, signed with the key, that changes nothing: it takes an address from names that do not have it.

    They are those that the run will set. A key may be there and have no right to these, and a server asks for its rights only where
    something is to be updated; behind a prerequisite that does not hold it need not ask at all (RFC 2136, 3.2 comes before 3.3).
    """
    chosen = str(wanted["dns_key_algorithm"])
    # Each has a constant, for not every name is the one on the wire (RFC 8945, 6).
    algorithm = vars(dns.tsig).get(chosen.upper().replace("-", "_")) if chosen.startswith("hmac-") else None
    if algorithm is None:
        raise ValueError(f"there is no algorithm {chosen}")
    keyring = dns.tsigkeyring.from_text({str(wanted["dns_key_name"]): str(wanted["dns_key_secret"])})
    update = dns.update.UpdateMessage(str(wanted["dns_zone"]), keyring=keyring, keyalgorithm=algorithm)
    for name in _names_to_set(wanted):
        update.delete(name, "A", NOBODYS)
    answer = dns.query.tcp(update, server.address, timeout=server.timeout, port=server.port)
    return str(dns.rcode.to_text(answer.rcode()))


def _own(records: dict[str, dict[str, Any]], wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Without what a wildcard above a name answers: it is in nobody's way. Where the server does not say, answers are taken as they are."""
    answered = [name for name, record in records.items() if record["addresses"] or record["alias"]]
    options = {name: str(wanted[f"dns_{name}"]) for name in ("server", "zone", "key_name", "key_secret", "key_algorithm")}
    try:
        client = DNSClient({**options, "port": int(wanted["dns_port"]), "timeout": float(wanted["timeout"])})
        others = [name for name, own in zip(answered, client.own(answered), strict=True) if not own]
    except CollectionError:
        return records
    return {**records, **{name: {"addresses": [], "alias": "", "problem": ""} for name in others}}


def _resolver(wanted: Mapping[str, Any]) -> _Server | None:
    """Who nodes ask, as far as it is known: else who this computer asks."""
    if wanted["resolver"]:
        name, port = str(wanted["resolver"]), int(wanted["resolver_port"])
    else:
        # A server on loopback is nobody's delegate, and no resolver of another finds it.
        if str(wanted["dns_server"]).startswith(("127.", "::1")):
            return None
        try:
            name, port = str(dns.resolver.get_default_resolver().nameservers[0]), 53
        except (dns.resolver.NoResolverConfiguration, IndexError):
            return None
    try:
        return _Server(name, port, float(wanted["timeout"]))
    except (OSError, ValueError, OverflowError):
        return None


def _cluster(wanted: Mapping[str, Any]) -> str:
    return f"{wanted['cluster_name']}.{wanted['base_domain']}"


def _names(wanted: Mapping[str, Any]) -> list[str]:
    """Names that the cluster will have."""
    own = [f"{name}.{_cluster(wanted)}" for name in ("api", "api-int", "*.apps", "api-members", "ingress-members")]
    return own + [str(machine["hostname"]) for machines in wanted["machines"].values() for machine in machines]


def _names_to_set(wanted: Mapping[str, Any]) -> list[dns.name.Name]:
    """Those of them that the role ``dns`` sets: members only for a balancer, and no host's name that is not below the cluster's."""
    members = () if wanted["load_balancer"] == "haproxy" else ("api-members.", "ingress-members.")
    names = []
    for text in _names(wanted):
        if text.endswith(f".{_cluster(wanted)}") and not text.startswith(members):
            try:
                names.append(dns.name.from_text(text))
            except dns.exception.DNSException:
                continue  # told by the check of the host names
    return names
