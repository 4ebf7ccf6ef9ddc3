"""VLANs, IP reservations and VRFs: who owns an object decides which one a task means, and whether it may be changed or deleted."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.contract.environment import Metal
from tests.contract.scenario import TAGS, WAIT

OWNER = TAGS[:1]
OTHER_OWNER = ["openshift-cluster=other.metal.test"]


class Kind(NamedTuple):
    """A module, its result, and the options that create an object."""

    module: str
    result: str
    options: dict[str, Any]


KINDS = [
    Kind("metal_vlan", "virtual_network", {"metro": "da", "description": "owned"}),
    Kind("metal_ip_reservation", "ip_reservation", {"metro": "da", "quantity": 1, "details": "owned", **WAIT}),
    Kind("metal_vrf", "vrf", {"metro": "da", "name": "owned", "ip_ranges": ["192.168.100.0/24"]}),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.module)
def kind(request: pytest.FixtureRequest, metal: Metal) -> Iterator[Kind]:
    yield request.param
    found = metal.run(f"{request.param.module}_info", {})[f"{request.param.result}s"]
    for each in found:
        if set(OWNER) <= set(each["tags"]):
            metal.run(request.param.module, {"id": each["id"], "state": "absent"})


def test_other_tags_of_a_task_change_the_owned_object(kind: Kind, metal: Metal) -> None:
    options = {**kind.options, "ownership_tags": OWNER}
    made = metal.run(kind.module, {**options, "tags": [*OWNER, "a"]})
    changed = metal.run(kind.module, {**options, "tags": [*OWNER, "b"]})
    assert changed[kind.result]["id"] == made[kind.result]["id"], changed
    assert changed[kind.result]["tags"] == ["b", *OWNER]
    assert not metal.run(kind.module, {**options, "tags": [*OWNER, "b"]})["changed"]
    # An empty metro, as of a variable that is not set, lists all.
    listings = [metal.run(f"{kind.module}_info", {"metro": metro}) for metro in ("", "DA", "am")]
    assert [made[kind.result]["id"] in str(listing) for listing in listings] == [True, True, False]


def test_an_object_of_another_owner_is_neither_deleted_nor_taken(kind: Kind, metal: Metal) -> None:
    made = metal.run(kind.module, {**kind.options, "tags": OWNER})[kind.result]
    refused = metal.run(kind.module, {"id": made["id"], "ownership_tags": OTHER_OWNER, "state": "absent"})
    assert f"does not have the tags {OTHER_OWNER[0]}" in refused["msg"]
    assert not metal.run(kind.module, {"id": made["id"], "tags": OWNER})["changed"]
