"""The sandbox's name server, asked and updated by dnspython as community.general.nsupdate does it."""

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import dns.asyncquery
import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone
import pytest

from sandbox.dns import DynamicZone, Server, keyring

ORIGIN = "metal.test"
SECRET = "c2FuZGJveC1zYW5kYm94LXNhbmRib3gtc2FuZGJveCE="
KEY = dns.tsigkeyring.from_text({"sandbox": ("hmac-sha256", SECRET)})
WRONG_SECRET = dns.tsigkeyring.from_text({"sandbox": ("hmac-sha256", "d3Jvbmc=")})
WRONG_NAME = dns.tsigkeyring.from_text({"stranger": ("hmac-sha256", SECRET)})


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    running = Server(DynamicZone(ORIGIN, tmp_path / "zone", keyring("sandbox", SECRET)))
    await running.start()
    yield running
    await running.stop()


async def ask(server: Server, name: str, rdtype: str = "A", *, tcp: bool = False) -> dns.message.Message:
    query = dns.message.make_query(name, rdtype)
    exchange = dns.asyncquery.tcp if tcp else dns.asyncquery.udp
    return await exchange(query, server.address, port=server.port, timeout=20)


async def send(server: Server, update: dns.update.UpdateMessage) -> dns.rcode.Rcode:
    return (await dns.asyncquery.tcp(update, server.address, port=server.port, timeout=20)).rcode()


def an_update(ring: object = KEY, zone: str = ORIGIN) -> dns.update.UpdateMessage:
    return dns.update.UpdateMessage(zone, keyring=ring)


def addresses(message: dns.message.Message) -> list[str]:
    return sorted(rdata.address for rrset in message.answer if rrset.rdtype == dns.rdatatype.A for rdata in rrset)


@pytest.mark.parametrize("tcp", [False, True])
async def test_records_come_and_go(server: Server, tcp: bool) -> None:
    update = an_update()
    update.replace("api.demo", 60, "A", "127.64.0.2", "127.64.0.3")
    before = server.zone.serial
    assert await send(server, update) == dns.rcode.NOERROR
    reply = await ask(server, "api.demo.metal.test", tcp=tcp)
    assert addresses(reply) == ["127.64.0.2", "127.64.0.3"]
    assert reply.flags & dns.flags.AA
    assert reply.answer[0].ttl == 60
    assert server.zone.serial == before + 1
    update = an_update()
    update.delete("api.demo", "A", "127.64.0.2")
    assert await send(server, update) == dns.rcode.NOERROR
    assert addresses(await ask(server, "API.demo.metal.test", tcp=tcp)) == ["127.64.0.3"]
    update = an_update()
    update.delete("api.demo")
    assert await send(server, update) == dns.rcode.NOERROR
    reply = await ask(server, "api.demo.metal.test", tcp=tcp)
    assert reply.rcode() == dns.rcode.NXDOMAIN
    assert reply.authority[0].rdtype == dns.rdatatype.SOA
    assert server.zone.records() == ["ns.metal.test. 60 A 127.0.0.1"]


async def test_wildcards_and_empty_names(server: Server) -> None:
    update = an_update()
    update.add("*.apps.demo", 60, "A", "127.64.0.5")
    update.add("www.apps.demo", 60, "TXT", '"here"')
    await send(server, update)
    assert addresses(await ask(server, "anything.apps.demo.metal.test")) == ["127.64.0.5"]
    assert addresses(await ask(server, "deep.er.apps.demo.metal.test")) == ["127.64.0.5"]
    existing = await ask(server, "www.apps.demo.metal.test")
    assert (existing.rcode(), existing.answer) == (dns.rcode.NOERROR, [])
    between = await ask(server, "demo.metal.test")
    assert (between.rcode(), between.answer) == (dns.rcode.NOERROR, [])
    assert (await ask(server, "api.demo.metal.test")).rcode() == dns.rcode.NXDOMAIN


async def test_unsigned_updates_are_refused(server: Server) -> None:
    update = an_update(ring=None)
    update.add("api.demo", 60, "A", "127.64.0.2")
    assert await send(server, update) == dns.rcode.REFUSED
    assert server.zone.records() == ["ns.metal.test. 60 A 127.0.0.1"]


@pytest.mark.parametrize(("ring", "error"), [(WRONG_SECRET, dns.tsig.PeerBadSignature), (WRONG_NAME, dns.tsig.PeerBadKey)])
async def test_bad_signatures_have_different_errors(server: Server, ring: object, error: type[Exception]) -> None:
    update = an_update(ring)
    update.add("api.demo", 60, "A", "127.64.0.2")
    with pytest.raises(error):
        await send(server, update)
    assert server.zone.records() == ["ns.metal.test. 60 A 127.0.0.1"]


async def test_large_answers_come_over_tcp(server: Server) -> None:
    update = an_update()
    for last in range(120):
        update.add("many.demo", 60, "A", f"127.64.1.{last}")
    await send(server, update)
    assert (await ask(server, "many.demo.metal.test")).flags & dns.flags.TC
    assert len(addresses(await ask(server, "many.demo.metal.test", tcp=True))) == 120


@pytest.mark.parametrize("seed", range(2))
async def test_spoilt_messages_are_answered_or_dropped(server: Server, tmp_path: Path, seed: int) -> None:
    """Messages with some bytes replaced, taken out or added: never an exception, and nothing is done for those without the key."""
    chance = random.Random(seed)  # noqa: S311 - the same each time
    signed, unsigned = an_update(WRONG_SECRET), an_update(ring=None)
    for update in (signed, unsigned):
        update.present("ns", "A", "127.0.0.1")
        update.add("api.demo", 60, "A", "127.64.0.2")
        update.delete("www.demo")
    transfer = dns.message.make_query(ORIGIN, "AXFR")
    transfer.use_tsig(KEY)
    messages = [
        dns.message.make_query("*.apps.demo.metal.test", "A", use_edns=0).to_wire(),
        unsigned.to_wire(),
        signed.to_wire(),
        transfer.to_wire(),
    ]
    for _number in range(150):
        wire = bytearray(chance.choice(messages))
        for _change in range(chance.randint(1, 4)):
            at = chance.randrange(len(wire))
            wire[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        before = server.zone.records()
        for tcp in (False, True):
            reply = server.zone.answer(bytes(wire), tcp=tcp)
            assert reply is None or len(reply) >= 12
        assert server.zone.records() == before
        # The same from a client with the key.
        with contextlib.suppress(dns.exception.DNSException, ValueError):
            message = dns.message.from_wire(bytes(wire), keyring=False, continue_on_error=True)
            message.use_tsig(KEY)
            wire = bytearray(message.to_wire())
        for tcp in (False, True):
            reply = server.zone.answer(bytes(wire), tcp=tcp)
            assert reply is None or len(reply) >= 12
        assert (await ask(server, ORIGIN, "SOA")).answer
    again = DynamicZone(ORIGIN, tmp_path / "zone", keyring("sandbox", SECRET))
    assert again.records() == server.zone.records()
