"""The execution environment: ansible-builder accepts its definition, and its build context has what the collection needs."""

from pathlib import Path
from typing import Any

import yaml

from tools.matrix import read_table

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = "requirements/execution-environment.yml"


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


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return content
