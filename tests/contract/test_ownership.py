"""VLANs, IP reservations and VRFs: who owns an object decides which one a task means, and whether it may be changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.contract.environment import run
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
def kind(request: pytest.FixtureRequest, sandbox_environment: dict[str, str]) -> Iterator[Kind]:
    yield request.param
    found = run(f"{request.param.module}_info", {}, sandbox_environment)[f"{request.param.result}s"]
    for each in found:
        if set(OWNER) <= set(each["tags"]):
            run(request.param.module, {"id": each["id"], "state": "absent"}, sandbox_environment)


def test_other_tags_of_a_task_change_the_owned_object(kind: Kind, sandbox_environment: dict[str, str]) -> None:
    options = {**kind.options, "ownership_tags": OWNER}
    made = run(kind.module, {**options, "tags": [*OWNER, "a"]}, sandbox_environment)
    changed = run(kind.module, {**options, "tags": [*OWNER, "b"]}, sandbox_environment)
    assert changed[kind.result]["id"] == made[kind.result]["id"], changed
    assert changed[kind.result]["tags"] == ["b", *OWNER]
    assert not run(kind.module, {**options, "tags": [*OWNER, "b"]}, sandbox_environment)["changed"]


def test_an_object_of_another_owner_is_neither_deleted_nor_taken(kind: Kind, sandbox_environment: dict[str, str]) -> None:
    made = run(kind.module, {**kind.options, "tags": OWNER}, sandbox_environment)[kind.result]
    refused = run(kind.module, {"id": made["id"], "ownership_tags": OTHER_OWNER, "state": "absent"}, sandbox_environment)
    assert f"does not have the tags {OTHER_OWNER[0]}" in refused["msg"]
    assert not run(kind.module, {"id": made["id"], "tags": OWNER}, sandbox_environment)["changed"]
