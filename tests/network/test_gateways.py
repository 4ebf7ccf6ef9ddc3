"""The role network against a sandbox: the gateway of the cluster's VLAN, what is used as it is, and what destroy deletes."""

import ipaddress
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.testing.process import RunningSandbox, is_write
from tests.conftest import user_environment
from tests.contract.environment import call
from tests.role_play import PACED, played

CLUSTER = "gateways.metal.test"
KINDS = {"virtual-networks": "virtual_networks", "metal-gateways": "metal_gateways", "ips?types=public_ipv4": "ip_addresses"}


class Project:
    """The sandbox's project, and runs of the role in it."""

    def __init__(self, sandbox: RunningSandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self._folder = folder
        self._path = f"projects/{sandbox.environment['METAL_PROJECT_ID']}"

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return call(self.sandbox, method, path, body)

    def create(self, kind: str, **body: Any) -> Any:
        return self.ask("POST", f"{self._path}/{kind}", body)

    def ids(self) -> dict[str, set[str]]:
        """Return the ids of all VLANs, gateways and public blocks."""
        return {name: {each["id"] for each in self.ask("GET", f"{self._path}/{path}")[name]} for path, name in KINDS.items()}

    def gateway(self, known: dict[str, set[str]]) -> dict[str, Any]:
        """Return the gateway that did not exist before."""
        (found,) = self.ids()["metal_gateways"] - known["metal_gateways"]
        return dict(self.ask("GET", f"metal-gateways/{found}?include=ip_reservation,virtual_network"))

    def play(self, tasks: str, **variables: Any) -> str:
        """Run a file of tasks of the role, and return the fact ``network_subnet``. Fails with the output of a failed run."""
        include = {"name": "equinix_metal.openshift.network", "tasks_from": tasks}
        machine = {"hostname": f"master-0.{CLUSTER}", "metro": "da", "placement": [{"metro": "da"}]}
        given = {
            "openshift_cluster_name": "gateways",
            "openshift_base_domain": "metal.test",
            "openshift_machine_network": "vlan",
            "openshift_wait_interval": 0.1,
            "ansible_python_interpreter": sys.executable,
            "network_machines": [machine],
            **variables,
        }
        written = {"content": "{{ network_subnet | default('') }}", "dest": str(self._folder / "subnet"), "mode": "0600"}
        steps = [{"name": "Run the role", "ansible.builtin.include_role": include}, {"name": "Write", "ansible.builtin.copy": written}]
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": given, **PACED, "tasks": steps}
        (self._folder / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        code, output = played(self._folder / "play.yml", "-i", "localhost,", environment=user_environment(self.sandbox))
        assert code == 0, output
        return (self._folder / "subnet").read_text(encoding="utf-8")

    def writes(self) -> list[Any]:
        return [entry for entry in self.sandbox.journal() if is_write(entry)]


@pytest.fixture
def project(sandbox: RunningSandbox, tmp_path: Path) -> Project:
    return Project(sandbox, tmp_path)


@pytest.mark.parametrize("kind", ["private", "public"])
def test_a_gateway_of_the_cluster_in_a_vlan_of_the_cluster(project: Project, kind: str) -> None:
    before = project.ids()
    variables = {"openshift_vlan_gateway": kind, "openshift_vlan_gateway_size": 16}
    subnet = project.play("main", **variables)
    gateway = project.gateway(before)
    assert gateway["state"] == "ready"
    assert (gateway["ip_reservation"]["type"], gateway["ip_reservation"]["cidr"]) == (f"{kind}_ipv4", 28)
    assert subnet == str(ipaddress.ip_interface(gateway["gateway_address"]).network)
    assert gateway["virtual_network"]["tags"] == [f"openshift-cluster={CLUSTER}"]
    if kind == "public":
        assert gateway["ip_reservation"]["tags"] == [f"openshift-cluster={CLUSTER}", "openshift-role=gateway"]
    project.sandbox.forget()
    assert project.play("main", **variables) == subnet
    assert project.writes() == []
    project.play("remove", **variables)
    assert project.ids() == before


def test_a_gateway_with_a_block_of_the_cluster_in_an_existing_vlan(project: Project) -> None:
    vlan = project.create("virtual-networks", metro="da", description="storage")
    before = project.ids()
    variables = {"openshift_vlan_gateway": "public", "openshift_vlan_gateway_size": 8, "openshift_vlan_id": vlan["id"]}
    project.play("main", **variables)
    assert project.gateway(before)["virtual_network"]["id"] == vlan["id"]
    # Destroy finds it by its block: the VLAN has no tag of the cluster.
    project.play("remove", **variables)
    assert project.ids() == before
    project.ask("DELETE", f"virtual-networks/{vlan['id']}")


def test_a_gateway_with_an_existing_block_in_a_vlan_of_the_cluster(project: Project) -> None:
    block = project.create("ips", type="public_ipv4", quantity=8, metro="da", details="storage")
    before = project.ids()
    variables = {"openshift_vlan_gateway": "public", "openshift_vlan_reservation_id": block["id"]}
    assert project.play("main", **variables) == f"{block['network']}/{block['cidr']}"
    assert project.gateway(before)["ip_reservation"]["id"] == block["id"]
    project.play("remove", **variables)
    assert project.ids() == before
    assert project.ask("GET", f"ips/{block['id']}")["tags"] == []
    project.ask("DELETE", f"ips/{block['id']}")
