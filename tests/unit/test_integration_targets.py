"""Every module and the inventory plugin has an integration target, and the target does with it what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ROOT / "tests" / "integration" / "targets"
COLLECTION = "equinix_metal.openshift."
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
Task = dict[str, Any]


def targets() -> dict[str, set[str]]:
    """What each target that is run by itself is a test of: its name, and the modules its aliases name."""
    found = {path.parent.name: set(path.read_text(encoding="utf-8").splitlines()) for path in TARGETS.glob("*/aliases")}
    return {name: {name, *aliases} & {*MODULES, "inventory_metal"} for name, aliases in found.items() if "hidden" not in aliases}


def tasks(entries: list[Task]) -> Iterator[Task]:
    """All tasks, those of blocks as well; a block hands down its check mode."""
    for entry in entries:
        if "block" not in entry:
            yield entry
            continue
        for section in ("block", "rescue", "always"):
            for task in tasks(entry.get(section, [])):
                yield {**({"check_mode": entry["check_mode"]} if "check_mode" in entry else {}), **task}


def uses(target: str, module: str) -> list[Task]:
    files = sorted((TARGETS / target / "tasks").glob("*.yml"))
    found = [task for path in files for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8")))]
    return [task for task in found if COLLECTION + module in task]


def deletes(module: str) -> bool:
    text = (ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8")
    documented: dict[str, Any] = yaml.safe_load(text.partition('DOCUMENTATION = r"""')[2].partition('"""')[0])
    return "absent" in documented["options"].get("state", {}).get("choices", [])


def test_every_module_and_the_inventory_plugin_has_a_target() -> None:
    assert {*MODULES, "inventory_metal"} - set().union(*targets().values()) == set()


def test_no_target_is_called_as_a_role_of_the_collection() -> None:
    """The role would be run in its place."""
    assert set(targets()) & {path.name for path in (ROOT / "roles").iterdir()} == set()


@pytest.mark.parametrize(("target", "module"), [(target, module) for target, names in targets().items() for module in sorted(names)])
def test_the_target_does_what_it_says(target: str, module: str) -> None:
    if module == "inventory_metal":
        assert "equinix_metal.openshift.metal" in (TARGETS / target / "tasks" / "main.yml").read_text(encoding="utf-8")
        return
    found = uses(target, module)
    assert found, "it is not used"
    if module.endswith("_info") or module in ("cluster_wait", "dns_wait"):
        return
    checked, real = ([task for task in found if bool(task.get("check_mode")) is wish] for wish in (True, False))
    assert checked, "nothing is predicted"
    assert any(task.get("register") == "again" for task in real), "nothing is done a second time"
    if deletes(module):
        assert any(task[COLLECTION + module].get("state") == "absent" for task in real), "nothing is deleted"


@pytest.mark.parametrize("target", sorted(targets()))
def test_the_target_leaves_nothing_behind(target: str) -> None:
    """What a block creates is deleted in its ``always``, whatever came between."""
    made = {
        name.removeprefix(COLLECTION)
        for module in MODULES
        for task in uses(target, module)
        for name in task
        if name.startswith(COLLECTION) and deletes(module)
    }
    last: list[Task] = []
    for path in (TARGETS / target / "tasks").glob("*.yml"):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            last += entry.get("always", [])
    gone = {
        name.removeprefix(COLLECTION)
        for task in last
        for name, given in task.items()
        if isinstance(given, dict) and given.get("state") == "absent"
    }
    # A set takes away what one by one was made, an assignment goes with its device, a session with its own.
    replaced = {"metal_device": {"metal_device_set"}, "metal_ip_assignment": {"metal_device_set"}, "metal_bgp_session": {"metal_device"}}
    assert {module for module in made if not ({module} | replaced.get(module, set())) & gone} == set()
