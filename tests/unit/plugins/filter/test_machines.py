"""Machines of hosts: names, roles, pools, and errors with host and variable."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.machines import FilterModule
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.ingress_controller import INGRESS_LABEL

machines = FilterModule().filters()["machines"]

GROUPS = {
    "all": ["bootstrap", "master-0", "worker-0", "worker-1", "infra-0"],
    "openshift": ["bootstrap", "master-0", "worker-0", "worker-1", "infra-0"],
    "bootstrap": ["bootstrap"],
    "control_plane": ["master-0"],
    "workers": ["worker-0", "worker-1", "infra-0"],
    "worker": ["worker-0", "worker-1"],
    "infra": ["infra-0"],
    "metal_role_worker": ["worker-0"],
}


class Variables(Mapping[str, Any]):
    """Variables of a host, one of which cannot be evaluated."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        if self._values[name] is AnsibleError:
            raise AnsibleError("'nowhere' is undefined")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def hostvars(**changes: dict[str, Any]) -> dict[str, Variables]:
    found = {}
    for name in {*GROUPS["all"], *changes}:
        usual = {
            "openshift_cluster_name": "demo",
            "openshift_base_domain": "metal.test",
            "metal_plan": "c3.small.x86",
            "metal_metro": "da",
            "groups": GROUPS,
            "group_names": [group for group, hosts in GROUPS.items() if name in hosts and group != "all"],
        }
        found[name] = Variables({**usual, **changes.get(name, {})})
    return found


def test_roles_pools_and_names() -> None:
    found = machines(GROUPS["all"], hostvars())
    assert [(machine["hostname"], machine["role"], machine["pool"]) for machine in found] == [
        ("bootstrap.demo.metal.test", "bootstrap", None),
        ("master-0.demo.metal.test", "control-plane", None),
        ("worker-0.demo.metal.test", "worker", "worker"),
        ("worker-1.demo.metal.test", "worker", "worker"),
        ("infra-0.demo.metal.test", "worker", "infra"),
    ]
    assert found[2] == {
        "hostname": "worker-0.demo.metal.test",
        "inventory_hostname": "worker-0",
        "role": "worker",
        "pool": "worker",
        "plan": "c3.small.x86",
        "metro": "da",
        "tags": [],
        "architecture": "x86_64",
        "boot_profile": "x86_64",
        "labels": {},
        "annotations": {},
        "taints": [],
        "kernel_arguments": [],
        "may_run_router": True,
    }
    assert found[4]["tags"] == ["openshift-pool=infra"]


def test_what_a_host_says() -> None:
    said = {
        "metal_tags": ["a"],
        "metal_operating_system": "ubuntu_24_04",
        "metal_hardware_reservation_id": "next-available",
        "openshift_role": "worker",
        "openshift_pool": "gpu",
        "openshift_node_labels": {"a/b": None},
        "openshift_node_annotations": {"a/c": "d", "e": None},
        "openshift_node_taints": [{"key": "a", "effect": "NoSchedule"}],
    }
    (found,) = machines(["worker-0"], hostvars(**{"worker-0": said}))
    assert found["tags"] == ["a", "openshift-pool=gpu"]
    assert (found["operating_system"], found["hardware_reservation_id"]) == ("ubuntu_24_04", "next-available")
    assert (found["labels"], found["taints"]) == ({"a/b": ""}, said["openshift_node_taints"])
    assert found["annotations"] == {"a/c": "d", "e": ""}


def test_a_pool_with_a_machine_config_pool_labels_its_nodes() -> None:
    said = {"openshift_pool": "infra", "openshift_pool_machine_config": True, "openshift_kernel_arguments": ["hugepages=16"]}
    (found,) = machines(["worker-0"], hostvars(**{"worker-0": said}))
    assert (found["machine_config_pool"], found["kernel_arguments"]) == ("infra", ["hugepages=16"])
    assert found["labels"] == {"node-role.kubernetes.io/infra": ""}


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        (None, {"worker-0": False, "worker-1": True}),
        ("infra", {"worker-0": True, "worker-1": False}),
        ("control_plane", {"worker-0": False, "worker-1": False}),
    ],
)
def test_routers_may_run_in_the_ingress_pool_alone_whatever_its_taints(ingress: str | None, expected: dict[str, bool]) -> None:
    pool = {"openshift_pool": "infra", "openshift_node_taints": [{"key": "a", "effect": "NoSchedule"}]}
    said: dict[str, dict[str, Any]] = {
        "worker-0": {**pool, "openshift_ingress_pool": ingress},
        "worker-1": {"openshift_ingress_pool": ingress},
    }
    found = machines(["worker-0", "worker-1"], hostvars(**said))
    assert {each["inventory_hostname"]: each["may_run_router"] for each in found} == expected
    labels = {each["inventory_hostname"]: each["labels"] for each in found}
    assert labels == {"worker-0": {INGRESS_LABEL: "infra"} if ingress == "infra" else {}, "worker-1": {}}


@pytest.mark.parametrize(
    ("host", "variables", "words"),
    [
        ("worker-0", {"openshift_cluster_name": None}, ["host worker-0", "openshift_cluster_name is not set"]),
        ("worker-0", {"metal_plan": AnsibleError}, ["host worker-0", "metal_plan", "undefined"]),
        ("worker-0", {"openshift_node_labels": {"a": True}}, ["openshift_node_labels", "quotes"]),
        ("worker-0", {"openshift_node_labels": {"a": "b; reboot"}}, ["openshift_node_labels", "at most 63 letters"]),
        ("worker-0", {"openshift_node_taints": [{"key": "a", "value": "$(b)", "effect": "NoSchedule"}]}, ["openshift_node_taints", "$(b)"]),
        ("worker-0", {"openshift_kernel_arguments": ["a b"]}, ["openshift_kernel_arguments", "without spaces"]),
        ("worker-0", {"openshift_pool": "a b", "openshift_ingress_pool": "a b"}, ["openshift_ingress_pool", "63 letters", "'a b'"]),
        ("worker-0", {"openshift_pool_machine_config": True}, ["the pool worker cannot have"]),
        ("master-0", {"openshift_pool_machine_config": True}, ["only pools of workers"]),
        ("worker-0", {"openshift_role": "master"}, ["openshift_role", "control-plane"]),
        ("worker-0", {"group_names": ["workers", "bootstrap"]}, ["several of the groups"]),
        (
            "infra-0",
            {"group_names": ["workers", "infra", "other"], "groups": {**GROUPS, "other": ["infra-0"]}},
            ["several pools", "openshift_pool"],
        ),
    ],
)
def test_problems_name_host_and_variable(host: str, variables: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(AnsibleFilterError) as problem:
        machines([host], hostvars(**{host: variables}))
    for word in words:
        assert word in str(problem.value)
    assert len(machines([host], hostvars(**{host: variables}), strict=False)) == 1


def test_several_problems_are_told_together() -> None:
    with pytest.raises(AnsibleFilterError, match=r"3 problems.*Worker-0 and worker-0|3 problems.*worker-0 and Worker-0"):
        machines(["worker-0", "Worker-0", "nobody", "master-0"], hostvars(**{"Worker-0": {}, "master-0": {"metal_tags": 1}}))


def test_machines_that_boot_the_same_share_a_profile() -> None:
    rule = {"openshift_install_device": "smallest nvme", "openshift_root_device_hints": {"minSizeGigabytes": 200, "rotational": False}}
    found = machines(
        ["master-0", "worker-0", "worker-1", "infra-0"],
        hostvars(**{"worker-0": rule, "worker-1": dict(reversed(rule.items())), "infra-0": {**rule, "openshift_consoles": ["tty0"]}}),
    )
    plain, first, second, other = (machine["boot_profile"] for machine in found)
    assert plain == "x86_64"
    assert first == second != other
    assert first.startswith("x86_64-")
    assert (found[1]["install_device"], found[1]["root_device_hints"]) == tuple(rule.values())
    assert "consoles" not in found[1] and found[3]["consoles"] == ["tty0"]


def test_hints_are_what_ansible_makes_of_a_file() -> None:
    class Number(int):
        """As Ansible marks what it has read with where it stands."""

    hints = {"minSizeGigabytes": Number(900), "rotational": False}
    (found,) = machines(["worker-0"], hostvars(**{"worker-0": {"openshift_root_device_hints": hints}}))
    assert found["root_device_hints"] == {"minSizeGigabytes": 900, "rotational": False}
    (plain,) = machines(["worker-0"], hostvars(**{"worker-0": {"openshift_root_device_hints": {**hints, "minSizeGigabytes": 900}}}))
    assert found["boot_profile"] == plain["boot_profile"]


@pytest.mark.parametrize(
    ("variables", "result"),
    [
        ({"openshift_install_device": "sda"}, "openshift_install_device has to be a path below /dev"),
        ({"openshift_root_device_hints": {"size": 5}}, "unknown key 'size', not one of deviceName, hctl"),
        ({"openshift_root_device_hints": {"serialNumber": 12345}}, "serialNumber has to be a string (in quotes), it is 12345"),
        ({"openshift_root_device_hints": {"minSizeGigabytes": True}}, "minSizeGigabytes has to be an integer above 0"),
        ({"openshift_root_device_hints": {"rotational": 0}}, "rotational has to be true or false"),
        ({"openshift_root_device_hints": {"deviceName": "sda"}}, "deviceName has to be a path below /dev, it is 'sda'"),
        ({"openshift_root_device_hints": {"hctl": "0:2:0"}}, "hctl has to be a SCSI address, as 0:0:0:0, it is '0:2:0'"),
        ({"openshift_install_device": "/dev/sda", "openshift_root_device_hints": {"model": "PM"}}, "set only one of them"),
        ({"openshift_architecture": "amd64"}, "openshift_architecture has to be one of aarch64, x86_64, it is 'amd64'"),
    ],
)
def test_disks_and_architectures_that_cannot_be_used(variables: dict[str, Any], result: str) -> None:
    with pytest.raises(AnsibleFilterError, match="host worker-0") as caught:
        machines(["worker-0"], hostvars(**{"worker-0": variables}))
    assert result in str(caught.value)


def test_variables_that_are_not_the_collection_s_are_told_of_the_host_that_has_them() -> None:
    wrong = {"metal_plann": "x", "openshift_colour": AnsibleError, "other_colour": "x"}
    existing = {
        "metal_id": "x",
        "metal_state": "active",
        "metal_public_ipv4": "192.0.2.1",
        "metal_existing_plan": "x",
        "metal_short_id": "x",
    }
    names = ["worker-0", "worker-1"]
    found = machines(names, hostvars(**{"worker-1": {**wrong, **existing}}), strict=False)
    # By name alone: nothing of it is evaluated, and what the inventory plugin says of a device is no mistake.
    assert [machine.get("unknown_variables") for machine in found] == [None, ["metal_plann", "openshift_colour"]]
    assert not any(machine["problems"] for machine in found)
    assert all("unknown_variables" not in machine for machine in machines(names, hostvars(**{"worker-1": wrong})))


BOOTSTRAP: dict[str, Any] = {
    "metal_plan": "m3.small.x86",
    "metal_metro": "am",
    "metal_placement": [{"metro": "am"}, {"metro": "ny"}],
    "metal_termination_time": "2027-01-01T00:00:00Z",
    "metal_tags": ["temporary"],
    "openshift_install_device": "smallest nvme",
    "openshift_consoles": ["tty0"],
}
UNSET: dict[str, Any] = {"metal_plan": None, "metal_metro": None}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"metal_plan": "c3.small.x86"}, {"plan": "c3.small.x86", "metro": "am", "placement": 2}),
        ({"metal_metro": "da"}, {"plan": "m3.small.x86", "metro": "da", "install_device": "smallest nvme"}),
        (
            {"openshift_root_device_hints": {"model": "x"}},
            {"plan": "m3.small.x86", "metro": "am", "root_device_hints": {"model": "x"}, "placement": 2},
        ),
    ],
    ids=["a plan", "a metro", "a disk"],
)
def test_a_control_plane_host_keeps_what_it_sets(own: dict[str, Any], expected: dict[str, Any]) -> None:
    (master,) = machines(["master-0"], hostvars(**{"bootstrap": BOOTSTRAP, "master-0": {**UNSET, **own}}))
    names = ("plan", "metro", "install_device", "root_device_hints")
    found = {name: master[name] for name in names if name in master}
    assert {**found, **({"placement": len(master["placement"])} if "placement" in master else {})} == expected
