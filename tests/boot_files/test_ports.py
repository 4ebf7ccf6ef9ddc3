"""The default ports of the boot server."""

import os
import re
import subprocess
from pathlib import Path

import yaml

from sandbox.testing.process import REPOSITORY

DEFAULTS = REPOSITORY / "roles" / "boot_files" / "defaults" / "main.yml"
SHOW = {"ansible.builtin.debug": {"msg": "port={{ boot_files_http_port }} port={{ boot_files_https_port }}"}}


def ports(folder: Path, environment: str, **variables: str) -> list[str]:
    """Return the ports that a controller computes whose files are in this folder."""
    folder.mkdir()
    given = {"openshift_cluster_name": "demo", "openshift_base_domain": "metal.test", "boot_files_directory": str(folder), **variables}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(DEFAULTS)], "vars": given, "tasks": [SHOW]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", str(folder / "play.yml")],
        cwd=REPOSITORY,
        env={**os.environ, "METAL_PROJECT_ID": environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return re.findall(r"port=(\d+)", done.stdout)


def test_the_ports_are_the_same_on_every_controller_and_other_ones_in_another_project(tmp_path: Path) -> None:
    """The project may come from the environment: a second controller served where no device asked."""
    one, another = "0d7e1d0f-6c2b-4d0e-9d51-7d6b1c7a4f10", "5f1d3910-2059-4737-8e7d-d4907cfbf27f"
    first = ports(tmp_path / "a", one)
    assert int(first[1]) == int(first[0]) + 1
    assert ports(tmp_path / "b", one) == first
    assert ports(tmp_path / "c", "", metal_project_id=one) == first
    assert ports(tmp_path / "d", another) != first
