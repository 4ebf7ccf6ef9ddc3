"""Which ansible-playbook a module belongs to, and whether it still runs: with real processes, and a real ansible-playbook."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base import play as play_module
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Process, find_play, process

ROOT = Path(__file__).resolve().parents[4]

MODULE = """\
#!/usr/bin/python
import dataclasses, json, os, time
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base import play as play_module

module = AnsibleModule({"dest": {"type": "path"}})
play = play_module.find_play()
with open(module.params["dest"] + ".new", "w") as out:
    json.dump({"pid": os.getpid(), "processes": [each.pid for each in play.processes]}, out)
os.rename(module.params["dest"] + ".new", module.params["dest"])
while not play.ended():
    time.sleep(0.05)
with open(module.params["dest"] + ".ended", "w") as out:
    out.write(play.ended())
module.exit_json()
"""


def until(look: Callable[[], Any], within: float = 60.0) -> Any:
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return found


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


def test_without_an_ansible_program_above_it_is_the_parent() -> None:
    assert [each.pid for each in find_play().processes] == [os.getppid()]


def test_this_computer_has_an_identity() -> None:
    assert len(play_module.boot_id()) == 36
    assert play_module.pid_namespace().isdecimal()
    assert play_module.boot_time() > 0


@contextmanager
def playing(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any], Path]]:
    """A real ansible-playbook while its module runs: the process, what the module found, and the file of its end."""
    (folder / "library").mkdir()
    (folder / "library" / "look.py").write_text(MODULE, encoding="utf-8")
    dest = folder / "found"
    task = {"look": {"dest": str(dest)}}
    play = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}]
    (folder / "play.yml").write_text(json.dumps(play), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "play.yml"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "tmp"),
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    found: dict[str, Any] = {}
    try:
        until(dest.exists)
        found = json.loads(dest.read_text(encoding="utf-8"))
        yield process, found, dest.with_name("found.ended")
    finally:
        for pid in (process.pid, *found.get("processes", []), *([found["pid"]] if found else [])):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()


@pytest.mark.parametrize("killed", ["main process", "process group", "worker"])
def test_a_module_notices_the_end_of_its_play(killed: str, tmp_path: Path) -> None:
    with playing(tmp_path) as (main, found, ended):
        worker, play = found["processes"]
        assert play == main.pid
        module = process(found["pid"])
        assert not module.is_gone()
        # Since ansible-core 2.19.
        in_a_session_of_its_own = os.getsid(worker) != os.getsid(main.pid)
        if killed == "process group":
            os.killpg(main.pid, signal.SIGKILL)
        else:
            os.kill(worker if killed == "worker" else main.pid, signal.SIGKILL)
        if killed == "main process" or (killed == "process group" and in_a_session_of_its_own):
            # Nothing has ended the module but itself.
            assert until(lambda: ended.exists() and ended.read_text(encoding="utf-8")) == f"process {main.pid}"
        until(module.is_gone)


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
