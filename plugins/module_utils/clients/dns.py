# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of a DNS server that accepts signed updates (RFC 2136, RFC 8945); of the modules the only importer of dnspython."""

from __future__ import annotations

import binascii
import socket
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ..base.errors import CollectionError
from ..base.record_set import Found

try:
    import dns.exception
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype
    import dns.resolver
    import dns.tsig
    import dns.tsigkeyring
    import dns.update

    DNSPYTHON_IMPORT_ERROR: str | None = None
except ImportError:
    DNSPYTHON_IMPORT_ERROR = traceback.format_exc()

AT_ONCE = 200
"""Names set by one message: a message has 64 KiB at most, and a name with a few addresses takes about a hundred bytes of it."""


CONNECTIONS = 8
ASKED_IN_TURN = 25
"""Queries per connection, and concurrent connections (CONNECTIONS): a distant server takes hundredths of a second for each query."""
ATTEMPTS = 3
"""How often an update is sent to a server that does not answer: it replaces whole sets, so the second one changes nothing."""


class _NoAnswerError(CollectionError):
    """The server did not answer in time, or has closed the connection."""


class DNSClient:
    """One server and one of its zones. Queries use few connections, and changes few messages.

    ``timeout`` in seconds limits each query. Raises CollectionError for a server that does not answer, or refuses.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._server, self._port, self._timeout = params["server"], params["port"], params["timeout"]
        self._zone, self._key = params["zone"], params["key_name"]
        # Its name on the wire is an older one (RFC 8945, 6).
        self._algorithm = dns.tsig.HMAC_MD5 if params["key_algorithm"] == "hmac-md5" else params["key_algorithm"]
        try:
            self._keyring = dns.tsigkeyring.from_text({params["key_name"]: params["key_secret"]})
        except (binascii.Error, ValueError, dns.exception.DNSException) as problem:
            raise CollectionError(f"Cannot use the key {self._key}: key_secret must be base64 ({problem}).") from problem

    def find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        """Return the current state of each of these record sets (``name``, ``type``), without answers of a wildcard above a name."""
        parts = [records[first : first + ASKED_IN_TURN] for first in range(0, len(records), ASKED_IN_TURN)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            answers = [answer for part in pool.map(self._find, parts) for answer in part]
        answered = list(
            dict.fromkeys(record["name"] for record, answer in zip(records, answers, strict=True) if answer.values or answer.alias)
        )
        own = dict(zip(answered, self.own(answered), strict=True))
        return [answer if own.get(record["name"]) else Found([]) for record, answer in zip(records, answers, strict=True)]

    def _find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        answers = []
        with self._connected("query the names") as connection:
            for record in records:
                answer = dns.query.tcp(
                    dns.message.make_query(_full(record["name"]), record["type"]), self._server, sock=connection, timeout=self._timeout
                )
                if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
                    raise CollectionError(
                        f"Cannot query {record['name']} at {self._at}: the server returned {dns.rcode.to_text(answer.rcode())}."
                    )
                own = [rrset for rrset in answer.answer if rrset.name == dns.name.from_text(_full(record["name"]))]
                by_kind = {rrset.rdtype: sorted(rdata.to_text() for rdata in rrset) for rrset in own}
                values, aliases = by_kind.get(dns.rdatatype.from_text(record["type"]), []), by_kind.get(dns.rdatatype.CNAME, [])
                answers.append(Found(values, "".join(aliases)))
        return answers

    def own(self, names: Sequence[str]) -> list[bool]:
        """Return whether each of these names exists itself, and not only by a wildcard above it."""
        exists: list[bool] = []
        for first in range(0, len(names), AT_ONCE):
            some = names[first : first + AT_ONCE]
            # Such wildcards are rare: one query for all names.
            exists += [True] * len(some) if self._exist(some) else [self._exist([name]) for name in some]
        return exists

    def _exist(self, names: Sequence[str]) -> bool:
        query = self._update()
        for name in names:
            query.present(_full(name))
        code = self._sent(query, f"check whether {names[0]} exists")
        if code not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise CollectionError(f"Cannot check whether {names[0]} exists at {self._at}: the server returned {dns.rcode.to_text(code)}.")
        return bool(code == dns.rcode.NOERROR)

    def set(self, records: Sequence[Mapping[str, Any]], ttl: int) -> None:
        """Carry out these changes (``name``, ``type``, ``values``); a set without values is deleted."""
        for first in range(0, len(records), AT_ONCE):
            some = records[first : first + AT_ONCE]
            update = self._update()
            for record in some:
                if record["values"]:
                    update.replace(_full(record["name"]), ttl, record["type"], *record["values"])
                else:
                    update.delete(_full(record["name"]), record["type"])
            code = self._sent(update, "set the names")
            if code != dns.rcode.NOERROR:
                names = ", ".join(record["name"] for record in some[:3]) + (" and others" if len(some) > 3 else "")
                raise CollectionError(
                    f"Cannot set {names} in zone {self._zone}: {self._at} returned {dns.rcode.to_text(code)}. "
                    f"NOTAUTH: the server does not serve this zone or does not have the key {self._key}. REFUSED: the key may not "
                    "change these names."
                )

    def _update(self) -> dns.update.UpdateMessage:
        return dns.update.UpdateMessage(_full(self._zone), keyring=self._keyring, keyalgorithm=self._algorithm)

    def _sent(self, update: dns.update.UpdateMessage, attempt: str, attempts: int = ATTEMPTS) -> dns.rcode.Rcode:
        try:
            with self._connected(attempt) as connection:
                return dns.query.tcp(update, self._server, sock=connection, timeout=self._timeout).rcode()
        except _NoAnswerError:
            if attempts == 1:
                raise
        return self._sent(update, attempt, attempts - 1)

    @property
    def _at(self) -> str:
        return f"{self._server} port {self._port}"

    @contextmanager
    def _connected(self, attempt: str) -> Iterator[Any]:
        try:
            with socket.create_connection((self._server, self._port), timeout=self._timeout) as connection:
                # dnspython waits itself, and needs a non-blocking socket.
                connection.setblocking(False)
                yield connection
        except dns.tsig.PeerError as problem:
            raise CollectionError(
                f"Cannot {attempt} at {self._at}: {problem}. Check name, secret and algorithm of the key {self._key}"
            ) from problem
        except (OSError, EOFError, dns.exception.DNSException) as problem:
            silent = isinstance(problem, (TimeoutError, EOFError, ConnectionResetError, dns.exception.Timeout))
            kind = _NoAnswerError if silent else CollectionError
            raise kind(f"Cannot {attempt} at {self._at}: {str(problem).rstrip('.') or type(problem).__name__}.") from problem


def normal(record: Mapping[str, Any]) -> list[str]:
    """Return the values of a record set in canonical form, unique and sorted. Raises CollectionError for malformed values."""
    kind = dns.rdatatype.from_text(record["type"])
    try:
        return sorted({dns.rdata.from_text(dns.rdataclass.IN, kind, value).to_text() for value in record["values"]})
    except dns.exception.DNSException as problem:
        raise CollectionError(f"{record['name']} cannot have {record['type']} {', '.join(record['values'])}: {problem}.") from problem


def _full(name: str) -> str:
    return name.rstrip(".") + "."


def resolve(server: str, port: int, names: Sequence[str], timeout: float) -> dict[str, list[str]]:
    """Return the addresses of each name, of both families and through aliases, by a resolver.

    Without a ``server`` the one of this computer is asked. A name without an answer has none. Raises CollectionError for a resolver that
    does not answer at all.
    """
    resolver = dns.resolver.Resolver(configure=not server)
    if server:
        try:
            resolver.nameservers = [str(entry[4][0]) for entry in socket.getaddrinfo(server, port, type=socket.SOCK_DGRAM)[:1]]
        except (OSError, ValueError, OverflowError) as problem:
            raise CollectionError(f"Cannot use the resolver {server} port {port}: {problem}.") from problem
        resolver.port = port
    resolver.lifetime = timeout
    resolver.cache = None

    def ask(name: str, kind: str) -> list[str]:
        try:
            return [rdata.to_text() for rdata in resolver.resolve(_full(name), kind, search=False)]
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []

    try:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            answers_by_name = {name: [pool.submit(ask, name, kind) for kind in ("A", "AAAA")] for name in names}
        return {name: sorted(address for answer in answers for address in answer.result()) for name, answers in answers_by_name.items()}
    except (OSError, dns.exception.DNSException) as problem:
        place = f"{server} port {port}" if server else "the resolver of this computer"
        raise CollectionError(f"Cannot resolve names at {place}: {problem or type(problem).__name__}.") from problem
