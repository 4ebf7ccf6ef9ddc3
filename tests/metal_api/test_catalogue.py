"""What can be ordered: every fact has a source, and every fact is one that the API can show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from metal_api.catalogue import data

KINDS = {"recorded", "autoscaler", "samples", "changelog", "unverified", "clients", "ours"}
DATA = yaml.safe_load((Path(data.__file__).with_name("catalogue.yml")).read_text(encoding="utf-8"))
ENTRIES = [(kind, each.get("slug", each.get("code")), each) for kind in ("metros", "plans", "operating_systems") for each in DATA[kind]]


@pytest.mark.parametrize(("kind", "name", "entry"), ENTRIES, ids=[f"{kind}-{name}" for kind, name, _entry in ENTRIES])
def test_every_fact_has_one_source(kind: str, name: str, entry: dict[str, Any]) -> None:
    assert set(entry["sources"]) <= KINDS
    messages = [fact for facts in entry["sources"].values() for fact in facts]
    assert len(set(messages)) == len(messages)
    # The slug of a plan is what it is looked up by in all of them.
    assert set(entry) - {"sources"} - ({"slug"} if kind == "plans" else set()) <= set(messages)


def test_machines_of_the_plans_have_names_for_their_drives() -> None:
    plan = data.catalogue().plans["s3.xlarge.x86"]
    assert [each.name for each in plan.machine_drives[:4]] == ["/dev/sda", "/dev/sdb", "/dev/nvme0n1", "/dev/nvme1n1"]
    assert len(plan.machine_drives) == 16
    assert [each.architecture for each in data.catalogue().plans.values()].count("aarch64") == 1


def test_a_plan_may_have_more_drives_than_the_alphabet_has_letters() -> None:
    """Names were those of 26 SSD and HDD and of 99 NVMe drives; the next one was a RuntimeError at each order and in metadata."""
    plan = data.catalogue().plans["c3.small.x86"]
    many = ({"count": 703, "size_gb": 480, "type": "HDD"}, {"count": 101, "size_gb": 960, "type": "NVME"})
    names = [each.name for each in replace(plan, drives=many).machine_drives]
    assert [names[number] for number in (25, 26, 27, 701, 702, 703, 803)] == [
        *("/dev/sdz", "/dev/sdaa", "/dev/sdab", "/dev/sdzz", "/dev/sdaaa"),
        *("/dev/nvme0n1", "/dev/nvme100n1"),
    ]


def test_everything_is_found_by_each_of_its_names() -> None:
    found = data.catalogue()
    metro, plan, system = found.metros["da"], found.plans["c3.small.x86"], found.operating_systems["windows_2022"]
    assert found.metro("DA") is found.metro(metro.id) is found.metro_of_facility("da11") is metro
    assert found.plan(plan.id) is plan
    assert found.operating_system(system.id) is system
    assert found.plan(metro.id) is None
