"""The inventory's pure parts: names, addresses, filters; a malformed device affects no other."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.filter.machines import FURTHER, TEXTS
from ansible_collections.equinix_metal.openshift.plugins.inventory.metal import (
    DESIRED,
    InventoryModule,
    api_query,
    group_name,
    groups_of,
    host_variables,
    is_name,
    is_reachable,
    matches,
    named,
    preferred,
    safe_group_name,
)

SECRETS = {"userdata": "planted-1", "customdata": {"a": "planted-2"}, "root_password": "planted-3", "ssh_keys": [{"key": "planted-4"}]}


def device(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{number:08x}-0000-4000-8000-000000000000",
        "hostname": "worker-0.demo.metal.test",
        "state": "active",
        "created_at": f"2026-03-01T12:00:{number:02d}Z",
        "plan": {"slug": "c3.small.x86"},
        "metro": {"code": "da"},
        "tags": ["openshift-cluster=demo.metal.test", "openshift-role=worker", "rack=7"],
        "ip_addresses": [
            {"address": "198.51.100.9", "address_family": 4, "public": True, "management": False},
            {"address": "192.0.2.1", "address_family": 4, "public": True, "management": True},
            {"address": "10.0.0.1", "address_family": 4, "public": False, "management": True},
            {"address": "2001:db8::1", "address_family": 6, "public": True, "management": True},
        ],
        **SECRETS,
        **changes,
    }


MALFORMED: list[dict[str, Any]] = [
    {},
    {"id": None, "hostname": None, "tags": None, "ip_addresses": None, "plan": None, "metro": None, "network_ports": None},
    {"id": 7, "hostname": 8, "tags": "a", "ip_addresses": {"a": 1}, "plan": "x", "metro": [], "network_ports": [None, 3, {}]},
    {"tags": [None, 1, {}], "ip_addresses": [None, {"address": 1}, {}, {"address": "x"}], "created_at": 5, "state": []},
]


@pytest.mark.parametrize("malformed", MALFORMED, ids=str)
def test_malformed_devices_have_attributes_and_affect_no_other(malformed: dict[str, Any]) -> None:
    result: list[str] = []
    found = dict(named([host_variables(malformed), host_variables(device())], ["hostname"], result.append))
    assert list(found) == ["worker-0.demo.metal.test"]
    assert len(result) == 1
    assert matches(host_variables(malformed), {}) in (True, False)


def test_no_secret_is_a_fact() -> None:
    assert "planted" not in str(host_variables(device()))


@pytest.mark.parametrize(
    ("choices", "name"),
    [
        (["hostname"], "worker-0.demo.metal.test"),
        (["short_hostname"], "worker-0"),
        (["short_id"], "00000001"),
        (["tag:rack"], "7"),
        (["tag:none", "public_ipv4"], "192.0.2.1"),
        (["elastic_ipv4"], "198.51.100.9"),
        (["private_ipv4"], "10.0.0.1"),
        (["public_ipv6"], "2001:db8::1"),
        (["tag:none"], None),
    ],
)
def test_preferences(choices: list[str], name: str | None) -> None:
    assert preferred(host_variables(device()), choices) == name


def test_devices_of_one_name_are_all_kept_and_told_apart() -> None:
    result: list[str] = []
    devices = [device(3), device(2, state="deprovisioning"), device(1, created_at="2026-03-01T13:00:00Z")]
    found = {name: variables["id"][:8] for name, variables in named(map(host_variables, devices), ["hostname"], result.append)}
    # The oldest that is not being deleted has the name, whatever the order in which they are listed.
    name = "worker-0.demo.metal.test"
    assert found == {name: "00000003", f"{name}-00000001": "00000001", f"{name}-00000002": "00000002"}
    assert len(result) == 2
    assert found == {
        name: variables["id"][:8] for name, variables in named(map(host_variables, reversed(devices)), ["hostname"], result.append)
    }


def test_a_name_stays_with_the_device_that_another_source_has_told_of() -> None:
    result: list[str] = []
    name = "worker-0.demo.metal.test"
    known = {name: device(2)["id"], f"{name}-00000003": "somebody"}
    devices = [device(1), device(2), device(3), device(4, id=None)]
    found = {name: variables["id"] for name, variables in named(map(host_variables, devices), ["hostname"], result.append, known=known)}
    assert found == {name: device(2)["id"], f"{name}-00000001": device(1)["id"]}
    assert [text.split(":")[0] for text in result] == [
        f"{name!r} is the name of another device",
        f"device {device(3)['id']!r} is left out",
        "device None is left out",
    ]


@pytest.mark.parametrize("name", ["LocalHost", "all", "metal", "metal_role_worker"])
def test_a_device_cannot_become_the_controller_or_a_group(name: str) -> None:
    result: list[str] = []
    found = named([host_variables(device(hostname=name))], ["hostname"], result.append, {"metal", "metal_role_worker"})
    assert [name for name, _facts in found] == [f"{name}-00000001"]
    assert len(result) == 1


@pytest.mark.parametrize(
    ("filters", "query", "fitting"),
    [
        ({}, {}, True),
        ({"tag": ["rack=7", "openshift-role=worker"]}, {"tag": "rack=7"}, True),
        ({"tag": ["rack=7", "no"]}, {"tag": "rack=7"}, False),
        ({"metro": ["da"]}, {"metro": "da"}, True),
        ({"metro": ["da", "sv"]}, {}, True),
        ({"metro": ["sv"]}, {"metro": "sv"}, False),
        # The service has no parameter for these two, and takes one tag.
        ({"state": ["inactive"], "plan": ["c3.small.x86"]}, {}, False),
        ({"state": ["active"], "plan": ["c3.small.x86"]}, {}, True),
        ({"tag": ["a,b", "rack=7"]}, {"tag": "rack=7"}, False),
        ({"hostname": "WORKER"}, {"hostname": "WORKER"}, True),
        ({"hostname": "master"}, {"hostname": "master"}, False),
        ({"search": "x", "type": "reserved", "categories": ["a", "b"]}, {"search": "x", "type": "reserved", "categories": "a,b"}, True),
    ],
)
def test_filters(filters: dict[str, Any], query: dict[str, str], fitting: bool) -> None:
    assert api_query(filters) == query
    assert matches(host_variables(device()), filters) is fitting


def test_what_was_done_once_makes_no_group() -> None:
    tags = ["rack=7", "ansible-operation=reboot:window-7", "ansible-operation-requested=reinstall:w:e1"]
    assert list(groups_of({"tags": tags, "metro": "da"}, ["tag", "metro"])) == ["metal_tag_rack_7", "metal_metro_da"]


def test_group_names_are_valid() -> None:
    assert group_name("metal", "tag", "a b={{ x }}/ü") == "metal_tag_a_b____x_____"


def test_files(tmp_path: Any) -> None:
    plugin = InventoryModule()
    for name, taken in (("02.metal.yml", True), ("x.metal.yaml", True), ("metal.yml", False), ("x.metal.json", False)):
        (tmp_path / name).write_text("plugin: x\n", encoding="utf-8")
        assert plugin.verify_file(str(tmp_path / name)) is taken


NAMES = [
    "worker-0",
    "worker-0.demo.metal.test",
    "Worker_0",
    "_dmarc.example.com",
    "a",
    "192.0.2.1",
    "2001:db8::1",
    "x" * 63,
    "xn--bcher-kva.example",
]
NO_NAMES = [
    "-oProxyCommand=touch x",
    "worker-",
    "a..b",
    ".a",
    "a.",
    "a b",
    "a\nb",
    "a\x00",
    "../a",
    "root@a",
    "a:22",
    "$(a)",
    "{{ a }}",
    "a%b",
    "192.0.2.1/32",
    "[2001:db8::1]",
    "b\u00fccher.example",
    "worker\u202e",
    "\u0661.1.1.1",
    "x" * 64,
    ".".join(["x" * 60] * 5),
    "*",
    "",
    " ",
]


def test_names_and_addresses_are_told_from_everything_else() -> None:
    assert [name for name in NAMES if not is_name(name) or not is_reachable(name)] == []
    assert [name for name in NO_NAMES if is_name(name) or is_reachable(name)] == []


CONTROLLER = ["localhost", "LOCALHOST", "127.0.0.1", "::1", "0.0.0.0", "::", "2130706433", "127.1", "0x7f000001", "a.0x7f"]  # noqa: S104


@pytest.mark.parametrize("name", CONTROLLER)
def test_no_connection_is_made_to_what_stands_for_the_controller(name: str) -> None:
    assert is_name(name)
    assert not is_reachable(name)


@pytest.mark.parametrize("value", NO_NAMES[:-2])
def test_what_is_neither_a_name_nor_an_address_is_not_used_and_told(value: str) -> None:
    result: list[str] = []
    malformed = host_variables(
        device(1, hostname=value, tags=[f"reach={value}"], ip_addresses=[{**device()["ip_addresses"][1], "address": value}])
    )
    ((name, _variables),) = named([malformed], ["hostname", "tag:reach", "id"], result.append)
    assert name == device(1)["id"]
    assert preferred(malformed, ["public_ipv4", "tag:reach", "hostname"], result.append, usable=is_reachable, what="ansible_host") is None
    assert len(result) == 5
    assert all(device(1)["id"] in text and text.isprintable() and len(text) < 300 for text in result)


def test_a_name_made_of_an_odd_id_is_none() -> None:
    result: list[str] = []
    both = [host_variables(device(1, id="-oProxyCommand=x")), host_variables(device(2))]
    assert {name for name, _variables in named(both, ["short_id", "hostname"], result.append)} == {"00000002", "worker-0.demo.metal.test"}
    twins = [host_variables(device(2)), host_variables(device(3, id="; reboot #"))]
    assert [name for name, _variables in named(twins, ["hostname"], result.append)] == ["worker-0.demo.metal.test"]


@pytest.mark.parametrize(
    ("name", "safe"), [("metal_tag_rack_7", "metal_tag_rack_7"), ("7 racks", "__racks"), ("{{ x }}", "___x___"), ("a\nb-c", "a_b_c")]
)
def test_a_group_made_of_a_tag_has_a_valid_name(name: str, safe: str) -> None:
    assert safe_group_name(name) == InventoryModule._sanitize_group_name(name, replacer="_") == safe


def test_what_a_machine_of_the_inventory_may_say_is_not_hidden_by_what_exists() -> None:
    # The filter `machines` reads these of wanted hosts.
    assert {name for name in (*TEXTS, *FURTHER, "tags") if name in host_variables(device())} <= DESIRED
