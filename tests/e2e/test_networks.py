"""A cluster on bonds: what its nodes get, the records of its addresses, and that destroy leaves nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path, speed=600)


def file_names(user: User, config: str) -> set[str]:
    """Return the names of the files that a MachineConfig of the cluster has."""
    found = user.kube(f"/apis/machineconfiguration.openshift.io/v1/machineconfigs/{config}")
    return {unquote(file["path"]) for file in found["spec"]["config"]["storage"]["files"]}


def test_nodes_on_bonds(user: User) -> None:
    with user.at_work():
        settings = {"openshift_machine_network": "bond"}
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        for pool in ("master", "worker"):
            assert file_names(user, f"98-{pool}-node-network") == {"/etc/node-network.conf", "/usr/local/bin/node-network"}
            assert file_names(user, f"98-{pool}-node-firewall") == {"/etc/node-firewall.conf", "/usr/local/bin/node-firewall"}
        # The firewall of every node reads this record: it must have each address that a machine connects from, and no other.
        expected = {entry["address"] for device in user.devices() for entry in device["ip_addresses"] if entry["address_family"] == 4}
        assert set(user.names_in_zone()[f"nodes.{NAME}. A"]) == expected
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes) == (0, [])
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        left = {entry["address"] for device in user.devices() for entry in device["ip_addresses"] if entry["address_family"] == 4}
        assert set(user.names_in_zone()[f"nodes.{NAME}. A"]) == left < expected
        user.destroy().ended_well()
        assert user.sandbox.inventory_is_empty()
        assert not [name for name in user.names_in_zone() if name.endswith(f"{NAME}. A")]
