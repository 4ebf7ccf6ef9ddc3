# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a run arrive in a pipe while the run waits, also without PYTHONUNBUFFERED."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from sandbox.testing.process import REPOSITORY


def test_progress_reaches_a_pipe_while_the_run_waits(tmp_path: Path) -> None:
    """Nobody answers at the resolver's port, so the run would wait for a day."""
    records = [{"name": "api.demo.metal.test", "values": ["192.0.2.1"]}]
    options = {"records": records, "server": "127.0.0.1", "port": 1, "timeout": 1, "wait_timeout": 86400, "progress_interval": 1}
    task = {"name": "Wait for the API's record", "equinix_metal.openshift.dns_wait": options}
    play = tmp_path / "play.yml"
    play.write_text(yaml.safe_dump([{"name": "Wait", "hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    with subprocess.Popen(
        [
            "timeout",
            "60",
            "ansible-playbook",
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            str(play),
        ],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        assert run.stdout is not None
        seen = []
        for line in run.stdout:
            seen.append(line)
            if "waiting since" in line:
                run.terminate()
                return
    raise AssertionError("".join(seen))
