# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An authoritative DNS server for one zone, with dynamic updates (RFC 2136) guarded by TSIG (RFC 8945).

Clients get the answers of BIND: REFUSED for names outside the zone, NOTAUTH for updates with an unknown key or a bad signature, REFUSED for
updates without a key, NXDOMAIN and NODATA with the zone's SOA. The zone is written to a file before an update is answered, so no
acknowledged update is lost when the process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import random
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.node
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone

LOG = logging.getLogger(__name__)

KEY_ALGORITHM = dns.tsig.HMAC_SHA256
UDP_SIZE = 1232
"""Answers larger than this over UDP are truncated, so that the client comes back over TCP (DNS flag day 2020)."""
TRANSFER_TYPES = (dns.rdatatype.AXFR, dns.rdatatype.IXFR)
CHAIN_LIMIT = 8
ORDERS = 8
"""A large answer is kept in so many orders of its records, so that several addresses still share the load."""
HEADER_SIZE = 12
MAX_KEPT = 256
"""Large answers that are kept at most: a client could ask for one with any number of other bytes."""
RESPONSE = 0x80
"""The bit of the header's third byte that responses have."""
TRUNCATED = 0x02
"""The bit of the same byte that truncated responses have."""

Rdatas = list[dns.rdata.Rdata]


class DynamicZone:
    """The records of a zone, with queries, transfers and updates as messages.

    ``path``: its master file. ``keyring``: the TSIG keys that may update and transfer. ``others``: addresses of names outside of the zone,
    which another server has.
    """

    def __init__(
        self, origin: str, path: Path, keyring: dict[dns.name.Name, dns.tsig.Key], others: Mapping[str, str] | None = None
    ) -> None:
        self._others = {dns.name.from_text(name): address for name, address in (others or {}).items()}
        self.origin = dns.name.from_text(origin)
        self.keyring = keyring
        self._path = path
        # Answers too large for a datagram, without their id: five hundred machines that boot ask for the same record of as many addresses.
        self._large: dict[tuple[bytes, bool], list[bytes]] = {}
        if path.exists():
            self._zone = dns.zone.from_file(str(path), origin=self.origin, relativize=False)
        else:
            self._zone = dns.zone.from_text(_new_zone(self.origin), origin=self.origin, relativize=False)
            self._write()

    def name_server_at(self, address: str) -> None:
        """Set the address of the zone's name server, which may differ from the last start."""
        name, desired = dns.name.from_text("ns", self.origin), dns.rdataset.from_text("IN", "A", 60, address)
        if self._rdataset(name, dns.rdatatype.A) != desired:
            self._zone.replace_rdataset(name, desired)
            self._next_serial()
            self._write()

    @property
    def serial(self) -> int:
        return int(self._soa()[0].serial)

    def records(self) -> list[str]:
        """Return all records except SOA and NS of the apex, as lines of a master file."""
        lines = []
        for name, ttl, rdata in self._zone.iterate_rdatas():
            if name == self.origin and rdata.rdtype in (dns.rdatatype.SOA, dns.rdatatype.NS):
                continue
            lines.append(f"{name} {ttl} {dns.rdatatype.to_text(rdata.rdtype)} {rdata}")
        return sorted(lines)

    def answer(self, wire: bytes, *, tcp: bool) -> bytes | None:
        """Return the reply to a message, ``None`` for one that is no DNS query and gets no reply."""
        if len(wire) < HEADER_SIZE or wire[2] & RESPONSE:
            return None
        kept = self._large.get((wire[2:], tcp), ())
        return self._answer(wire, tcp=tcp) if len(kept) < ORDERS else wire[:2] + random.choice(kept)  # noqa: S311 - the order of records

    def _answer(self, wire: bytes, *, tcp: bool) -> bytes:
        try:
            request = dns.message.from_wire(wire, keyring=self.keyring)
        except dns.message.UnknownTSIGKey:
            return self._distrusted(wire, dns.rcode.BADKEY)
        except (dns.tsig.BadSignature, dns.tsig.BadKey, dns.tsig.BadAlgorithm):
            return self._distrusted(wire, dns.rcode.BADSIG)
        except dns.tsig.BadTime:
            return self._distrusted(wire, dns.rcode.BADTIME)
        except dns.exception.DNSException:
            return self._malformed(wire)
        reply = self._respond(request, tcp=tcp)
        if request.opcode() == dns.opcode.QUERY and not request.had_tsig and (len(reply) > UDP_SIZE or reply[2] & TRUNCATED):
            if len(self._large) >= MAX_KEPT:
                self._large.clear()
            self._large.setdefault((wire[2:], tcp), []).append(reply[2:])
        return reply

    def _respond(self, request: dns.message.Message, *, tcp: bool) -> bytes:
        response = dns.message.make_response(request, recursion_available=False)
        if isinstance(request, dns.update.UpdateMessage):
            response.set_rcode(self._update(request))
        elif request.opcode() != dns.opcode.QUERY:
            response.set_rcode(dns.rcode.NOTIMP)
        elif len(request.question) != 1:
            response.set_rcode(dns.rcode.FORMERR)
        elif request.question[0].rdtype in TRANSFER_TYPES:
            self._transfer(request, response, tcp=tcp)
        else:
            self._query(request.question[0], response)
        size = 65535 if tcp else min(UDP_SIZE, max(request.payload, 512))
        try:
            return response.to_wire(max_size=size)
        except dns.exception.TooBig:
            for section in (response.answer, response.authority, response.additional):
                section.clear()
            response.flags |= dns.flags.TC
            return response.to_wire(max_size=size)

    # -- queries

    def _query(self, question: dns.rrset.RRset, response: dns.message.Message) -> None:
        if question.rdclass == dns.rdataclass.IN and question.name in self._others:
            if question.rdtype == dns.rdatatype.A:
                response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", self._others[question.name]))
            return
        if question.rdclass != dns.rdataclass.IN or not question.name.is_subdomain(self.origin):
            response.set_rcode(dns.rcode.REFUSED)
            return
        response.flags |= dns.flags.AA
        name, seen = question.name, 0
        while seen < CHAIN_LIMIT:
            seen += 1
            node, exists = self._lookup(name)
            if node is None:
                if not exists and seen == 1:
                    response.set_rcode(dns.rcode.NXDOMAIN)
                self._negative(response)
                return
            alias = node.get_rdataset(dns.rdataclass.IN, dns.rdatatype.CNAME)
            if alias is not None and question.rdtype not in (dns.rdatatype.CNAME, dns.rdatatype.ANY):
                response.answer.append(dns.rrset.from_rdata_list(name, alias.ttl, list(alias)))
                name = alias[0].target
                if not name.is_subdomain(self.origin):
                    return
                continue
            rdatasets = [r for r in node if question.rdtype in (r.rdtype, dns.rdatatype.ANY)]
            # dnspython shuffles an RRset on its way out, as BIND's rrset-order random: so several addresses share the load.
            for rdataset in rdatasets:
                response.answer.append(dns.rrset.from_rdata_list(name, rdataset.ttl, list(rdataset)))
            if not rdatasets:
                self._negative(response)
            return

    def _lookup(self, name: dns.name.Name) -> tuple[dns.node.Node | None, bool]:
        """Return the node that answers for ``name`` (itself, or a wildcard, RFC 4592), and whether the name exists at all."""
        node = self._zone.get_node(name)
        if node is not None and len(node) > 0:
            return node, True
        if any(other.is_subdomain(name) for other in self._zone.nodes):
            return None, True  # an empty non-terminal: exists, has no data, and hides wildcards above it
        closest = name
        while closest != self.origin:
            closest = closest.parent()
            if any(other.is_subdomain(closest) for other in self._zone.nodes):
                break
        wildcard = self._zone.get_node(dns.name.Name((b"*", *closest.labels)))
        return (wildcard, True) if wildcard is not None and len(wildcard) > 0 else (None, False)

    def _negative(self, response: dns.message.Message) -> None:
        soa = self._soa()
        response.authority.append(dns.rrset.from_rdata_list(self.origin, min(soa.ttl, soa[0].minimum), list(soa)))

    def _transfer(self, request: dns.message.Message, response: dns.message.Message, *, tcp: bool) -> None:
        question = request.question[0]
        if not request.had_tsig or question.name != self.origin:
            response.set_rcode(dns.rcode.REFUSED if question.name == self.origin else dns.rcode.NOTAUTH)
            return
        if not tcp:
            response.flags |= dns.flags.TC
            return
        response.flags |= dns.flags.AA
        soa = dns.rrset.from_rdata_list(self.origin, self._soa().ttl, list(self._soa()))
        response.answer.append(soa)
        for name, rdataset in self._zone.iterate_rdatasets():
            if rdataset.rdtype != dns.rdatatype.SOA:
                response.answer.append(dns.rrset.from_rdata_list(name, rdataset.ttl, list(rdataset)))
        # A second SOA closes the transfer (RFC 5936); as an RRset of its own it is not merged with the first.
        response.answer.append(dns.rrset.from_rdata_list(self.origin, self._soa().ttl, list(self._soa())))

    def _distrusted(self, wire: bytes, error: dns.rcode.Rcode) -> bytes:
        """Return NOTAUTH with an unsigned TSIG record that names the error (RFC 8945 section 5.2)."""
        try:
            request = dns.message.from_wire(wire, keyring=False)
        except dns.exception.DNSException:
            return self._malformed(wire)
        response = dns.message.make_response(request)
        response.set_rcode(dns.rcode.NOTAUTH)
        if request.tsig is not None:
            tsig = request.tsig[0].replace(mac=b"", error=error, other=b"")
            response.tsig = dns.rrset.from_rdata(request.tsig.name, 0, tsig)
        return response.to_wire()

    def _malformed(self, wire: bytes) -> bytes:
        """Return FORMERR as a bare header: there is no message to make a response from."""
        opcode = (wire[2] >> 3) & 0xF
        return wire[:2] + bytes([RESPONSE | (opcode << 3), int(dns.rcode.FORMERR)]) + b"\0" * 8

    # -- updates

    def _update(self, request: dns.update.UpdateMessage) -> dns.rcode.Rcode:  # noqa: PLR0911 - one return for each refusal the RFC lists
        if len(request.zone) != 1 or request.zone[0].rdtype != dns.rdatatype.SOA:
            return dns.rcode.FORMERR
        if request.zone[0].name != self.origin or request.zone[0].rdclass != dns.rdataclass.IN:
            return dns.rcode.NOTAUTH
        if not request.had_tsig:
            return dns.rcode.REFUSED
        # As BIND since 9.18.11: the update section is checked before the prerequisites, though RFC 2136 has the reverse order.
        if any(not rrset.name.is_subdomain(self.origin) for rrset in request.update):
            return dns.rcode.NOTZONE
        if not all(_well_formed(rrset, (dns.rdataclass.ANY,)) for rrset in request.update):
            return dns.rcode.FORMERR
        if not all(_well_formed(rrset, (dns.rdataclass.ANY, dns.rdataclass.NONE)) for rrset in request.prerequisite):
            return dns.rcode.FORMERR
        rcode = self._prerequisites(request)
        if rcode != dns.rcode.NOERROR:
            return rcode
        before = self._zone.to_text(relativize=False)
        changed = False
        for rrset in _together(request.update):
            changed = self._apply(rrset) or changed
        if changed:
            self._next_serial()
            try:
                self._write()
            except OSError:
                LOG.exception("zone file %s could not be written, the update is not done", self._path)
                self._zone = dns.zone.from_text(before, origin=self.origin, relativize=False)
                return dns.rcode.SERVFAIL
            LOG.info("zone %s is now at serial %d", self.origin, self.serial)
        return dns.rcode.NOERROR

    def _prerequisites(self, request: dns.update.UpdateMessage) -> dns.rcode.Rcode:  # noqa: PLR0911 - one return for each refusal the RFC lists
        """Check the prerequisites (RFC 2136 section 3.2)."""
        required: dict[tuple[dns.name.Name, dns.rdatatype.RdataType], set[dns.rdata.Rdata]] = {}
        for rrset in request.prerequisite:
            if not rrset.name.is_subdomain(self.origin):
                return dns.rcode.NOTZONE
            node = self._zone.get_node(rrset.name)
            in_use = node is not None and len(node) > 0
            exists = in_use and self._rdataset(rrset.name, rrset.rdtype) is not None
            if rrset.deleting == dns.rdataclass.ANY:
                if rrset.rdtype == dns.rdatatype.ANY and not in_use:
                    return dns.rcode.NXDOMAIN
                if rrset.rdtype != dns.rdatatype.ANY and not exists:
                    return dns.rcode.NXRRSET
            elif rrset.deleting == dns.rdataclass.NONE:
                if rrset.rdtype == dns.rdatatype.ANY and in_use:
                    return dns.rcode.YXDOMAIN
                if rrset.rdtype != dns.rdatatype.ANY and exists:
                    return dns.rcode.YXRRSET
            else:
                required.setdefault((rrset.name, rrset.rdtype), set()).update(rrset)
        for (name, rdtype), rdatas in required.items():
            rdataset = self._rdataset(name, rdtype)
            if rdataset is None or set(rdataset) != rdatas:
                return dns.rcode.NXRRSET
        return dns.rcode.NOERROR

    def _apply(self, rrset: dns.rrset.RRset) -> bool:
        """Apply one item of the update section (RFC 2136 section 3.4.2), and return whether it changed the zone."""
        apex = rrset.name == self.origin
        kept = (dns.rdatatype.SOA, dns.rdatatype.NS) if apex else ()
        if rrset.deleting == dns.rdataclass.ANY:
            if rrset.rdtype == dns.rdatatype.ANY:
                node = self._zone.get_node(rrset.name)
                types = [] if node is None else [r.rdtype for r in node if r.rdtype not in kept]
            else:
                types = [] if rrset.rdtype in kept else [rrset.rdtype]
            gone = [t for t in types if self._rdataset(rrset.name, t) is not None]
            for rdtype in gone:
                self._zone.delete_rdataset(rrset.name, rdtype)
            return bool(gone)
        if rrset.deleting == dns.rdataclass.NONE:
            rdataset = self._rdataset(rrset.name, rrset.rdtype)
            if rdataset is None or rrset.rdtype == dns.rdatatype.SOA:
                return False
            left = [rdata for rdata in rdataset if rdata not in rrset]
            if len(left) == len(rdataset) or (not left and rrset.rdtype in kept):
                return False
            self._replace(rrset.name, rdataset.ttl, rrset.rdtype, left)
            return True
        return self._add(rrset)

    def _add(self, rrset: dns.rrset.RRset) -> bool:
        node = self._zone.get_node(rrset.name)
        alias = dns.rdatatype.CNAME
        others = node is not None and any(r.rdtype != alias for r in node)
        if rrset.rdtype == dns.rdatatype.SOA or (rrset.rdtype == alias and others):
            return False
        if rrset.rdtype != alias and self._rdataset(rrset.name, alias) is not None:
            return False
        rdataset = self._rdataset(rrset.name, rrset.rdtype)
        old = {} if rdataset is None or rrset.rdtype == alias else dict.fromkeys(rdataset)
        new = list(old | dict.fromkeys(rrset))
        if rdataset is not None and rdataset.ttl == rrset.ttl and set(rdataset) == set(new):
            return False
        self._replace(rrset.name, rrset.ttl, rrset.rdtype, new)
        return True

    def _replace(self, name: dns.name.Name, ttl: int, rdtype: dns.rdatatype.RdataType, rdatas: Rdatas) -> None:
        if rdatas:
            self._zone.replace_rdataset(name, dns.rdataset.from_rdata_list(ttl, rdatas))
        else:
            self._zone.delete_rdataset(name, rdtype)

    def _rdataset(self, name: dns.name.Name, rdtype: dns.rdatatype.RdataType) -> dns.rdataset.Rdataset | None:
        return self._zone.get_rdataset(name, rdtype)

    def _soa(self) -> dns.rdataset.Rdataset:
        return self._zone.find_rdataset(self.origin, dns.rdatatype.SOA)

    def _next_serial(self) -> None:
        self._large.clear()
        soa = self._soa()
        serial = (int(soa[0].serial) + 1) & 0xFFFFFFFF or 1
        self._zone.replace_rdataset(self.origin, dns.rdataset.from_rdata(soa.ttl, soa[0].replace(serial=serial)))

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", encoding="ascii") as stream:
            stream.write(f"$ORIGIN {self.origin}\n")
            stream.write(self._zone.to_text(relativize=False))
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(self._path)


def _together(updates: Iterable[dns.rrset.RRset]) -> Iterator[dns.rrset.RRset]:
    """Yield the items of an update section, with those that add to one set after each other as one: a message has one item for each
    record, and adding a thousand addresses one by one would compare a million.
    """
    for (name, rdtype, deleting, ttl), items in itertools.groupby(updates, lambda item: (item.name, item.rdtype, item.deleting, item.ttl)):
        # Of these only the first one would be seen, or each of them is about all records.
        if deleting is not None or rdtype in (dns.rdatatype.SOA, dns.rdatatype.CNAME):
            yield from items
        else:
            yield dns.rrset.from_rdata_list(name, ttl, [rdata for item in items for rdata in item])


def _well_formed(rrset: dns.rrset.RRset, any_type: Container[dns.rdataclass.RdataClass | None]) -> bool:
    """Return whether an update may name such records (RFC 2136 sections 3.2.5 and 3.4.1.3).

    They are of the zone's class and of a type that records have. The type ``ANY`` stands for all of a name where the class is ``any_type``.
    """
    if rrset.rdclass != dns.rdataclass.IN:
        return False
    every = rrset.rdtype == dns.rdatatype.ANY and rrset.deleting in any_type
    return every or not dns.rdatatype.is_metatype(rrset.rdtype)


class Server:
    """Serves a :class:`DynamicZone` on one address and port, UDP and TCP."""

    def __init__(self, zone: DynamicZone, address: str = "127.0.0.1", port: int = 0) -> None:
        self.zone = zone
        self.address = address
        self.port = port
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Bind both sockets; with port 0 one that is free on both is chosen. Raises ``OSError`` when the port is taken."""
        loop = asyncio.get_running_loop()
        for attempt in range(16):
            self._tcp = await asyncio.start_server(self._stream, self.address, self.port)
            port = int(self._tcp.sockets[0].getsockname()[1])
            try:
                self._udp, _unused = await loop.create_datagram_endpoint(lambda: _Datagrams(self.zone), local_addr=(self.address, port))
            except OSError:
                self._tcp.close()
                if self.port or attempt == 15:
                    raise
                continue
            self.port = port
            self.zone.name_server_at(self.address)
            return

    async def stop(self) -> None:
        if self._udp is not None:
            self._udp.close()
        if self._tcp is not None:
            self._tcp.close()
            for writer in list(self._writers):
                writer.close()

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
                while True:
                    async with asyncio.timeout(30):
                        size = int.from_bytes(await reader.readexactly(2))
                        reply = self.zone.answer(await reader.readexactly(size), tcp=True)
                    if reply is None:
                        return
                    writer.write(len(reply).to_bytes(2) + reply)
                    await writer.drain()
        finally:
            self._writers.discard(writer)
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, zone: DynamicZone) -> None:
        self._zone = zone
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not isinstance: before Python 3.12 the loop's transport is one without saying so.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._zone.answer(data, tcp=False)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)


def keyring(name: str, secret: str) -> dict[dns.name.Name, dns.tsig.Key]:
    """Return a keyring of one hmac-sha256 key; ``secret`` in base64."""
    key = dns.tsig.Key(dns.name.from_text(name), secret, KEY_ALGORITHM)
    return {key.name: key}


def _new_zone(origin: dns.name.Name) -> str:
    # Negative answers are cached for 5 s only: a name is often queried just before it is created.
    return (
        f"{origin} 60 IN SOA ns.{origin} hostmaster.{origin} {int(time.time())} 60 30 604800 5\n"
        f"{origin} 60 IN NS ns.{origin}\n"
        f"ns.{origin} 60 IN A 127.0.0.1\n"
    )
