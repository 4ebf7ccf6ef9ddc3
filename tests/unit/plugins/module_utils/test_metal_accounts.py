"""Projects, keys and events: which one is meant, what they need, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.events import DEVICE_EVENT_OPTIONS, event_result, find_events
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import (
    PROJECT_INFO_OPTIONS,
    PROJECT_OPTIONS,
    Project,
    find_projects,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ssh_key import (
    SSH_KEY_OPTIONS,
    SshKey,
    normal_key,
)
from tests.unit.plugins.module_utils.fake_client import FakeClient, Refused, options_of

PROJECTS: list[dict[str, Any]] = [
    {"id": "1", "name": "demo", "organization": {"href": "/metal/v1/organizations/o1"}, "devices": [{"href": "/devices/d1"}]},
    {"id": "2", "name": "demo-2", "organization": {"href": "/metal/v1/organizations/o1"}},
    {"id": "3", "name": "twin", "organization": {"href": "/metal/v1/organizations/o1"}},
    {"id": "4", "name": "twin", "organization": {"href": "/metal/v1/organizations/o2"}},
]


def project(**given: Any) -> Project:
    return Project(FakeClient({"projects": PROJECTS}), options_of(PROJECT_OPTIONS, **given))


@pytest.mark.parametrize(
    ("given", "found"), [({"name": "demo"}, "1"), ({"name": "dem"}, None), ({"name": "twin", "organization_id": "o2"}, "4")]
)
def test_a_project_is_selected_by_its_whole_name(given: dict[str, Any], found: str | None) -> None:
    assert (project(**given).find() or {}).get("id") == found


def test_projects_of_one_name_are_an_error_with_their_ids() -> None:
    with pytest.raises(CollectionError, match=r"2 projects have the name twin: 3, 4\. Select one by its id"):
        project(name="twin").find()


@pytest.mark.parametrize(("name", "result"), [("x" * 81, "81 characters"), (" ", "name must be given"), ("\U0001f600", "four bytes")])
def test_invalid_names_are_refused_before_any_request(name: str, result: str) -> None:
    with pytest.raises(CollectionError, match=result):
        project(name=name).check_creation()


def test_a_project_with_devices_is_not_deleted() -> None:
    with pytest.raises(CollectionError, match="it has 1 devices"):
        project(name="demo").check_deletion(PROJECTS[0])
    project(name="demo-2").check_deletion(PROJECTS[1])


KEYS: list[dict[str, Any]] = [
    {"id": "1", "label": "alice", "key": "ssh-ed25519 AAAA alice@home", "tags": ["a"], "fingerprint": "f1"},
    {"id": "2", "label": "bob", "key": "ssh-rsa BBBB", "fingerprint": "f2"},
    {"id": "3", "label": "bob", "key": "ssh-rsa CCCC", "fingerprint": "f3"},
]


def ssh_key(**given: Any) -> SshKey:
    return SshKey(FakeClient({"projects/p/ssh-keys": KEYS}), options_of(SSH_KEY_OPTIONS, **given))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"label": "alice"}, "1"),
        ({"key": "ssh-ed25519   AAAA  other comment"}, "1"),
        ({"label": "new", "key": "ssh-ed25519 AAAA"}, "1"),
        ({"label": "bob", "key": "ssh-rsa CCCC"}, "3"),
        ({"label": "new", "key": "ssh-ed25519 DDDD"}, None),
        ({"label": "new", "key": "ssh-ed25519 AAAA", "state": "absent"}, None),
    ],
)
def test_a_key_is_selected_by_its_label_or_content(given: dict[str, Any], found: str | None) -> None:
    assert (ssh_key(**given).find() or {}).get("id") == found


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"label": "bob"}, "2 keys are SSH key bob of the project: 2, 3"),
        ({"label": "alice", "key": "ssh-rsa BBBB"}, "the key 'bob'"),
        ({"label": "alice", "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted"}, "it is a private key"),
        ({"label": "alice", "key": "AAAA"}, "needs type and data"),
        ({"label": "alice", "project_id": None}, "No project is set"),
    ],
)
def test_contradicting_key_options_are_an_error(given: dict[str, Any], result: str) -> None:
    with pytest.raises(CollectionError, match=result) as caught:
        ssh_key(**given).find()
    assert "planted" not in caught.value.message


def test_keys_are_compared_without_their_comment() -> None:
    assert normal_key("ssh-rsa  AAAA  me@here\n") == normal_key("ssh-rsa AAAA") == "ssh-rsa AAAA"
    assert normal_key(None) == ""


EVENTS: list[dict[str, Any]] = [
    {"id": "3", "type": "user.0", "created_at": "2026-11-21T07:10:01Z", "relationships": [{"href": "/metal/v1/devices/d1"}]},
    {"id": "2", "type": "provisioning.104", "created_at": "2026-11-21T07:10:00Z", "relationships": None},
    {"id": "1", "type": "provisioning.101", "created_at": "2026-11-21T07:10:00Z"},
]


@pytest.mark.parametrize(
    ("given", "ids", "path"),
    [
        ({}, ["1", "2", "3"], "projects/p/events"),
        ({"device_id": "d1", "types": ["user.0"]}, ["3"], "devices/d1/events"),
        ({"hostname": "A", "since": "2026-11-21T08:10:01+01:00"}, ["3"], "devices/d7/events"),
    ],
)
def test_events_are_returned_in_chronological_order(given: dict[str, Any], ids: list[str], path: str) -> None:
    devices = [{"id": "d7", "hostname": "a"}, {"id": "d8", "hostname": "ab"}]
    client = FakeClient({path: EVENTS, "projects/p/devices": devices})
    result = find_events(client, options_of(DEVICE_EVENT_OPTIONS, **given))
    assert [event["id"] for event in result["events"]] == ids


def test_events_of_an_unknown_or_ambiguous_name_are_an_error() -> None:
    client = FakeClient({"projects/p/devices": [{"id": "d7", "hostname": "a"}, {"id": "d8", "hostname": "a"}]})
    for name, result in (("a", "2 devices have the hostname a: d7, d8"), ("b", "no devices have the hostname b")):
        with pytest.raises(CollectionError, match=result):
            find_events(client, options_of(DEVICE_EVENT_OPTIONS, hostname=name))


def test_a_malformed_event_is_returned_without_its_malformed_parts() -> None:
    assert event_result({"relationships": [None, {"href": 7}]})["device_id"] is None


CONTENTS = {"virtual-networks": [{"id": "v1"}, {"id": "v2"}], "ssh-keys": [{"id": "k"}], "devices": [], "ips": [], "metal-gateways": []}


def test_the_contents_of_a_project_are_counted_by_kind() -> None:
    """A service without VRFs, reservations or a spot market answers 404, which is no content."""
    client = FakeClient({"projects/p": {"id": "p", "name": "demo"}, **{f"projects/p/{path}": listed for path, listed in CONTENTS.items()}})
    found = find_projects(client, options_of(PROJECT_INFO_OPTIONS, with_contents=True))
    assert found["contents"] == ["2 VLANs", "1 SSH key"]
    assert "contents" not in find_projects(client, options_of(PROJECT_INFO_OPTIONS))
    (blocks,) = {params["types"] for _method, path, _body, params in client.requests if path == "projects/p/ips"}
    assert "private_ipv4" not in blocks


def test_contents_that_cannot_be_read_are_an_error() -> None:
    """A project is deleted only when it is known to be empty."""

    class Forbidding(FakeClient):
        def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
            if path.endswith("/vrfs"):
                raise Refused(403, "You are not authorized to view this")
            return super().answer(method, path, body, params)

    client = Forbidding({"projects/p": {"id": "p", "name": "demo"}})
    with pytest.raises(CollectionError, match="not authorized"):
        find_projects(client, options_of(PROJECT_INFO_OPTIONS, with_contents=True))
