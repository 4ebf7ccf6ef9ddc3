"""``python -m metal_api``: what its operator has besides the API, and what it says to bad input."""

import json
import re
import signal
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT
from tests.certificates import self_signed
from tests.metal_api.ironic.fake_rack import FakeRack
from tests.metal_api.ironic.server import ROOT, Server, rack_file, running_server
from tests.ports import free_port
from tests.system_packages import BOOT_ISO

pytestmark = pytest.mark.debian(*BOOT_ISO)


@pytest.fixture
def server(tmp_path: Path, rack: FakeRack) -> Iterator[Server]:
    """With two servers, and its metrics."""
    with running_server(tmp_path, rack, "127.90.2", 2) as running:
        yield running


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "metal_api", *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_audit_metrics_and_backup(server: Server, tmp_path: Path) -> None:
    id_ = server.order(hostname="w1", userdata="#!ipxe\nsecret").json()["id"]
    server.until(lambda: server.devices() == {"w1": "active"}, what="the device is active")

    audit = server.state / "audit.log"
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    assert {"users", "api_keys", "projects"} <= {each["kind"] for each in entries if each["who"] == "server" and each["what"] == "created"}
    [created] = [each for each in entries if each["kind"] == "devices" and each["what"] == "created"]
    assert (created["who"], created["from"], created["id"]) == ("admin@metal.invalid", "127.0.0.1", id_)
    assert created["values"]["hostname"] == "w1"
    by_machine = [each for each in entries if each["who"] == "w1" and "state" in each.get("fields", ())]
    assert by_machine[0]["values"]["state"] == ["provisioning", "active"]
    assert by_machine[0]["from"] in {"127.90.2.10", "127.90.2.11"}
    assert "secret" not in audit.read_text(encoding="utf-8")

    found = httpx.get(f"http://{server.metrics}/metrics").text
    assert 'metal_api_devices{metro="r1",plan="c3.small.x86",state="active"} 1.0' in found
    assert 'metal_api_servers{metro="r1",plan="c3.small.x86",use="free"} 1.0' in found
    assert 'metal_api_ironic_call_seconds_count{call="create allocation",outcome="ok"} 1.0' in found
    assert 'metal_api_request_seconds_count{method="POST",service="metal",status="201"} 1.0' in found

    # While it runs; the restored state goes on with the same devices, token and servers.
    archive = tmp_path / "backup.tar.gz"
    done = command("backup", archive, "--state", server.state)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    server.stop()
    other = tmp_path / "restored"
    assert command("restore", archive, "--state", other).returncode == 0
    done = command("restore", archive, "--state", other)
    assert (done.returncode, done.stderr) == (1, f"metal_api: --state {other}: there is a state already; restore into an empty folder\n")
    server.command[server.command.index("--state") + 1] = str(other)
    server.api = httpx.Client(base_url=server.api.base_url, timeout=20)
    token = server.token
    server.state = other
    server.start()
    assert server.token == token
    assert server.ids() == {"w1": id_}
    assert server.api.delete(f"/devices/{id_}").status_code == 204
    server.until(lambda: server.free() == 2, what="its server is free again")


def test_the_rack_file_is_read_again_at_sighup(server: Server, tmp_path: Path) -> None:
    rack_file(tmp_path / "rack.yml", "127.90.2", 3)
    assert server.process is not None
    server.process.send_signal(1)
    server.until(lambda: server.free() == 3, what="the third server is offered")
    (tmp_path / "rack.yml").write_text("servers: [{name: 7}]\n", encoding="utf-8")
    server.process.send_signal(1)
    server.until(lambda: "the rack file is not used" in server.log(), what="the broken file is reported")
    assert server.free() == 3


def test_a_server_without_dhcp_serves_the_rest(tmp_path: Path, rack: FakeRack) -> None:
    path = rack_file(tmp_path / "rack.yml", "127.90.8", 1)
    path.write_text(path.read_text(encoding="utf-8").replace("{code: r1,", "{code: r1, dhcp_interface: typo0,"), encoding="utf-8")
    server = Server(tmp_path, path, rack.ironic.access)
    try:
        server.start()
        assert "there is no network interface typo0 (there are " in server.log()
        server.until(lambda: server.free() == 1, what="its server is offered")
        assert httpx.get(f"{server.boot_url}/boot.ipxe").status_code == 200
    finally:
        server.stop()


def test_a_second_server_on_the_same_state_is_refused(server: Server) -> None:
    done = subprocess.run(server.command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"another server (process {server.process.pid if server.process else 0}) uses this folder" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rack", "missing.yml"], "missing.yml cannot be used, nothing was started:\n  the file cannot be read"),
        (["--listen", "0.0.0.0:8443", "--plain-http"], "tokens would be readable on the network"),
        (["--boot-listen", "0.0.0.0:8801"], "name the URL at which machines reach it with --boot-url"),
        (["--certificate", "a.pem"], "--certificate and --key: one needs the other"),
        (["--ironic-url", "http://127.0.0.1:1", "--ironic-user", "a"], "--ironic-user and --ironic-password-file: one needs the other"),
        (["--ironic-url", "http://127.0.0.1:1"], "the Ironic at http://127.0.0.1:1 cannot be used: Ironic does not answer"),
    ],
)
def test_bad_options_are_one_message(tmp_path: Path, rack: FakeRack, options: list[str], message: str) -> None:
    file = rack_file(tmp_path / "rack.yml", "127.90.3", 1)
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text(rack.ironic.access.password, encoding="utf-8")
    words: dict[str, str] = {"--state": str(tmp_path / "state"), "--rack": str(file), "--boot-listen": f"127.0.0.1:{free_port()}"}
    if not any(each.startswith(("--ironic", "--os", "--agent")) for each in options):
        words |= {"--ironic-url": rack.ironic.access.url, "--ironic-user": "metal-api", "--ironic-password-file": str(password)}
    given = [word for name, value in words.items() if name not in options for word in (name, value)]
    done = command("serve", *given, *options)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert message in done.stderr, done.stderr
    assert lines[0].startswith("metal_api: "), done.stderr
    assert "Traceback" not in done.stderr


def test_a_renewed_certificate_is_used_without_a_restart(tmp_path: Path, rack: FakeRack) -> None:
    both, later = tmp_path / "both.pem", datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
    both.write_bytes(b"".join(self_signed(rsa.generate_private_key(65537, 2048), later)))
    server = Server(tmp_path, rack_file(tmp_path / "rack.yml", "127.90.5", 1), rack.ironic.access)
    server.use_tls()
    server.metrics = f"127.0.0.1:{free_port()}"
    server.command += ["--certificate", str(both), "--key", str(both), "--metrics-listen", server.metrics]
    port = server.api.base_url.port
    assert port is not None
    try:
        server.start()
        assert _shown(port) == (later, rsa.RSAPublicKey)
        # Of another type, as certbot makes them since its version 2.
        both.write_bytes(b"".join(self_signed(ec.generate_private_key(ec.SECP256R1()), later + timedelta(days=60))))
        _reload(server)
        server.until(lambda: _shown(port) == (later + timedelta(days=60), ec.EllipticCurvePublicKey), what="the new certificate is shown")
        # An old connection goes on.
        assert server.api.get("/user").status_code == 200
        both.write_text("a file half written", encoding="utf-8")
        _reload(server)
        server.until(
            lambda: "the certificate of the API is not renewed, the one before is still in use" in server.log(), what="the reason is logged"
        )
        assert _shown(port)[0] == later + timedelta(days=60)
        assert server.metric("metal_api_certificate_expiry_timestamp_seconds") == (later + timedelta(days=60)).timestamp()
    finally:
        server.stop()


def _reload(server: Server) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)


def _shown(port: int) -> tuple[datetime, type]:
    """Return the end of the certificate that a new connection gets, and the type of its key."""
    found = x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", port)).encode("ascii"))
    kinds = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)
    return found.not_valid_after_utc, next(each for each in kinds if isinstance(found.public_key(), each))


def test_the_api_has_a_certificate_of_its_own_ca(tmp_path: Path, rack: FakeRack) -> None:
    server = Server(tmp_path, rack_file(tmp_path / "rack.yml", "127.90.4", 1), rack.ironic.access)
    server.use_tls()
    port = server.api.base_url.port
    try:
        server.start()
        with httpx.Client(verify=ssl.create_default_context(cafile=server.state / "tls" / "ca.pem")) as client:
            answer = client.get(f"https://127.0.0.1:{port}/metal/v1/user", headers={"X-Auth-Token": server.token})
        assert answer.status_code == 200
        exports = (server.state / "env.sh").read_text(encoding="utf-8")
        assert f"export METAL_API_URL=https://127.0.0.1:{port}/metal/v1" in exports
        assert f"export OPENSHIFT_METADATA_URL={server.boot_url}/metadata" in exports
        # What the collection reads: a variable of another name has no effect.
        read = {name for names in ENVIRONMENT.values() for name in names}
        assert {"METAL_API_CA_PATH"} < set(re.findall(r"export (METAL_\w+)", exports)) <= read
        assert stat.S_IMODE((server.state / "env.sh").stat().st_mode) == 0o600
        assert (server.state / "token").stat().st_mode & 0o077 == 0
    finally:
        server.stop()
