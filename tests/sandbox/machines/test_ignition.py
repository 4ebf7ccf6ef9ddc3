"""Pointers followed over real TLS: CA bundles, hashes, headers, compression, and which errors are retried or final."""

import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from metal_api.tls import CertificateAuthority
from sandbox.clock import Clock
from sandbox.dns import DynamicZone, Server, keyring
from sandbox.machines import ignition
from sandbox.machines.ignition import Engine, IgnitionError, data_url
from sandbox.machines.network import BoundHTTP, NameService

from .conftest import FAST, Asked, Web

NAME = "api-int.demo.metal.test"
FILES = {"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/a", "mode": 384, "contents": {"source": "data:,a"}}]}}


class GivenUp(Exception):  # noqa: N818 - nothing went wrong
    """The test has seen what is tried for ever, and stops it."""


class Network:
    def __init__(self, folder: Path) -> None:
        self.authority = CertificateAuthority(folder / "tls")
        self.web = Web()
        self.dns = Server(DynamicZone("metal.test", folder / "zone", keyring("k", "c2VjcmV0")))
        self.errors: list[str] = []
        self.patience = 0
        self.http: BoundHTTP

    async def open(self) -> None:
        await self.web.open(self.authority.server_context("127.0.0.1", NAME))
        await self.dns.start()
        add_address(self.dns.zone, NAME, "127.0.0.1")
        self.http = BoundHTTP("127.64.8.1", NameService((self.dns.address, self.dns.port), "127.64.8.1"))

    async def close(self) -> None:
        await self.http.close()
        await self.web.close()
        await self.dns.stop()

    def url(self, path: str, name: str = NAME) -> str:
        return f"https://{name}:{self.web.port}{path}"

    def pointer(self, *references: dict[str, Any], how: str = "merge", ca: bytes | None = None, **more: Any) -> dict[str, Any]:
        cas = [{"source": data_url(self.authority.certificate_file.read_bytes() if ca is None else ca)}]
        config: Any = list(references) if how == "merge" else references[0]
        return {
            "ignition": {"version": "3.2.0", "config": {how: config}, "security": {"tls": {"certificateAuthorities": cas}}},
            **more,
        }

    def engine(self) -> Engine:
        return Engine(self.http, Clock(FAST), lambda _: None, self._on_retry)

    async def fetch(self, pointer: dict[str, Any]) -> dict[str, Any]:
        engine = self.engine()
        return await engine.files(await engine.fetch(ignition.parse(json.dumps(pointer).encode())))

    async def _on_retry(self, url: str, reason: str) -> None:
        self.errors.append(reason)
        if len(self.errors) > self.patience:
            raise GivenUp


def add_address(zone: DynamicZone, name: str, address: str) -> None:
    """An A record, by the way every record comes: a signed update."""
    import dns.tsigkeyring  # noqa: PLC0415
    import dns.update  # noqa: PLC0415

    update = dns.update.UpdateMessage("metal.test", keyring=dns.tsigkeyring.from_text({"k": ("hmac-sha256", "c2VjcmV0")}))
    update.add(name + ".", 60, "A", address)
    zone.answer(update.to_wire(), tcp=True)


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    built = Network(tmp_path)
    await built.open()
    yield built
    await built.close()


def contents(config: dict[str, Any]) -> dict[str, bytes]:
    return ignition.file_contents(config)


@pytest.mark.parametrize("how", ["merge", "replace"])
async def test_a_pointer_is_followed(network: Network, how: str) -> None:
    network.web.answers["/config/worker"] = json.dumps(FILES).encode()
    own: dict[str, Any] = {"storage": {"files": [{"path": "/own", "contents": {"source": "data:,own"}}]}}
    config = await network.fetch(network.pointer({"source": network.url("/config/worker")}, how=how, **own))
    assert contents(config) == ({"/a": b"a", "/own": b"own"} if how == "merge" else {"/a": b"a"})
    asked = network.web.asked[0]
    assert asked.source == "127.64.8.1"
    assert asked.headers["host"] == f"{NAME}:{network.web.port}"
    assert asked.headers["accept"] == "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.headers["user-agent"].startswith("Ignition/")


async def test_the_child_wins_and_lists_are_joined(network: Network) -> None:
    child = {
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "/own", "mode": 420, "contents": {"source": "data:,child"}}]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["two"]}]},
        "systemd": {"units": [{"name": "a.service", "enabled": True}]},
    }
    network.web.answers["/c"] = json.dumps(child).encode()
    parent: dict[str, Any] = {
        "storage": {"files": [{"path": "/own", "contents": {"source": "data:,parent"}}]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["one"]}]},
        "systemd": {"units": [{"name": "a.service", "contents": "[Unit]"}, {"name": "b.service"}]},
    }
    config = await network.fetch(network.pointer({"source": network.url("/c")}, **parent))
    assert contents(config) == {"/own": b"child"}
    assert config["passwd"]["users"] == [{"name": "core", "sshAuthorizedKeys": ["one", "two"]}]
    assert config["systemd"]["units"] == [{"name": "a.service", "contents": "[Unit]", "enabled": True}, {"name": "b.service"}]


async def test_pointers_to_pointers_use_what_they_bring(network: Network) -> None:
    network.web.answers["/two"] = json.dumps(
        {"ignition": {"version": "3.1.0", "config": {"merge": [{"source": network.url("/three")}]}}}
    ).encode()
    network.web.answers["/three"] = json.dumps(FILES).encode()
    assert contents(await network.fetch(network.pointer({"source": network.url("/two")}))) == {"/a": b"a"}
    # Each level is trusted by the CA bundle of the one before, so a ring has to include its CA.
    network.web.answers["/two"] = json.dumps(network.pointer({"source": network.url("/two")})).encode()
    with pytest.raises(IgnitionError, match="without end"):
        await network.fetch(network.pointer({"source": network.url("/two")}))


TEXT = json.dumps(FILES).encode()


@pytest.mark.parametrize("function", ["sha512", "sha256"])
async def test_hashes_are_over_the_decompressed_bytes(network: Network, function: str) -> None:
    network.web.answers["/c"] = gzip.compress(TEXT)
    good = f"{function}-{hashlib.new(function, TEXT).hexdigest()}"
    reference = {"source": network.url("/c"), "compression": "gzip", "verification": {"hash": good}}
    assert contents(await network.fetch(network.pointer(reference))) == {"/a": b"a"}
    reference["verification"] = {"hash": f"{function}-{hashlib.new(function, gzip.compress(TEXT)).hexdigest()}"}
    with pytest.raises(IgnitionError, match="hash verification failed"):
        await network.fetch(network.pointer(reference))


async def test_a_header_opens_the_door(network: Network) -> None:
    def guarded(asked: Asked) -> bytes | int:
        return TEXT if asked.headers.get("authorization") == "Bearer secret" else 401

    network.web.answers["/c"] = guarded
    reference: dict[str, Any] = {"source": network.url("/c"), "httpHeaders": [{"name": "Authorization", "value": "Bearer secret"}]}
    assert contents(await network.fetch(network.pointer(reference))) == {"/a": b"a"}
    reference["httpHeaders"][0]["value"] = "Bearer wrong"
    with pytest.raises(IgnitionError, match="HTTP 401"):
        await network.fetch(network.pointer(reference))


async def test_file_contents_are_fetched_too(network: Network) -> None:
    network.web.answers["/file"] = b"content"
    wanted = {"source": network.url("/file"), "verification": {"hash": "sha256-" + hashlib.sha256(b"content").hexdigest()}}
    files = [{"path": "/f", "contents": wanted, "append": [{"source": "data:,%20more"}]}]
    pointer = {**network.pointer(), "storage": {"files": files}}
    assert contents(await network.fetch(pointer)) == {"/f": b"content more"}
    network.web.answers["/file"] = b"changed"
    with pytest.raises(IgnitionError, match="failed to create files: /f: hash verification failed"):
        await network.fetch(pointer)


@pytest.mark.parametrize("status", [400, 404])
async def test_final_answers_end_the_boot(network: Network, status: int) -> None:
    network.web.answers["/c"] = status
    with pytest.raises(IgnitionError, match="resource not found" if status == 404 else str(status)):
        await network.fetch(network.pointer({"source": network.url("/c")}))
    assert len(network.web.asked) == 1


async def test_server_errors_are_tried_again(network: Network) -> None:
    def recovering(asked: Asked) -> bytes | int:
        return 503 if len(network.web.asked) < 4 else TEXT

    network.web.answers["/c"] = recovering
    network.patience = 5
    assert contents(await network.fetch(network.pointer({"source": network.url("/c")}))) == {"/a": b"a"}
    assert network.errors == ["HTTP 503"]


@pytest.mark.parametrize("kind", ["other authority", "no authority", "other name", "nothing there", "no such name"])
async def test_untrusted_and_absent_servers_are_tried_for_ever(network: Network, tmp_path: Path, kind: str) -> None:
    network.web.answers["/c"] = TEXT
    reference = {"source": network.url("/c")}
    pointer = network.pointer(reference)
    if kind == "other authority":
        pointer = network.pointer(reference, ca=CertificateAuthority(tmp_path / "other").certificate_file.read_bytes())
    if kind == "no authority":
        del pointer["ignition"]["security"]
    if kind == "other name":
        add_address(network.dns.zone, "api.demo.metal.test", "127.0.0.1")
        pointer = network.pointer({"source": network.url("/c", "api.demo.metal.test")})
    if kind == "nothing there":
        pointer = network.pointer({"source": "https://127.64.8.98:22623/c"})
    if kind == "no such name":
        pointer = network.pointer({"source": network.url("/c", "nobody.metal.test")})
    with pytest.raises(GivenUp):
        await network.fetch(pointer)
    assert network.web.asked == []
    expected = {
        "other authority": "certificate verify failed",
        "no authority": "certificate verify failed",
        "other name": "Hostname mismatch",
        "nothing there": "",
        "no such name": "no address for nobody.metal.test",
    }[kind]
    assert expected in network.errors[0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"#cloud-config\n", "cloud-config is no Ignition config"),
        (b'{"ignition":{"version":"2.2.0"}}', "unsupported config version '2.2.0'"),
        (b'{"ignition":{"version":"3.6.0"}}', "unsupported config version '3.6.0'"),
        (b'{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"a"}]}}', "not absolute"),
        (b'{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}}', "duplicate entry"),
        (b'{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","mode":"0644"}]}}', "decimal number"),
    ],
)
def test_configs_that_are_refused(text: bytes, error: str) -> None:
    with pytest.raises(IgnitionError, match=error):
        ignition.parse(text)


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        ({"source": "ftp://host/c"}, "invalid url scheme"),
        ({"source": "data:,x", "compression": "gzip"}, "invalid gzip"),
    ],
)
async def test_references_that_are_refused(network: Network, reference: dict[str, Any], error: str) -> None:
    with pytest.raises(IgnitionError, match=error):
        await network.fetch(network.pointer(reference))
