"""Names and addresses of hosts: what is none of them is not used. With the program: tests/inventory."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.inventory.metal import (
    InventoryModule,
    host_variables,
    is_name,
    is_reachable,
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


def test_no_secret_is_a_fact() -> None:
    assert "planted" not in str(host_variables(device()))


@pytest.mark.parametrize("name", ["LocalHost", "all", "metal", "metal_role_worker"])
def test_a_device_cannot_become_the_controller_or_a_group(name: str) -> None:
    result: list[str] = []
    found = named([host_variables(device(hostname=name))], ["hostname"], result.append, {"metal", "metal_role_worker"})
    assert [name for name, _facts in found] == [f"{name}-00000001"]
    assert len(result) == 1


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


@pytest.mark.parametrize(("name", "safe"), [("7 racks", "__racks"), ("{{ x }}", "___x___"), ("a\nb-c", "a_b_c")])
def test_a_group_made_of_a_tag_has_a_valid_name(name: str, safe: str) -> None:
    assert safe_group_name(name) == InventoryModule._sanitize_group_name(name, replacer="_") == safe
