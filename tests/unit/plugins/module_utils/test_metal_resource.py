"""The base class of resources: what a table of attributes is enough for."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import attribute
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.attribute import Attribute, options_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.lifecycle import settle_drift
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found, Resource, only_one
from tests.unit.plugins.module_utils.fake_client import FakeClient

ATTRIBUTES = (
    Attribute(name="name", option={"type": "str"}, required=True),
    attribute.metro(immutable="a rack stays in its metro"),
    attribute.link("owner_id", "owner"),
    attribute.text("note"),
    attribute.text("reason", compared=False),
    attribute.tags(),
    attribute.customdata(),
)


class Rack(Resource):
    result_key = "rack"
    kind = "rack"
    path = "racks"
    attributes = ATTRIBUTES

    def find_by_options(self) -> Found | None:
        listed = self.client.read_list(self.list_path, "racks", doing="list")
        return only_one([each for each in listed if each["name"] == self.params["name"]], f"racks are {self.title}", "its id")


class Racks(FakeClient):
    """A service with these racks."""

    def __init__(self, *racks: dict[str, Any]) -> None:
        super().__init__({f"racks/{rack['id']}": rack for rack in racks})

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if (method, path) == ("GET", "projects/p/racks"):
            return list(self.answers.values())
        if method == "DELETE":
            return self.answers.pop(path) and None
        return super().answer(method, path, body, params)


RACK = {
    "id": "1",
    "name": "a",
    "metro": {"code": "DA"},
    "owner": {"href": "/users/u1"},
    "tags": ["b", "a"],
    "customdata": {"a": 1},
    "created_at": "now",
}


def rack(*racks: dict[str, Any], **given: Any) -> tuple[Rack, Racks]:
    client = Racks(*racks)
    params = {"id": None, "state": "present", "project_id": "p", **dict.fromkeys(options_of(ATTRIBUTES)), **given}
    return Rack(client, params), client


def test_given_and_current_attributes_are_compared_in_one_form() -> None:
    resource, _client = rack(name="a", metro="Da", owner_id="u1", note="", tags=["a", "b", "a"], customdata={"a": 1}, reason="x")
    assert resource.desired() == resource.comparable(RACK)
    assert rack(name="a")[0].desired() == {"name": "a"}


def test_the_result_has_no_customdata() -> None:
    expected = {"id": "1", "created_at": "now", "name": "a", "metro": "da", "owner_id": "u1", "note": None, "tags": ["a", "b"]}
    assert Rack.result(RACK) == expected


def test_a_prediction_looks_as_the_service_shows_it() -> None:
    resource, _client = rack(name="b", metro="am", owner_id="u2", customdata={"a": 2})
    predicted = Rack.result(resource.predict(RACK, resource.desired()))
    assert predicted == {**Rack.result(RACK), "name": "b", "metro": "am", "owner_id": "u2"}


@pytest.mark.parametrize("named", [{"id": "1"}, {"name": "a"}])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_an_object_of_another_owner_is_an_error(named: dict[str, str], state: str) -> None:
    assert rack(RACK, **named, state=state, ownership_tags=["a", "b"])[0].find() == RACK
    for tags in (["a"], [], None):
        other = {**RACK, "tags": tags}
        with pytest.raises(CollectionError, match=r"Cannot change rack .* \(1\): it does not have the tags b"):
            rack(other, **named, state=state, ownership_tags=["b"])[0].find()
    with pytest.raises(CollectionError, match="to create it, tags must contain the ownership tags b"):
        rack(name="a", tags=["a"], ownership_tags=["a", "b"])[0].check_creation()


@pytest.mark.parametrize(
    ("on_drift", "settled", "warned"),
    [
        ("ignore", ({"note": "x"}, {}), ["rack a is not changed (on_drift=ignore): metro is 'da', desired is 'am'"]),
        ("replace", ({}, {"metro": "am"}), []),
    ],
)
def test_drift_is_settled_by_choice(on_drift: str, settled: Any, warned: list[str]) -> None:
    warnings: list[str] = []
    resource, _client = rack(name="a", metro="am", note="x")
    assert settle_drift(resource, RACK, {"metro": "am", "note": "x"}, on_drift, warnings.append) == settled
    assert warnings == warned
    assert settle_drift(resource, RACK, {"note": "x"}, on_drift, warnings.append) == ({"note": "x"}, {})
