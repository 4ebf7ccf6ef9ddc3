# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the DHCP servers of a network: sends DHCPDISCOVER (RFC 2131) and collects offers."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

WAIT: Final = 5.0
"""Seconds for offers: servers check with ICMP that an address is free first, dnsmasq for 3 s."""

_ETHERTYPE_IPV4: Final = 0x0800
_BROADCAST: Final = b"\xff" * 6
_UDP: Final = 17
_SERVER_PORT, _CLIENT_PORT = 67, 68
_MAGIC: Final = bytes.fromhex("63825363")
_HEADER: Final = 240
_DISCOVER, _OFFER, _ACK = 1, 2, 5
MESSAGE_TYPE, SERVER_ID, PARAMETERS = 53, 54, 55


class ProbeError(Exception):
    """No DHCPDISCOVER can be sent; the message has the interface and what to do."""


@dataclass(frozen=True)
class Offer:
    """An answer to a DHCPDISCOVER. ``file``: what to boot, of the option or of the header. ``options``: by their numbers."""

    server: str
    address: str
    next_server: str
    file: str
    options: Mapping[int, bytes]


async def other_servers(interface: str, *, ours: Collection[str] = (), wait: float = WAIT) -> list[str]:
    """Return the addresses of the DHCP servers that answer an unknown client on ``interface``, without ``ours``.

    A server that serves known clients only is not found. Raises :class:`ProbeError`.
    """
    # Locally administered, so that it is no card's address.
    mac = b"\x02" + secrets.token_bytes(5)
    answers = await asyncio.to_thread(lambda: list(offers(interface, mac, wait=wait)))
    return sorted({offer.server for offer in answers} - set(ours))


def offers(interface: str, mac: bytes, *, options: Mapping[int, bytes] | None = None, wait: float = WAIT) -> Iterator[Offer]:
    """Yield the answers to a DHCPDISCOVER of the client ``mac``, sent twice in ``wait`` seconds. Raises :class:`ProbeError`."""
    transaction = secrets.token_bytes(4)
    frame = _frame(mac, _discover(transaction, mac, options or {}))
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETHERTYPE_IPV4)) as connection:
            connection.bind((interface, _ETHERTYPE_IPV4))
            end = time.monotonic() + wait
            for until in (end - wait / 2, end):
                connection.send(frame)
                while (left := until - time.monotonic()) > 0:
                    connection.settimeout(left)
                    try:
                        offer = _offer(connection.recv(65535), transaction)
                    except TimeoutError:
                        break
                    if offer is not None:
                        yield offer
    except PermissionError as error:
        raise ProbeError(f"the search for DHCP servers on {interface} needs CAP_NET_RAW (run as root): {error}") from error
    except OSError as error:
        raise ProbeError(f"the search for DHCP servers on {interface} fails: {error}: is the interface up?") from error


def _discover(transaction: bytes, mac: bytes, options: Mapping[int, bytes]) -> bytes:
    """Return a DHCPDISCOVER that requests an answer by broadcast: the client's address does not exist."""
    head = struct.pack("!BBBB4sHH4s4s4s4s16s64s128s", 1, 1, 6, 0, transaction, 0, 0x8000, *[bytes(4)] * 4, mac, b"", b"")
    fields = {MESSAGE_TYPE: bytes([_DISCOVER]), PARAMETERS: bytes([1, 3, 6, 12, 43, 60, 66, 67]), **options}
    return head + _MAGIC + b"".join(bytes([code, len(value)]) + value for code, value in fields.items()) + b"\xff"


def _frame(mac: bytes, payload: bytes) -> bytes:
    """Return ``payload`` as UDP broadcast from address 0.0.0.0 in an Ethernet frame. The UDP checksum is optional in IPv4."""
    udp = struct.pack("!HHHH", _CLIENT_PORT, _SERVER_PORT, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, _UDP, 0, bytes(4), b"\xff" * 4)
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack("!H", checksum) + head[12:]
    return _BROADCAST + mac + struct.pack("!H", _ETHERTYPE_IPV4) + head + udp


def _offer(frame: bytes, transaction: bytes) -> Offer | None:
    """Return the offer in an Ethernet frame with an answer to ``transaction``; None for any other frame."""
    packet = frame[14:]
    if len(packet) < 20 or packet[9] != _UDP:
        return None
    udp = packet[(packet[0] & 15) * 4 :]
    message = udp[8:]
    if len(message) < _HEADER or struct.unpack("!H", udp[2:4])[0] != _CLIENT_PORT or message[0] != 2 or message[4:8] != transaction:
        return None
    options = _options(message[_HEADER:])
    if options.get(MESSAGE_TYPE, b"\0")[0] not in {_OFFER, _ACK}:
        return None
    identifier = options.get(SERVER_ID, b"")
    return Offer(
        server=str(IPv4Address(identifier if len(identifier) == 4 else packet[12:16])),
        address=str(IPv4Address(message[16:20])),
        next_server=str(IPv4Address(message[20:24])),
        file=(options.get(67) or message[108:236]).split(b"\0", 1)[0].decode(errors="replace"),
        options=options,
    )


def _options(data: bytes) -> dict[int, bytes]:
    options: dict[int, bytes] = {}
    index = 0
    while index + 1 < len(data) and data[index] != 255:
        if data[index] == 0:
            index += 1
            continue
        length = data[index + 1]
        if length:
            options[data[index]] = data[index + 2 : index + 2 + length]
        index += 2 + length
    return options
