"""Whether the metadata service answers at the vendor's name: against real DNS and TLS servers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import metadata
from metal_api.tls import CertificateAuthority
from sandbox.dns import DynamicZone, Server
from tests.ports import free_port

NAME = "metadata.packet.net"
ADDRESS = "127.0.0.1"


def settings(dns_port: int, **own: Any) -> dict[str, Any]:
    return {
        "ignition_platform": "packet",
        "resolver": ADDRESS,
        "resolver_port": dns_port,
        "dns_server": ADDRESS,
        "timeout": 5,
        **own,
    }


def read(folder: Path, others: dict[str, str], port: int, **own: Any) -> dict[str, Any]:
    """The reading with a resolver that knows the names ``others``."""

    async def run() -> dict[str, Any]:
        server = Server(DynamicZone("metal.test", folder / "zone", {}, others))
        await server.start()
        try:
            return await asyncio.to_thread(metadata.collect, settings(server.port, **own), port)
        finally:
            await server.stop()

    return asyncio.run(run())


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path / "ca")


@pytest.fixture(params=[NAME, "metadata.example.com"])
def service(authority: CertificateAuthority, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """A TLS server with a certificate for a name; yields the name and the port."""
    context = authority.server_context(ADDRESS, request.param)
    with closing(socket.create_server((ADDRESS, 0))) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _client = listener.accept()
                except OSError:
                    return
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except (ssl.SSLError, ConnectionError):
                    connection.close()

        thread = Thread(target=accept, daemon=True)
        thread.start()
        yield request.param, listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_server_that_refuses_connections_is_a_problem(tmp_path: Path) -> None:
    reading = read(tmp_path, {NAME: ADDRESS}, free_port())["metadata"]
    assert reading["addresses"] == [ADDRESS]
    assert "refused" in reading["problems"][ADDRESS]


def test_the_certificate_has_to_be_of_a_public_ca_and_for_the_name(
    tmp_path: Path, authority: CertificateAuthority, service: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, port = service
    problem = read(tmp_path, {NAME: ADDRESS}, port)["metadata"]["problems"][ADDRESS]
    assert problem.startswith("its certificate is refused: ")
    assert "certificate" in problem.removeprefix("its certificate is refused: ")
    # The CAs of the controller's system, as OpenSSL finds them.
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate_file))
    problems = read(tmp_path, {NAME: ADDRESS}, port)["metadata"]["problems"]
    assert (problems == {}) == (name == NAME), problems
