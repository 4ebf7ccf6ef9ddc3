"""Every block of YAML on a page or in an inventory can be used: its variables are known, and the installer takes what they lead to."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.variables import variable_errors
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.file_text import is_path
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from tests.install_configs import InstallConfigCase, ask_stand_in
from tests.validate.cases import Case
from tests.validate.test_cases import report
from tests.validate.test_install_configs import OF_INSTALL_CONFIG

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "roles/*/README.md", "inventory/**/*.yml") for path in ROOT.glob(pattern))
FENCED = re.compile(r"^(?P<indent> *)```(?:yaml|yml)?\n(?P<block>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?m)(?:^    .*\n(?:\n(?=    ))?)+")
VARIABLE = re.compile(r"(?:openshift|metal)_[a-z0-9_]+")


@dataclass(frozen=True)
class Example:
    """A mapping with variables of the collection, or a whole install-config."""

    place: str
    values: dict[str, Any]


def blocks(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yml":
        # A variable that is commented out is an example too.
        yield re.sub(r"(?m)^( *)# (?=(?:openshift|metal)_[a-z_]+: )", r"\1", text)
        return
    yield from (match["block"] for match in FENCED.finditer(text))
    yield from INDENTED.findall(FENCED.sub("", text))


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from mappings(item)


def examples() -> Iterator[Example]:
    for path in PAGES:
        for block in blocks(path):
            try:
                documents = list(yaml.safe_load_all(block))
            except yaml.YAMLError:
                continue  # a command, its output, or another language
            for number, found in enumerate(mapping for document in documents for mapping in mappings(document)):
                values = {name: value for name, value in found.items() if isinstance(name, str) and VARIABLE.fullmatch(name)}
                if values or {"baseDomain", "platform"} <= set(found):
                    first = next(iter(values), "baseDomain")
                    yield Example(f"{path.relative_to(ROOT)}: {first} ({number})", values or found)


EXAMPLES = list(examples())


def without_templates_and_files(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if "{{" not in str(value) and not (isinstance(value, str) and is_path(value))}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.place)
def test_an_example_can_be_used(example: Example, tmp_path: Path) -> None:
    if "baseDomain" in example.values:
        assert_installer_accepts(example.values, tmp_path)
        return
    assert not set(example.values) - set(VARIABLES)
    given = without_templates_and_files(example.values)
    assert not variable_errors(given)
    # The release and its architecture are those of other examples.
    variables = {name: value for name, value in given.items() if name not in ("openshift_version", "metal_plan")}
    assert_installer_accepts(InstallConfigCase({"variables": variables}).install_config, tmp_path)
    made = report(Case(0, {"name": example.place, "variables": given, "expect": {}}))
    problems = [line for line in made["checks"] if line["check"] in OF_INSTALL_CONFIG and line["verdict"] in ("failed", "warning")]
    assert not problems


def assert_installer_accepts(install_config: Mapping[str, Any], folder: Path) -> None:
    code, log = ask_stand_in(install_config, folder)
    assert code == 0, log
