"""Every device option of a pool, from the inventory to the order that the Metal API gets: ansible-playbook with the roles, in a sandbox."""

import json
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import HOST_DEVICE_OPTIONS
from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, run
from tests.contract.malformed import Answered, Key, Recorder
from tests.contract.scenario import WAIT
from tests.contract.test_device_options import ENDS
from tests.role_play import PACED, played

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0 contract"
CLUSTER = "pool.metal.test"
OWNED = [f"openshift-cluster={CLUSTER}"]

COMMON: dict[str, Any] = {"plan": "c3.small.x86", "metro": "da"}
POOLS: dict[str, dict[str, Any]] = {
    "plain": {
        **COMMON,
        "operating_system": "custom_ipxe",
        "tags": ["rack=7"],
        "billing_cycle": "daily",
        "description": "of a pool",
        "customdata": {"rack": 7},
        "locked": True,
        "ip_addresses": [{"address_family": 4, "public": True}, {"address_family": 4, "public": False, "cidr": 28}],
        "termination_time": ENDS,
        "ssh_keys": [{"label": "pool", "key": KEY}],
        "features": {"tpm": "preferred"},
        "storage": {"disks": [{"device": "/dev/sda", "wipeTable": True}]},
        "network_frozen": True,
    },
    "sized": {
        **COMMON,
        "no_ssh_keys": True,
        "public_ipv4_subnet_size": 31,
        "private_ipv4_subnet_size": 28,
    },
    "reserved": {**COMMON, "hardware_reservation_id": "next-available"},
    "keyed": {"plan": "c3.small.x86", "metro": "da", "placement": [{"metro": "ny"}]},
}
"""Options by pool: those that exclude each other are in different ones. ``keyed`` also gets the ids of keys."""


class Orders(Recorder):
    """Passes each request on to the Metal API, and keeps the bodies of the orders."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.orders: list[dict[str, Any]] = []

    def answer(self, key: Key, headers: Message, body: bytes) -> Answered:
        if key[0] == "POST" and "/devices#" in key[1]:
            self.orders.append(json.loads(body))
        return super().answer(key, headers, body)


@pytest.fixture
def recorder(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[Orders]:
    with Orders(sandbox_environment["METAL_API_URL"]).serving() as found:
        yield found


@pytest.fixture
def keys(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[dict[str, list[str]]]:
    """The ids of a key of the project and of the user."""
    project = sandbox_environment["METAL_PROJECT_ID"]
    key = call(sandbox, "POST", f"projects/{project}/ssh-keys", {"label": "of the project", "key": KEY})
    yield {"project_ssh_keys": [key["id"]], "user_ssh_keys": [call(sandbox, "GET", "user")["id"]]}
    call(sandbox, "DELETE", f"ssh-keys/{key['id']}")


@pytest.fixture(autouse=True)
def cleaned(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[None]:
    yield
    for device in run("metal_device_info", {"tags": OWNED}, sandbox_environment)["devices"]:
        call(sandbox, "PUT", f"devices/{device['id']}", {"locked": False})
    gone = run("metal_device_set", {"ownership_tags": OWNED, "all_owned": True, "state": "absent", **WAIT}, sandbox_environment)
    assert not gone.get("failed"), gone


def inventory(pools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An inventory with a pool of one host for each of these."""
    groups = {
        pool: {"hosts": {f"{pool}-0": {}}, "vars": {f"metal_{name}": value for name, value in options.items()}}
        for pool, options in pools.items()
    }
    settings = {"openshift_cluster_name": "pool", "openshift_base_domain": "metal.test"}
    return {"all": {"vars": settings, "children": {"workers": {"children": groups}}}}


def play(folder: Path) -> dict[str, Any]:
    return {
        "name": "Order the pools",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "provision_workers": "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) }}",
            "provision_cluster": CLUSTER,
            "provision_publish_address": "127.0.0.1",
            "provision_publish_http_port": 9,
            "provision_directory": str(folder),
            "provision_wait_timeout": 120,
            "openshift_wait_interval": 1,
        },
        **PACED,
        "roles": ["equinix_metal.openshift.provision"],
    }


def test_every_option_of_a_pool_is_in_the_body_of_its_order(
    recorder: Orders, keys: dict[str, list[str]], sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path
) -> None:
    sandbox.call("POST", "hardware_reservations", json={"count": 1, "metro": "da"})
    pools = {**POOLS, "keyed": {**POOLS["keyed"], **keys}}
    assert {name for options in pools.values() for name in options} == set(HOST_DEVICE_OPTIONS)
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump(inventory(pools)), encoding="utf-8")
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play(tmp_path)], sort_keys=False), encoding="utf-8")
    inventory_file, environment = tmp_path / "inventory.yml", {**sandbox_environment, "METAL_API_URL": recorder.url}
    code, output = played(tmp_path / "play.yml", "-i", inventory_file, environment=environment)
    assert code == 0, output
    orders = {order["hostname"].partition("-")[0]: order for order in recorder.orders}
    assert set(orders) == set(pools)
    for pool, options in pools.items():
        for name, value in options.items():
            if name == "tags":
                assert set(value) < set(orders[pool]["tags"])
            elif name == "placement":
                assert orders[pool]["metro"] == value[0]["metro"]
            elif name != "metro" or "placement" not in options:
                assert orders[pool].get(name) == value, f"metal_{name} of pool {pool}"
    assert "rack=7" not in orders["sized"]["tags"]

    # What can be compared is: a second run finds no difference, and writes nothing.
    recorder.orders.clear()
    sandbox.forget()
    code, output = played(tmp_path / "play.yml", "-i", inventory_file, environment=sandbox_environment)
    assert code == 0, output
    assert {each["method"] for each in sandbox.journal() if not each["path"].endswith("/capacity/metros")} == {"GET"}
