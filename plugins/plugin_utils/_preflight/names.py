# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What DNS says: whether the server takes updates with our key, which names are there, and what nodes will be told.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import binascii
import socket
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.errors import AnsibleLookupError

LIBRARY_ERROR: str | None = None
try:
    import dns.exception
    import dns.message
    import dns.query
    import dns.rcode
    import dns.rdatatype
    import dns.resolver
    import dns.tsigkeyring
    import dns.update
except ImportError:  # told by who asks, with the name of what to install
    LIBRARY_ERROR = traceback.format_exc()

APPS = "validate.apps"
"""A name below the wildcard: as routes have it."""


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """``dns`` (dns_rc_str or msg), ``records`` (addresses by name, at the server), ``resolver`` (as nodes ask it: own, seen, at, names)."""
    if LIBRARY_ERROR is not None:
        raise AnsibleLookupError(f"The Python library dnspython is needed: {LIBRARY_ERROR}")
    world: dict[str, Any] = {}
    server = None
    given = all(str(wanted[f"dns_{name}"]) for name in ("server", "key_name", "key_secret")) and str(wanted["dns_port"]).isdecimal()
    if wanted["dns_provider"] == "rfc2136" and given:
        try:
            server = _Server(str(wanted["dns_server"]), int(wanted["dns_port"]), float(wanted["timeout"]))
            world["dns"] = {"dns_rc_str": _ask_for_updates(server, wanted)}
        except (OSError, ValueError, binascii.Error, dns.exception.DNSException) as problem:
            return {"dns": {"msg": str(problem) or type(problem).__name__}}
        world["records"] = server.addresses(_names(wanted))
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
        return next(iter(self._ask(zone, "SOA")), "").partition(" ")[0]

    def addresses(self, names: list[str]) -> dict[str, list[str]]:
        with ThreadPoolExecutor() as pool:
            found = {(name, kind): pool.submit(self._ask, name, kind) for name in dict.fromkeys(names) for kind in ("A", "AAAA")}
        return {name: sorted(text for kind in ("A", "AAAA") for text in found[name, kind].result()) for name in dict.fromkeys(names)}

    def _ask(self, name: str, kind: str) -> list[str]:
        """What it answers; nothing when it does not, or when no message can carry the name: others tell that."""
        try:
            question = dns.message.make_query(name, kind)
            answer, _over_tcp = dns.query.udp_with_fallback(question, self.address, timeout=self.timeout, port=self.port)
        except (OSError, dns.exception.DNSException):
            return []
        wanted = dns.rdatatype.from_text(kind)
        return [each.to_text() for found in answer.answer if found.rdtype == wanted for each in found]


def _ask_for_updates(server: _Server, wanted: Mapping[str, Any]) -> str:
    """The server's answer to an update, signed with the key, that changes nothing: it only wants a record to be there that nobody makes."""
    keyring = dns.tsigkeyring.from_text({str(wanted["dns_key_name"]): str(wanted["dns_key_secret"])})
    update = dns.update.UpdateMessage(str(wanted["dns_zone"]), keyring=keyring, keyalgorithm=str(wanted["dns_key_algorithm"]))
    update.present("is-this-zone-ours", "TXT")
    answer = dns.query.tcp(update, server.address, timeout=server.timeout, port=server.port)
    return str(dns.rcode.to_text(answer.rcode()))


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
    except OSError:
        return None


def _cluster(wanted: Mapping[str, Any]) -> str:
    return f"{wanted['cluster_name']}.{wanted['base_domain']}"


def _names(wanted: Mapping[str, Any]) -> list[str]:
    """Names that the cluster will have."""
    own = [f"{name}.{_cluster(wanted)}" for name in ("api", "api-int", "*.apps", "api-members", "ingress-members")]
    return own + [str(machine["hostname"]) for machines in wanted["machines"].values() for machine in machines]
