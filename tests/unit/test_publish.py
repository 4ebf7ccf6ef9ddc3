"""The small server that machines boot from: what it gives, to whom, and when it ends."""

import contextlib
import datetime
import http.client
import importlib.util
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.certificates import self_signed
from tests.eventually import until, until_listening
from tests.ports import free_ports

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "boot_files" / "files" / "publish.py"
ADDRESS = "127.0.0.1"
# Not the address that Linux connects from when nobody says from where.
OTHER_LOOPBACK = "127.5.0.1"
WORD = "open-sesame"


def write_certificate(folder: Path) -> None:
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    key, certificate = self_signed(ec.generate_private_key(ec.SECP256R1()), later, (ADDRESS, OTHER_LOOPBACK))
    folder.mkdir()
    (folder / "server.key").write_bytes(key)
    # Last, since the server takes it for the sign that both are there.
    (folder / "server.crt").write_bytes(certificate)


@dataclass
class Published:
    folder: Path
    address: str
    http_port: int
    https_port: int
    process: subprocess.Popen[bytes]

    def get(
        self, path: str, *, tls: bool = False, word: str | None = None, method: str = "GET", source: str | None = None
    ) -> tuple[int, bytes]:
        """Return status and body. ``source``: the address to connect from; None leaves it to the kernel."""
        bound = None if source is None else (source, 0)
        if tls:
            trust = ssl.create_default_context(cafile=str(self.folder / "tls" / "server.crt"))
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self.address, self.https_port, timeout=30, context=trust, source_address=bound
            )
        else:
            connection = http.client.HTTPConnection(self.address, self.http_port, timeout=30, source_address=bound)
        connection.request(method, path, headers={} if word is None else {"Authorization": f"Bearer {word}"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def wait(self, port: int) -> None:
        until_listening(port, self.address, self.process)


@pytest.fixture
def published(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Published]:
    """A server on the loopback address that the test names, 127.0.0.1 by default, for clients with a token, or those the test names."""
    address, clients = {"address": ADDRESS, "clients": "token", **getattr(request, "param", {})}.values()
    folder = tmp_path / "publish"
    (folder / "secret").mkdir(parents=True)
    (folder / "open.json").write_text(json.dumps({"x86_64.ipxe": "#!ipxe\n"}), encoding="utf-8")
    (folder / "secret" / "bootstrap.ign").write_text("{}", encoding="utf-8")
    (folder / "bearer").write_text(WORD, encoding="utf-8")
    ports = free_ports(2, address)
    settings = {"id": "ours", "bind_address": address, "http_port": ports[0], "https_port": ports[1], "bootstrap_clients": clients}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(folder)], stderr=subprocess.PIPE)
    server = Published(folder, address, ports[0], ports[1], process)
    try:
        server.wait(ports[0])
        yield server
    finally:
        process.terminate()
        process.wait(10)


def test_a_server_that_was_killed_is_started_again(published: Published) -> None:
    """By the kernel, when memory is short: machines that boot meanwhile would hang, and no further run could help them."""
    children = Path(f"/proc/{published.process.pid}/task/{published.process.pid}/children")
    for _time in range(2):
        (child,) = children.read_text(encoding="ascii").split()
        os.kill(int(child), signal.SIGKILL)
        until(lambda child=child: children.read_text(encoding="ascii").split() not in ([], [child]), "it is started again")  # type: ignore[misc]
        published.wait(published.http_port)
        assert published.get("/x86_64.ipxe") == (200, b"#!ipxe\n")


def test_it_ends_when_all_its_processes_are_told_to(published: Published) -> None:
    """As by systemd. A child that had the signal twice was taken for killed and started again, and nothing ended it any more."""
    (child,) = Path(f"/proc/{published.process.pid}/task/{published.process.pid}/children").read_text(encoding="ascii").split()
    for _time in range(3):
        for number in (int(child), published.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)
    assert published.process.wait(timeout=30) == 0


def test_open_files_are_for_everybody_and_only_they(published: Published) -> None:
    assert published.get("/x86_64.ipxe") == (200, b"#!ipxe\n")
    assert published.get("/x86_64.ipxe", method="HEAD") == (200, b"")
    assert json.loads(published.get("/healthz")[1]) == {"id": "ours"}
    for path in ("/bootstrap.ign", "/../bearer", "/../secret/bootstrap.ign", "//etc/passwd", "/", "/%2e%2e/bearer"):
        assert published.get(path)[0] == 404, path


def test_secret_files_are_for_who_says_the_word(published: Published) -> None:
    write_certificate(published.folder / "tls")
    published.wait(published.https_port)
    assert published.get("/bootstrap.ign", tls=True, word=WORD) == (200, b"{}")
    assert published.get("/bootstrap.ign", tls=True)[0] == 401
    assert published.get("/bootstrap.ign", tls=True, word=WORD + "x")[0] == 401
    assert published.get("/x86_64.ipxe", tls=True, word=WORD)[0] == 404
    (published.folder / "secret" / "bootstrap.ign").unlink()
    assert published.get("/bootstrap.ign", tls=True, word=WORD)[0] == 404
    # Who stays silent in a handshake holds nobody up.
    with socket.create_connection((published.address, published.https_port)):
        assert published.get("/bootstrap.ign", tls=True, word=WORD)[0] == 404
    published.process.send_signal(signal.SIGTERM)
    _output, log = published.process.communicate(timeout=30)
    assert WORD.encode() not in log


def test_it_ends_when_its_settings_go(published: Published) -> None:
    (published.folder / "settings.json").unlink()
    assert published.process.wait(timeout=30) == 0


@pytest.mark.parametrize("published", [{"address": ADDRESS}, {"address": OTHER_LOOPBACK}], indirect=True)
def test_the_computer_itself_may_always_ask(published: Published) -> None:
    """Whatever address it serves at: the controller checks there what it has published. Other addresses of loopback are machines."""
    write_certificate(published.folder / "tls")
    published.wait(published.https_port)
    (published.folder / "allowed.json").write_text(json.dumps(["127.64.0.3"]), encoding="utf-8")
    statuses = {
        source: published.get("/bootstrap.ign", tls=True, word=WORD, source=source)[0]
        for source in (None, published.address, "127.64.0.3", "127.64.0.5", "127.5.0.2")
    }
    assert statuses == {None: 200, published.address: 200, "127.64.0.3": 200, "127.64.0.5": 503, "127.5.0.2": 503}
    assert published.get("/bootstrap.ign", tls=True)[0] == 401


@pytest.mark.parametrize(
    "published", [{"address": address, "clients": "addresses"} for address in (ADDRESS, OTHER_LOOPBACK)], indirect=True
)
def test_by_address_only_listed_clients_get_secret_files_and_need_no_token(published: Published) -> None:
    write_certificate(published.folder / "tls")
    published.wait(published.https_port)

    def statuses(word: str | None) -> dict[str | None, int]:
        sources = (None, published.address, "127.64.0.3", "127.64.0.5")
        return {source: published.get("/bootstrap.ign", tls=True, word=word, source=source)[0] for source in sources}

    # Nobody is listed before the device is ordered. A client that comes too early has to ask again, which Ignition does after 503 alone.
    assert statuses(WORD) == {None: 200, published.address: 200, "127.64.0.3": 503, "127.64.0.5": 503}
    (published.folder / "allowed.json").write_text("[]", encoding="utf-8")
    assert statuses(WORD)["127.64.0.3"] == 503
    (published.folder / "allowed.json").write_text(json.dumps(["127.64.0.3"]), encoding="utf-8")
    # Other users of this computer have no token.
    assert statuses(None) == {None: 401, published.address: 401, "127.64.0.3": 200, "127.64.0.5": 503}
    assert statuses(WORD) == {None: 200, published.address: 200, "127.64.0.3": 200, "127.64.0.5": 503}
    # A list that is being written allows nobody.
    (published.folder / "allowed.json").write_text("[", encoding="utf-8")
    assert statuses(WORD)["127.64.0.3"] == 503


def test_open_files_are_read_again_after_a_change(published: Published) -> None:
    assert published.get("/x86_64.ipxe") == (200, b"#!ipxe\n")
    fresh = published.folder / "open.json.new"
    fresh.write_text(json.dumps({"worker.ipxe": "#!ipxe\nexit\n"}), encoding="utf-8")
    fresh.replace(published.folder / "open.json")
    assert published.get("/worker.ipxe") == (200, b"#!ipxe\nexit\n")
    assert published.get("/x86_64.ipxe")[0] == 404


def test_machines_that_connect_together_all_fit_into_its_queue() -> None:
    """The kernel drops packets to a full queue: a machine whose connection is repeated for too long hangs in its firmware."""
    spec = importlib.util.spec_from_file_location("publish", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    publish = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(publish)
    with contextlib.ExitStack() as stack:
        # It accepts nothing: what connects is in the queue.
        server = publish.Server((ADDRESS, 0), publish.Handler)
        stack.callback(server.server_close)
        for _unused in range(100):
            stack.enter_context(socket.create_connection(server.server_address, timeout=0.5))
