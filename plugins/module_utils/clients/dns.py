# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge to a DNS server that takes signed updates (RFC 2136, RFC 8945); of the modules the only importer of dnspython.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import binascii
import socket
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, together

try:
    import dns.exception
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype
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
"""So many questions go over one connection one after the other, and over so many connections at the same time: a server far away takes
hundredths of a second for each."""


class Found(NamedTuple):
    """What a server has of a set of records: its values, sorted, or what its name is an alias of, by itself or by a wildcard above it."""

    values: list[str]
    alias: str


class DNSClient:
    """One server and one zone at it. Questions go over few connections, and changes in few messages.

    ``timeout`` in seconds limits each question. Raises CollectionError for a server that does not answer, or refuses.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._server, self._port, self._timeout = params["server"], params["port"], params["timeout"]
        self._zone, self._key = params["zone"], params["key_name"]
        # Its name on the wire is an older one (RFC 8945, 6).
        self._algorithm = dns.tsig.HMAC_MD5 if params["key_algorithm"] == "hmac-md5" else params["key_algorithm"]
        try:
            self._keyring = dns.tsigkeyring.from_text({params["key_name"]: params["key_secret"]})
        except (binascii.Error, ValueError, dns.exception.DNSException) as problem:
            raise CollectionError(f"The key {self._key} cannot be used: key_secret has to be base64 ({problem}).") from problem

    def find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        """What the server has of each of these sets of records (``name``, ``type``)."""
        parts = [records[first : first + ASKED_IN_TURN] for first in range(0, len(records), ASKED_IN_TURN)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            return [found for part in pool.map(self._find, parts) for found in part]

    def _find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        found = []
        with self._connected("ask for the names") as connection:
            for record in records:
                answer = dns.query.tcp(
                    dns.message.make_query(_full(record["name"]), record["type"]), self._server, sock=connection, timeout=self._timeout
                )
                if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
                    raise CollectionError(f"Cannot ask {self._at} for {record['name']}: it answered {dns.rcode.to_text(answer.rcode())}.")
                own = [rrset for rrset in answer.answer if rrset.name == dns.name.from_text(_full(record["name"]))]
                by_kind = {rrset.rdtype: sorted(rdata.to_text() for rdata in rrset) for rrset in own}
                values, aliases = by_kind.get(dns.rdatatype.from_text(record["type"]), []), by_kind.get(dns.rdatatype.CNAME, [])
                found.append(Found(values, "".join(aliases)))
        return found

    def refuse_aliases(self, aliases: Mapping[str, str]) -> None:
        """Raises CollectionError for those of these names (with what they are aliases of) that are it by themselves, and by no wildcard.

        A server leaves out what is to be set beside an alias, and says that all is well (RFC 2136, 3.4.2.2).
        """
        own = self.own(list(aliases))
        problems = [
            f"{name} is an alias (CNAME) of {target.rstrip('.')}"
            for (name, target), by_itself in zip(aliases.items(), own, strict=True)
            if by_itself
        ]
        if problems:
            raise CollectionError(
                together(f"Nothing was set in zone {self._zone} at {self._at}, since nothing can stand beside an alias", problems)
                + ". Remove the alias, or take another name."
            )

    def own(self, names: Sequence[str]) -> list[bool]:
        """Whether each of these names, for which the server has an answer, is there itself: else a wildcard above it has answered."""
        found: list[bool] = []
        for first in range(0, len(names), AT_ONCE):
            some = names[first : first + AT_ONCE]
            # Hardly ever is there such a wildcard: one question for all of them.
            found += [True] * len(some) if self._are_there(some) else [self._are_there([name]) for name in some]
        return found

    def _are_there(self, names: Sequence[str]) -> bool:
        question = self._update()
        for name in names:
            question.present(_full(name))
        code = self._sent(question, f"ask whether {names[0]} is there")
        if code not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise CollectionError(f"Cannot ask {self._at} whether {names[0]} is there: it answered {dns.rcode.to_text(code)}.")
        return bool(code == dns.rcode.NOERROR)

    def set(self, records: Sequence[Mapping[str, Any]], ttl: int) -> None:
        """Make each of these sets of records (``name``, ``type``, ``values``) what it says; without values there is none afterwards."""
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
                told = ", ".join(record["name"] for record in some[:3]) + (" and others" if len(some) > 3 else "")
                raise CollectionError(
                    f"Cannot set {told} in zone {self._zone}: {self._at} answered {dns.rcode.to_text(code)}. "
                    f"NOTAUTH means that it does not keep this zone or does not know the key {self._key}, REFUSED that the key may not "
                    "change these names."
                )

    def _update(self) -> dns.update.UpdateMessage:
        return dns.update.UpdateMessage(_full(self._zone), keyring=self._keyring, keyalgorithm=self._algorithm)

    def _sent(self, update: dns.update.UpdateMessage, attempt: str) -> dns.rcode.Rcode:
        with self._connected(attempt) as connection:
            return dns.query.tcp(update, self._server, sock=connection, timeout=self._timeout).rcode()

    @property
    def _at(self) -> str:
        return f"{self._server} port {self._port}"

    @contextmanager
    def _connected(self, attempt: str) -> Iterator[Any]:
        try:
            with socket.create_connection((self._server, self._port), timeout=self._timeout) as connection:
                # dnspython waits for it by itself, and wants one that does not block.
                connection.setblocking(False)
                yield connection
        except dns.tsig.PeerError as problem:
            raise CollectionError(
                f"Cannot {attempt} at {self._at}: {problem} Is {self._key} its key, with this secret and this algorithm?"
            ) from problem
        except (OSError, EOFError, dns.exception.DNSException) as problem:
            raise CollectionError(f"Cannot {attempt} at {self._at}: {problem or type(problem).__name__}.") from problem


def normal(record: Mapping[str, Any]) -> list[str]:
    """The values of a set of records as a server would spell them, each once and sorted. Raises CollectionError for what is none."""
    kind = dns.rdatatype.from_text(record["type"])
    try:
        return sorted({dns.rdata.from_text(dns.rdataclass.IN, kind, value).to_text() for value in record["values"]})
    except dns.exception.DNSException as problem:
        raise CollectionError(f"{record['name']} cannot have {record['type']} {', '.join(record['values'])}: {problem}.") from problem


def _full(name: str) -> str:
    return name.rstrip(".") + "."
