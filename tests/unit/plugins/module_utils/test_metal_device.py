"""One device: what is public of it, how it compares, and which of two is used. Its life: tests/contract."""

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import (
    AT_CREATION_ONLY,
    DEVICE_OPTIONS,
    IMMUTABLE,
    Device,
    comparable_attributes,
    desired_attributes,
    device_result,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.lifecycle import Lifecycle
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import normal_data
from ansible_collections.equinix_metal.openshift.plugins.modules.metal_device import OPTIONS

from .fake_client import FakeClient, Refused

NAME = "worker-0.demo.metal.test"
NEW = {"hostname": NAME, "plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}


# --- facts --------------------------------------------------------------------------------------------------------------------

WHOLE: dict[str, Any] = {
    "id": "d",
    "hostname": NAME,
    "state": "active",
    "plan": {"slug": "c3.small.x86"},
    "metro": {"code": "DA"},
    "operating_system": {"slug": "custom_ipxe"},
    "tags": ["a"],
    "ip_addresses": [
        {"address": "198.51.100.9", "address_family": 4, "public": True, "management": False},
        {"address": "203.0.113.5", "address_family": 4, "public": True, "management": True},
        {"address": "10.1.1.3", "address_family": 4, "public": False, "management": True},
        {"address": "2001:db8::3", "address_family": 6, "public": True, "management": True},
    ],
    "network_ports": [{"id": "p", "name": "eth0", "data": {"mac": "02:00", "bonded": True}, "bond": {"name": "bond0"}}],
    "project": {"href": "/metal/v1/projects/the-project"},
    "hardware_reservation": {"href": "/hardware-reservations/the-reservation"},
    "userdata": "secret",
    "customdata": {"key": "secret"},
    "root_password": "secret",
    "ssh_keys": [{"key": "secret"}],
    "provisioning_events": [
        {"type": "provisioning.101", "created_at": "2026-11-21T07:10:20Z"},
        {"type": "provisioning.102", "created_at": None},
    ],
}


def test_returned_attributes_are_plain_and_have_no_secret() -> None:
    facts = device_result(WHOLE)
    assert "secret" not in repr(facts)
    assert facts["addresses"] == {"public_ipv4": "203.0.113.5", "private_ipv4": "10.1.1.3", "public_ipv6": "2001:db8::3"}
    assert (facts["plan"], facts["metro"], facts["operating_system"]) == ("c3.small.x86", "da", "custom_ipxe")
    assert (facts["project_id"], facts["hardware_reservation_id"]) == ("the-project", "the-reservation")
    assert facts["network_ports"][0]["mac"] == "02:00"
    assert facts["provisioning_started_at"] == "2026-11-21T07:10:20Z"


def test_a_device_that_is_installed_anew_has_begun_anew() -> None:
    """Whether the events of its first installation are still listed or not."""
    again = {"type": "provisioning.101", "created_at": "2026-11-22T08:00:00Z"}
    events = [again, *WHOLE["provisioning_events"]]
    assert device_result({**WHOLE, "provisioning_events": events})["provisioning_started_at"] == "2026-11-22T08:00:00Z"
    assert device_result({**WHOLE, "provisioning_events": [{**again, "created_at": None}]})["provisioning_started_at"] is None


# --- comparing ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "device"),
    [
        ({"plan": "plan-id"}, {"plan": {"id": "plan-id", "slug": "c3.small.x86"}}),
        ({"metro": "DA"}, {"metro": {"code": "da"}}),
        ({"metro": "any"}, {"metro": {"code": "da"}}),
        ({"metro": ["am", "Da"]}, {"metro": {"code": "da"}}),
        ({"metro": ["am", "ANY"]}, {"metro": {"code": "da"}}),
        ({"id": "d", "project_id": "p"}, {"project": {"href": "/metal/v1/projects/p"}}),
        ({"project_id": "p"}, {"project": {"id": "q"}}),
        ({"tags": ["b", "a", "b"]}, {"tags": ["a", "b"]}),
        ({"customdata": {"a": 1, "b": [2]}}, {"customdata": '{"b": [2], "a": 1}'}),
        ({"termination_time": "2027-01-31 18:00"}, {"termination_time": "2027-01-31T18:00:00Z"}),
        ({"termination_time": "2027-01-31T19:00:00+01:00"}, {"termination_time": "2027-01-31T18:00:00Z"}),
        ({"hardware_reservation_id": "next-available"}, {"hardware_reservation": {"href": "/hardware-reservations/x"}}),
        ({"power_state": "off"}, {"state": "powering_off"}),
        ({"power_state": "on"}, {"state": "provisioning"}),
    ],
)
def test_equivalent_values_are_equal(given: Mapping[str, Any], device: Mapping[str, Any]) -> None:
    desired = desired_attributes(given, [])
    view = comparable_attributes(device, given)
    assert {name: view[name] for name in desired} == desired


@pytest.mark.parametrize(
    ("given", "device", "difference"),
    [
        ({"metro": ["am", "ny"]}, {"metro": {"code": "da"}}, ("da", ["am", "ny"])),
        ({"id": "d", "project_id": "p"}, {"project": {"href": "/metal/v1/projects/q"}}, ("q", "p")),
        ({"hardware_reservation_id": ""}, {"hardware_reservation": {"id": "r"}}, ("r", "")),
    ],
)
def test_different_values_differ(given: Mapping[str, Any], device: Mapping[str, Any], difference: tuple[Any, Any]) -> None:
    (name,) = set(given) - {"id"}
    assert (comparable_attributes(device, given)[name], desired_attributes(given, [])[name]) == difference


def test_data_is_compared_by_its_digest() -> None:
    assert normal_data("no json") != normal_data({"no": "json"})
    assert "secret" not in normal_data({"key": "secret"})


def test_every_option_is_compared_or_used_at_creation_only() -> None:
    """A new option of a create has to have its place in a comparison, or to say that it has none."""
    compared = set(comparable_attributes({}, {}))
    from_the_create = set(DEVICE_OPTIONS.argument_spec) - {"power_state"}
    assert from_the_create - compared == set(AT_CREATION_ONLY)
    assert set(IMMUTABLE) <= compared


# --- two runs at the same moment: the older of two devices is used. With modules: tests/contract/test_cluster_lock.py -----------------

OWN = ["openshift-cluster=demo.metal.test"]


class Ordering(FakeClient):
    """A service that returns an order as the device ``new``, and deletes no device that is ``provisioning``."""

    provisioning = False

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if method == "DELETE" and self.provisioning:
            raise Refused(422, "Cannot delete a device while it is provisioning")
        return super().answer(method, path, body, params)


def listed(identity: str, second: int, **fields: Any) -> dict[str, Any]:
    places = {"plan": {"slug": "c3.small.x86"}, "metro": {"code": "da"}, "operating_system": {"slug": "ubuntu_24_04"}}
    common = {"hostname": NAME, "tags": OWN, "state": "active", "created_at": f"2026-01-01T00:00:{second:02}Z"}
    return {"id": identity, **common, **places, **fields}


def ordered(client: Ordering) -> Lifecycle:
    """The lifecycle of a device that this run has just ordered as ``new``."""
    options = {**dict.fromkeys(OPTIONS.argument_spec), **NEW, "ownership_tags": OWN, "state": "present", "project_id": "p", "wait": True}
    lifecycle = Lifecycle(Device(client, options), lambda _warning: None)
    lifecycle.plan(None, "fail")
    lifecycle.step(None)
    return lifecycle


def listing(*devices: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {device["id"]: device for device in devices}


def test_of_two_that_are_ordered_at_the_same_moment_the_younger_goes_and_the_older_is_used() -> None:
    client = Ordering()
    lifecycle = ordered(client)
    assert lifecycle.step(listing(listed("new", 30), listed("rival", 25))) == []
    assert (lifecycle.current or {})["id"] == "rival"
    assert lifecycle.duplicates == [{"id": "new", "kept": "rival"}]
    assert [(method, path) for method, path, _body in client.writes] == [("POST", "projects/p/devices"), ("DELETE", "devices/new")]


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ["openshift-cluster=other.metal.test"]},
        {"tags": []},
        {"state": "failed"},
        {"state": "deprovisioning"},
        {"hostname": "x"},
        {"created_at": "2026-01-01T00:00:31Z"},
        {"id": "newer", "created_at": "2026-01-01T00:00:30Z"},
    ],
    ids=str,
)
def test_no_device_is_deleted_for_one_that_is_no_older_device_of_its_name(fields: dict[str, Any]) -> None:
    client = Ordering()
    lifecycle = ordered(client)
    assert lifecycle.step(listing(listed("new", 30), {**listed("rival", 25), **fields})) == []
    assert (lifecycle.current or {})["id"] == "new"
    assert [method for method, _path, _body in client.writes] == ["POST"]


def test_of_the_same_second_both_runs_choose_the_same() -> None:
    lifecycle = ordered(Ordering())
    lifecycle.step(listing(listed("new", 30), listed("a-smaller-id", 30)))
    assert (lifecycle.current or {})["id"] == "a-smaller-id"


def test_when_the_older_one_fails_first_the_younger_is_used_all_the_same() -> None:
    client = Ordering()
    client.provisioning = True
    lifecycle = ordered(client)
    assert "new, a duplicate of" in str(lifecycle.step(listing(listed("new", 30, state="provisioning"), listed("rival", 25))))
    assert lifecycle.step(listing(listed("new", 30), listed("rival", 25, state="failed"))) == []
    assert (lifecycle.current or {})["id"] == "new"
    assert lifecycle.duplicates == []
