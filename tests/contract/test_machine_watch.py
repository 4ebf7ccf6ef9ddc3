"""A wait for a cluster with a failed device ends at once, with the reason."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from tests.contract.environment import Metal
from tests.contract.scenario import TAGS, WAIT

NOBODY = "https://127.0.0.1:9"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """Return the kubeconfig of a cluster that does not exist yet."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin",
        "clusters": [{"name": "c", "cluster": {"server": NOBODY}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "admin", "context": {"cluster": "c", "user": "u"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(tmp_path / "kubeconfig")


def test_a_failed_device_ends_the_wait_for_the_cluster(kubeconfig: str, metal: Metal) -> None:
    project = metal.environment["METAL_PROJECT_ID"]
    reserved = metal.sandbox.call("POST", "hardware_reservations", json={"count": 1, "plan": "c3.small.x86", "metro": "da"})
    # Reserved hardware whose provisioning failed is kept for analysis.
    fault = metal.sandbox.call("POST", "faults", json={"hostname": "lost", "times": 1})
    devices = []
    try:
        for hostname, more in (
            ("fine.contract.test", {}),
            ("lost.contract.test", {"hardware_reservation_id": reserved["ids"][0]}),
        ):
            order = {"hostname": hostname, "plan": "c3.small.x86", "metro": "da", "operating_system": "debian_12", "tags": TAGS, **more}
            devices.append(metal.call("POST", f"projects/{project}/devices", order)["id"])
        options = {
            "kubeconfig": kubeconfig,
            "condition": "bootstrap_complete",
            "ownership_tags": TAGS,
            "wait_timeout": 4,
            "wait_interval": 1,
        }
        while metal.call("GET", f"devices/{devices[1]}")["state"] != "failed":
            time.sleep(0.2)

        patient = metal.run("cluster_wait", {**options, "machines": ["fine.contract.test"]})
        assert patient["failure"]["type"] == "WaitTimeout", patient
        assert any(text.startswith("machine fine.contract.test is ") and ", its last event: " in text for text in patient["waiting"])

        began = time.monotonic()
        lost = metal.run("cluster_wait", {**options, "wait_timeout": 600, "machines": ["fine.contract.test", "lost.contract.test"]})
        assert lost["failed"]
        assert "lost.contract.test is failed" in lost["msg"]
        assert "fine.contract.test" not in lost["msg"]
        assert time.monotonic() - began < 60
    finally:
        metal.sandbox.call("DELETE", f"faults/{fault['id']}")
        for identity in devices:
            gone = metal.run("metal_device", {"id": identity, "state": "absent", **WAIT})
            assert not gone.get("failed"), gone
