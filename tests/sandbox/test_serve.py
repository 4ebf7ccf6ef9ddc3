# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m sandbox serve`` as a process: what it prints, what it refuses, how it ends, and what it still knows after kill -9.

No cluster is made here, so empty programs stand for the control plane's.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.tsigkeyring
import dns.update
import httpx
import pytest

from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.ports import may_listen

EXPORTS = [
    "METAL_API_URL",
    "METAL_API_TLS_URL",
    "METAL_API_CA_FILE",
    "METAL_AUTH_TOKEN",
    "METAL_PROJECT_ID",
    "METAL_CONSOLE_HOST",
    "OPENSHIFT_MIRROR_URL",
    "OPENSHIFT_DNS_SERVER",
    "OPENSHIFT_DNS_PORT",
    "OPENSHIFT_DNS_KEY_NAME",
    "OPENSHIFT_DNS_KEY_SECRET",
    "OPENSHIFT_BASE_DOMAIN",
    "OPENSHIFT_PULL_SECRET",
    "OPENSHIFT_PUBLISH_ADDRESS",
    "OPENSHIFT_RELEASE_KEYRING",
    "OPENSHIFT_PROXY_URL",
    "OPENSHIFT_MIRROR_REGISTRY",
    "SANDBOX_PUBLIC_CA_FILE",
    "SANDBOX_URL",
    "OPENSHIFT_METADATA_URL",
]


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


def until(condition: Callable[[], Any], within: float = 60.0) -> Any:
    ends = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < ends, f"not within {within} s"
        time.sleep(0.05)
    return found


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


def test_exports_come_first_and_are_quoted(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox", "serve", "--state", str(tmp_path / "a state"), "--listen", "127.0.0.1:0"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline().rstrip("\n") for _unused in range(len(EXPORTS) + 2)]
    assert lines[-2:] == [f"# In another terminal: source {shlex.quote(str(tmp_path / 'a state' / 'env.sh'))}", "# ready"]
    words = [shlex.split(line) for line in lines[:-2]]
    assert [(word[0], word[1].split("=")[0], len(word)) for word in words] == [("export", name, 2) for name in EXPORTS]
    values = dict(word[1].split("=", 1) for word in words)
    assert json.loads(values["OPENSHIFT_PULL_SECRET"])["auths"]
    assert Path(values["OPENSHIFT_RELEASE_KEYRING"]).exists()
    assert httpx.get(values["OPENSHIFT_MIRROR_URL"] + "/x86_64/clients/ocp/").status_code == 200
    trust = ssl.create_default_context(cafile=values["METAL_API_CA_FILE"])
    headers = {"x-auth-token": values["METAL_AUTH_TOKEN"]}
    assert httpx.get(values["METAL_API_TLS_URL"] + "/user", headers=headers, verify=trust).status_code == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    for path in (tmp_path / "a state").rglob("*"):
        if path.name in {"sandbox.json", "metal.sqlite", "env.sh"}:
            assert path.stat().st_mode & 0o077 == 0
    assert (tmp_path / "a state").stat().st_mode & 0o077 == 0


SHELLS = [shell for shell in ("sh", "bash", "zsh") if shutil.which(shell)]


def sourced(shell: str, file: Path, **environment: str) -> tuple[int, dict[str, str], str]:
    """What a shell has after it has read the file: its status, its environment and what it said."""
    script = '. "$1"; status=$?; /usr/bin/env -0; exit $status'
    base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | environment
    done = subprocess.run(
        [shutil.which(shell) or shell, "-c", script, shell, str(file)], env=base, capture_output=True, text=True, check=False
    )
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    return done.returncode, {name: value for name, value in found.items() if base.get(name) != value}, done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_a_second_terminal_reads_what_it_needs(tmp_path: Path, programs: Path, shell: str) -> None:
    (programs / "kubectl").write_text("#!/bin/sh\necho from the sandbox\n")
    (programs / "kubectl").chmod(0o755)
    own = tmp_path / "own"
    own.mkdir()
    file = tmp_path / "a state" / "env.sh"
    with RunningSandbox(tmp_path / "a state", log=tmp_path / "log") as running:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        status, changed, said = sourced(shell, file, PATH=str(own))
        assert (status, said) == (0, "")
        assert {name: changed[name] for name in EXPORTS} == running.environment
        # And nothing else but PATH: no virtual environment, no KUBECONFIG of a cluster that is not there.
        assert set(changed) - set(EXPORTS) - {"_", "PWD", "OLDPWD", "SHLVL"} == {"PATH", "ANSIBLE_INVENTORY"}
        assert (Path(changed["ANSIBLE_INVENTORY"]) / "01-cluster.yml").is_file()
        assert shutil.which("kubectl", path=changed["PATH"]) == str(tmp_path / "a state" / "bin" / "kubectl")
        assert sourced(shell, file, PATH=changed["PATH"])[1].get("PATH") is None, "it is there once"
        # The user's own goes first.
        (own / "kubectl").write_text("#!/bin/sh\n")
        (own / "kubectl").chmod(0o755)
        assert shutil.which("kubectl", path=changed["PATH"]) == str(own / "kubectl")
    assert not file.exists(), "it goes with the sandbox"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_killed_sandbox_has_left_says_so(tmp_path: Path, shell: str) -> None:
    running = RunningSandbox(tmp_path / "state", log=tmp_path / "log")
    running.start()
    running.kill()
    status, changed, said = sourced(shell, tmp_path / "state" / "env.sh")
    assert status == 1
    assert "has ended. Start it again: make sandbox" in said
    assert not set(changed) & {*EXPORTS, "PATH"}


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


def test_the_same_again_after_kill(sandbox: RunningSandbox) -> None:
    before = dict(sandbox.environment)
    key = dns.tsigkeyring.from_text({before["OPENSHIFT_DNS_KEY_NAME"]: ("hmac-sha256", before["OPENSHIFT_DNS_KEY_SECRET"])})
    update = dns.update.UpdateMessage(before["OPENSHIFT_BASE_DOMAIN"], keyring=key)
    update.add("api.demo", 60, "A", "127.64.0.2")
    assert dns.query.udp(update, before["OPENSHIFT_DNS_SERVER"], port=int(before["OPENSHIFT_DNS_PORT"]), timeout=20).rcode() == 0
    sandbox.kill()
    sandbox.start()
    assert sandbox.environment == before
    query = dns.message.make_query("api.demo.metal.test", "A")
    assert dns.query.udp(query, before["OPENSHIFT_DNS_SERVER"], port=int(before["OPENSHIFT_DNS_PORT"]), timeout=20).answer


def boot_script(mirror: str, platform: str, arguments: str = "") -> str:
    """The script of an install, from the mirror's own list of builds."""
    streams = f"{mirror}/x86_64/dependencies/rhcos/streams/"

    def first(url: str) -> str:
        return url + str(next(name for name in re.findall(r'href="([^"?]+/)"', httpx.get(url).text) if not name.startswith(("/", ".."))))

    build = first(first(streams) + "builds/")
    names = re.findall(r'href="([^"]+)"', httpx.get(build).text)
    kernel, initramfs, rootfs = (build + next(n for n in names if f"live-{part}" in n) for part in ("kernel", "initramfs", "rootfs"))
    return (
        f"#!ipxe\nkernel {kernel} initrd=main coreos.live.rootfs_url={rootfs} coreos.inst.install_dev=/dev/sda "
        f"coreos.inst.platform_id={platform} {arguments} console=ttyS1,115200n8\ninitrd --name main {initramfs}\nboot\n"
    )


@contextlib.contextmanager
def web_server(files: Path) -> Iterator[str]:
    """Serves a folder; yields its URL."""
    files.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    web = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(files), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        yield f"http://127.0.0.1:{port}"
    finally:
        web.terminate()
        web.wait()


POINTER = {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/mark", "contents": {"source": "data:,x"}}]}}


def test_with_the_vendors_names_machines_read_userdata_as_from_the_vendor(tmp_path: Path) -> None:
    """Over TLS at port 443, by the name that DNS has, with a certificate that the machines and the user's shell take for a public one."""
    if not may_listen(443):
        pytest.skip("needs port 443: root, or the sysctl net.ipv4.ip_unprivileged_port_start")
    files = tmp_path / "web"
    with RunningSandbox(tmp_path / "state", log=tmp_path / "log", speed=20_000, vendor_names=True) as running, web_server(files) as url:
        (files / "boot.ipxe").write_text(boot_script(running.environment["OPENSHIFT_MIRROR_URL"], "packet"))
        api = Api(running)
        id_ = api.create(ipxe_script_url=f"{url}/boot.ipxe", userdata=json.dumps(POINTER))
        until(lambda: any("/etc/mark" in body for body in api.user_events(id_)))
        assert "[fetch] Ignition status: finished successfully" in api.user_events(id_)
        settings = {
            "ignition_platform": "packet",
            "resolver": running.environment["OPENSHIFT_DNS_SERVER"],
            "resolver_port": running.environment["OPENSHIFT_DNS_PORT"],
            "timeout": 20,
        }
        program = (
            "import json, sys; from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import metadata; "
            "print(json.dumps(metadata.collect(json.loads(sys.argv[1]))))"
        )
        trusted = {**os.environ, "SSL_CERT_FILE": running.environment["SSL_CERT_FILE"], "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program, json.dumps(settings)]
        done = subprocess.run(command, env=trusted, check=True, capture_output=True, text=True)
        reading = json.loads(done.stdout)["metadata"]
        assert (len(reading["addresses"]), reading["problems"]) == (1, {})
        running.stop()
        running.start()
        assert "SSL_CERT_FILE" in running.environment, "kept for later starts"


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
    deadline = time.monotonic() + 20
    while sandbox.exists():
        assert time.monotonic() < deadline, "it goes on though its parent was killed"
        time.sleep(0.1)


def test_one_folder_one_sandbox(sandbox: RunningSandbox) -> None:
    second = start("serve", "--state", str(sandbox.directory), "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert second.stderr == f"sandbox: --state {sandbox.directory}: another sandbox (process {sandbox.pid}) uses this folder\n"
    assert second.stdout == ""


def network(sandbox: RunningSandbox) -> str:
    return str(json.loads((sandbox.directory / "sandbox.json").read_text())["machine_network"])


def test_a_sandbox_that_was_killed_comes_back_to_its_machines_addresses(sandbox: RunningSandbox, tmp_path: Path) -> None:
    id_ = Api(sandbox).create(operating_system="ubuntu_24_04")
    until(lambda: Api(sandbox).device(id_)["state"] == "active")
    addresses = Api(sandbox).device(id_)["ip_addresses"]
    sandbox.kill()
    with RunningSandbox(tmp_path / "second", log=tmp_path / "second.log") as second:
        assert network(second) != network(sandbox)
        sandbox.start()
        assert Api(sandbox).device(id_)["ip_addresses"] == addresses


def test_each_sandbox_has_a_token_and_a_project_of_its_own(sandbox: RunningSandbox, tmp_path: Path) -> None:
    def secrets_of(running: RunningSandbox) -> tuple[str, ...]:
        names = ("METAL_AUTH_TOKEN", "METAL_PROJECT_ID", "OPENSHIFT_DNS_KEY_SECRET")
        return tuple(running.environment[name] for name in names)

    with RunningSandbox(tmp_path / "second", log=tmp_path / "second.log") as second:
        assert not set(secrets_of(sandbox)) & set(secrets_of(second))
        foreign = {"x-auth-token": sandbox.environment["METAL_AUTH_TOKEN"]}
        assert httpx.get(f"{second.environment['METAL_API_URL']}/projects", headers=foreign).status_code == 401
    # Only who asks for the same ones gets them.
    seeded = []
    for name in ("third", "fourth"):
        with RunningSandbox(tmp_path / name, log=tmp_path / f"{name}.log", seed=7) as running:
            seeded.append(secrets_of(running)[:2])
    assert seeded[0] == seeded[1]
