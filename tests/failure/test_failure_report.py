"""A run that fails ends with why it failed, whatever else does not work then; and the bundle is written, whatever cannot be collected."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call
from tests.failure.failing import NAME, REASON, Failed, FailingPlay, environment_of, seed, silent_server, write_kubeconfig

TITLE = f"Install of {NAME} failed in phase 2 of 2, Create devices"
FAILING_TEMPLATE = "{{ 1 // 0 }}"
QUICK = {"__gather_api_timeout": 1, "__gather_api_retries": 0}


@pytest.fixture
def play(tmp_path: Path, sandbox_environment: dict[str, str]) -> FailingPlay:
    return FailingPlay(tmp_path, environment_of(sandbox_environment, ANSIBLE_CALLBACK_RESULT_FORMAT="yaml"), dict(QUICK))


@pytest.fixture
def devices(sandbox: RunningSandbox) -> Iterator[dict[str, dict[str, Any]]]:
    """A bootstrap and a control plane device, by role."""
    found = {role: seed(sandbox, role) for role in ("bootstrap", "control-plane")}
    yield found
    for device in found.values():
        call(sandbox, "DELETE", f"devices/{device['id']}")


def ends_with_the_reason(failed: Failed) -> None:
    assert failed.code == 2, failed.output[-6000:]
    screen = failed.last_screen
    assert "[Fail with the failure report]" in screen.splitlines()[0], screen
    assert f"\n{TITLE} (after " in screen
    assert "Task:     Fail for a reason (command)" in screen
    assert REASON in screen
    assert re.search(r"^  Billed:   ", screen, re.MULTILINE)
    assert re.search(r"^  Continue: ansible-playbook -i localhost, install.yml ", screen, re.MULTILINE)
    assert re.search(r"^  Release:  ansible-playbook -i localhost, destroy.yml ", screen, re.MULTILINE)
    assert "Traceback" not in failed.output
    # And at once, before anything is collected.
    assert failed.output.index(TITLE) < failed.output.index(
        "TASK [equinix_metal.openshift.gather : billed | List the cluster's devices and addresses]"
    )


def missing(failed: Failed) -> set[str]:
    found = re.search(r"could not be collected: (.*)\. Review", failed.last_screen)
    return set(found[1].split(", ")) if found else set()


def test_the_report_names_what_is_billed_and_where_the_bundle_is(play: FailingPlay, devices: dict[str, dict[str, Any]]) -> None:
    failed = play.run()
    ends_with_the_reason(failed)
    assert "Billed:   2 devices, 1.50 USD per hour for the devices" in failed.last_screen, failed.last_screen
    assert f"bootstrap-0.{NAME}" in failed.last_screen
    assert devices["bootstrap"]["plan"] in failed.last_screen
    assert missing(failed) == set()
    kept = json.loads(failed.entries["failure.json"])
    assert REASON in " ".join(kept["report"]["reasons"])
    assert "stderr" not in kept["result"], "the output of programs is no part of it"
    assert kept["report"]["task"] == "Fail for a reason"
    assert [device["role"] for device in json.loads(failed.entries["belongings.json"])["clusters"][0]["devices"]] == [
        "bootstrap",
        "control-plane",
    ]


def test_an_api_server_that_does_not_answer(play: FailingPlay, devices: dict[str, dict[str, Any]]) -> None:
    write_kubeconfig(play.directory)
    with silent_server(devices["control-plane"]["address"], 6443):
        failed = play.run(desired_control_plane=[{"hostname": f"control-plane-0.{NAME}"}])
    ends_with_the_reason(failed)
    assert missing(failed) == {"cluster", "certificate_requests"}
    assert not json.loads(failed.entries["cluster.json"])["api_answers"]


def test_a_bootstrap_machine_that_cannot_be_reached(play: FailingPlay, devices: dict[str, dict[str, Any]]) -> None:
    installer = play.directory / "ignition" / "openshift-install"
    installer.parent.mkdir(parents=True)
    mark = play.folder / "still-there"
    # Deaf to a polite end, and with a child of its own, as a program behind an SSH connection that hangs.
    installer.write_text(f"#!/bin/sh\ntrap '' TERM\necho connecting >&2\nwhile :; do touch {mark}; sleep 0.2; done\n", encoding="utf-8")
    installer.chmod(0o755)
    failed = play.run(arguments=("-e", "__gather_logs_timeout=1"), openshift_gather_logs=True)
    ends_with_the_reason(failed)
    assert missing(failed) == {"bootstrap_logs"}
    assert "connecting" in failed.entries["gather-bootstrap.json"]
    mark.unlink()
    time.sleep(0.6)
    assert not mark.exists(), "the program still runs"


def test_a_folder_that_cannot_be_written(play: FailingPlay) -> None:
    (play.folder / "clusters").write_text("a file where the folder should be", encoding="utf-8")
    failed = play.run()
    ends_with_the_reason(failed)
    assert re.search(r"^  Bundle:   not written: Could not write .*: .*File exists", failed.last_screen, re.MULTILINE), failed.last_screen


def test_templates_of_the_bundle_that_fail(play: FailingPlay) -> None:
    """In the contents of the archive, and in the arguments of the modules of the Metal API."""
    failed = play.run(openshift_gather_files=FAILING_TEMPLATE)
    ends_with_the_reason(failed)
    assert "  Bundle:   not written: its contents could not be rendered, see the error above" in failed.last_screen
    failed = play.run(metal_project_id=FAILING_TEMPLATE)
    ends_with_the_reason(failed)
    assert missing(failed) == {"devices", "events"}
    assert REASON in failed.entries["failure.json"]


def test_a_metal_api_that_is_down(play: FailingPlay) -> None:
    play.environment = {**play.environment, "METAL_API_URL": "http://127.0.0.1:9/metal/v1"}
    failed = play.run()
    ends_with_the_reason(failed)
    assert re.search(r"^  Billed:   unknown, .*no connection to http://127\.0\.0\.1:9", failed.last_screen, re.MULTILINE)
    assert missing(failed) == {"devices", "events"}


SECRET = "pl4nted-in-a-hidden-task"


def test_a_hidden_task_stays_hidden(play: FailingPlay) -> None:
    hidden = {"name": "Use a secret", "ansible.builtin.command": {"argv": ["sh", "-c", f"echo {SECRET} >&2; exit 3"]}, "no_log": True}
    failed = play.run(hidden, arguments=("-vvv",))
    assert failed.code == 2
    assert SECRET not in failed.output.replace(f"echo {SECRET}", "")
    assert "no_log" in failed.last_screen
    assert SECRET not in "".join(failed.entries.values())


def test_a_refusal_before_anything_exists_leaves_no_bundle(play: FailingPlay) -> None:
    failed = play.run({"name": "Fail if nothing can work", "ansible.builtin.fail": {"msg": REASON}})
    assert failed.code == 2
    assert REASON in failed.last_screen
    assert "Bundle:   none, " in failed.last_screen
    assert not play.directory.parent.exists()


def test_in_check_mode_nothing_is_asked_and_nothing_written(play: FailingPlay, sandbox: RunningSandbox) -> None:
    failed = play.run(
        {"name": "Fail for a reason", "ansible.builtin.assert": {"that": "false", "fail_msg": REASON}}, arguments=("--check",)
    )
    assert failed.code == 2
    assert REASON in failed.last_screen
    assert "Billed:" not in failed.last_screen
    assert "Bundle:" not in failed.last_screen
    assert sandbox.journal() == []
    assert not play.directory.parent.exists()
