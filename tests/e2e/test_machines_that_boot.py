"""The demo with a machine that has real firmware: QEMU, ordered through Ironic and Redfish, becomes a worker and leaves again."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.testing.process import REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.long]

LIMIT = 1800
"""Seconds: the demo takes about 10 minutes, the image of the machine is built before."""


@pytest.mark.parametrize("machines", ["qemu:bios", "qemu:uefi"])
def test_a_machine_that_boots_is_a_worker_and_is_free_again(tmp_path: Path, machines: str) -> None:
    subprocess.run([sys.executable, "-m", "sandbox.coreos_image.build"], cwd=REPOSITORY, check=True, capture_output=True)
    command = [sys.executable, "-m", "sandbox", "demo", "--machines", machines, "--log", str(tmp_path / "demo.log")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "a pod ran on boots-0.demo.metal.test" in done.stdout
    log = (tmp_path / "demo.sandbox.log").read_text(encoding="utf-8")
    steps = (
        "Server qemu-1 allocated",
        "Server qemu-1 is deployed and powered on",
        "Power off and release of server qemu-1 requested",
        "Cleaning of server qemu-1 is complete",
        "Server qemu-1 is powered off and free again",
    )
    assert all(step in log for step in steps), log[-3000:]
    assert "Left behind: no machine, reservation, VLAN, DNS record, published file or process." in done.stdout
