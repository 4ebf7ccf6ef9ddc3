"""Projects and keys: which one is meant, what they refuse, and which project is empty."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import (
    PROJECT_INFO_OPTIONS,
    PROJECT_OPTIONS,
    Project,
    find_projects,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ssh_key import (
    SSH_KEY_OPTIONS,
    SshKey,
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
    ("given", "result"),
    [
        ({"label": "bob"}, "2 keys are SSH key bob of the project: 2, 3"),
        ({"label": "alice", "key": "ssh-rsa BBBB"}, "the key 'bob'"),
        ({"label": "alice", "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted"}, "it is a private key"),
    ],
)
def test_contradicting_key_options_are_an_error(given: dict[str, Any], result: str) -> None:
    with pytest.raises(CollectionError, match=result) as caught:
        ssh_key(**given).find()
    assert "planted" not in caught.value.message


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
