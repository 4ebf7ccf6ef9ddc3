"""One device: what is public of it, how it compares, and its life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.doc_fragments._device import ModuleDocFragment
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import (
    AT_CREATION_ONLY,
    DEVICE_OPTIONS,
    IMMUTABLE,
    Device,
    comparable_attributes,
    creation_problems,
    desired_attributes,
    device_result,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import resource
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import normal_data, normal_time
from ansible_collections.equinix_metal.openshift.plugins.modules.metal_device import OPTIONS

from .fake_metal import PROJECT, BareModule, FakeMetal

NAME = "worker-0.demo.metal.test"
NEW = {"hostname": NAME, "plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "RECHECK_AFTER_LOST_ANSWER", (0.0, 0.0))


def attempt(metal: FakeMetal, **given: Any) -> tuple[dict[str, Any], CollectionError | None]:
    module = BareModule(OPTIONS, given, metal)
    warnings: list[str] = []
    try:
        device = Device(metal, module.params, warnings.append, project_given="project_id" in given)
        module.converge(lambda: device)
    except CollectionError as error:
        return module.result, error
    return module.result, None


def converge(metal: FakeMetal, **given: Any) -> dict[str, Any]:
    result, error = attempt(metal, **given)
    if error is not None:
        raise error
    return result


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


@pytest.mark.parametrize("malformed", [None, [], {}, "text", 7, [None], [7], [{}], [{"address": None}]])
@pytest.mark.parametrize("name", [*WHOLE, "termination_time", "ipxe_script_url", "locked"])
def test_a_malformed_or_missing_field_affects_no_other(name: str, malformed: Any) -> None:
    for device in ({**WHOLE, name: malformed}, {key: value for key, value in WHOLE.items() if key != name}):
        facts = device_result(device)
        assert set(facts) == set(device_result(WHOLE))
        assert facts["id"] == "d" or name == "id"
        comparable_attributes(device, {})


# --- comparing ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "device"),
    [
        ({"plan": "plan-id"}, {"plan": {"id": "plan-id", "slug": "c3.small.x86"}}),
        ({"plan": "baremetal_0"}, {"plan": {"slug": "t1.small.x86", "name": "baremetal_0"}}),
        ({"metro": "DA"}, {"metro": {"code": "da"}}),
        ({"metro": "any"}, {"metro": {"code": "da"}}),
        ({"metro": "metro-id"}, {"metro": {"code": "da", "id": "metro-id"}}),
        ({"metro": ["DA"]}, {"metro": {"code": "da"}}),
        ({"metro": ["am", "Da"]}, {"metro": {"code": "da"}}),
        ({"metro": ["am", "da"]}, {"metro_code": "DA"}),
        ({"metro": ["am", "metro-id"]}, {"metro": {"code": "da", "id": "metro-id"}}),
        ({"metro": ["am", "ANY"]}, {"metro": {"code": "da"}}),
        ({"metro": [""]}, {"metro": {"code": "da"}}),
        ({"id": "d", "project_id": "p"}, {"project": {"href": "/metal/v1/projects/p"}}),
        ({"id": "d", "project_id": "p"}, {"project": None}),
        ({"project_id": "p"}, {"project": {"id": "q"}}),
        ({"tags": ["b", "a", "b"]}, {"tags": ["a", "b"]}),
        ({"description": ""}, {"description": None}),
        ({"ipxe_script_url": ""}, {"ipxe_script_url": None}),
        ({"customdata": {"a": 1, "b": [2]}}, {"customdata": '{"b": [2], "a": 1}'}),
        ({"customdata": {}}, {"customdata": None}),
        ({"termination_time": "2027-01-31 18:00"}, {"termination_time": "2027-01-31T18:00:00Z"}),
        ({"termination_time": "2027-01-31T19:00:00+01:00"}, {"termination_time": "2027-01-31T18:00:00Z"}),
        ({"termination_time": ""}, {"termination_time": None}),
        ({"hardware_reservation_id": "next-available"}, {"hardware_reservation": {"href": "/hardware-reservations/x"}}),
        ({"hardware_reservation_id": ""}, {"hardware_reservation": None}),
        ({"userdata": ""}, {"userdata": None}),
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
        ({"metro": ["am"]}, {"metro": {"code": "da"}}, ("da", "am")),
        ({"id": "d", "project_id": "p"}, {"project": {"href": "/metal/v1/projects/q"}}, ("q", "p")),
        ({"termination_time": ""}, {"termination_time": "2027-01-31T18:00:00Z"}, ("2027-01-31T18:00:00Z", "")),
        ({"hardware_reservation_id": ""}, {"hardware_reservation": {"id": "r"}}, ("r", "")),
    ],
)
def test_different_values_differ(given: Mapping[str, Any], device: Mapping[str, Any], difference: tuple[Any, Any]) -> None:
    (name,) = set(given) - {"id"}
    assert (comparable_attributes(device, given)[name], desired_attributes(given, [])[name]) == difference


def test_only_given_options_are_desired() -> None:
    assert desired_attributes({}, ["own"]) == {}
    assert desired_attributes({"tags": []}, ["own"]) == {"tags": ["own"]}
    assert desired_attributes({"locked": False}, []) == {"locked": False}


@pytest.mark.parametrize(("text", "normal"), [("soon", "soon"), ("", None), (None, None), (7, None)])
def test_a_malformed_time_stays_unchanged(text: Any, normal: str | None) -> None:
    assert normal_time(text) == normal


def test_data_is_compared_by_its_digest() -> None:
    assert normal_data("no json") != normal_data({"no": "json"})
    assert "secret" not in normal_data({"key": "secret"})


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (NEW, []),
        ({"hostname": NAME}, ["plan and operating_system and metro must be given"]),
        ({"hostname": NAME, "operating_system": "x", "hardware_reservation_id": "some-id"}, []),
        ({**NEW, "hardware_reservation_id": "next-available"}, []),
        ({**NEW, "operating_system": "custom_ipxe"}, ["needs ipxe_script_url"]),
        ({**NEW, "operating_system": "custom_ipxe", "userdata": "#!ipxe\n", "ipxe_script_url": "http://x"}, ["takes precedence"]),
        ({**NEW, "operating_system": "custom_ipxe", "userdata": "{}", "ipxe_script_url": "http://x"}, []),
        ({"hostname": "a_b"}, ["must be given", "underscore"]),
        ({**NEW, "features": ["tpm"]}, []),
        ({**NEW, "features": {"tpm": "required", "raid": "preferred"}}, []),
        ({**NEW, "features": {"tpm": "wanted"}}, ["features must be a list"]),
        ({**NEW, "features": "tpm"}, ["features must be a list"]),
        ({**NEW, "features": [7]}, ["features must be a list"]),
        ({**NEW, "spot_price_max": 1.5}, ["spot_instance=true"]),
        ({**NEW, "spot_price_max": 1.5, "spot_instance": True}, []),
        ({**NEW, "operation": "rescue"}, ["an existing device"]),
    ],
)
def test_all_missing_options_of_a_new_device_are_reported(given: Mapping[str, Any], texts: list[str]) -> None:
    problems = creation_problems(given)
    assert len(problems) == len(texts)
    assert all(text in problem for text, problem in zip(texts, problems, strict=True))


# --- life ---------------------------------------------------------------------------------------------------------------------


def test_a_failed_device_is_an_error_at_once_that_names_the_last_event() -> None:
    metal = FakeMetal()
    metal.fails.add(NAME)
    result, error = attempt(metal, **NEW)
    assert error is not None
    assert "'Disk not found'" in error.message
    assert result["changed"]
    _result, error = attempt(metal, **NEW)
    assert error is not None
    assert "Delete it (state=absent)" in error.message
    assert len([call for call in metal.changes if call.startswith("POST")]) == 1


def test_a_device_taken_back_is_an_error_and_not_ordered_again() -> None:
    metal = FakeMetal()
    metal.vanishes.add(NAME)
    _result, error = attempt(metal, **NEW)
    assert error is not None
    assert "Equinix Metal deletes devices whose provisioning fails" in error.message
    assert len(metal.changes) == 1


def test_an_unknown_id_is_an_error_and_no_reason_to_create() -> None:
    _result, error = attempt(FakeMetal(), **{**NEW, "id": "unknown"})
    assert error is not None
    assert "leave id out" in error.message
    assert not converge(FakeMetal(), id="unknown", state="absent")["changed"]


def test_a_foreign_device_is_not_changed_by_its_id() -> None:
    metal = FakeMetal()
    device = metal.add(NAME)
    for state in ("present", "absent"):
        _result, error = attempt(metal, id=device["id"], ownership_tags=["own=1"], state=state, description="mine")
        assert error is not None
        assert "does not have the tags own=1" in error.message
    assert not metal.changes


def test_a_spot_instance_becomes_an_ordinary_one_and_not_the_other_way_round() -> None:
    metal = FakeMetal()
    device = metal.add(NAME, spot_instance=True, spot_price_max=1.5)
    assert not converge(metal, hostname=NAME, spot_instance=True, spot_price_max=1.5)["changed"]
    assert converge(metal, hostname=NAME, spot_instance=False)["changed"]
    assert device["spot_instance"] is False
    _result, error = attempt(metal, hostname=NAME, spot_instance=True, spot_price_max=2)
    assert error is not None
    assert set(error.details["fixed"]) == {"spot_instance", "spot_price_max"}
    assert metal.changes == ["PUT devices/id-1 ['spot_instance']"]


def test_no_tags_are_sent_while_the_ownership_tags_are_unknown() -> None:
    for malformed in ({"tags": None}, {"tags": "a"}):
        metal = FakeMetal()
        metal.add(NAME, **malformed)
        for given in ({"tags": ["b"]}, {"operation": "reinstall", "operation_id": "w"}):
            _result, error = attempt(metal, hostname=NAME, **given)
            assert error is not None
            assert "the API returned no current tags" in error.message
        assert not metal.changes


def test_the_users_tags_keep_ownership_tags() -> None:
    metal = FakeMetal()
    done, asked = "ansible-operation=reboot:w", "ansible-operation-requested=reinstall:v:e1"
    device = metal.add(NAME, tags=["a", done, asked])
    assert not converge(metal, hostname=NAME, tags=["a"])["changed"]
    result = converge(metal, hostname=NAME, tags=["b", "ansible-operation=reboot:of-another"])
    assert device["tags"] == ["b", done, asked]
    assert result["diff"]["after"] == {"hostname": NAME, "tags": ["b"]}
    assert not converge(metal, hostname=NAME, operation="reboot", operation_id="w", wait=False)["changed"]


@pytest.mark.parametrize(
    ("has", "given", "sent"),
    [
        ("custom_ipxe", {}, {"ipxe_script_url": "http://b"}),
        ("ubuntu_24_04", {"operating_system": "custom_ipxe"}, {"operating_system": "custom_ipxe", "ipxe_script_url": "http://b"}),
        ("custom_ipxe", {"operating_system": "debian_12"}, {"operating_system": "debian_12"}),
        ("ubuntu_24_04", {"preserve_data": False, "deprovision_fast": True}, {"preserve_data": False, "deprovision_fast": True}),
    ],
)
def test_a_reinstall_uses_the_given_options(has: str, given: dict[str, Any], sent: dict[str, Any]) -> None:
    metal = FakeMetal()
    device = metal.add(
        NAME, tags=["openshift-cluster=a", "openshift-role=bootstrap"], operating_system={"slug": has}, ipxe_script_url="http://a"
    )
    given = {"ipxe_script_url": "http://b", "userdata": "{}", "operation": "reinstall", "operation_id": "becomes-a-worker", **given}
    becomes = {"hostname": "worker-9", "tags": ["openshift-role=worker"], "ownership_tags": ["openshift-cluster=a"]}
    attempt(metal, id=device["id"], **becomes, **given, wait=False)
    assert metal.changes == ["PUT devices/id-1 worker-9", "POST devices/id-1/actions reinstall", "PUT devices/id-1 ['tags']"]
    assert metal.asked == [{"type": "reinstall", **sent}]
    assert (device["userdata"], device["ipxe_script_url"]) == ("{}", "http://b")
    assert device["tags"] == ["openshift-cluster=a", "openshift-role=worker", "ansible-operation=reinstall:becomes-a-worker"]


def test_a_state_without_events_is_not_guessed() -> None:
    metal = FakeMetal()
    metal.add(NAME, tags=["ansible-operation-requested=reinstall:w:long-gone"])
    _result, error = attempt(metal, hostname=NAME, operation="reinstall", operation_id="w")
    assert error is not None
    assert "the API does not list event long-gone" in error.message
    assert not metal.changes
    assert converge(metal, hostname=NAME, operation="reinstall", operation_id="another", wait=False)["changed"]


def test_every_option_is_compared_or_used_at_creation_only() -> None:
    """A new option of a create has to have its place in a comparison, or to say that it has none."""
    compared = set(comparable_attributes({}, {}))
    from_the_create = set(DEVICE_OPTIONS.argument_spec) - {"power_state"}
    assert from_the_create - compared == set(AT_CREATION_ONLY)
    assert set(IMMUTABLE) <= compared
    result = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    for name in AT_CREATION_ONLY:
        assert "Only used during creation" in str(result[name]["description"]), name


def test_check_mode_reports_the_next_step_for_impossible_changes() -> None:
    metal = FakeMetal(read_only=True)
    metal.add(NAME, locked=True)
    _result, error = attempt(metal, hostname=NAME, state="absent")
    assert error is not None
    assert "locked=false" in error.message
    _result, error = attempt(metal, hostname=NAME, plan="c3.medium.x86")
    assert error is not None
    assert error.details["fixed"] == {"plan": {"current": "c3.small.x86", "desired": "c3.medium.x86"}}


def test_a_device_still_provisioning_is_deleted_when_that_is_over() -> None:
    metal = FakeMetal()
    metal.add(NAME, state="queued")
    _result, error = attempt(metal, hostname=NAME, state="absent", wait=False)
    assert error is not None
    assert "Use wait=true" in error.message
    metal.devices["id-1"]["state"] = "active"
    assert converge(metal, hostname=NAME, state="absent")["changed"]
    assert not metal.devices


def test_a_device_that_vanished_is_never_ordered_again() -> None:
    metal = FakeMetal()
    metal.vanishes.add(NAME)
    result, error = attempt(metal, **NEW)
    assert result["changed"]
    assert error is not None
    assert "Equinix Metal deletes devices whose provisioning fails" in error.message
    assert len(metal.changes) == 1


@pytest.mark.parametrize("check", [False, True], ids=["", "check"])
def test_a_termination_time_is_removed(check: bool) -> None:
    metal = FakeMetal(read_only=check)
    device = metal.add(NAME, termination_time="2099-01-01T00:00:00Z")
    result = converge(metal, id=device["id"], termination_time="")
    assert result["changed"]
    assert result["diff"]["before"] == {"termination_time": "2099-01-01T00:00:00Z"}
    assert result["diff"]["after"] == {"termination_time": ""}
    assert result["device"]["termination_time"] is None
    if not check:
        assert device["termination_time"] is None
        assert not converge(metal, id=device["id"], termination_time="")["changed"]


def test_another_is_ordered_only_when_the_one_before_is_deleting() -> None:
    metal = FakeMetal()
    metal.add(NAME, plan={"slug": "m3.small.x86"})
    metal.ignored = 3
    given = {**NEW, "on_drift": "replace"}
    _result, error = attempt(metal, **given, wait=False)
    assert error is not None
    assert "the API accepted the request twice, but the object still exists" in error.message
    assert [device["plan"]["slug"] for device in metal.devices.values()] == ["m3.small.x86"]
    assert converge(metal, **given)["changed"]
    assert [device["plan"]["slug"] for device in metal.devices.values() if device["state"] != "deprovisioning"] == ["c3.small.x86"]


# --- two runs at the same moment ----------------------------------------------------------------------------------------------

OWN = ["openshift-cluster=demo.metal.test"]


class Rival(FakeMetal):
    """Another run orders a device of the same name while ours is being ordered: ``offset`` seconds before or after it."""

    def __init__(self, offset: int, **fields: Any) -> None:
        super().__init__()
        self._offset = offset
        self._fields = fields

    def _effect(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        own = super()._effect(path, body)
        if path.endswith("/devices") and len(self.devices) == 1:
            created = f"2026-01-01T00:00:{30 + self._offset:02}Z"
            own["created_at"] = "2026-01-01T00:00:30Z"
            rival = self.add(NAME, **{"state": "queued", "tags": OWN, "created_at": created, **self._fields})
            self.rival = rival["id"]
        return own


def test_of_two_that_are_ordered_at_the_same_moment_the_younger_goes_and_the_older_is_used() -> None:
    metal = Rival(-5)
    result = converge(metal, **NEW, ownership_tags=OWN)
    assert result["device"]["id"] == metal.rival
    assert result["duplicates"] == [{"id": "id-1", "kept": metal.rival}]
    assert result["changed"]
    assert {device["id"]: device["state"] for device in metal.devices.values() if device["state"] != "deprovisioning"} == {
        metal.rival: "active"
    }


@pytest.mark.parametrize(
    "fields",
    [{"tags": ["openshift-cluster=other.metal.test"]}, {"tags": []}, {"state": "failed"}, {"state": "deprovisioning"}, {"hostname": "x"}],
    ids=str,
)
def test_no_device_is_deleted_for_a_failed_one(fields: dict[str, Any]) -> None:
    class Other(Rival):
        def _effect(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
            own = super()._effect(path, body)
            self.devices[self.rival].update(fields)
            return own

    metal = Other(-5)
    result = converge(metal, **NEW, ownership_tags=OWN)
    assert result["device"]["id"] == "id-1"
    assert not [call for call in metal.changes if call.startswith("DELETE")]


def test_when_the_older_one_fails_first_the_younger_is_used_all_the_same() -> None:
    class Failing(Rival):
        """The rival's provisioning fails at the third poll, ours takes longer."""

        polls = 0

        def _move(self, seen: str | None = None) -> None:
            self.polls += len(self.devices) > 1
            for device in self.devices.values():
                rival = device["id"] == self.rival
                device["state"] = "queued" if self.polls < 3 else "failed" if rival else "provisioning" if self.polls < 6 else "active"

    metal = Failing(-5)
    result = converge(metal, **NEW, ownership_tags=OWN)
    assert (result["device"]["id"], result["device"]["state"]) == ("id-1", "active")
    assert "duplicates" not in result


def test_of_the_same_second_both_runs_choose_the_same() -> None:
    metal = Rival(0)
    result = converge(metal, **NEW, ownership_tags=OWN)
    assert result["device"]["id"] == "id-1", "the smaller id, for each run"
    other = Device(metal, {"hostname": NAME, "ownership_tags": OWN, "state": "present", "project_id": PROJECT})
    older = other.older_duplicate(metal.devices[metal.rival], metal.devices.values())
    assert older is not None
    assert older["id"] == "id-1"


def test_without_waiting_a_second_device_that_cannot_be_deleted_yet_is_told() -> None:
    metal = Rival(-5)
    module = BareModule(OPTIONS, {**NEW, "ownership_tags": OWN, "wait": False}, metal)
    metal._move = lambda seen=None: None  # type: ignore[method-assign]
    module.converge(lambda: Device(metal, module.params, module.warn))
    assert module.result["device"]["id"] == metal.rival
    assert any("id-1" in text and "is billed" in text for text in module.warnings)
