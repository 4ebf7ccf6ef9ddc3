"""The address of the API on a control plane node: there while its own API server is ready, so that the kubelet always reaches one."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.testing.process import REPOSITORY
from tests.eventually import until
from tests.load_balancer.namespaces import ELASTIC
from tests.network.namespaces import Namespace, namespaces

pytestmark = [
    pytest.mark.debian("iproute2", "curl", "jq"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

SCRIPT = REPOSITORY / "roles/ignition/files/kube-vip.sh"


class Node:
    """A node in a network namespace, whose gateway leads to another control plane node with the address."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.here, self.other = stack.enter_context(namespaces("node", "other"))
        self.here.run("ip", "address", "add", "10.0.0.1/31", "dev", "eth0")
        self.here.run("ip", "route", "add", "default", "via", "10.0.0.0")
        for address, device in (("10.0.0.0/31", "eth0"), (f"{ELASTIC}/32", "lo")):
            self.other.run("ip", "address", "add", address, "dev", device)
        for part, port in ((self.here, "6443"), (self.here, "6080"), (self.other, "6443")):
            (folder / part.name).mkdir(exist_ok=True)
            (folder / part.name / "name").write_text(part.name, encoding="utf-8")
            self.start(part, sys.executable, "-m", "http.server", "--directory", str(folder / part.name), port)
        self.start(self.here, "env", f"API_ADDRESS={ELASTIC}", "bash", str(SCRIPT), "follow-api")

    def start(self, part: Namespace, *command: str) -> None:
        process = subprocess.Popen(["ip", "netns", "exec", part.name, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)

    def be_ready(self, *, ready: bool) -> None:
        """Set the readiness of the node's own API server, whose connections stay open."""
        path = self.folder / self.here.name / "readyz"
        if ready:
            path.write_text("ok", encoding="utf-8")
        else:
            path.unlink()

    def reaches(self) -> str:
        """Return which node's API server answers at the address; empty without an answer."""
        command = ["ip", "netns", "exec", self.here.name, "curl", "--silent", "--fail", "--max-time", "2", f"http://{ELASTIC}:6443/name"]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with contextlib.ExitStack() as stack:
        yield Node(tmp_path, stack)


def test_a_node_reaches_another_api_server_while_its_own_is_not_ready(node: Node) -> None:
    until(lambda: node.reaches() == node.other.name, "the other API server, before its own is ready")
    node.be_ready(ready=True)
    until(lambda: node.reaches() == node.here.name, "its own API server")
    # As at a rollout: not ready, and still listening.
    node.be_ready(ready=False)
    until(lambda: node.reaches() == node.other.name, "the other API server during a rollout")
    assert ELASTIC not in node.here.run("ip", "address", "show", "dev", "lo")
    node.be_ready(ready=True)
    until(lambda: node.reaches() == node.here.name, "its own API server after the rollout")


def test_an_open_connection_ends_with_the_address(node: Node) -> None:
    node.be_ready(ready=True)
    until(lambda: node.reaches() == node.here.name, "its own API server")
    hold = f"import socket; s = socket.create_connection(('{ELASTIC}', 6443)); print('open', flush=True); s.settimeout(40); s.recv(1)"
    command = ["ip", "netns", "exec", node.here.name, sys.executable, "-c", hold]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "open\n"
        node.be_ready(ready=False)
        _output, errors = client.communicate(timeout=60)
    assert "ConnectionAbortedError" in errors, errors
