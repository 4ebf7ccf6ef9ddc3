"""The report of a run, and the pages of reports: what is in them, and that texts of others are escaped."""

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock import run_record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.files import ReportError, keep_newest, write_report
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.pages import run_page, status_page
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.run_report import run_report
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.status_lines import failing_groups, status_lines

BEGAN = 1_800_000_000.0
EVIL = "<script>alert('x')</script> & \"quoted\""


def event(kind: str, after: float, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "at": BEGAN + after, **values}


EVENTS = [
    event("phase", 0, title="Create worker devices", play="Scale"),
    event("device", 5, name="worker-2", state="queued", action="created", plan="c3.small.x86", metro="da", error=""),
    event("device", 20, name="worker-2", state="active", action="created", plan="c3.small.x86", metro="da", error=""),
    event("device", 20, name="worker-0", state="active", action="none"),
    event("device", 21, name="worker-9", state="active", action="created", check_mode=True),
    event("notice", 30, level="warning", text=EVIL),
    event("phase", 60, title="Wait for workers to join", play="Scale"),
    event("change", 63, task="Create and wait for worker devices"),
    event("change", 64, task="Create and wait for worker devices"),
    event("summary", 99, lines=["demo runs OpenShift 4.20.33"], devices=6, price_per_hour=4.5),
]


def report(**more: Any) -> dict[str, Any]:
    return run_report(EVENTS, **{"cluster": "demo.metal.test", "failure": [], "cost": {}, "now": BEGAN + 100, **more})


def test_a_report_has_phases_devices_and_changes() -> None:
    found = report()
    assert found["title"] == "Scale of demo.metal.test completed after 1m40s"
    assert [(phase["title"], phase["took"], phase["bar"]) for phase in found["phases"]] == [
        ("Create worker devices", "1m00s", {"left": "0.00", "width": "60.00"}),
        ("Wait for workers to join", "40s", {"left": "60.00", "width": "40.00"}),
    ]
    [device] = found["devices"]
    assert (device["name"], device["action"], device["place"]) == ("worker-2", "created", "c3.small.x86 in da")
    assert [(state["state"], state["took"], state["waits"]) for state in device["states"]] == [
        ("queued", "15s", True),
        ("active", "1m20s", False),
    ]
    assert found["changes"] == ["Create and wait for worker devices"]
    assert (found["price_per_hour"], found["devices_billed"]) == (4.5, 6)


def test_a_failed_run_and_one_without_events() -> None:
    failed = report(failure=["Device worker-2 has failed"])
    assert failed["title"].startswith("Scale of demo.metal.test failed")
    assert [phase["failed"] for phase in failed["phases"]] == [False, True]
    assert "Device worker-2 has failed" in run_page(failed)
    empty = run_report([], cluster="demo", failure=[], cost={"devices": 3, "price_per_hour": None}, now=BEGAN)
    assert (empty["phases"], empty["devices_billed"]) == ([], 3)
    assert "unknown" in run_page(empty)


STATUS: dict[str, Any] = {
    "cluster": "demo.metal.test",
    "generated_at": "2026-11-23T12:00:00Z",
    "exists": True,
    "healthy": False,
    "verdict": "demo.metal.test: 1 difference, 1 pending CSR",
    "counts": {"unreachable": 0, "differences": 1, "degraded": 0, "certificates": 0, "csrs": 1},
    "findings": [
        {"group": "differences", "subject": "worker-1", "text": "its device has vanished", "advice": "run scale.yml"},
        {"group": "csrs", "subject": EVIL, "text": EVIL, "advice": EVIL},
    ],
    "notes": [EVIL],
    "metal_api": {"answers": True, "problem": ""},
    "cluster_api": {"answers": True, "problem": ""},
    "price_per_hour": 3.75,
    "machines": [
        {
            "name": "worker-0",
            "role": "worker",
            "pool": "infra",
            "in_inventory": True,
            "device": {
                "id": "x",
                "state": "active",
                "plan": "c3",
                "metro": "da",
                "created_at": "",
                "price_per_hour": 1,
                "address": "192.0.2.1",
            },
            "node": {"ready": True, "unschedulable": True, "kubelet_version": "v1.33.6", "os_image": "", "since": None},
            "findings": [],
        },
        {
            "name": "worker-1",
            "role": "worker",
            "pool": "",
            "in_inventory": True,
            "device": None,
            "node": {"ready": False, "unschedulable": False, "kubelet_version": "", "os_image": "", "since": None},
            "findings": ["its device has vanished"],
        },
    ],
    "version": {
        "openshift": "4.20.33",
        "kubernetes": "v1.33.6",
        "channel": None,
        "last_completed": None,
        "available_updates": [],
        "boot_images": "4.20.33",
    },
    "operators": [{"name": "dns", "available": True, "progressing": False, "degraded": False, "message": ""}],
    "pools": [{"name": "worker", "machines": 2, "ready": 1, "updated": 2, "updating": False, "degraded": False, "paused": True}],
    "certificates": [
        {
            "kind": "kubelet serving",
            "subject": "worker-0",
            "ends_at": "2026-11-24T12:00:00Z",
            "days": 1,
            "left": "24 h",
            "state": "valid",
            "within_days": True,
        }
    ],
    "plan": {
        "playbook": "scale.yml",
        "steps": [{"verb": "create"}],
        "lines": ["demo.metal.test, scale.yml: 1 to create; 0.50 -> 1.00 USD an hour"],
    },
    "certificate_requests": [
        {
            "name": EVIL,
            "signer": "s",
            "node": "worker-2",
            "requestor": "r",
            "filed_at": None,
            "age": "5 min",
            "verdict": "would be refused",
            "reason": EVIL,
        }
    ],
    "locks": [],
}


@pytest.mark.parametrize("page", [status_page(STATUS), run_page(report(failure=[EVIL]))], ids=["status", "run"])
def test_a_page_is_escaped_and_loads_nothing(page: str) -> None:
    assert "<script" not in page and "&lt;script&gt;" in page
    assert not re.search(r"<[^>]*\son\w+=", page)
    # The icon is empty: without one, browsers ask for favicon.ico.
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {"data:,"}
    assert "default-src 'none'" in page
    assert "url(" not in page and "@import" not in page


def test_the_text_begins_with_the_verdict_and_lists_what_needs_attention_with_the_next_step() -> None:
    lines = status_lines(STATUS)
    assert lines[0] == STATUS["verdict"]
    assert "  demo.metal.test, scale.yml: 1 to create; 0.50 -> 1.00 USD an hour" in lines
    assert lines[lines.index("  worker-1: its device has vanished") + 1] == "    next: run scale.yml"
    assert "kubelet serving: worker-0 ends in 24 h (2026-11-24)" in "\n".join(lines)


def test_groups_to_fail_on() -> None:
    assert failing_groups(STATUS, ["none"]) == []
    assert failing_groups(STATUS, ["degraded", "certificates"]) == []
    assert failing_groups(STATUS, ["csrs"]) == ["csrs"]
    assert failing_groups(STATUS, ["any"]) == ["differences", "csrs"]


def test_a_report_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "status.html"
    assert write_report(str(target), "one", check_mode=True)
    assert not target.exists()
    assert write_report(str(target), "one", check_mode=False)
    assert not write_report(str(target), "one", check_mode=False)
    assert write_report(str(target), "two", check_mode=False)
    assert [path.name for path in tmp_path.iterdir()] == ["status.html"]
    assert target.stat().st_mode & 0o777 == 0o640
    with pytest.raises(ReportError, match="existing folder"):
        write_report(str(tmp_path / "nowhere" / "status.html"), "one", check_mode=False)


def test_only_the_newest_reports_are_kept(tmp_path: Path) -> None:
    for name in ("scale-20260103T000000Z", "install-20260101T000000Z", "scale-20260102T000000Z", "install-20260104T000000Z"):
        (tmp_path / f"{name}.html").touch()
    (tmp_path / "mine.html").touch()
    keep_newest(tmp_path, 2)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["install-20260104T000000Z", "mine", "scale-20260103T000000Z"]


def test_a_record_is_kept_from_its_begin_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_record, "record_path", lambda: tmp_path / "record-1-2.jsonl")
    run_record.record("phase", {"title": "before the begin"})
    run_record.begin_record()
    run_record.record("phase", {"title": "one"})
    with (tmp_path / "record-1-2.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"cut of')
    assert [(line["kind"], line["title"]) for line in run_record.read_record()] == [("phase", "one")]
    run_record.end_record()
    assert run_record.read_record() == []
