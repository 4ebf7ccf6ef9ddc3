"""Which workers the Metal API deletes soon, and how long a drain of their Nodes may take."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.evictions import MARGIN
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.evictions import pending as evictions

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def device(name: str, end: str | None, role: str = "worker", **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{name}",
        "hostname": name,
        "termination_time": end,
        "state": "active",
        "tags": [f"openshift-role={role}"],
        "created_at": "2026-11-20T09:00:00Z",
        **more,
    }


def test_workers_are_listed_in_the_order_of_their_end() -> None:
    found = evictions(
        [
            device("late", "2026-11-21T09:02:00Z"),
            device("soon", "2026-11-21T09:01:00"),
            device("next-day", "2026-11-22T09:00:00Z"),
            device("staying", None),
            device("malformed", "soon"),
            device("master-0", "2026-11-21T09:01:00Z", role="control-plane"),
            device("leaving", "2026-11-21T09:01:00Z", state="deprovisioning"),
        ],
        now=NOW,
        within=300,
    )
    assert found["nodes"] == ["soon", "late"]
    # One drain for both: no pod has longer than until the first end, and the last one is waited for.
    assert (found["grace_period"], found["timeout"]) == (60 - MARGIN, 120 - MARGIN)
    assert found["lines"] == [
        "soon: the Metal API deletes its device at 2026-11-21T09:01:00, in 60 s",
        "late: the Metal API deletes its device at 2026-11-21T09:02:00Z, in 120 s",
    ]


@pytest.mark.parametrize("end", ["2026-11-21T09:00:05Z", "2026-11-21T08:59:00Z"])
def test_a_worker_whose_end_is_here_is_still_drained(end: str) -> None:
    found = evictions([device("worker-0", end)], now=NOW, within=300)
    assert (found["grace_period"], found["timeout"]) == (1, 1)
    assert found["evictions"][0]["seconds"] >= 0


def test_the_node_of_a_renamed_device_is_drained() -> None:
    nodes = [{"name": "worker-0", "device_id": "id-box"}, {"name": "worker-1", "device_id": "id-Worker-1"}]
    found = evictions([device("box", "2026-11-21T09:01:00Z"), device("Worker-1", "2026-11-21T09:02:00Z")], nodes, now=NOW, within=300)
    assert found["nodes"] == ["worker-0", "worker-1"]
