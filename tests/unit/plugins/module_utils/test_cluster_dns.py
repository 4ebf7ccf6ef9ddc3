"""Who owns a DNS record, and in which order records are changed."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.record_set import Found
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import (
    Key,
    Owner,
    Record,
    cluster_dns_records,
    foreign_record,
    owners_of,
    ownership_name,
    planned,
)

CLUSTER = "demo.metal.test"
API = f"api.{CLUSTER}"
OURS = Owner(CLUSTER, "demo-x7k2p")
ADDRESSES = ["192.0.2.1", "2001:db8::1"]


def state(values: list[str], *owners: Owner, alias: str = "") -> dict[Key, Found]:
    return {(API, "A"): Found(values, alias), (ownership_name(API), "TXT"): Found([owner.value() for owner in owners])}


@pytest.mark.parametrize(
    ("current", "owner", "foreign"),
    [
        (state([]), OURS, None),
        (state(["203.0.113.7"], OURS), OURS, None),
        (state(["203.0.113.7"], Owner(CLUSTER)), OURS, None),
        (state(["192.0.2.1"]), OURS, None),
        (state(["192.0.2.1", "203.0.113.7"]), OURS, f"{API} (192.0.2.1, 203.0.113.7) has no ownership record"),
        (state(["192.0.2.1"], Owner(CLUSTER, "demo-other")), OURS, f"{API} (192.0.2.1) belongs to {CLUSTER} with the infraID demo-other"),
        (state([], Owner("else.metal.test")), OURS, f"{API} (without an address) belongs to else.metal.test"),
        (state(["192.0.2.1"], OURS, Owner("else.metal.test")), OURS, f"{API} (192.0.2.1) belongs to else.metal.test"),
        # The folder of the install is gone: only addresses of its devices tell that a record is of this cluster.
        (state(["192.0.2.1"], OURS), Owner(CLUSTER), None),
        (state(["203.0.113.7"], OURS), Owner(CLUSTER), f"{API} (203.0.113.7) belongs to {CLUSTER} with the infraID demo-x7k2p"),
        (state([], alias="lb.test."), OURS, f"{API} (lb.test.) has no ownership record"),
    ],
)
def test_a_record_is_foreign_unless_its_ownership_record_or_all_its_addresses_are_ours(
    current: dict[Key, Found], owner: Owner, foreign: str | None
) -> None:
    found = foreign_record(API, current, owner, ADDRESSES)
    assert (str(found) if found else None) == foreign


def test_an_ownership_record_is_read_as_it_was_written_also_in_several_strings() -> None:
    long = Owner(".".join(["a" * 60] * 4), "demo-x7k2p")
    assert all(len(part) <= 255 for part in long.value().strip('"').split('" "'))
    assert owners_of([long.value(), OURS.value()]) == [long, OURS]
    assert owners_of(['"v=spf1 -all"']) == [Owner("v=spf1 -all")]
    assert ownership_name(f"*.apps.{CLUSTER}") == f"_openshift-owner._wildcard.apps.{CLUSTER}"


def test_an_ownership_record_comes_before_its_addresses_and_goes_after_them() -> None:
    made = planned([{"name": API, "type": "A", "values": ["192.0.2.1"]}], {}, OURS)
    assert [change["type"] for change in made.changes] == ["TXT", "A"]
    gone = planned([{"name": API, "type": "A", "values": []}], state(["203.0.113.7"], OURS), OURS)
    assert [change["type"] for change in gone.changes] == ["A", "TXT"]


@pytest.mark.parametrize("rule", [{}, {"nodes": [{"name": f"worker-0.{CLUSTER}", "router": True, "may_run_router": True}]}])
def test_a_device_renamed_in_capitals_alone_keeps_its_records(rule: dict[str, Any]) -> None:
    """The Metal API keeps capitals, and host names of machines are in lower case."""

    def records(*hostnames: str) -> list[Record]:
        devices = [
            {
                "hostname": hostname,
                "tags": [f"openshift-role={role}"],
                "addresses": {"public_ipv4": f"192.0.2.{number}"},
            }
            for number, (hostname, role) in enumerate(zip(hostnames, ("control-plane", "worker"), strict=True), start=1)
        ]
        names = [f"master-0.{CLUSTER}", f"worker-0.{CLUSTER}"]
        return cluster_dns_records(devices, CLUSTER, machines=names, workers=names[1:], bootstrap_complete=True, **rule)

    desired = records(f"master-0.{CLUSTER}", f"worker-0.{CLUSTER}")
    assert {"name": f"master-0.{CLUSTER}", "values": ["192.0.2.1"]} in desired
    assert {"name": f"*.apps.{CLUSTER}", "values": ["192.0.2.2"]} in desired
    assert records(f"Master-0.{CLUSTER}", f"WORKER-0.{CLUSTER.upper()}") == desired
