"""The failure bundle has what the serial consoles show, if the run may have logs: read over SSH from the sandbox, and redacted."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call
from tests.eventually import until
from tests.failure.failing import NAME, FailingPlay, environment_of
from tests.ssh_keys import make_ssh_key

pytestmark = pytest.mark.debian("openssh-server")

HOSTNAME = f"worker-0.{NAME}"
MARK = "a line on the console"
SECRET = "pl4nted-console"


@pytest.fixture
def key(tmp_path: Path, sandbox: RunningSandbox) -> Iterator[Path]:
    """An SSH key of the user of the sandbox."""
    file = make_ssh_key(tmp_path / "key")
    made = call(sandbox, "POST", "ssh-keys", {"label": "test", "key": file.with_suffix(".pub").read_text(encoding="ascii")})
    yield file
    call(sandbox, "DELETE", f"ssh-keys/{made['id']}")


@pytest.fixture
def device(sandbox: RunningSandbox) -> Iterator[str]:
    """A device of the cluster, whose firmware has written a secret and an escape sequence to its console."""
    script = f"#!ipxe\necho {MARK}\necho \x1b[2Jclient_secret={SECRET}\nshell\n"
    body = {"hostname": HOSTNAME, "plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "userdata": script}
    project = sandbox.environment["METAL_PROJECT_ID"]
    made = call(sandbox, "POST", f"projects/{project}/devices", {**body, "tags": [f"openshift-cluster={NAME}", "openshift-role=worker"]})
    console = sandbox.directory / "machines" / made["id"] / "console.log"
    until(lambda: console.exists() and SECRET in console.read_text(encoding="utf-8"), "the script runs on the device")
    try:
        yield str(made["id"])
    finally:
        call(sandbox, "DELETE", f"devices/{made['id']}?force_delete=true")


@pytest.fixture
def play(tmp_path: Path, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> FailingPlay:
    host = sandbox.environment["METAL_CONSOLE_HOST"]
    return FailingPlay(tmp_path, environment_of(sandbox_environment), {"metal_console_host": host})


def test_the_bundle_has_the_consoles_of_all_devices(play: FailingPlay, key: Path, device: str) -> None:
    failed = play.run(openshift_gather_logs=True, metal_console_key=str(key))
    entries = failed.entries
    console = entries[f"consoles/{HOSTNAME}.log"]
    assert MARK in console
    assert "\x1b" not in console
    assert SECRET not in "".join(entries.values())
    host, _colon, port = str(play.variables["metal_console_host"]).rpartition(":")
    assert f"ssh -p {port} {device}@{host}" in entries["consoles.txt"]
    # A simulated machine has no SSH server.
    assert [each["name"] for each in json.loads(entries["left-out.json"])] == [f"journals/{HOSTNAME}.log"]
    assert "could not be collected: journals. Review" in failed.last_screen


def test_consoles_are_read_only_for_logs(play: FailingPlay, key: Path, device: str) -> None:
    entries = play.run(metal_console_key=str(key)).entries
    assert device in entries["consoles.txt"]
    assert not any(name.startswith("consoles/") for name in entries)


def test_a_key_that_is_refused_is_reported(play: FailingPlay, device: str, tmp_path: Path) -> None:
    foreign = make_ssh_key(tmp_path / "foreign")
    failed = play.run(openshift_gather_logs=True, metal_console_key=str(foreign))
    assert "could not be collected: consoles, journals. Review" in failed.last_screen
    _journal, left_out = json.loads(failed.entries["left-out.json"])
    assert left_out["name"] == f"consoles/{HOSTNAME}.log"
    assert "Permission denied (publickey)" in left_out["reason"]
    assert device in failed.entries["consoles.txt"]


def test_a_console_that_does_not_end_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    """As on a service without the command: a session shows what comes, and stays open."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{MARK}'\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    files = Path(__file__).resolve().parents[2] / "roles" / "gather" / "files"
    asked = {"hostname": HOSTNAME, "user": "1a", "host": "127.0.0.1", "port": 1, "command": "log"}
    code = f"import remote_logs; remote_logs.WITHIN = 1; print([*remote_logs.read_logs([{asked!r}], '')][0])"
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(files)}
    done = subprocess.run(["python", "-c", code], env=environment, capture_output=True, text=True, timeout=30, check=True)
    assert MARK in done.stdout
    assert "did not end within 1 s" in done.stdout
