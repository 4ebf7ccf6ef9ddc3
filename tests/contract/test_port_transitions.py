"""Every change from one network type of a device to another, with VLANs and native VLANs, by the desired state of its ports."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox, is_write
from tests.contract.environment import Metal, call, run

NONE: dict[str, Any] = {"vlan_ids": [], "native_vlan_id": ""}
BOTH: dict[str, Any] = {"vlan_ids": ["1131", "1132"], "native_vlan_id": ""}
NATIVE: dict[str, Any] = {"vlan_ids": ["1131", "1132"], "native_vlan_id": "1132"}
IN_BOND: dict[str, Any] = {"bonded": True, **NONE}

TYPES: dict[str, dict[str, dict[str, Any]]] = {
    "layer3": {"bond0": {"bonded": True, "layer2": False, **NONE}, "eth1": IN_BOND},
    "hybrid": {"bond0": {"bonded": True, "layer2": False, **NONE}, "eth1": {"bonded": False, **NATIVE}},
    "hybrid-bonded": {"bond0": {"bonded": True, "layer2": False, **BOTH}, "eth1": IN_BOND},
    "layer2-bonded": {"bond0": {"bonded": True, "layer2": True, **NATIVE}, "eth1": IN_BOND},
    "layer2-individual": {
        "bond0": {"bonded": False, "layer2": True, **NONE},
        "eth0": {"bonded": False, "vlan_ids": ["1131"], "native_vlan_id": ""},
        "eth1": {"bonded": False, **NATIVE},
    },
}
"""What the ports are to be, in the order of the tasks: the bond first."""


@pytest.fixture(scope="module")
def device(sandbox_process: RunningSandbox) -> Iterator[str]:
    """A device with two ports, and two VLANs beside it."""
    project = f"projects/{sandbox_process.environment['METAL_PROJECT_ID']}"
    networks = [call(sandbox_process, "POST", f"{project}/virtual-networks", {"metro": "da", "vxlan": number}) for number in (1131, 1132)]
    (identity,) = sandbox_process.call("POST", "devices", json={"count": 1, "hostname": "ports.contract.metal.test"})["ids"]
    yield identity
    gone = [run("metal_device", {"id": identity, "state": "absent", "wait_timeout": 60}, sandbox_process.environment)]
    gone += [run("metal_vlan", {"id": network["id"], "state": "absent"}, sandbox_process.environment) for network in networks]
    assert all(result["changed"] for result in gone), gone


def bring(device: str, target: str, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    results = []
    for name, options in TYPES[target].items():
        waits = {"wait_timeout": 60, "wait_interval": 0.05}
        result = run("metal_port", {"device_id": device, "name": name, **options, **waits}, environment)
        assert not result.get("failed"), f"{name} on the way to {target}: {result['msg']}"
        results.append(result)
    return results


def ports(sandbox: RunningSandbox, device: str) -> dict[str, dict[str, Any]]:
    included = "network_ports.virtual_networks,network_ports.native_virtual_network"
    return {port["name"]: port for port in call(sandbox, "GET", f"devices/{device}?include={included}")["network_ports"]}


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_a_device_changes_from_one_network_type_to_another(source: str, target: str, device: str, metal: Metal) -> None:
    bring(device, source, metal.environment)
    changed = any(result["changed"] for result in bring(device, target, metal.environment))
    assert changed == (source != target)

    found = ports(metal.sandbox, device)
    assert found["bond0"]["network_type"] == target
    for name, options in TYPES[target].items():
        native = found[name]["native_virtual_network"]
        assert [str(each["vxlan"]) for each in found[name]["virtual_networks"]] == options["vlan_ids"]
        assert (str(native["vxlan"]) if native else "") == options["native_vlan_id"]
        assert found[name]["data"]["bonded"] == options["bonded"]

    metal.sandbox.forget()
    assert not any(result["changed"] for result in bring(device, target, metal.environment))
    assert not [each for each in metal.sandbox.journal() if is_write(each)]


@pytest.mark.parametrize("target", TYPES)
def test_a_bond_disbonded_with_its_vlans_by_another_client_is_converted(target: str, device: str, metal: Metal) -> None:
    """packet-python leaves the VLANs on the bond when it takes it apart, and the service keeps them there."""
    bring(device, "hybrid-bonded", metal.environment)
    bond = f"ports/{ports(metal.sandbox, device)['bond0']['id']}"
    metal.call("POST", f"{bond}/convert/layer-2")
    metal.call("POST", f"{bond}/disbond")
    assert len(ports(metal.sandbox, device)["bond0"]["virtual_networks"]) == 2
    bring(device, target, metal.environment)
    assert ports(metal.sandbox, device)["bond0"]["network_type"] == target
    assert not any(result["changed"] for result in bring(device, target, metal.environment))
