"""The provision role: the metro with capacity, and the end of the bootstrap device. Failed workers: tests/e2e/test_bad_machine.py."""

import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, run
from tests.contract.scenario import TAGS, WAIT
from tests.role_play import PACED, played

CLUSTER = "contract.metal.test"
SMALL = "c3.small.x86"


class Provision:
    """The role with some workers. ``printed`` is the output of the last run."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        self.printed = ""

    def workers(self, count: int, machine: dict[str, Any] | None = None, tasks: str = "main", **variables: Any) -> bool:
        """Run it, or another of its ``tasks``; return whether it ended well."""
        machines = [{"hostname": f"worker-{number}.{CLUSTER}", "plan": SMALL, "metro": "da", **(machine or {})} for number in range(count)]
        play = {
            "name": "Provision",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {
                "ansible_python_interpreter": sys.executable,
                "provision_workers": machines,
                "provision_cluster": CLUSTER,
                "provision_publish_address": "127.0.0.1",
                "provision_publish_http_port": 9,
                "provision_directory": str(self._folder),
                "provision_wait_timeout": 60,
                "openshift_wait_interval": 1,
                "openshift_progress_interval": 1,
                **variables,
            },
            **PACED,
            "tasks": [
                {
                    "name": "Order them",
                    "ansible.builtin.include_role": {"name": "equinix_metal.openshift.provision", "tasks_from": tasks},
                    "vars": {"__provision_quorum_wait": 1},
                },
            ],
        }
        (self._folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
        code, self.printed = played(self._folder / "play.yml", environment=self._environment)
        return code == 0


@pytest.fixture
def provision(sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path) -> Iterator[Provision]:
    yield Provision(sandbox_environment, tmp_path)
    sandbox.call("DELETE", "faults")
    sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": None}}})
    gone = run("metal_device_set", {"ownership_tags": TAGS[:1], "all_owned": True, "state": "absent", **WAIT}, sandbox_environment)
    assert not gone.get("failed"), gone


def billed(sandbox: RunningSandbox) -> list[dict[str, Any]]:
    """Return the devices of the user's project. What info modules read is in another one, for the whole session."""
    project = sandbox.environment["METAL_PROJECT_ID"]
    mine = {device["id"] for device in call(sandbox, "GET", f"projects/{project}/devices")["devices"]}
    return [device for device in sandbox.inventory()["devices"] if device["id"] in mine]


def ends(sandbox: RunningSandbox) -> list[float]:
    """Return the termination times of the billed devices, in seconds since 1970."""
    devices = [call(sandbox, "GET", f"devices/{device['id']}") for device in billed(sandbox)]
    return [datetime.fromisoformat(device["termination_time"]).timestamp() for device in devices if device["state"] != "deprovisioning"]


def test_the_bootstrap_devices_termination_time_is_extended(provision: Provision, sandbox: RunningSandbox) -> None:
    machine = {"hostname": f"bootstrap-0.{CLUSTER}", "plan": SMALL, "metro": "da"}
    given: dict[str, Any] = {"provision_bootstrap": [machine], "provision_bootstrap_lifetime": 1800, "provision_bootstrap_timeout": 1800}
    assert not provision.workers(0, **given)
    assert "provision_bootstrap_lifetime is 1800 s" in provision.printed
    assert billed(sandbox) == []

    given["provision_bootstrap_timeout"] = 1700
    assert provision.workers(0, **given), provision.printed
    (first,) = ends(sandbox)
    # Rounded up to a quarter of the lifetime.
    assert time.time() + 1700 < first <= time.time() + 1800 + 450
    assert first % 450 == 0
    given["provision_bootstrap_lifetime"] = 3600
    assert provision.workers(0, tasks="keep", **given), provision.printed
    (later,) = ends(sandbox)
    assert first < later <= time.time() + 3600 + 900

    # Switched off again: the time that an earlier run has set must not end the machine in the middle of this one.
    assert provision.workers(0, **given | {"provision_bootstrap_lifetime": 0}), provision.printed
    (device,) = billed(sandbox)
    assert call(sandbox, "GET", f"devices/{device['id']}")["termination_time"] is None


def test_by_default_the_bootstrap_device_and_no_other_has_a_termination_time(provision: Provision, sandbox: RunningSandbox) -> None:
    """A day: so long its Ignition files are valid. A bootstrap device that becomes a worker has none, since it stays."""
    machine = {"hostname": f"bootstrap-0.{CLUSTER}", "plan": SMALL, "metro": "da"}
    assert provision.workers(1, provision_bootstrap=[machine]), provision.printed
    devices = {device["hostname"]: call(sandbox, "GET", f"devices/{device['id']}") for device in billed(sandbox)}
    assert len(devices) == 2
    end = datetime.fromisoformat(devices.pop(machine["hostname"])["termination_time"]).timestamp()
    assert time.time() + 86000 < end <= time.time() + 86400 + 21600
    assert [device["termination_time"] for device in devices.values()] == [None]

    assert provision.workers(1, provision_bootstrap=[machine], openshift_bootstrap_becomes="worker-0"), provision.printed
    assert [call(sandbox, "GET", f"devices/{device['id']}")["termination_time"] for device in billed(sandbox)] == [None, None]
