"""The bytecode that is kept of modules in zip files: ``tests/python/sitecustomize.py``."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

PROGRAM = (
    "import sys, sitecustomize; sitecustomize.FOLDER = sys.argv[2]; sys.path.insert(0, sys.argv[1]); import packed; print(packed.VALUE)"
)


def imported(archive: Path, folder: Path) -> str:
    """Import ``packed`` from a zip file in a process of its own, as Ansible's modules are, and return its value."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, archive, folder], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def packed(path: Path, value: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("packed.py", f"VALUE = {value!r}\n")
    return path


def test_a_module_is_compiled_once_and_another_source_is_another_module(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert imported(packed(tmp_path / "one.zip", "first"), folder) == "first"
    (kept,) = folder.iterdir()
    compiled = kept.stat().st_ino
    assert imported(packed(tmp_path / "two.zip", "first"), folder) == "first"
    assert [path.stat().st_ino for path in folder.iterdir()] == [compiled]
    assert imported(packed(tmp_path / "one.zip", "second"), folder) == "second"
    assert len(list(folder.iterdir())) == 2
