"""dns_records: failures, and the number of messages for hundreds of records."""

import base64
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import run
from tests.contract.zone import DOMAIN, names, reach, records, updates
from tests.named import SECRET, WRITER, ZONE, Named, started


def test_five_hundred_records_take_three_updates(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    server = reach(sandbox.environment)
    many = records(**{f"worker-{number}": [f"192.0.2.{number % 250}", f"198.51.100.{number % 250}"] for number in range(500)})
    before = len(updates(sandbox.log))
    made = run("dns_records", {**server, **many}, sandbox_environment)
    assert made["changed"], made
    assert len(made["records"]) == len(names(sandbox.environment)) == 500
    assert len(updates(sandbox.log)) - before == 3
    assert not run("dns_records", {**server, **many}, sandbox_environment)["changed"]
    gone = records(**{f"worker-{number}": [] for number in range(500)})
    assert run("dns_records", {**server, **gone}, sandbox_environment)["changed"]
    assert names(sandbox.environment) == {}


@pytest.mark.parametrize(
    ("wrong", "returned"),
    [
        ({"key_secret": base64.b64encode(b"another key of thirty-two bytes!").decode()}, "Check name, secret and algorithm of the key"),
        ({"zone": "other.test"}, "NOTAUTH"),
        ({"port": 1}, "Cannot query the names at .* port 1: .*refused"),
        ({"records": [{"name": "a.elsewhere.example", "values": ["192.0.2.1"]}]}, "REFUSED"),
    ],
)
def test_a_refused_update_is_an_error(
    wrong: dict[str, Any], returned: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    options = {**reach(sandbox.environment), **records(refused=["192.0.2.9"]), **wrong}
    result = run("dns_records", options, sandbox_environment)
    assert result["failed"]
    assert re.search(returned, result["msg"]), result["msg"]
    assert names(sandbox.environment) == {}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    with started(tmp_path_factory.mktemp("named")) as running:
        yield running


@pytest.mark.debian("bind9")
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_cname_blocks_all_records_and_no_record_is_set(named: Named, sandbox_environment: dict[str, str], check_mode: bool) -> None:
    server = {"server": "127.0.0.1", "port": named.port, "zone": ZONE, "key_name": WRITER, "key_secret": SECRET}
    named.update(f"api.{DOMAIN}", "CNAME", "lb.elsewhere.example.")
    before = named.zone()
    result = run(
        "dns_records", {**server, **records(api=["192.0.2.9"], node=["192.0.2.3"]), "_ansible_check_mode": check_mode}, sandbox_environment
    )
    assert result["failed"]
    assert f"api.{DOMAIN} is an alias (CNAME) of lb.elsewhere.example. Remove the alias" in result["msg"]
    assert not result["changed"]
    assert named.zone() == before
    # Where no address is desired, it blocks no record.
    assert not run("dns_records", {**server, **records(api=[])}, sandbox_environment)["changed"]


@pytest.mark.debian("bind9")
def test_an_address_of_a_wildcard_is_not_the_records_own(named: Named, sandbox_environment: dict[str, str]) -> None:
    server = {"server": "127.0.0.1", "port": named.port, "zone": ZONE, "key_name": WRITER, "key_secret": SECRET}
    above = f"below.{ZONE}"
    named.update(f"*.{above}", "A", "203.0.113.9")
    desired, none = ({"records": [{"name": f"{name}.{above}", "values": values} for name in ("a", "b")]} for values in (["192.0.2.9"], []))
    assert not run("dns_records", {**server, **none}, sandbox_environment)["changed"]
    assert [record["before"] for record in run("dns_records", {**server, **desired}, sandbox_environment)["records"]] == [[], []]
    named.update(f"a.{above}", "A")
    (gone,) = run("dns_records", {**server, **none}, sandbox_environment)["records"]
    assert gone == {"name": f"b.{above}", "type": "A", "before": ["192.0.2.9"], "after": []}
    assert not run("dns_records", {**server, **none}, sandbox_environment)["changed"]
    assert "*.below 60 IN A 203.0.113.9" in named.zone()


def _silent(connection: socket.socket) -> None:
    connection.recv(1)


def _cut(connection: socket.socket) -> None:
    connection.recv(512)


@pytest.mark.parametrize(
    ("fault", "returned"),
    [(_silent, "timed out"), (_cut, "EOF")],
    ids=["silent", "cut"],
)
def test_a_dns_server_without_a_usable_answer_is_an_error(
    fault: Callable[[socket.socket], None], returned: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            connection, _address = server.accept()
            with connection:
                fault(connection)
                # A silent server keeps the connection until the module closes it.
                if fault is _silent:
                    while connection.recv(512):
                        pass

        served = pool.submit(serve)
        options = {**reach(sandbox.environment), **records(never=["192.0.2.9"]), "port": server.getsockname()[1], "timeout": 0.5}
        begun = time.monotonic()
        result = run("dns_records", options, sandbox_environment)
        assert time.monotonic() - begun < 60
        served.result(60)
    assert result["failed"]
    assert "Cannot query the names at 127.0.0.1 port" in result["msg"]
    assert re.search(returned, result["msg"]), result["msg"]


@pytest.mark.parametrize(("lost", "is_set"), [({2}, True), ({2, 3}, True), ({2, 3, 4}, False)])
def test_an_update_without_an_answer_is_sent_again(
    lost: set[int], is_set: bool, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    """The first connection queries the names, each of the others has an update."""
    options = {**reach(sandbox.environment), **records(again=["192.0.2.9"])}
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        served = pool.submit(_lossy, server, (options["server"], int(options["port"])), lost)
        result = run("dns_records", {**options, "port": server.getsockname()[1], "timeout": 5}, sandbox_environment)
        socket.create_connection(server.getsockname()).close()
        served.result(60)
    assert result.get("failed", False) is not is_set, result
    assert is_set or "Cannot set the names" in result["msg"]
    assert len(names(sandbox.environment)) == 1
    run("dns_records", {**options, **records(again=[])}, sandbox_environment)


def _lossy(server: socket.socket, target: tuple[str, int], lost: set[int]) -> int:
    """Forward connections one after another, and return after the first without a message; of those in ``lost`` the answer is lost."""
    number = 0
    while True:
        number += 1
        client, _address = server.accept()
        with client, socket.create_connection(target) as upstream:
            messages = 0
            while message := client.recv(1 << 16):
                messages += 1
                upstream.sendall(message)
                answer = upstream.recv(1 << 16)
                if number in lost:
                    break
                client.sendall(answer)
            if not messages:
                return number


def test_a_wait_for_records_ends_when_they_resolve_and_says_at_its_limit_what_does_not(
    sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    server = reach(sandbox.environment)
    waited = {"server": server["server"], "port": server["port"], "wait_timeout": 1, "wait_interval": 0.2}
    run("dns_records", {**server, **records(api=["192.0.2.9"], node=["192.0.2.3"])}, sandbox_environment)
    wanted = records(api=["192.0.2.9"], node=["192.0.2.3", "192.0.2.4"], gone=[])
    late = run("dns_wait", {**waited, **wanted}, sandbox_environment)
    assert f"Pending: node.{DOMAIN} resolves to 192.0.2.3, and should to 192.0.2.3, 192.0.2.4" in late["msg"]
    assert "api." not in late["msg"]
    assert run("dns_wait", {**waited, **wanted, "_ansible_check_mode": True}, sandbox_environment)["pending"] == late["pending"]
    assert run("dns_wait", {**waited, **records(api=["192.0.2.9"])}, sandbox_environment)["pending"] == []
    run("dns_records", {**server, **records(api=[], node=[])}, sandbox_environment)


def test_a_resolver_without_an_answer_is_waited_for(sandbox_environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        waited = {"server": "127.0.0.1", "port": silent.getsockname()[1], "timeout": 0.3, "wait_timeout": 1, "wait_interval": 0.2}
        result = run("dns_wait", {**waited, **records(api=["192.0.2.9"])}, sandbox_environment)
    assert "Pending: Cannot resolve names at 127.0.0.1 port" in result["msg"]
