"""Bodies as other people's clients send them, with the zero values of their languages.

Clients written in Go send fields of a struct that nobody has set: an empty text, 0, false, null. Where such a value cannot be meant, it
counts as not given. Where it can (an empty description, a flag that is false), it is kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox

Shown = Mapping[str, Any]

# What packngo of 2018 sends besides plan, place and system (packngo#120), and what packet-python sends.
_OLD_GO = {
    "hostname": "",
    "billing_cycle": "",
    "userdata": "",
    "storage": "",
    "tags": None,
    "ipxe_script_url": "",
    "public_ipv4_subnet_size": 0,
    "always_pxe": False,
    "hardware_reservation_id": "",
    "spot_instance": False,
    "spot_price_max": "0",
    "termination_time": None,
    "customdata": "",
    "user_ssh_keys": None,
    "project_ssh_keys": None,
    "features": None,
    "ip_addresses": None,
}
_PYTHON = {
    "billing_cycle": "hourly",
    "features": {},
    "hostname": "one",
    "locked": False,
    "project_id": "ignored",
    "public_ipv4_subnet_size": 31,
    "project_ssh_keys": [],
    "tags": {},
    "user_ssh_keys": [],
    "userdata": "",
}
_OLD_PLACE = {"plan": "c3.small.x86", "facility": ["da11"], "operating_system": "ubuntu_24_04"}
_SPOT = {"billing_cycle": "", "operating_system": "ubuntu_24_04", "plan": "c3.small.x86", "tags": None, "userdata": ""}


@dataclass(frozen=True)
class Sent:
    """``path`` may name the project, a device, a port and a VLAN of the test; ``shows`` is what the answer has to have."""

    client: str
    path: str
    body: Any
    status: int = 201
    shows: Callable[[Shown], bool] = field(default=lambda _answer: True)

    def __str__(self) -> str:
        return f"{self.client} {self.path}"


BODIES = [
    # I1: metal-cli and cloud-provider-equinix-metal send the password of nobody.
    Sent("cloud-provider-equinix-metal", "{project}/bgp-configs", {"asn": 65000, "md5": "", "deployment_type": "local"}, 204),
    Sent("packngo", "{device}/bgp/sessions", {"address_family": "ipv4", "default_route": None}),
    # I2: metal-cli and terraform-provider-equinix (1.x) send the number of a VLAN in a metro always.
    Sent("metal-cli", "{project}/virtual-networks", {"metro": "da", "vxlan": 0}, shows=lambda vlan: vlan["vxlan"] == 1001),
    Sent("metal-cli", "{project}/virtual-networks", {"facility": "da11", "vxlan": 0}, shows=lambda vlan: vlan["facility_code"] == "da11"),
    # Devices
    Sent(
        "packngo of 2018",
        "{project}/devices",
        {**_OLD_GO, **_OLD_PLACE},
        shows=lambda device: device["hostname"].endswith(".packethost.net") and device["billing_cycle"] == "hourly",
    ),
    Sent(
        "packet-python",
        "{project}/devices",
        {**_PYTHON, **_OLD_PLACE, "customdata": '{{"a": 1}}'},
        shows=lambda device: (device["tags"], device["customdata"], device["metro"]["code"]) == ([], {"a": 1}, "da"),
    ),
    Sent(
        "packngo",
        "{project}/devices/batch",
        {"batches": [{**_OLD_GO, **_OLD_PLACE, "quantity": 1, "facility_diversity_level": 0, "hostnames": None}]},
    ),
    Sent(
        "metal-cli",
        "{device}/actions",
        {"type": "reinstall", "operating_system": "", "ipxe_script_url": "", "deprovision_fast": False},
        202,
    ),
    Sent("packngo", "{device}/ips", {"address": "{free}", "manageable": False, "customdata": None}),
    # Addresses
    Sent("metal-cli", "{project}/ips", {"metro": "da", "facility": "", "tags": [], "quantity": 1, "type": "public_ipv4"}),
    Sent(
        "packngo",
        "{project}/ips",
        {"metro": "", "facility": "da11", "quantity": 1, "type": "public_ipv4", "vrf_id": "", "network": "", "cidr": 0, "customdata": None},
    ),
    # Gateways and VRFs
    Sent("packngo", "{project}/metal-gateways", {"virtual_network_id": "{vlan}", "ip_reservation_id": "", "private_ipv4_subnet_size": 8}),
    Sent(
        "packngo",
        "{project}/metal-gateways",
        {"virtual_network_id": "{vlan}", "ip_reservation_id": "{block}", "private_ipv4_subnet_size": 0},
    ),
    Sent("packngo", "{project}/vrfs", {"metro": "da", "name": "v", "description": "", "ip_ranges": None}),
    # Ports
    Sent("packngo", "{bond0}/assign", {"id": "", "vnid": "1000"}, 200),
    Sent("packngo", "{bond0}/bond", {"bulk_enable": False}, 200),
    Sent("packngo", "{bond0}/convert/layer-2", None, 200),
    Sent("packngo", "{bond0}/vlan-assignments/batches", {"vlan_assignments": [{"vlan": "1000", "state": "", "native": None}]}),
    # Accounts
    Sent("packngo", "/projects", {"name": "p", "payment_method_id": "", "organization_id": ""}),
    Sent("packngo", "/organizations", {"name": "o", "address": {"address": "", "city": None, "country": "", "zip_code": ""}}),
    # Spot market
    Sent(
        "packngo of 2018",
        "{project}/spot-market-requests",
        {"devices_max": 1, "devices_min": 1, "end_at": None, "facilities": ["da11"], "max_bid_price": 0.2, "instance_parameters": _SPOT},
    ),
]


@pytest.fixture
async def names(sandbox: Sandbox) -> dict[str, str]:
    """What paths and bodies may name: a device with its port and BGP, a VLAN (1000), a block of eight addresses."""
    (id_,) = await sandbox.seed(1)
    device = await sandbox.device(id_)
    await sandbox.post("bgp-configs", {"deployment_type": "local", "asn": 65000})
    vlan = await sandbox.post("virtual-networks", {"metro": "da"})
    block = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 8, "metro": "da"})
    single = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 1, "metro": "da"})
    ports = {each["name"]: f"/ports/{each['id']}" for each in device["network_ports"]}
    return {
        "project": sandbox.project,
        "device": f"/devices/{id_}",
        "vlan": vlan["id"],
        "block": block["id"],
        "free": f"{single['address']}/32",
        **ports,
    }


@pytest.mark.parametrize("sent", BODIES, ids=str)
async def test_a_body_of_a_client_is_taken(sandbox: Sandbox, names: dict[str, str], sent: Sent) -> None:
    path = sent.path.format(**names)
    body = {name: value.format(**names) if isinstance(value, str) else value for name, value in (sent.body or {}).items()}
    answer = await (sandbox.api.post(path) if sent.body is None else sandbox.api.post(path, json=body))
    assert answer.status_code == sent.status, answer.text
    if answer.content:
        assert sent.shows(answer.json()), answer.text


NOWHERE: list[tuple[dict[str, Any], str]] = [
    ({}, "Metro can't be blank"),
    ({"metro": ""}, "Metro can't be blank"),
    ({"metro": [None]}, "Metro can't be blank"),
    ({"metro": "xx"}, "xx is not a valid metro"),
]
NO_FACILITY: list[tuple[dict[str, Any], str]] = [
    ({"facility": None}, "Facility can't be blank"),
    ({"facility": [None]}, "Facility can't be blank"),
    ({"facility": "ams1"}, "ams1 is not a valid facility"),
]
# Only devices and spot market requests take several. Of several none fits: the service blamed the field (packngo#121).
NONE_OF_THEM: list[tuple[dict[str, Any], str]] = [
    ({"facility": ["ams1"]}, "ams1 is not a valid facility"),
    ({"facility": ["ams1", "nrt1"]}, "Facility can't be blank"),
    ({"metro": ["xx", "yy"]}, "xx is not a valid metro"),
]
_REQUEST = {"devices_min": 1, "devices_max": 1, "max_bid_price": 1, "instance_parameters": _SPOT}


@pytest.mark.parametrize(
    ("path", "body", "places"),
    [
        ("devices", {"plan": "c3.small.x86", "operating_system": "ubuntu_24_04"}, NOWHERE + NO_FACILITY + NONE_OF_THEM),
        ("ips", {"type": "public_ipv4", "quantity": 1}, NOWHERE + NO_FACILITY),
        ("virtual-networks", {}, NOWHERE + NO_FACILITY),
        ("vrfs", {"name": "v"}, NOWHERE),
        ("spot-market-requests", _REQUEST, NOWHERE + NO_FACILITY + NONE_OF_THEM),
    ],
)
async def test_a_place_that_is_none(sandbox: Sandbox, path: str, body: dict[str, Any], places: list[tuple[dict[str, Any], str]]) -> None:
    for place, text in places:
        named = {"facilities" if path == "spot-market-requests" and name == "facility" else name: value for name, value in place.items()}
        assert await sandbox.errors("POST", f"{sandbox.project}/{path}", json={**body, **named}) == [text], place


async def test_a_capacity_check_for_no_facility(sandbox: Sandbox) -> None:
    servers = [{"facility": None, "plan": "c3.small.x86", "quantity": 1}, {"facility": "da11", "plan": None, "quantity": 1}]
    assert await sandbox.errors("POST", "/capacity", json={"servers": servers}) == ["Facility can't be blank", "Plan can't be blank"]


async def test_a_reserved_machine_of_a_plan_that_is_none(sandbox: Sandbox) -> None:
    made = await sandbox.control.post("/hardware_reservations", json={"count": 1})
    body = {"operating_system": "ubuntu_24_04", "hardware_reservation_id": made.json()["ids"][0]}
    assert await sandbox.refused("devices", {**body, "plan": "c9.huge"}) == ["c9.huge is not a valid plan"]
    answer = await sandbox.api.post(f"{sandbox.project}/devices", json={**body, "plan": "", "metro": "", "facility": ""})
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("around", ["%20{}", "{}%0A"])
async def test_blanks_around_an_id_are_no_part_of_it(sandbox: Sandbox, around: str) -> None:
    (id_,) = await sandbox.seed(1)
    answer = await sandbox.api.get(f"/devices/{around.format(id_)}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == id_
    assert (await sandbox.api.get(f"/projects/{around.format(sandbox.world.project_id)}/devices")).status_code == 200
    # Nothing but blanks is no id, and leads nowhere else.
    for path in ("/devices/%20", "/projects/%20/devices", "/projects/%0a"):
        assert await sandbox.errors("GET", path, 404) == ["Not found"]
    assert await sandbox.errors("GET", f"/devices/{id_[:18]}%20{id_[18:]}", 404) == ["Not found"]
