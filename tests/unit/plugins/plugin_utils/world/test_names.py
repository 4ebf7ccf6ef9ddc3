"""The queries of the preflight checks, against the sandbox's DNS server and against BIND."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import dns.message
import dns.rcode
import dns.rrset
import dns.update
import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import names
from sandbox.dns import DynamicZone, Server, keyring
from tests.named import OTHER, SECRET, WRITER, ZONE, Named, started

CLUSTER = f"demo.{ZONE}"
KEEPING = {"addresses": [], "alias": "", "texts": [], "problem": ""}


def wanted(port: int, **settings: Any) -> dict[str, Any]:
    return {
        "cluster_name": "demo",
        "base_domain": ZONE,
        "dns_provider": "rfc2136",
        "dns_server": "127.0.0.1",
        "dns_port": port,
        "dns_zone": ZONE,
        "dns_key_name": WRITER,
        "dns_key_secret": SECRET,
        "dns_key_algorithm": "hmac-sha256",
        "load_balancer": "dns",
        "resolver": "",
        "timeout": 20,
        "machines": {"workers": [{"hostname": f"worker-0.{CLUSTER}"}]},
        **settings,
    }


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    with started(tmp_path_factory.mktemp("named")) as running:
        yield running


@pytest.mark.debian("bind9")
@pytest.mark.parametrize(("key", "code"), [(WRITER, "NOERROR"), (OTHER, "REFUSED")])
def test_permissions_of_the_key_are_checked_for_the_names_of_the_cluster_without_a_change(named: Named, key: str, code: str) -> None:
    # An address that has to stay, and a name that has to stay away.
    named.update(f"api.{CLUSTER}", "A", "192.0.2.1")
    before = named.zone()
    assert names.collect(wanted(named.port, dns_key_name=key))["dns"] == {"dns_rc_str": code}
    assert named.zone() == before


@pytest.mark.debian("bind9")
def test_an_alias_is_no_address_wherever_it_leads(named: Named) -> None:
    named.update(f"ingress.{ZONE}", "A", "192.0.2.3")
    named.update(f"*.apps.{CLUSTER}", "CNAME", f"ingress.{ZONE}.")
    named.update(f"api-int.{CLUSTER}", "CNAME", "api.elsewhere.example.")
    records = names.collect(wanted(named.port))["records"]
    assert records[f"*.apps.{CLUSTER}"] == {**KEEPING, "alias": f"ingress.{ZONE}."}
    assert records[f"api-int.{CLUSTER}"] == {**KEEPING, "alias": "api.elsewhere.example."}
    assert records[f"worker-0.{CLUSTER}"] == KEEPING


@pytest.mark.debian("bind9")
def test_a_wildcard_record_is_found_by_a_name_that_nobody_has(named: Named) -> None:
    by_resolver = {"resolver": "127.0.0.1", "resolver_port": named.port}
    for settings in ({}, by_resolver):
        assert names.collect(wanted(named.port, **settings))["wildcard"]["addresses"] == []
    named.update(f"*.{CLUSTER}", "A", "192.0.2.80")
    for settings in ({}, by_resolver):
        assert names.collect(wanted(named.port, **settings))["wildcard"]["addresses"] == ["192.0.2.80"]
    named.update(f"*.{CLUSTER}", "A")


def test_a_server_without_an_answer_is_not_one_without_a_wildcard_record() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        reading = names.collect(wanted(port, dns_provider="none", resolver="127.0.0.1", resolver_port=port, timeout=0.2))["wildcard"]
    assert reading["addresses"] == []
    assert reading["problem"]


class Moody(DynamicZone):
    """Takes updates, and has nothing to say of names below the cluster's."""

    def _query(self, question: dns.rrset.RRset, response: dns.message.Message) -> None:
        response.set_rcode(dns.rcode.SERVFAIL)


Serve = Callable[[type[DynamicZone]], Any]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    running: list[Server] = []

    async def begin(kind: type[DynamicZone]) -> Server:
        server = Server(kind(ZONE, tmp_path / "zone", keyring(WRITER, SECRET)))
        await server.start()
        running.append(server)
        return server

    yield begin
    for server in running:
        await server.stop()


@pytest.mark.debian("bind9")
def test_answers_of_a_wildcard_above_are_no_records_of_the_name(named: Named) -> None:
    named.update(f"*.{ZONE}", "A", "192.0.2.7")
    named.update(f"api.{CLUSTER}", "A", "192.0.2.1")
    found = names.collect(wanted(named.port))["records"]
    named.update(f"*.{ZONE}", "A")
    assert found[f"api.{CLUSTER}"] == {**KEEPING, "addresses": ["192.0.2.1"]}
    assert found[f"worker-0.{CLUSTER}"] == KEEPING


async def test_an_error_is_not_reported_as_no_records(serve: Serve) -> None:
    server = await serve(Moody)
    found = await asyncio.to_thread(names.collect, wanted(server.port))
    assert found["dns"] == {"dns_rc_str": "NOERROR"}
    problem = "the server answered SERVFAIL"
    assert all(problem in record["problem"] and not record["addresses"] for record in found["records"].values()), found
