"""Clusters whose nodes have IPv6 addresses on their bonds: with IPv6 they carry traffic, and without it they are closed all the same."""

from pathlib import Path

import pytest
import yaml

from sandbox import namespace
from tests.containers.machines import API, MARKS, NODES, Machine, check_open_ports, is_silent, readiness
from tests.e2e.harness import User
from tests.e2e.test_networks import DUAL_STACK, check_addresses

pytestmark = MARKS


@pytest.mark.parametrize("is_dual", [True, False], ids=["dual-stack", "ipv4"])
def test_nodes_on_bonds(tmp_path: Path, *, is_dual: bool) -> None:
    settings = {**DUAL_STACK, "openshift_machine_networks": ["10.64.0.0/10", "2604:1380::/32"]} if is_dual else {}
    user = User(tmp_path, speed=240, machines="container")
    with user.at_work():
        namespace.use_name_server(user.folder)
        inventory = yaml.safe_dump({"all": {"vars": {"openshift_machine_network": "bond", **settings}}})
        (user.inventory / "03-network.yml").write_text(inventory, encoding="utf-8")
        user.play("install.yml").ended_well()
        assert user.nodes() == NODES
        user.play("install.yml").changed_nothing()
        machines = {name: Machine(user, name) for name in NODES}
        check_addresses(user, {name: [machine.address, machine.address6][: 1 + is_dual] for name, machine in machines.items()})
        for machine in machines.values():
            assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
            assert "node-network.service" in machine.started()
            assert "ordering cycle" not in machine.console()
        check_open_ports(machines, family=6, are_listed=is_dual)
        worker, master = machines["worker-0"], machines["master-0"]
        if is_dual:
            assert readiness(worker, f"[{master.address6}]") == "200"
            # A client prefers IPv6 where a record has both.
            connected = worker.inside("/usr/bin/ss", "-Htn6", "state", "established", f"dport = :{API}").stdout
            assert any(f"[{machine.address6}]:{API}" in connected for machine in machines.values()), connected
        user.switch("power_off", "master-0")
        assert all(is_silent(master.address6, source) for source in ("", worker))
