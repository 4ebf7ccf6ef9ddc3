"""The static pod of the control plane nodes with the real kube-vip and a real router: announced and withdrawn by the API's readiness."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import REPOSITORY
from tests.kubeconfigs import write_kubeconfig
from tests.load_balancer.conftest import IMAGE
from tests.load_balancer.namespaces import ELASTIC, HOLD_TIME, VIA, Network, await_routes, requests

pytestmark = [
    pytest.mark.long,
    pytest.mark.debian("bird2", "curl", "iproute2", "jq"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

SCRIPT = REPOSITORY / "roles/ignition/files/kube-vip.sh"


class ControlPlane(Network):
    """Two control plane nodes in place of the load balancers, with an API and its readiness on port 6080 by Python's web server."""

    def __init__(self, folder: Path, program: Path) -> None:
        super().__init__(folder)
        self._program = program

    def _balance(self, number: int) -> None:
        part = f"lb{number}"
        (self.folder / part).mkdir()
        (self.folder / part / "readyz").write_text("ok", encoding="utf-8")
        for port in ("6443", "6080"):
            self.start(part, f"web{port}", sys.executable, "-m", "http.server", "--directory", str(self.folder / part), port)
        self.write_pod(number)
        # The file that the pod mounts at the path of its setting.
        server = {"server": "https://api-int.demo.metal.test:6443"}
        kubeconfig = write_kubeconfig(self.folder / "kubeconfig", server, {"token": "not-used"})
        settings = {**self.settings(number), "k8s_config_file": str(kubeconfig), "vip_nodename": part}
        self.start(part, "kube-vip", "env", *(f"{name}={value}" for name, value in settings.items()), str(self._program), "manager")

    def write_pod(self, number: int) -> None:
        values = {
            "METADATA_URL": f"http://10.0.0.{2 * number}:8080/metadata-{number}",
            "API_ADDRESS": ELASTIC,
            "IMAGE": IMAGE,
            "MANIFESTS": str(self.folder / f"manifests-{number}"),
        }
        self.inside(f"lb{number}", "env", *(f"{name}={value}" for name, value in values.items()), "bash", str(SCRIPT))

    def pod(self, number: int) -> dict[str, Any]:
        path = self.folder / f"manifests-{number}" / "kube-vip.json"
        assert path.stat().st_mode & 0o777 == 0o600
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def settings(self, number: int) -> dict[str, str]:
        (container,) = self.pod(number)["spec"]["containers"]
        return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}

    def set_ready(self, number: int, *, ready: bool) -> None:
        path = self.folder / f"lb{number}" / "readyz"
        path.write_text("ok", encoding="utf-8") if ready else path.unlink()

    def cut(self, number: int) -> None:
        part = f"lb{number}"
        self.inside(part, "ip", "link", "set", "bond0", "address", "02:00:00:00:00:01", "arp", "off")
        for what in ("kube-vip", "web6443", "web6080"):
            self.kill(part, what)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, kube_vip: Path) -> Iterator[Network]:
    with ControlPlane(tmp_path_factory.mktemp("kube-vip-bgp"), kube_vip).running() as made:
        await_routes(made, *VIA)
        yield made


def test_all_nodes_announce_the_address_and_carry_traffic(network: ControlPlane) -> None:
    assert requests(network, 2) == 0


def test_a_second_run_of_the_script_changes_nothing(network: ControlPlane) -> None:
    path = network.folder / "manifests-0" / "kube-vip.json"
    before = path.stat().st_mtime_ns
    network.write_pod(0)
    assert path.stat().st_mtime_ns == before


def test_the_address_is_withdrawn_while_the_api_server_of_a_node_is_not_ready(network: ControlPlane) -> None:
    network.set_ready(0, ready=False)
    assert await_routes(network, VIA[1]) < 6
    assert requests(network, 2) == 0
    network.set_ready(0, ready=True)
    await_routes(network, *VIA)


def test_the_script_waits_for_the_bgp_session(network: ControlPlane) -> None:
    """The Metal API creates sessions after the devices."""
    metadata = network.folder / "metadata-0"
    complete = metadata.read_text(encoding="utf-8")
    pod = network.folder / "manifests-0" / "kube-vip.json"
    pod.unlink()
    metadata.write_text(json.dumps({**json.loads(complete), "bgp_neighbors": []}), encoding="utf-8")
    writing = threading.Thread(target=network.write_pod, args=(0,))
    writing.start()
    writing.join(3)
    assert writing.is_alive()
    assert not pod.exists()
    metadata.write_text(complete, encoding="utf-8")
    writing.join(20)
    assert network.pod(0)["metadata"]["name"] == "kube-vip"


def test_the_routes_of_a_dead_node_end_with_the_hold_time(network: ControlPlane) -> None:
    network.cut(0)
    assert await_routes(network, VIA[1]) < HOLD_TIME + 3
    assert requests(network, 2) == 0
