"""docs/ignition.md says what is: its files, hints and consoles are those that are made, its examples can be used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.filter.machines import HINTS, INSTALL_DEVICE, machines
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.files import CONSOLES
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.variables import variable_errors
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from sandbox.openshift.assets import files_of

from .conftest import Role

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ignition.md").read_text(encoding="utf-8")
EXAMPLES: list[dict[str, Any]] = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
SECTIONS = {section.partition("\n")[0].strip(): section for section in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)}


def rows(section: str, heading: str) -> list[list[str]]:
    """The cells of a section's table whose head begins so."""
    lines = SECTIONS[section].partition(f"| {heading} |")[2].splitlines()[2:]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines[: next(i for i, line in enumerate([*lines, ""]) if not line)]
    ]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_lists_the_generated_files(made: Role) -> None:
    result = {name: secret for cell, _what, secret in rows("Files", "file") for name in names(cell)}
    there = {path.name for path in made.files.iterdir() if not path.name.startswith(".openshift_install")}
    assert set(result) == there
    configs = {path.name: json.loads(path.read_bytes()) for path in made.files.glob("*.ign")}
    keys = {name for name, config in configs.items() if any(b"PRIVATE KEY" in content for content in files_of(config).values())}
    assert keys == {name for name, secret in result.items() if secret == "yes" and name != "auth"}


def test_the_page_describes_the_pointers(made: Role) -> None:
    (cell,) = (where for machine, where, _trusts in rows("Pointers", "machine") if machine.startswith("control plane"))
    for role in ("master", "worker"):
        pointer = json.loads((made.files / f"{role}.ign").read_bytes())["ignition"]
        assert pointer["version"] == "3.2.0" and "3.2.0" in SECTIONS["Pointers"]
        source = pointer["config"]["merge"][0]["source"]
        assert source.replace("birthday.metal.test", "<cluster>").removesuffix(role) == names(cell)[0].removesuffix("master")
        assert pointer["security"]["tls"]["certificateAuthorities"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: next(iter(example)))
def test_examples_of_the_page_are_valid(example: dict[str, Any]) -> None:
    if "workers" in example:
        plans = [pool["vars"]["metal_plan"] for pool in example["workers"]["children"].values()]
        assert [made_of(metal_plan=plan)["architecture"] for plan in plans] == ["x86_64", "aarch64"]
        return
    assert set(example) <= set(VARIABLES)
    assert not variable_errors(example)
    made_of(**example)


def made_of(**variables: Any) -> dict[str, Any]:
    common = {"openshift_cluster_name": "demo", "openshift_base_domain": "metal.test", "group_names": ["workers"], "groups": {}}
    (machine,) = machines(["worker-0"], {"worker-0": {**common, **variables}})
    return machine


def test_the_page_lists_all_hints_and_rules() -> None:
    assert [name for cell, _fits in rows("Disks", "hint") for name in names(cell)] == list(HINTS)
    rules = [name for cell, _where in rows("Disks", "`openshift_install_device`") for name in names(cell)]
    assert len(rules) >= 6
    assert all(INSTALL_DEVICE.fullmatch(name) for name in rules), rules


def test_the_page_lists_the_consoles_of_the_role() -> None:
    listed: dict[str, dict[str, list[str]]] = {"metal": {}, "packet": {}}
    for architecture, metal, packet in rows("Consoles", "architecture"):
        listed["metal"][names(architecture)[0]], listed["packet"][names(architecture)[0]] = names(metal), names(packet)
    assert listed == CONSOLES
