"""Which file may import what, as docs/architecture.md describes it, and that examples use options that exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible_doc import documentation_of

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "equinix_metal.openshift"
PACKAGE = "ansible_collections.equinix_metal.openshift.plugins."

LAYERS = ("base", "clients", "metal", "machines", "lock", "nodes", "joining", "etcd", "release", "cluster", "boot", "frame")
"""The folders of module_utils: each imports only those before it, and itself."""
CONTROLLER_LAYERS = (
    *("settings", "programs", "install_config", "manifests", "services", "cluster_folder", "boot", "machines", "plan", "preflight"),
    *("rules", "world", "actions", "report"),
)
"""The folders of plugin_utils, in the same way. Those before ``rules`` are pure; only ``world`` has clients."""
LIBRARIES = {
    "settings": {"netaddr"},
    "install_config": {"netaddr"},
    "manifests": {"yaml"},
    # Of Ansible its vault, which encrypts the archive.
    "cluster_folder": {"yaml", "ansible"},
}
"""What the pure folders of plugin_utils import beside Python's own library."""
EDGES = {
    "clients.metal": "packet",
    "clients.cluster": "kubernetes",
    "clients.pod_exec": "websocket",
    "clients.dns": "dns",
    "clients.route53": "boto3",
    "clients.octodns": "octodns",
}
"""The only importers of their libraries."""

MODULE_UTILS = sorted((ROOT / "plugins" / "module_utils").rglob("[a-z]*.py"))
PLUGIN_UTILS = sorted((ROOT / "plugins" / "plugin_utils").rglob("[a-z]*.py"))
MODULES = sorted((ROOT / "plugins" / "modules").glob("[a-z]*.py"))
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))
SANDBOX = sorted((ROOT / "sandbox").rglob("*.py"))
METAL_API = sorted((ROOT / "metal_api").rglob("*.py"))
ROLES = sorted(path.parent for path in (ROOT / "roles").glob("*/tasks"))


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(path: Path, *, for_types: bool = False) -> Iterator[str]:
    """Every module that ``path`` imports, absolute; with ``for_types`` also what only a type checker reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = ".".join(path.relative_to(ROOT).with_suffix("").parts[:-1])
    if package.startswith("plugins"):
        package = PACKAGE.removesuffix("plugins.") + package
    skipped = {
        node
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and not for_types and "TYPE_CHECKING" in ast.unparse(guard.test)
        for statement in guard.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            # `from ..module_utils import _csr` names a module only in its last part.
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_utils(path: Path, kind: str = "module_utils") -> set[str]:
    """Which module_utils (or plugin_utils) of this collection ``path`` imports at run time, such as ``base.errors``."""
    prefix = f"{PACKAGE}{kind}."
    return {name.removeprefix(prefix) for name in imports(path) if name.startswith(prefix)}


def files_of(names: Iterable[str]) -> set[Path]:
    """The files of these module_utils. Of ``base.errors.CollectionError`` the last part is a name in the file."""
    root = ROOT / "plugins" / "module_utils"
    candidates = (root.joinpath(*part.split(".")).with_suffix(".py") for name in names for part in (name, name.rpartition(".")[0]))
    return {path for path in candidates if path.is_file()}


def folder(name: str) -> str:
    return name.partition(".")[0]


def others(path: Path, *, for_types: bool = False) -> set[str]:
    """Which top-level packages ``path`` imports that are neither Python's own nor this collection's."""
    found = {name.split(".")[0] for name in imports(path, for_types=for_types) if not name.startswith(PACKAGE)}
    return found - sys.stdlib_module_names


@pytest.mark.parametrize("path", PLUGINS, ids=by_name)
def test_plugins_know_nothing_of_the_sandbox_and_reach_the_apis_through_one_file_each(path: Path) -> None:
    found = others(path, for_types=True)
    assert not found & {"sandbox", "metal_api", "tests"}
    for edge, library in EDGES.items():
        # What looks at the world before an install asks DNS as nodes do, and is no module.
        reads = library == "dns" and "plugin_utils" in path.parts
        assert library not in found or reads or dotted(path).endswith(edge), f"only {edge} may import {library}"


@pytest.mark.parametrize("path", [*SANDBOX, *METAL_API], ids=by_name)
def test_the_servers_know_nothing_of_the_collection(path: Path) -> None:
    # Two readings of the same documents: if they shared code, the tests between them would prove nothing.
    assert not others(path, for_types=True) & {"ansible", "ansible_collections", "packet", "plugins", "tests"}


def test_the_metal_api_says_nothing_of_the_sandbox() -> None:
    """It is a product for racks: what is only for simulated devices is the sandbox's, and wraps it from outside."""
    words = re.compile(r"sandbox|simulat|pretend", re.IGNORECASE)
    tracked = subprocess.run(["git", "ls-files", "metal_api"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    lines = [
        f"{name}:{number}: {line.strip()}"
        for name in tracked
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert lines == []


def test_module_utils_are_what_modules_import() -> None:
    """Of what no module imports the place is plugin_utils. An import inside a function counts; one for types alone does not.

    Nor does ``importlib``: Ansible sends a module with the files that its import statements name.
    """
    pending, reached = set(MODULES), set[Path]()
    while pending:
        found = files_of(own_utils(pending.pop())) - reached
        reached |= found
        pending |= found
    assert sorted(by_name(path) for path in set(MODULE_UTILS) - reached) == []


@pytest.mark.parametrize("path", [*MODULES, *MODULE_UTILS], ids=by_name)
def test_what_runs_as_a_module_imports_no_plugin_utils(path: Path) -> None:
    # Ansible does not send them with a module.
    assert own_utils(path, "plugin_utils") == set()


@pytest.mark.parametrize("path", PLUGIN_UTILS, ids=by_name)
def test_plugin_utils_import_only_what_lies_below(path: Path) -> None:
    here = folder(dotted(path).rpartition("plugin_utils.")[2])
    assert {folder(name) for name in own_utils(path, "plugin_utils")} <= set(CONTROLLER_LAYERS[: CONTROLLER_LAYERS.index(here) + 1])
    used = {folder(name) for name in own_utils(path)}
    assert here == "world" or not used & {"clients", "frame"}, "pure: clients arrive as arguments"
    if CONTROLLER_LAYERS.index(here) < CONTROLLER_LAYERS.index("rules"):
        assert others(path) <= LIBRARIES.get(here, set()), "pure: clients arrive as arguments"


@pytest.mark.parametrize("path", MODULE_UTILS, ids=by_name)
def test_module_utils_import_only_what_lies_below(path: Path) -> None:
    here = folder(dotted(path).rpartition("module_utils.")[2])
    foreign, used = others(path), {folder(name) for name in own_utils(path)}
    assert used <= set(LAYERS[: LAYERS.index(here) + 1])
    if here == "base":
        assert foreign <= ({"ansible"} if path.stem == "argspec" else set()), "Python's own library"
    elif here == "clients":
        assert "ansible" not in foreign
    elif here == "frame":
        assert "ansible" in foreign or "frame" in used
    else:
        assert "clients" not in used, "pure: clients arrive as arguments"
        assert not foreign & {"ansible", "requests", "urllib3", *EDGES.values()}, "pure: clients arrive as arguments"


@pytest.mark.parametrize("path", MODULES, ids=by_name)
def test_modules_describe_and_leave_the_rest_to_the_lifecycle(path: Path) -> None:
    assert not {name for name in own_utils(path) if folder(name) == "clients"}
    text = path.read_text(encoding="utf-8")
    assert ".check_mode" not in text, "check mode is decided in one place, not in modules"
    assert "fail_json(" not in text and "exit_json(" not in text, "the context manager is the only way out of a module"


def test_every_module_is_in_an_action_group() -> None:
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    for group in ("cluster", "wait"):
        fragment = re.compile(rf"openshift\._{group}[],\n]")
        assert set(groups[group]) == {path.stem for path in MODULES if fragment.search(path.read_text(encoding="utf-8"))}
    # Some that speak to the cluster compare it with the devices.
    both = {"cluster_wait", "csr_approval", "node_ownership"}
    assert set(groups["metal"]) == {path.stem for path in MODULES if path.stem.startswith("metal_")} | both


@pytest.mark.parametrize("role", ROLES, ids=by_name)
def test_roles_never_call_roles(role: Path) -> None:
    for path in role.rglob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert "include_role" not in text and "import_role" not in text, f"{by_name(path)}: playbooks compose, roles do not"


# --- documentation that runs -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documentation() -> dict[str, Any]:
    """What ansible-doc says of every module, fragments merged."""
    return documentation_of(f"{COLLECTION}.{path.stem}" for path in MODULES)


def example_tasks(documentation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, entry in documentation.items():
        for task in yaml.safe_load(entry["examples"]):
            yield name, task


def test_examples_use_options_that_exist(documentation: dict[str, Any]) -> None:
    wrong = []
    for name, task in example_tasks(documentation):
        for action, arguments in task.items():
            if not action.startswith(f"{COLLECTION}.") or not isinstance(arguments, dict):
                continue
            options = documentation[action]["doc"].get("options", {})
            known = set(options) | {alias for option in options.values() for alias in option.get("aliases", [])}
            wrong += [f"{name}: {action} has no option {argument}" for argument in arguments if argument not in known]
        assert any(action.startswith(f"{COLLECTION}.") for action in task) or any("." in action for action in task), (name, task)
    assert not wrong
