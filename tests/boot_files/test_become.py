"""``ansible_become`` in the group ``all`` is for the host that publishes boot files, not for the modules on this computer."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from sandbox.testing.process import REPOSITORY


def test_modules_run_as_the_user_and_the_publishing_host_becomes_another(tmp_path: Path) -> None:
    log, sudo = tmp_path / "log", tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexit 1\n')
    sudo.chmod(0o700)
    everywhere = {"ansible_become": True, "ansible_become_exe": str(sudo), "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(
        yaml.safe_dump({"all": {"vars": everywhere, "hosts": {"publisher": {"ansible_connection": "local"}}}})
    )
    (tmp_path / "publish").mkdir()
    (tmp_path / "publish" / "method").write_text("host")
    reach = {
        "ansible.builtin.include_role": {"name": "equinix_metal.openshift.boot_files", "tasks_from": "host/reach"},
        "vars": {"boot_files_directory": str(tmp_path), "boot_files_host": "publisher", "__boot_files_listen_timeout": 1},
    }
    here = {"ansible.builtin.command": "true"}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "become": False,
        "gather_facts": False,
        "vars_files": [str(REPOSITORY / "playbooks" / "vars" / "connections.yml")],
    }

    def run(task: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": [task]}]))
        return subprocess.run(
            ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")],
            cwd=REPOSITORY,
            env={**os.environ, "ANSIBLE_BECOME_ALLOW_SAME_USER": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    done = run(here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not log.exists()
    done = run(reach)
    assert done.returncode != 0
    assert "BECOME-SUCCESS" in log.read_text(), done.stdout + done.stderr
