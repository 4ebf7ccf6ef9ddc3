"""The platform metal: CoreOS' own Ignition engine applies what the bootstrap device boots from, live and installed.

The engine runs in a network of its own, where nothing but the boot server answers: no name of the service's vendor, no metadata service. It
trusts no CA but those in its config. Nodes, which get theirs from the cluster, are in tests/containers.
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sandbox.testing.process import RunningSandbox
from tests.conftest import user_environment

from .conftest import DOMAIN, NAME, Role
from .engine import Alone, Machine, relay, start_alone

pytestmark = pytest.mark.debian("ignition")

HOSTS = {
    role: f"{name}.{NAME}.{DOMAIN}" for role, name in (("bootstrap", "bootstrap"), ("control-plane", "master-0"), ("worker", "worker-0"))
}
DEVICE = "127.64.7.7"
"""The address of the bootstrap device; the boot server itself is at 127.0.0.1."""
METADATA = "http://127.0.0.1:9/metadata"


@pytest.fixture(scope="module")
def published(made: Role, sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the boot_files role publishes for a machine of each role, served by it."""
    folder = tmp_path_factory.mktemp("metal") / "cluster"
    shutil.copytree(made.folder, folder, symlinks=True)
    role = Role(sandbox_process, user_environment(sandbox_process), folder, name="boot_files")
    groups = {"bootstrap": "bootstrap", "control-plane": "control_plane", "worker": "workers"}
    variables: dict[str, Any] = {
        **{f"boot_files_{groups[each]}": [{"hostname": host, "role": each}] for each, host in HOSTS.items()},
        "openshift_publish_address": "127.0.0.1",
        "openshift_metadata_url": METADATA,
    }
    role.well(**variables)
    yield folder / "publish"
    role.well(tasks_from="remove", **variables)


@pytest.fixture
def allowed(published: Path) -> Iterator[Path]:
    """The boot server's list of addresses, which is empty: the bootstrap device is not ordered yet."""
    path = published / "allowed.json"
    path.write_text("[]", encoding="utf-8")
    yield path
    path.write_text("[]", encoding="utf-8")


def installed_config(published: Path, role: str, folder: Path) -> Path:
    """Have the engine apply the live config of a machine; return the config that coreos-installer then writes to the disk."""
    live = Machine(folder / f"live-{role}")
    live.folder.mkdir(parents=True)
    config = live.folder / "config.ign"
    config.write_text(json.loads((published / "open.json").read_bytes())[f"{HOSTS[role]}-live.ign"], encoding="utf-8")
    for stage in ("fetch", "files"):
        done = live.run(config, stage)
        assert done.returncode == 0, done.stdout
    installer = {path.name: path.read_text(encoding="utf-8") for path in (live.root / "etc/coreos/installer.d").iterdir()}
    assert installer["10-openshift.yaml"] == "console:\n- ttyS1,115200n8\n- ttyS0,115200n8\n- tty0\nplatform: metal\n"
    named = installer["30-ignition.yaml"].removeprefix("ignition-file: ").strip()
    assert (live.root / "usr/local/bin/choose-disk").exists(), "the live config of the profile was merged"
    path: Path = live.root / named.removeprefix("/")
    assert path.stat().st_mode & 0o777 == 0o600
    return path


@contextlib.asynccontextmanager
async def started(machine: Machine, config: Path, at: tuple[str, int]) -> AsyncIterator[Alone]:
    """The engine's fetch stage in a network where only ``at`` answers, which sees requests of the bootstrap device."""
    environment = {"IGNITION_CONFIG_FILE": str(config), "SSL_CERT_FILE": os.devnull}
    alone = start_alone(machine.command("fetch", "file"), *at, environment)
    server = await relay(alone.listener, at, DEVICE)
    try:
        yield alone
    finally:
        alone.process.kill()
        server.close()


async def ended(alone: Alone) -> str:
    """The engine's output, when it has ended well."""
    output, _errors = await asyncio.to_thread(alone.process.communicate, timeout=60)
    assert alone.process.returncode == 0, output
    return output


async def line_with(alone: Alone, text: str) -> str:
    """The engine's next line of output with that text."""

    def read() -> str:
        assert alone.process.stdout is not None
        return next(line for line in alone.process.stdout if text in line)

    return await asyncio.wait_for(asyncio.to_thread(read), 60)


def written_by(machine: Machine, config: Path) -> Path:
    """Have the engine write files and units of what it has fetched; return the root of the disk."""
    # The owner of some files.
    etc = machine.root / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n", encoding="utf-8")
    (etc / "group").write_text("root:x:0:\n", encoding="utf-8")
    done = machine.run(config, "files")
    assert done.returncode == 0, done.stdout
    return machine.root


def test_ignition_validate_accepts_the_configs(made: Role, published: Path, tmp_path: Path) -> None:
    files = [*made.files.glob("*.ign"), *(installed_config(published, role, tmp_path) for role in HOSTS)]
    for name, content in json.loads((published / "open.json").read_bytes()).items():
        if name.endswith(".ign"):
            files.append(tmp_path / name)
            files[-1].write_text(content, encoding="utf-8")
    for path in files:
        done = subprocess.run(["ignition-validate", str(path)], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), path


def test_the_bootstrap_device_waits_until_its_address_is_listed_and_needs_no_token(
    made: Role, published: Path, allowed: Path, tmp_path: Path
) -> None:
    config, machine = installed_config(published, "bootstrap", tmp_path), Machine(tmp_path / "machine")
    (merged,) = json.loads(config.read_bytes())["ignition"]["config"]["merge"]
    assert merged["httpHeaders"] == []
    url = urlsplit(merged["source"])
    at = (url.hostname or "", url.port or 0)

    def list_addresses(*addresses: str) -> None:
        allowed.write_text(json.dumps(addresses), encoding="utf-8")

    async def run() -> str:
        async with started(machine, config, at) as alone:
            said = await line_with(alone, "GET result")
            # An address of another device does not help.
            list_addresses("127.64.7.8")
            said += await line_with(alone, "GET result")
            assert alone.process.poll() is None
            list_addresses(DEVICE)
            await ended(alone)
        return said

    said = asyncio.run(run())
    assert said.count("Service Unavailable") == 2
    desired = json.loads((made.files / "bootstrap.ign").read_bytes())
    fetched = json.loads(machine.cache.read_bytes())
    assert {entry["path"] for entry in fetched["storage"]["files"]} >= {
        "/etc/hostname",
        *(entry["path"] for entry in desired["storage"]["files"]),
    }
    assert fetched["passwd"]["users"] == desired["passwd"]["users"], "with the keys for SSH"
    # Users need programs that a folder does not have.
    del fetched["passwd"]
    machine.cache.write_text(json.dumps(fetched), encoding="utf-8")
    root = written_by(machine, config)
    assert (root / "etc/hostname").read_text(encoding="utf-8") == f"{HOSTS['bootstrap']}\n"
    assert (root / "etc/report-first-boot.url").read_text(encoding="utf-8") == f"{METADATA}\n"
    assert os.access(root / "usr/local/bin/report-first-boot", os.X_OK)
    assert (root / "opt/openshift/tls/kubelet-signer.key").exists()
