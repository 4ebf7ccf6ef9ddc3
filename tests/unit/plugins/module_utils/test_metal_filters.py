"""What the readers of accounts and of the catalogue let through."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import PLAN_OPTIONS, plans
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import PROJECT_INFO_OPTIONS, find_projects
from tests.unit.plugins.module_utils.fake_client import FakeClient, options_of

PROJECTS: list[dict[str, Any]] = [
    {"id": "1", "name": "demo", "organization": {"href": "/metal/v1/organizations/o1"}},
    {"id": "2", "name": "demo-2", "organization": {"href": "/metal/v1/organizations/o2"}},
]
PLANS: list[dict[str, Any]] = [
    {"slug": "c3.small.x86", "type": "standard", "categories": ["compute", "current_gen"]},
    {"slug": "s3.xlarge.x86", "type": "standard", "categories": ["storage", "current_gen"]},
    {"slug": "odd.x86", "type": None, "categories": None},
]


CLIENT = FakeClient({"projects": PROJECTS, "plans": PLANS, **{f"projects/{each['id']}": each for each in PROJECTS}})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"names": ["demo-2", "other"]}, ["2"]),
        ({"organization_id": "o1"}, ["1"]),
        ({"organization_id": "o1", "names": ["demo-2"]}, []),
        ({"all_projects": True, "project_id": None}, ["1", "2"]),
        ({}, ["1"]),
    ],
)
def test_projects(given: dict[str, Any], found: list[str]) -> None:
    answer = find_projects(CLIENT, options_of(PROJECT_INFO_OPTIONS, **{"project_id": "1", **given}))
    assert [project["id"] for project in answer["projects"]] == found
    assert (answer["project"] is not None) is (given == {})


@pytest.mark.parametrize(
    ("hostnames", "found"), [(["worker-0"], ["1"]), (["WORKER-0", "worker-1"], ["1", "2"]), ([], []), (None, ["1", "2"])]
)
def test_devices_by_host_name_without_case(hostnames: list[str] | None, found: list[str]) -> None:
    """As metal_device finds them."""
    devices = [{"id": "1", "hostname": "Worker-0", "tags": []}, {"id": "2", "hostname": "worker-1", "tags": []}]
    client = FakeClient({"projects/p/devices": devices})
    answer = find_devices(client, options_of(DEVICE_INFO_OPTIONS, hostnames=hostnames))
    assert [device["id"] for device in answer["devices"]] == found


def test_a_missing_project_is_an_error_with_the_next_steps() -> None:
    with pytest.raises(CollectionError, match=r"METAL_PROJECT_ID.*all_projects"):
        find_projects(CLIENT, options_of(PROJECT_INFO_OPTIONS, project_id=None))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"categories": ["storage", "compute"]}, ["c3.small.x86", "s3.xlarge.x86"]),
        ({"categories": ["legacy_gen"]}, []),
        ({"type": "standard", "slugs": ["c3.small.x86", "odd.x86"]}, ["c3.small.x86"]),
        ({}, ["c3.small.x86", "odd.x86", "s3.xlarge.x86"]),
    ],
)
def test_plans(given: dict[str, Any], found: list[str]) -> None:
    answer = plans(CLIENT, options_of(PLAN_OPTIONS, **given))
    assert [plan["slug"] for plan in answer["plans"]] == found
