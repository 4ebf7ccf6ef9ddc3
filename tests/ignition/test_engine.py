"""What is written for machines, read by CoreOS' own programs: the validator, and the engine as a machine runs it."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sandbox.openshift.installer import certificates
from sandbox.testing.process import RunningSandbox
from tests.conftest import user_environment

from .conftest import DOMAIN, NAME, Role
from .engine import Machine, relay, start_alone

pytestmark = pytest.mark.debian("ignition")

BOOTSTRAP = {"hostname": f"bootstrap.{NAME}.{DOMAIN}", "role": "bootstrap", "inventory_hostname": "bootstrap"}


def write_open_files(publish: Path) -> None:
    """Write what the boot server gives to any client as files, in the folder ``open``."""
    (publish / "open").mkdir()
    for name, content in json.loads((publish / "open.json").read_bytes()).items():
        (publish / "open" / name).write_text(content, encoding="utf-8")


@pytest.fixture(scope="module")
def published(made: Role, sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the boot_files role publishes on the platform packet, served by it. The live configs are in ``open``, for the engine."""
    folder = tmp_path_factory.mktemp("published") / "cluster"
    shutil.copytree(made.folder, folder, symlinks=True)
    role = Role(sandbox_process, user_environment(sandbox_process), folder, name="boot_files")
    variables: dict[str, Any] = {
        "boot_files_bootstrap": [BOOTSTRAP],
        "openshift_ignition_platform": "packet",
        "openshift_publish_address": "127.0.0.1",
        "openshift_wipe_disks": True,
    }
    role.well(**variables)
    write_open_files(folder / "publish")
    yield folder / "publish"
    role.well(tasks_from="remove", **variables)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def pointer(published: Path) -> Path:
    """The bootstrap machine's pointer."""
    return published / "bootstrap-pointer.ign"


def source_of(path: Path) -> str:
    return str(json.loads(path.read_bytes())["ignition"]["config"]["merge"][0]["source"])


def validated(path: Path) -> tuple[int, str]:
    done = subprocess.run(["ignition-validate", str(path)], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_ignition_validate_accepts_all_ignition_files(made: Role, published: Path) -> None:
    written = [*made.files.glob("*.ign"), published / "bootstrap-pointer.ign", *(published / "open").glob("*-live.ign")]
    assert {path.name for path in written} >= {"bootstrap.ign", "master.ign", "worker.ign", "bootstrap-pointer.ign", "x86_64-live.ign"}
    assert {path.name: validated(path) for path in written} == {path.name: (0, "") for path in written}
    assert {json.loads(path.read_bytes())["ignition"]["version"] for path in written} == {"3.2.0"}


def test_the_pointer_references_bootstrap_ign(made: Role, pointer: Path, machine: Machine) -> None:
    done = machine.run(pointer)
    assert done.returncode == 0, done.stdout
    fetched = json.loads(machine.cache.read_bytes())
    desired = json.loads((made.files / "bootstrap.ign").read_bytes())
    assert {entry["path"] for entry in fetched["storage"]["files"]} >= {entry["path"] for entry in desired["storage"]["files"]}
    assert {unit["name"] for unit in fetched["systemd"]["units"]} >= {unit["name"] for unit in desired["systemd"]["units"]}


def test_a_client_without_the_bearer_token_gets_nothing(pointer: Path, machine: Machine, tmp_path: Path) -> None:
    config = json.loads(pointer.read_bytes())
    config["ignition"]["config"]["merge"][0]["httpHeaders"] = []
    (tmp_path / "pointer.ign").write_text(json.dumps(config), encoding="utf-8")
    done = machine.run(tmp_path / "pointer.ign")
    assert done.returncode == 1
    assert "GET result: Unauthorized" in done.stdout
    assert not machine.cache.exists()


def test_the_live_config_writes_its_files_and_units(published: Path, machine: Machine) -> None:
    live = published / "open" / "x86_64-live.ign"
    for stage in ("fetch", "files"):
        done = machine.run(live, stage)
        assert done.returncode == 0, done.stdout
    config = json.loads(live.read_bytes())
    for entry in config["storage"]["files"]:
        path = machine.root / entry["path"].removeprefix("/")
        assert path.stat().st_mode & 0o777 == entry["mode"], entry["path"]
    assert (machine.root / "etc/coreos/installer.d/10-openshift.yaml").read_text(encoding="utf-8") == "platform: packet\n"
    rule = json.loads((machine.root / "etc/choose-disk.json").read_bytes())
    assert rule == {"device": "smallest", "hints": {}, "metadata": "https://metadata.packet.net/metadata"}
    scripts = Path(__file__).resolve().parents[2] / "roles" / "boot_files" / "files"
    for name in ("wipe-disks", "choose-disk"):
        assert (machine.root / "usr/local/bin" / name).read_bytes() == (scripts / f"{name}.sh").read_bytes()
        assert (machine.root / "etc/systemd/system" / f"{name}.service").read_bytes() == (scripts / f"{name}.service").read_bytes()


# --- as a machine of the service -------------------------------------------------------------------------------------------------

METADATA = "metadata.packet.net"


@pytest.fixture
def metadata_tls(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """The TLS context of the metadata service, and the CA file to trust."""
    day = certificates.ONE_DAY
    desired = {
        "authority": certificates.CertificateSpec("metadata authority", day),
        "server": certificates.CertificateSpec(METADATA, day, signer="authority", usage=certificates.SERVER, names=(METADATA,)),
    }
    pairs = certificates.generate(desired, {})
    for name, pair in pairs.items():
        (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
        (tmp_path / f"{name}.key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    return context, tmp_path / "authority.crt"


def with_address(metadata: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Metadata that has the machine's address: it gets one a little after it was ordered."""
    latest = time.monotonic() + 30
    while not (result := metadata())["network"]["addresses"]:
        assert time.monotonic() < latest, result
        time.sleep(0.05)
    return result


@pytest.fixture
def device(made: Role, published: Path) -> Iterator[tuple[httpx.Client, dict[str, Any]]]:
    """A bootstrap machine with its pointer as userdata, and its metadata. It boots nothing: here the engine is its system."""
    environment = made.environment
    desired = {
        "hostname": BOOTSTRAP["hostname"],
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "custom_ipxe",
        "ipxe_script_url": "http://127.0.0.1:9/none.ipxe",
        "userdata": (published / "bootstrap-pointer.ign").read_text(encoding="utf-8"),
    }
    with httpx.Client(base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}) as api:
        answer = api.post(f"/projects/{environment['METAL_PROJECT_ID']}/devices", json=desired).raise_for_status().json()
        yield api, with_address(lambda: api.get(f"/devices/{answer['id']}/metadata").raise_for_status().json())
        api.delete(f"/devices/{answer['id']}", params={"force_delete": "true"}).raise_for_status()


def test_a_machine_reads_its_pointer_from_metadata_and_reports_progress(
    made: Role,
    published: Path,
    device: tuple[httpx.Client, dict[str, Any]],
    metadata_tls: tuple[ssl.SSLContext, Path],
    machine: Machine,
) -> None:
    api, metadata = device
    tls, ca = metadata_tls
    address = next(each["address"] for each in metadata["network"]["addresses"] if each["public"] and each["address_family"] == 4)
    service, boot, files = (
        (url.hostname or "", url.port or 0)
        for url in map(urlsplit, (metadata["api_url"], metadata["phone_home_url"], source_of(published / "bootstrap-pointer.ign")))
    )

    async def run() -> tuple[int, str]:
        alone = start_alone(
            machine.command("fetch", "packet"),
            names={METADATA: "127.0.0.1"},
            listen=[("127.0.0.1", 443), boot, files],
            environment={"SSL_CERT_FILE": str(ca)},
        )
        servers = [
            await relay(alone.listeners["127.0.0.1", 443], tls, service, address),
            await relay(alone.listeners[boot], None, boot, address),
            await relay(alone.listeners[files], None, files, address),
        ]
        try:
            text, _errors = await asyncio.to_thread(alone.process.communicate, timeout=60)
        finally:
            alone.process.kill()
            for server in servers:
                server.close()
        return alone.process.returncode, text

    code, text = asyncio.run(run())

    assert code == 0, text
    desired = json.loads((made.files / "bootstrap.ign").read_bytes())
    fetched = json.loads(machine.cache.read_bytes())
    assert {entry["path"] for entry in fetched["storage"]["files"]} >= {entry["path"] for entry in desired["storage"]["files"]}
    events = api.get(f"/devices/{metadata['id']}/events", params={"per_page": 100}).raise_for_status().json()["events"]
    assert "[fetch] Ignition status: finished successfully" in [event["body"] for event in events]
