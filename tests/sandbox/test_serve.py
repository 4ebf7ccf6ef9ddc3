"""``python -m sandbox serve`` as a process: what it prints, what it refuses, how it ends, and what it still knows after kill -9.

No cluster is made here, so empty programs stand for the control plane's.
"""

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.eventually import until


@pytest.fixture(autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (folder / name).write_text("#!/bin/false\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("SANDBOX_CONTROLPLANE_BIN", str(folder))
    return folder


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    with RunningSandbox(tmp_path / "state", log=tmp_path / "log", speed=20_000) as running:
        yield running


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=30, check=False
    )


class Api:
    """The Metal API of a sandbox, with its token."""

    def __init__(self, sandbox: RunningSandbox) -> None:
        self.environment = sandbox.environment
        headers = {"x-auth-token": self.environment["METAL_AUTH_TOKEN"]}
        self.client = httpx.Client(base_url=self.environment["METAL_API_URL"], headers=headers, timeout=10)

    def create(self, **fields: Any) -> str:
        body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "hostname": "m0", **fields}
        answer = self.client.post(f"/projects/{self.environment['METAL_PROJECT_ID']}/devices", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def device(self, id_: str) -> dict[str, Any]:
        answer = self.client.get(f"/devices/{id_}")
        return dict(answer.json()) if answer.is_success else {"state": "gone"}

    def user_events(self, id_: str) -> list[str]:
        events = self.client.get(f"/devices/{id_}/events", params={"per_page": 100}).json()["events"]
        return [event["body"] for event in events if event["type"].startswith("user.")]


def sourced(file: Path, **environment: str) -> dict[str, str]:
    """What the environment of a shell has more after it has read the file."""
    base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | environment
    command = ["/bin/sh", "-c", '. "$1" && /usr/bin/env -0', "sh", str(file)]
    done = subprocess.run(command, env=base, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    return {name: value for name, value in found.items() if base.get(name) != value}


def test_a_second_terminal_reads_what_it_needs(tmp_path: Path, programs: Path) -> None:
    (programs / "kubectl").write_text("#!/bin/sh\necho from the sandbox\n")
    (programs / "kubectl").chmod(0o755)
    own = tmp_path / "own"
    own.mkdir()
    state = tmp_path / "a state"
    file = state / "env.sh"
    with RunningSandbox(state, log=tmp_path / "log") as running:
        changed = sourced(file, PATH=str(own))
        # And nothing else but PATH: no virtual environment, no KUBECONFIG of a cluster that is not there.
        assert set(changed) - {"_", "PWD", "OLDPWD", "SHLVL"} == {*running.environment, "PATH", "ANSIBLE_INVENTORY"}
        assert running.environment.items() <= changed.items()
        assert shutil.which("kubectl", path=changed["PATH"]) == str(state / "bin" / "kubectl")
        # The user's own goes first.
        (own / "kubectl").write_text("#!/bin/sh\n")
        (own / "kubectl").chmod(0o755)
        assert shutil.which("kubectl", path=changed["PATH"]) == str(own / "kubectl")
        secret = [path for path in state.rglob("*") if path.name in {"sandbox.json", "metal.sqlite", "env.sh"}]
        assert [path.stat().st_mode & 0o077 for path in (*secret, state)] == [0] * 4
    assert not file.exists(), "it goes with the sandbox"


def test_a_terminal_shows_where_to_read_it_and_no_token(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox", "serve", "--state", str(tmp_path / "state"), "--listen", "127.0.0.1:0"],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    while b"# ready" not in shown:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    os.close(ours)
    assert f"# In another terminal: source {tmp_path / 'state' / 'env.sh'}" in shown.decode()
    assert b"export" not in shown
    assert b"TOKEN" not in shown


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.debian("haproxy")
@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_no_process_is_left(sandbox: RunningSandbox, ending: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = f'frontend f\n  mode http\n  timeout client 1s\n  bind "${{LB_ADDRESS}}:{port}"\n  http-request return status 200\n'
    userdata = {"packages": ["haproxy"], "write_files": [{"path": "/etc/haproxy/haproxy.cfg", "content": config}]}
    api = Api(sandbox)
    id_ = api.create(operating_system="ubuntu_24_04", userdata="#cloud-config\n" + json.dumps(userdata))
    until(lambda: any("[haproxy] started" in body for body in api.user_events(id_)))
    (child,) = children_of(sandbox.pid)
    address = next(a["address"] for a in api.device(id_)["ip_addresses"] if a["public"] and a["address_family"] == 4)
    until(lambda: socket.socket().connect_ex((address, port)) == 0)
    if ending == "kill":
        sandbox.kill()
    else:
        sandbox.stop()
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])
    sandbox.start()
    until(lambda: socket.socket().connect_ex((address, port)) == 0)


def test_the_sandbox_ends_with_its_parent_process(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib; from sandbox.testing.process import RunningSandbox\n"
        "running = RunningSandbox(pathlib.Path(sys.argv[1]), log=pathlib.Path(sys.argv[1] + '.log'))\n"
        "running.start(); print(running.pid, flush=True); time.sleep(600)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "state")],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    sandbox = Path("/proc") / starter.stdout.readline().strip()
    assert sandbox.exists()
    starter.kill()
    starter.wait()
    until(lambda: not sandbox.exists(), "it ends with its parent", within=20)


def test_one_folder_one_sandbox(sandbox: RunningSandbox) -> None:
    second = start("serve", "--state", str(sandbox.directory), "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert second.stderr == f"sandbox: --state {sandbox.directory}: another sandbox (process {sandbox.pid}) uses this folder\n"
    assert second.stdout == ""


def test_a_folder_keeps_its_kind_of_machines(tmp_path: Path) -> None:
    (tmp_path / "sandbox.json").write_text('{"machines": "container"}')
    other = start("serve", "--state", str(tmp_path), "--listen", "127.0.0.1:0")
    assert (other.returncode, other.stdout) == (1, "")
    assert "was made with --machines container: start it with that" in other.stderr


def test_each_sandbox_has_a_token_and_a_project_of_its_own(sandbox: RunningSandbox, tmp_path: Path) -> None:
    def secrets_of(running: RunningSandbox) -> tuple[str, ...]:
        names = ("METAL_AUTH_TOKEN", "METAL_PROJECT_ID", "OPENSHIFT_DNS_KEY_SECRET")
        return tuple(running.environment[name] for name in names)

    with RunningSandbox(tmp_path / "second", log=tmp_path / "second.log") as second:
        assert not set(secrets_of(sandbox)) & set(secrets_of(second))
        foreign = {"x-auth-token": sandbox.environment["METAL_AUTH_TOKEN"]}
        assert httpx.get(f"{second.environment['METAL_API_URL']}/projects", headers=foreign).status_code == 401
