"""A wait for a cluster with a failed device ends at once, with the reason."""

import time
from pathlib import Path

from tests.contract.environment import Metal
from tests.contract.scenario import TAGS, WAIT
from tests.kubeconfigs import write_kubeconfig


def test_a_failed_device_ends_the_wait_for_the_cluster(metal: Metal, tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", {"server": "https://127.0.0.1:9"}, {"token": "t"})
    # Reserved hardware whose provisioning failed is kept for analysis.
    reserved = metal.sandbox.call("POST", "hardware_reservations", json={"count": 1, "plan": "c3.small.x86", "metro": "da"})
    fault = metal.sandbox.call("POST", "faults", json={"hostname": "lost", "times": 1})
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "debian_12", "tags": TAGS}
    order |= {"hostname": "lost.contract.test", "hardware_reservation_id": reserved["ids"][0]}
    device = metal.call("POST", f"projects/{metal.environment['METAL_PROJECT_ID']}/devices", order)["id"]
    try:
        while metal.call("GET", f"devices/{device}")["state"] != "failed":
            time.sleep(0.2)
        wait = {"condition": "bootstrap_complete", "ownership_tags": TAGS, "wait_timeout": 600, "wait_interval": 1}
        began = time.monotonic()
        lost = metal.run("cluster_wait", {"kubeconfig": str(tmp_path / "kubeconfig"), **wait, "machines": ["lost.contract.test"]})
        assert lost["failed"]
        assert "lost.contract.test is failed" in lost["msg"]
        assert time.monotonic() - began < 60
    finally:
        metal.sandbox.call("DELETE", f"faults/{fault['id']}")
        assert not metal.run("metal_device", {"id": device, "state": "absent", **WAIT}).get("failed")
