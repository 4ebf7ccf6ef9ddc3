"""The bytecode that is kept of modules in zip files: ``tests/python/sitecustomize.py``."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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


def test_what_tests_start_has_it() -> None:
    assert str(Path(__file__).resolve().parents[1] / "python") in os.environ["PYTHONPATH"].split(os.pathsep)


def test_a_module_is_compiled_once_and_another_source_is_another_module(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert imported(packed(tmp_path / "one.zip", "first"), folder) == "first"
    (kept,) = folder.iterdir()
    compiled = kept.stat().st_ino
    assert imported(packed(tmp_path / "two.zip", "first"), folder) == "first"
    assert [path.stat().st_ino for path in folder.iterdir()] == [compiled]
    assert imported(packed(tmp_path / "one.zip", "second"), folder) == "second"
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"cut off", b"\xe3"], ids=["empty", "text", "truncated"])
def test_damaged_bytecode_is_written_anew(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "kept"
    archive = packed(tmp_path / "one.zip", "first")
    imported(archive, folder)
    (kept,) = folder.iterdir()
    good = kept.read_bytes()
    kept.write_bytes(content)
    assert imported(archive, folder) == "first"
    assert kept.read_bytes() == good


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert imported(packed(tmp_path / "one.zip", "first"), tmp_path / "file" / "kept") == "first"
