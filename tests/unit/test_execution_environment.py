"""The execution environment: ansible-builder accepts its definition, and its build context has what the collection needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.matrix import read_table

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = "requirements/execution-environment.yml"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build context, as `make ee` writes it. No container engine takes part."""
    folder = tmp_path_factory.mktemp("ee")
    builder = Path(sys.executable).parent / "ansible-builder"
    command = [str(builder), "create", "-f", DEFINITION, "-c", str(folder), "--output-filename", "Containerfile"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_build_context_has_the_requirements_of_the_collection(context: Path) -> None:
    built = context / "_build"
    for source, copied in (("requirements/requirements.txt", "requirements.txt"), ("requirements/bindep.txt", "bindep.txt")):
        assert _lines(built / copied) == _lines(ROOT / source)
    assert yaml.safe_load((built / "requirements.yml").read_text(encoding="utf-8")) == _read("collections/requirements.yml")
    assert "FROM $EE_BASE_IMAGE" in (context / "Containerfile").read_text(encoding="utf-8")


def test_collections_are_those_of_the_metadata_and_awx() -> None:
    listed = {entry["name"]: entry["version"] for entry in _read("collections/requirements.yml")["collections"]}
    assert listed.pop("awx.awx")
    assert listed == _read("galaxy.yml")["dependencies"]


def test_the_metadata_of_the_collection_names_files_that_exist() -> None:
    """ansible-builder reads it of each collection that an environment installs."""
    dependencies = _read("meta/execution-environment.yml")["dependencies"]
    assert {name for name in dependencies.values() if not (ROOT / name).is_file()} == set()


def test_ansible_core_is_of_the_supported_versions() -> None:
    assert _read("meta/runtime.yml")["requires_ansible"] == f">={read_table()[0].series}.0"
    definition = _read(DEFINITION)["dependencies"]
    assert definition["ansible_core"]["package_pip"].startswith(
        "ansible-core" + _read("meta/runtime.yml")["requires_ansible"].removesuffix(".0")
    )


def _lines(path: Path) -> list[str]:
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return sorted(line for line in lines if line)


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content
