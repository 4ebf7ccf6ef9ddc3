"""Run the tests of what changed since the merge base with main: ``python -m tools.changed [-- PYTEST ARGUMENT ...]`` (``make check``).

A changed test is run itself. A changed module of Python leads to the tests that import it, else to those that have its name. Other files
lead to the tests that the table below names. ``make test`` and ``make nightly`` run the tests that are long or install a cluster.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BRANCH: Final = "main"
COLLECTION: Final = "ansible_collections.equinix_metal.openshift."
SUITES: Final = ("tests/unit", "tests/docs", "tests/metal_api", "tests/sandbox")
"""Their tests need no cluster, so a few files take seconds."""
NO_TESTS: Final = 5
"""Exit code of pytest when all tests are deselected."""
_ROLES: Final = ("tests/unit/test_roles.py", "tests/unit/test_no_programs_in_jinja.py", "tests/unit/test_task_secrets.py")
TABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "plugins/*": ("tests/unit/test_architecture.py",),
    "plugins/modules/*": ("tests/unit/plugins/modules",),
    "roles/*": _ROLES,
    "playbooks/*": (*_ROLES, "tests/unit/test_phases_of_playbooks.py"),
    "*.md": ("tests/docs/test_links.py", "tests/docs/test_site.py"),
    "inventory/*": ("tests/docs/test_examples.py",),
    "requirements/*": ("tests/unit/test_pins.py", "tests/unit/test_execution_environment.py"),
    "meta/*": ("tests/unit/test_execution_environment.py",),
    "galaxy.yml": ("tests/unit/test_artifact.py",),
}
"""Patterns of files and the tests that read them."""


def changed_files(root: Path = ROOT, branch: str = BRANCH) -> list[str]:
    """Return what differs from the merge base with ``branch``, with files that are not committed and without deleted ones."""
    base = _git(root, "merge-base", branch, "HEAD")[0]
    names = {
        *_git(root, "diff", "--name-only", "--diff-filter=d", base),
        *_git(root, "ls-files", "--others", "--exclude-standard"),
    }
    return sorted(name for name in names if (root / name).is_file())


def _git(root: Path, *arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


def imports_of(source: str) -> set[str]:
    """Return the modules that a source imports, by their names in this repository; of ``from a import b`` both ``a`` and ``a.b``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.removeprefix(COLLECTION) for name in names}


def index(root: Path = ROOT) -> dict[str, set[str]]:
    """Return the tests of the suites, and what each imports."""
    files = (path for suite in SUITES for path in sorted((root / suite).rglob("test_*.py")))
    return {str(path.relative_to(root)): imports_of(path.read_text(encoding="utf-8")) for path in files}


def select(changed: Iterable[str], tests: Mapping[str, set[str]]) -> list[str]:
    """Return the tests to run for the changed files: files and folders, sorted."""
    chosen: set[str] = set()
    for name in changed:
        path = Path(name)
        chosen |= {test for pattern, named in TABLE.items() if fnmatch(name, pattern) for test in named}
        if name in tests:
            chosen.add(name)
        elif path.suffix == ".py" and path.parts[0] != "tests":
            module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            importing = {test for test, imported in tests.items() if module in imported}
            chosen |= importing or {test for test in tests if Path(test).stem == f"test_{path.stem}"}
    return sorted(chosen)


def main() -> int:
    """Run pytest with the selected tests; return its exit code."""
    given = sys.argv[1:]
    arguments = given[given.index("--") + 1 :] if "--" in given else []
    chosen = select(changed_files(), index())
    if not chosen:
        print(f"check: no test of these suites belongs to what changed since {BRANCH}")
        return 0
    print(f"check: {len(chosen)} files of tests belong to what changed since {BRANCH}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long and not e2e", *arguments, *chosen]
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    return 0 if code == NO_TESTS else code


if __name__ == "__main__":
    sys.exit(main())
