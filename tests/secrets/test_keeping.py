"""The net itself holds: a secret that a play shows is found in everything that keeps it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .keeping import BESIDE, STANDARD_OUTPUT, keeping

ANSIBLE = Path(sys.executable).parent
PLANTED = {"planted": "planted-7f3a91"}
SERVICES = {
    "amazon.aws.aws_resource_actions": "needs a call of Amazon's",
    "ansible.posix.cgroup_perf_recap": "shows no results",
    "ansible.posix.profile_roles": "shows no results",
    "ansible.posix.profile_tasks": "shows no results",
    "ansible.posix.timer": "shows no results",
    "community.general.cgroup_memory_recap": "shows no results",
    "community.general.context_demo": "shows the names of events",
    "community.general.counter_enabled": "shows what the default one shows, with numbers",
    "community.general.elastic": "sends to a service",
    "community.general.jabber": "sends to a service",
    "community.general.loganalytics": "sends to a service, arguments of tasks with no_log too",
    "community.general.logdna": "sends to a service",
    "community.general.logentries": "sends to a service",
    "community.general.logstash": "sends to a service",
    "community.general.mail": "sends to a service",
    "community.general.nrdp": "sends to a service",
    "community.general.null": "shows nothing",
    "community.general.opentelemetry": "sends to a service",
    "community.general.print_task": "shows tasks as they are written",
    "community.general.say": "speaks the names of tasks",
    "community.general.slack": "sends to a service",
    "community.general.splunk": "sends to a service",
    "community.general.sumologic": "sends to a service",
    "community.general.yaml": "was removed, and says so",
    "community.grafana.grafana_annotations": "sends to a service",
    "ovirt.ovirt.stdout": "sends to a service",
    "theforeman.foreman.foreman": "sends to a service",
}
"""Callbacks that are not played here, and why. What they get the spy gets too."""


def test_every_callback_of_the_pinned_package_is_played_or_known(tmp_path: Path) -> None:
    listed = subprocess.run(
        [ANSIBLE / "ansible-doc", "-t", "callback", "-l", "--json"],
        # Those of the package `ansible` alone, whatever else is installed on this computer.
        env={"PATH": str(ANSIBLE), "HOME": str(tmp_path), "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert set(json.loads(listed.stdout)) - set(SERVICES) == {*BESIDE, *STANDARD_OUTPUT} - {"spy"}


@pytest.mark.parametrize("callback", STANDARD_OUTPUT)
def test_what_a_task_shows_is_kept_by_all_of_them(callback: str, tmp_path: Path) -> None:
    task = {"name": "Show it", "ansible.builtin.debug": {"msg": PLANTED["planted"]}, "tags": ["print_action"]}
    play = {"name": "Play", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
    with keeping(tmp_path / "kept") as keeper:
        done = subprocess.run(
            [ANSIBLE / "ansible-playbook", "-i", "localhost,", "-vvv", tmp_path / "play.yml"],
            env={**keeper.environment, "ANSIBLE_STDOUT_CALLBACK": callback, "PATH": str(ANSIBLE), "HOME": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    found = {place.split(":")[0].split(" in ")[1].split("/")[0] for place in keeper.revealed(PLANTED, done.stdout)}
    assert found >= {"spy", "log_plays", "tree", "syslog"}
    silent = {"community.general.tasks_only", "community.general.dense", "community.general.selective", "community.general.diy"}
    assert callback in silent or "text 1" in found, done.stdout
