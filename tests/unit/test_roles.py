"""Variables and entry points of roles; tests/docs/test_variables.py has their defaults, argument_specs and tables."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.parent for path in (ROOT / "roles").glob("*/tasks"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_start_with_the_role_s_name(role: Path) -> None:
    defaults = set(read(role / "defaults" / "main.yml") or {})
    internal = set(read(role / "vars" / "main.yml") or {})
    assert all(name.startswith((f"{role.name}_", f"__{role.name}_")) for name in defaults), defaults
    assert not defaults & internal, "vars/main.yml would replace what is read of variables"
    assert all(name.startswith(f"__{role.name}_") for name in internal), internal


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_tasks_never_read_the_collection_s_variables(role: Path) -> None:
    # openshift_* and metal_* reach a role through its defaults only, so that a role can be run alone with other values.
    pattern = re.compile(r"(?<![\w.'\"-])(?:openshift|metal)_[a-z0-9_]+(?!\s*:)\b")
    defaults = (role / "defaults" / "main.yml").read_text(encoding="utf-8") if (role / "defaults" / "main.yml").exists() else ""
    known = set(pattern.findall(defaults))
    for path in sorted((role / "tasks").rglob("*.yml")):
        expressions = re.findall(r"\{\{(.*?)\}\}", path.read_text(encoding="utf-8"), re.DOTALL)
        used = {name for expression in expressions for name in pattern.findall(expression)}
        assert not used & known, f"{path.relative_to(ROOT)} reads {sorted(used & known)}"


def used_entry_points() -> list[tuple[str, str]]:
    """Return role and file of each ``include_role`` and ``import_role`` of the playbooks, of those in docs, and of molecule's."""
    found: set[tuple[str, str]] = set()

    def search(node: Any) -> None:
        if isinstance(node, list):
            for each in node:
                search(each)
        elif isinstance(node, dict):
            for name, value in node.items():
                if name in ("ansible.builtin.include_role", "ansible.builtin.import_role"):
                    found.add((value["name"].rpartition(".")[2], str(value.get("tasks_from", "main")).removesuffix(".yml")))
                search(value)

    for path in (path for folder in ("playbooks", "docs/examples", "extensions") for path in (ROOT / folder).rglob("*.yml")):
        search(DataLoader().load_from_file(str(path)))
    return sorted(found)


@pytest.mark.parametrize(("role", "entry"), used_entry_points())
def test_entry_points_of_playbooks_have_argument_specs(role: str, entry: str) -> None:
    if "{{" not in entry:
        assert entry in read(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]


def test_preflight_counts_the_slots_that_the_load_balancer_has() -> None:
    """Roles have no defaults in common, and validate has to know that of the role load_balancer."""
    slots = read(ROOT / "roles" / "load_balancer" / "defaults" / "main.yml")["load_balancer_ingress_slots"]
    setting = read(ROOT / "roles" / "validate" / "vars" / "main.yml")["__validate_own"]["load_balancer_ingress_slots"]
    assert setting == f"{{{{ load_balancer_ingress_slots | default({slots}) }}}}"
