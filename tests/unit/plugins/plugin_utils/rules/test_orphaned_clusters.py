"""Tags are untrusted: they become no shell words, no path and no line of a log."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.orphans import lines as cluster_listing
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.orphans import without_folder as orphaned_clusters

ID = "7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11"
DEVICE = {"id": ID, "hostname": "worker-0", "plan": "c3.small.x86", "metro": "da", "state": "active", "created_at": "2026-11-21T07:10:00Z"}
HOSTILE = [
    "$(touch x).metal.test",
    "a.b\ntouch x",
    "-e.b",
    "{{ lookup('pipe', 'touch x') }}.b",
    "../../etc.b",
    "a",
    "",
    "a.\u202eb",
    "a.b\x00",
    "\u0430.b",
    "a." + "x" * 64,
]


def cluster(name: str, **things: Any) -> dict[str, Any]:
    return {"name": name, "count": 1, "price_per_hour": 0.5, "devices": [DEVICE], **things}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_name_of_a_cluster_is_shown_as_data(name: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    found = orphaned_clusters([cluster(name)], str(tmp_path / "clusters"))
    assert found["commands"] == []
    assert found["malformed"] == [f"'{found['names'][0]}': device {ID}"]
    assert all(line.isprintable() and len(line) < 300 for line in found["lines"])
    assert not any(line.startswith("ansible-playbook") for line in found["lines"])


def test_a_command_is_made_for_each_cluster_that_has_no_folder_here(tmp_path: Path) -> None:
    (tmp_path / "known.metal.test").mkdir()
    found = orphaned_clusters([cluster("known.metal.test"), cluster("demo.metal.test"), cluster("x-1.a.b-c.example")], str(tmp_path))
    flag = "-e openshift_destroy_without_state=true"
    assert found["commands"] == [
        f"ansible-playbook destroy.yml -e openshift_cluster_name=demo -e openshift_base_domain=metal.test {flag}",
        f"ansible-playbook destroy.yml -e openshift_cluster_name=x-1 -e openshift_base_domain=a.b-c.example {flag}",
    ]
    assert [shlex.split(command) for command in found["commands"]] == [command.split() for command in found["commands"]]
    assert found["names"] == ["demo.metal.test", "x-1.a.b-c.example"]
    assert found["lines"][0] == f"2 of 3 clusters have no folder in {tmp_path}:"
    assert found["lines"].index("Nothing was changed. To destroy one that is not needed any more:") == 3, "after the way to keep it"


def test_expected_clusters_are_known(tmp_path: Path) -> None:
    found = orphaned_clusters([cluster("known.metal.test"), cluster("demo.metal.test")], str(tmp_path), expected=["known.metal.test"])
    assert found["names"] == ["demo.metal.test"]


def test_a_job_prints_no_command(tmp_path: Path) -> None:
    """It has no folders of clusters, so a healthy one looks forgotten."""
    found = orphaned_clusters([cluster("demo.metal.test"), cluster("$(x).b")], str(tmp_path), in_job=True)
    assert (found["names"], found["commands"]) == (["demo.metal.test", "$(x).b"], [])
    assert found["lines"][0] == "2 of 2 clusters are not in openshift_orphans_expected, and a job of AWX has no folders of clusters:"
    assert not any("destroy" in line for line in found["lines"])
    assert found["lines"][-1] == f"'$(x).b': device {ID}"


def test_the_listing_escapes_what_the_api_returned() -> None:
    evil = {**DEVICE, "hostname": "evil\nPLAY RECAP\x1b[31m", "locked": True}
    assert cluster_listing([cluster("a.b", devices=[evil], ip_reservations=[{"id": ID}])]) == [
        "a.b: 1 object, devices cost 0.5 US dollars per hour",
        "  device    evil\\nPLAY RECAP\\x1b[31m, c3.small.x86 in da, active, locked,",
        f"            since 2026-11-21T07:10:00Z ({ID})",
        f"  addresses pending in all metros, since None ({ID})",
    ]
