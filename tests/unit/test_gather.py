"""The verdicts in the bundle of a failed run are those of the run: by the same rules, for the same machines; or there are none."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.role_play import played

ROOT = Path(__file__).resolve().parents[2]
MODULE = "equinix_metal.openshift.csr_approval"


def device(name: str, role: str, number: int) -> dict[str, Any]:
    addresses = {"public_ipv4": f"192.0.2.{number}"}
    return {"hostname": name, "tags": [f"openshift-role={role}"], "addresses": addresses, "ip_addresses": []}


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def judged(role: str, file: str) -> dict[str, str]:
    """The settings by which a role has requests judged, each with the default of its variable."""
    (task,) = (task for task in read(f"roles/{role}/tasks/{file}.yml") if MODULE in task)
    defaults = read(f"roles/{role}/defaults/main.yml")
    names = {option: str(value).strip("{} ") for option, value in task[MODULE].items()}
    return {
        option: str(defaults[name]).replace(f"{role}_machines", "machines")
        for option, name in names.items()
        # How long an answer may take is no rule, nor is for whom is waited.
        if name in defaults and not option.startswith(("wait", "progress", "watch", "api_timeout", "quorum"))
    }


def test_the_rules_are_those_of_the_role_that_lets_machines_join() -> None:
    """Of the same variables: options have their types by the argument specs, constants by a rule."""

    def read(role: str, file: str) -> dict[str, list[str]]:
        return {name: sorted(set(re.findall(r"openshift_\w+", text))) for name, text in judged(role, file).items()}

    assert read("gather", "collect/certificate_requests") == read("csr_approval", "approve")
    assert {"additional_addresses", "window", "recover_nodes", "deny_refused"} < set(judged("gather", "collect/certificate_requests"))


def play(folder: Path, tasks: list[dict[str, Any]], variables: dict[str, Any], agent: str) -> None:
    """Run tasks of the role gather with its defaults."""
    content = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(ROOT / f"roles/gather/{part}/main.yml") for part in ("defaults", "vars")],
        "tasks": tasks,
    }
    (folder / "play.yml").write_text(json.dumps([content]), encoding="utf-8")
    given = {"ansible_python_interpreter": sys.executable, "openshift_directory": str(folder), **variables}
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "SSH_AUTH_SOCK": agent}
    code, output = played(folder / "play.yml", "-i", "localhost,", "-e", json.dumps(given), environment=environment)
    assert code == 0, output


def gathering_tasks() -> list[dict[str, Any]]:
    """The tasks that run ``openshift-install gather bootstrap``, wherever the role has them."""
    files = sorted((ROOT / "roles" / "gather" / "tasks").rglob("*.yml"))
    return [task for file in files for task in yaml.safe_load(file.read_text(encoding="utf-8")) if "__gather_logs_command" in str(task)]


@pytest.mark.parametrize(
    ("agent", "exit_code", "agents_asked"),
    [("", 1, [""]), ("/run/agent", 0, ["/run/agent"]), ("/run/agent", 1, ["/run/agent", ""])],
)
def test_an_ssh_agent_does_not_hide_the_key_of_the_installer(tmp_path: Path, agent: str, exit_code: int, agents_asked: list[str]) -> None:
    (tmp_path / "ignition").mkdir()
    installer, calls = tmp_path / "ignition" / "openshift-install", tmp_path / "calls"
    installer.write_text(f'#!/bin/sh\necho "$SSH_AUTH_SOCK|$*" >>"{calls}"\nexit {exit_code}\n', encoding="utf-8")
    installer.chmod(0o755)
    control_plane = [device(f"master-{number}", "control-plane", number) for number in (10, 11, 12)]
    variables = {"openshift_gather_logs": True, "__gather_devices": {"devices": [device("bootstrap", "bootstrap", 0), *control_plane]}}
    play(tmp_path, gathering_tasks(), variables, agent)
    desired = (
        f"gather bootstrap --dir={tmp_path}/ignition --bootstrap=192.0.2.0 --master=192.0.2.10 --master=192.0.2.11 --master=192.0.2.12"
    )
    assert calls.read_text(encoding="utf-8").splitlines() == [f"{each}|{desired}" for each in agents_asked]
