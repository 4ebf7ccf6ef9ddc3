"""tools/venv.sh shows what pip does, and why it failed."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = """\
#!/bin/sh
echo "Collecting ansible-core==2.19.14 (from -r requirements.txt (line 3))"
echo "  Downloading ansible_core-2.19.14-py3-none-any.whl (2.4 MB)"
echo "Requirement already satisfied: jinja2"
echo "Collecting requests"
echo "Installing collected packages: ansible-core, requests"
echo "ERROR: $PIP_ERROR" >&2
exit ${PIP_STATUS:-0}
"""


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment whose pip only talks."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("pip", "python"):
        (folder / name).write_text(PIP, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder.parent


def run(venv: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "tools" / "venv.sh", venv, "requirements/requirements.txt"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(venv.parent)} | environment,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def test_it_says_what_it_does_and_how_long_it_took(venv: Path) -> None:
    done = run(venv)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("setup: installing requirements/requirements.txt")
    assert lines[-1].startswith("setup: installed in ")


def test_on_a_terminal_a_line_shows_each_step(venv: Path) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [ROOT / "tools" / "venv.sh", venv, "requirements/requirements.txt"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(venv.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):  # the terminal is closed when the last program that has it ends
        while part := os.read(ours, 4096):
            shown += part.decode()
    os.close(ours)
    assert process.wait() == 0
    assert "1 packages: Collecting ansible-core==2.19.14" in shown
    assert "1 packages: Downloading ansible_core-2.19.14-py3-none-any.whl (2.4 MB)" in shown
    assert "2 packages: Installing collected packages" in shown


def test_a_failure_is_shown_with_the_end_of_pip_s_output_and_leaves_no_file(venv: Path) -> None:
    done = run(venv, PIP_STATUS="1", PIP_ERROR="Could not find a version that satisfies the requirement")
    assert done.returncode == 1
    assert "setup: pip failed. Is the package index reachable" in done.stderr
    assert "ERROR: Could not find a version that satisfies the requirement" in done.stderr
    assert "Collecting requests" in done.stderr
    assert [path.name for path in venv.parent.iterdir()] == ["venv"]
