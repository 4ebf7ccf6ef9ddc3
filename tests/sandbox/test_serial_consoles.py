"""Serial consoles over SSH, with the real client."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sandbox.testing.process import RunningSandbox
from tests.eventually import until
from tests.ssh_keys import make_ssh_key

pytestmark = pytest.mark.debian("openssh-server")


class Lab:
    """A sandbox with one device, and the SSH keys of a user in it."""

    def __init__(self, folder: Path, sandbox: RunningSandbox) -> None:
        self.folder, self.sandbox = folder, sandbox
        environment = sandbox.environment
        self.address, _colon, self.port = environment["METAL_CONSOLE_HOST"].rpartition(":")
        self.api = httpx.Client(
            base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}, timeout=30
        )
        self.project = environment["METAL_PROJECT_ID"]

    def key(self, name: str) -> Path:
        """Return a new private key; its public half is beside it."""
        return make_ssh_key(self.folder / name)

    def register(self, path: str, key: Path) -> None:
        body = {"label": key.name, "key": key.with_suffix(".pub").read_text(encoding="ascii")}
        assert self.api.post(path, json=body).status_code == 201

    def order(self) -> str:
        body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "hostname": "m0", "userdata": "#!ipxe\nexit"}
        answer = self.api.post(f"/projects/{self.project}/devices", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def command(self, key: Path, device: str, *command: str) -> list[str]:
        options = ("BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
        words = [word for each in options for word in ("-o", each)]
        return ["ssh", "-F", "none", *words, "-i", str(key), "-p", self.port, f"{device}@{self.address}", *command]

    def run(self, key: Path, device: str, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(key, device, *command), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )

    def console(self, device: str) -> Path:
        return self.sandbox.directory / "machines" / device / "console.log"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with RunningSandbox(tmp_path / "state", log=tmp_path / "log", speed=20_000) as running:
        yield Lab(tmp_path, running)


def test_the_log_of_a_console_is_for_keys_of_the_project_and_its_users(lab: Lab) -> None:
    ours, of_user, foreign = lab.key("ours"), lab.key("of-user"), lab.key("foreign")
    lab.register(f"/projects/{lab.project}/ssh-keys", ours)
    lab.register("/ssh-keys", of_user)
    other = lab.api.post("/projects", json={"name": "other"}).json()["id"]
    lab.register(f"/projects/{other}/ssh-keys", foreign)
    device = lab.order()
    until(lambda: "iPXE" in (lab.console(device).read_text() if lab.console(device).exists() else ""), "the firmware writes")
    for key in (ours, of_user):
        read = lab.run(key, device, "log")
        assert (read.returncode, read.stderr) == (0, "")
        assert "iPXE" in read.stdout
    for key, name in ((foreign, device), (ours, "root"), (ours, device.upper())):
        refused = lab.run(key, name, "log")
        assert refused.returncode == 255
        assert "Permission denied (publickey)" in refused.stderr
    assert lab.run(ours, device, "cat /etc/passwd").returncode == 127
    assert lab.api.delete(f"/devices/{device}").status_code == 204
    until(lambda: lab.run(ours, device, "log").returncode == 255, "the console of a deleted device is closed")
