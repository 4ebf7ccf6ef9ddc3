"""The scenarios of the contract tests: for every module that changes something the lifecycle of a resource.

A module is added with one entry here; without one the suite fails.
"""

import hashlib
from typing import Any

from tests.contract.accounts import ACCOUNT_SCENARIOS
from tests.contract.network import NETWORK_SCENARIOS
from tests.contract.scenario import SECRET, TAGS, WAIT, Scenario, is_tagged, machine, of_one

CLOUD_CONFIG = f"#cloud-config\npassword: {SECRET}\n"


def size_and_hash(text: str) -> str:
    return f"{len(text.encode())} bytes, sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def device(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a device as its diff has it, computed from the API's answer."""
    return {
        "hostname": entry["hostname"],
        "plan": entry["plan"]["slug"],
        "metro": entry["metro"]["code"],
        "operating_system": entry["operating_system"]["slug"],
        # What was asked for once is kept in tags as well, but is an attribute of the diff.
        "tags": sorted(tag for tag in entry["tags"] if not tag.startswith("ansible-operation")),
        "operation": " ".join(tag.partition("=")[2].replace(":", " ") for tag in entry["tags"] if tag.startswith("ansible-operation=")),
        "description": entry["description"] or "",
        "locked": entry["locked"],
        "always_pxe": entry["always_pxe"],
        "userdata": size_and_hash(entry["userdata"]) if entry["userdata"] else "",
        "power_state": "off" if entry["state"] in ("inactive", "powering_off") else "on",
    }


one_device = of_one(is_tagged)(device)


def many_devices(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["hostname"]: device(entry) for entry in entries if is_tagged(entry)}


@of_one(lambda entry: "contract" in (entry["description"] or ""))
def one_network(network: dict[str, Any]) -> dict[str, Any]:
    return {
        "vxlan": network["vxlan"],
        "metro": network["metro_code"],
        "description": network["description"],
        "tags": sorted(network["tags"]),
    }


@of_one(lambda entry: "openshift-role=lock" in entry["tags"])
def one_lock(lock: dict[str, Any]) -> dict[str, Any]:
    runs = [tag.partition("=")[2] for tag in lock["tags"] if tag.startswith("openshift-lock-run=")]
    return {"name": "contract.metal.test", "run": runs[0]}


@of_one(is_tagged)
def one_block(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": block["type"],
        "quantity": 2 ** (32 - block["cidr"]),
        "metro": block["metro"] and block["metro"]["code"],
        "details": block["details"] or "",
        "tags": sorted(block["tags"]),
    }


POOL = {
    "ownership_tags": TAGS,
    "cluster_lock": "none",
    "hostnames": [f"pool-{number}.contract.metal.test" for number in range(3)],
    "plan": "c3.small.x86",
    "placement": [{"metro": "da"}, {"metro": "am"}],
}

SCENARIOS = [
    Scenario(
        module="metal_device",
        create={**machine(0), "ownership_tags": TAGS, "userdata": CLOUD_CONFIG, "description": "contract", **WAIT},
        change={
            "hostname": "worker-0.contract.metal.test",
            "ownership_tags": TAGS,
            "userdata": CLOUD_CONFIG + "# more\n",
            "tags": ["b", "a", "b"],
            "description": "other contract",
            "power_state": "off",
            **WAIT,
        },
        absent={"hostname": "worker-0.contract.metal.test", "ownership_tags": TAGS, "state": "absent", **WAIT},
        never={"hostname": "never.contract.metal.test", "state": "absent"},
        listing="projects/{project}/devices",
        key="devices",
        view=one_device,
    ),
    Scenario(
        module="metal_device",
        name="operation",
        create={**machine(0), "ownership_tags": TAGS, "tags": ["a"], **WAIT},
        change={
            **machine(0, operating_system="debian_12"),
            "ownership_tags": TAGS,
            "userdata": CLOUD_CONFIG,
            "tags": ["b"],
            "operation": "reinstall",
            "operation_id": "contract",
            "progress_interval": 0.3,
            **WAIT,
        },
        absent={"hostname": "worker-0.contract.metal.test", "ownership_tags": TAGS, "state": "absent", **WAIT},
        never={"device_id": "7d0f1c52-2b0c-4f0a-9d55-0f5a6d1c8e11", "state": "absent"},
        listing="projects/{project}/devices",
        key="devices",
        view=one_device,
    ),
    Scenario(
        module="metal_device_set",
        create={
            "ownership_tags": TAGS,
            "cluster_lock": "none",
            "machines": [machine(1, userdata=CLOUD_CONFIG), machine(2, tags=["a"]), machine(3, power_state="off")],
            **WAIT,
        },
        change={
            "ownership_tags": TAGS,
            "cluster_lock": "none",
            "machines": [machine(1, userdata=CLOUD_CONFIG + "# more\n"), machine(2, tags=["b", "a"]), machine(3), machine(4)],
            "progress_interval": 0.5,
            **WAIT,
        },
        absent={"ownership_tags": TAGS, "cluster_lock": "none", "all_owned": True, "state": "absent", **WAIT},
        never={"ownership_tags": TAGS, "machines": [{"hostname": "never.contract.metal.test"}], "state": "absent"},
        listing="projects/{project}/devices",
        key="devices",
        view=many_devices,
    ),
    Scenario(
        module="metal_device_set",
        name="pool",
        create={**POOL, "operating_system": "ubuntu_24_04", "userdata": CLOUD_CONFIG, **WAIT},
        change={
            **POOL,
            "operating_system": "debian_12",
            "userdata": CLOUD_CONFIG + "# more\n",
            "on_drift": "replace",
            "progress_interval": 0.5,
            **WAIT,
        },
        absent={**POOL, "state": "absent", **WAIT},
        never={**POOL, "hostnames": ["never-1.contract.metal.test", "never-2.contract.metal.test"], "state": "absent"},
        listing="projects/{project}/devices",
        key="devices",
        view=many_devices,
        orders=3,
    ),
    Scenario(
        module="metal_vlan",
        create={"metro": "da", "vxlan": 1234, "description": "contract"},
        change={"metro": "DA", "vxlan": 1234, "description": "other contract", "tags": ["b", "a"]},
        absent={"metro": "da", "vxlan": 1234, "state": "absent"},
        never={"metro": "da", "vxlan": 1235, "state": "absent"},
        listing="projects/{project}/virtual-networks",
        key="virtual_networks",
        view=one_network,
    ),
    Scenario(
        module="metal_vlan",
        name="numbered-by-the-service",
        create={"metro": "da", "tags": TAGS, "description": "contract"},
        change={"tags": TAGS, "description": "other contract"},
        absent={"metro": "da", "tags": TAGS, "state": "absent"},
        never={"tags": ["never"], "state": "absent"},
        listing="projects/{project}/virtual-networks",
        key="virtual_networks",
        view=one_network,
    ),
    Scenario(
        module="metal_cluster_lock",
        create={"name": "contract.metal.test", "metro": "da", **WAIT},
        absent={"name": "contract.metal.test", "state": "released", **WAIT},
        never={"name": "never.metal.test", "state": "released"},
        listing="projects/{project}/virtual-networks",
        key="virtual_networks",
        view=one_lock,
    ),
    Scenario(
        module="metal_ip_reservation",
        name="global",
        create={"type": "global_ipv4", "netmask": "255.255.255.254", "details": "contract", "tags": TAGS, **WAIT},
        change={"type": "global_ipv4", "cidr": 31, "tags": TAGS, "details": "other contract", "customdata": {"a": 1}, **WAIT},
        absent={"type": "global_ipv4", "tags": TAGS, "state": "absent", **WAIT},
        never={"type": "global_ipv4", "details": "never", "state": "absent"},
        listing="projects/{project}/ips",
        key="ip_addresses",
        view=one_block,
    ),
    Scenario(
        module="metal_ip_reservation",
        create={"metro": "da", "quantity": 4, "tags": TAGS, "details": "contract", **WAIT},
        change={"metro": "da", "quantity": 4, "tags": TAGS, "details": "other contract", **WAIT},
        absent={"tags": TAGS, "state": "absent", **WAIT},
        never={"tags": ["never"], "state": "absent"},
        listing="projects/{project}/ips",
        key="ip_addresses",
        view=one_block,
    ),
    *NETWORK_SCENARIOS,
    *ACCOUNT_SCENARIOS,
]
