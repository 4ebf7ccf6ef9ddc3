"""Which ansible-playbook a module belongs to, and whether it still runs: with real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base import play as play_module
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Process, find_play, process
from tests.eventually import until


@contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_process_is_gone_when_it_has_ended_and_also_before_its_parent_has_noticed() -> None:
    with sleeping() as child:
        found = process(child.pid)
        assert found.started
        assert not found.is_gone()
        child.kill()
        until(found.is_gone)  # a zombie by now: nobody has waited for it
        child.wait()
        assert found.is_gone()


def test_a_process_id_that_another_process_has_by_now_is_another_process() -> None:
    with sleeping() as child:
        assert Process(child.pid, "1").is_gone()
        assert not Process(child.pid).is_gone()


@pytest.mark.parametrize("there", [True, False])
def test_without_proc_a_process_is_asked_for_by_a_signal(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_module, "PROC", tmp_path)
    with sleeping() as child:
        if not there:
            child.kill()
            child.wait()
        assert process(child.pid).is_gone() is not there


def test_without_proc_a_play_has_ended_when_the_parent_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_module, "PROC", tmp_path)
    play = find_play()
    assert play.ended() is None
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert play.ended() == f"process {play.parent}"
    assert (play_module.boot_id(), play_module.pid_namespace()) == ("", "")


def test_a_module_without_a_play_has_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is between two modules when ansible-playbook is killed: init has adopted it when the next module looks."""

    def told(pid: int, parent: int, command: str) -> None:
        folder = tmp_path / str(pid)
        folder.mkdir()
        fields = ["S", str(parent), *["0"] * 17, "4711"]
        (folder / "stat").write_text(f"{pid} (a name) with) {' '.join(fields)}\n", encoding="utf-8")
        (folder / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")

    told(1, 0, "/sbin/init")
    told(20, 1, "/usr/bin/python /usr/bin/ansible-playbook install.yml")
    told(21, 20, "/bin/sh -c python")
    told(os.getpid(), 21, "python")
    monkeypatch.setattr(play_module, "PROC", tmp_path)
    monkeypatch.setattr(os, "getppid", lambda: 21)
    assert find_play().ended() == "the parent of process 20"
    told(30, 1, "/usr/bin/python /usr/bin/ansible-playbook install.yml")
    told(31, 30, "/usr/bin/python /usr/bin/ansible-playbook install.yml")
    monkeypatch.setattr(os, "getppid", lambda: 31)
    play = find_play()
    assert [each.pid for each in play.processes] == [31, 30]
    assert not play.orphaned
