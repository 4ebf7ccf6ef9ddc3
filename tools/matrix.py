"""Run tests with the supported versions of ansible-core: ``python -m tools.matrix [--short] [VERSION ...] [-- PYTEST ARGUMENT ...]``.

``matrix.toml`` lists the versions. Each has a virtual environment of its own in ``.build/matrix``, with everything but ansible-core as
constraints.txt pins it; the version of this environment is tested in this one.

In full, with every version or with those that are named (``2.17``): ansible-test sanity of what is shipped, the unit tests and the contract
tests. In short: the unit tests of what Ansible loads and a sample of the contract tests with the oldest and the newest version.

A version whose Python is not on this computer (on PATH or in pyenv) is not tested, and a line says so; with CI=true that is a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path

import ansible

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".build" / "matrix"
REQUIREMENTS = ROOT / "requirements"
TABLE = Path(__file__).with_name("matrix.toml")
SUITES = ("tests/unit", "tests/contract", "tests/cluster", "tests/inventory")
"""With every version, without the long tests."""
SAMPLE = ("metal_vlan", "csr_approval")
"""Contract tests of the short form: a module of the Metal API and one of the cluster."""
LOADED = tuple(
    f"tests/unit/plugins/{kind}"
    for kind in ("callback", "filter", "inventory", "lookup", "modules", "plugin_utils/actions", "plugin_utils/report")
)
"""Unit tests of what Ansible loads and of what uses its classes; the rest depends on Python alone."""
SHORT = (*LOADED, "tests/contract/test_contracts.py", "-k", f"plugins or {' or '.join(SAMPLE)}")
SHIPPED = ("changelogs/", "meta/", "playbooks/", "plugins/", "roles/")
"""What users have of the collection: `make test` has ansible-test sanity of the whole checkout, with the version of this environment."""
TEST_REQUIREMENTS = (
    *("ansible-builder", "build", "flit-core", "octodns", "octodns-cloudflare", "pytest", "pytest-asyncio", "pytest-xdist", "codespell"),
    *("tree-sitter", "tree-sitter-bash"),
)
"""What the tests need beside requirements/sandbox.txt, at the versions of constraints.txt."""


@dataclass(frozen=True)
class Version:
    """A version of ansible-core, the versions of Python for it, and what is pinned otherwise than in constraints.txt."""

    number: str
    pythons: tuple[str, ...]
    pins: tuple[str, ...] = ()

    @property
    def series(self) -> str:
        """``2.17`` of ``2.17.14``."""
        return ".".join(self.number.split(".")[:2])


def read_table(path: Path = TABLE) -> list[Version]:
    """Return the versions of a table, oldest first. Raises ValueError for another order."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["versions"]
    versions = [Version(entry["ansible-core"], tuple(entry["python"]), tuple(entry.get("pins", ()))) for entry in entries]
    if versions != sorted(versions, key=lambda each: [int(part) for part in each.number.split(".")]):
        raise ValueError(f"{path}: not the oldest version first")
    return versions


def choose(versions: Sequence[Version], series: Sequence[str], *, short: bool) -> list[Version]:
    """Return the versions to test: those of ``series``, or all, or the oldest and the newest. Raises ValueError for an unknown series."""
    if unknown := set(series) - {version.series for version in versions}:
        raise ValueError(f"not in {TABLE.name}: {', '.join(sorted(unknown))}")
    if series:
        return [version for version in versions if version.series in series]
    return [versions[0], versions[-1]] if short else list(versions)


def constraints(text: str, pins: Sequence[str]) -> str:
    """Return constraints.txt without ansible-core, the package ansible and what ``pins`` pin, and with ``pins``."""

    def name(line: str) -> str:
        return re.split(r"[=<>~!\[; ]", line, maxsplit=1)[0].lower()

    replaced = {"ansible", "ansible-core", *map(name, pins)}
    kept = [line for line in text.splitlines() if not line.startswith("#") and name(line) not in replaced]
    return "\n".join([*kept, *pins, ""])


def find_python(pythons: Sequence[str]) -> Path | None:
    """Return the first of these versions of Python (``3.13``) that is on PATH or in pyenv; None when there is none."""
    for number in pythons:
        for candidate in _candidates(number):
            # A shim of pyenv is on PATH whether or not the version may be used.
            answer = subprocess.run(
                [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False, capture_output=True, text=True
            )
            if answer.returncode == 0 and answer.stdout.strip() == number:
                return Path(candidate)
    return None


def _candidates(number: str) -> Iterator[str]:
    yield sys.executable
    if found := shutil.which(f"python{number}"):
        yield found
    # A version that pyenv has need not be one that it offers in this folder.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{number}.*/bin/python")))


def provide(version: Version, python: Path) -> Path:
    """Make the virtual environment, unless it is there as it would be made now. Returns its Python."""
    folder = FOLDER / version.number
    limits = constraints((REQUIREMENTS / "constraints.txt").read_text(encoding="utf-8"), [f"ansible-core=={version.number}", *version.pins])
    requirements = (REQUIREMENTS / "sandbox.txt", REQUIREMENTS / "metal-api.txt", REQUIREMENTS / "requirements.txt")
    made_of = hashlib.sha256(
        "\0".join([str(python), limits, *TEST_REQUIREMENTS, *(path.read_text(encoding="utf-8") for path in requirements)]).encode()
    )
    ready = folder / "ready"
    own = folder / "bin" / "python"
    if not ready.exists() or ready.read_text(encoding="utf-8") != made_of.hexdigest():
        print(f"matrix: installing ansible-core {version.number}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        (folder / "constraints.txt").write_text(limits, encoding="utf-8")
        pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        pip += ["--constraint", str(folder / "constraints.txt"), "--requirement", str(requirements[0])]
        subprocess.run([*pip, "ansible-core", *TEST_REQUIREMENTS], check=True, cwd=ROOT)
        _link_collections(folder)
        ready.write_text(made_of.hexdigest(), encoding="utf-8")
    return own


def _link_collections(folder: Path) -> None:
    """Let the environment have the collections of this one: the package ansible has tens of thousands of files."""
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "ansible_collections").symlink_to(Path(ansible.__file__).resolve().parents[1] / "ansible_collections")


def run(version: Version, python: Path, arguments: Sequence[str], *, short: bool) -> list[str]:
    """Run the tests with a version. Returns what failed."""
    # Modules as users run them: see tests/connection/local.py.
    environment = {**os.environ, "TESTS_CONNECTION": "", "VIRTUAL_ENV": str(python.parents[1])}
    environment["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    commands = {} if short else {"sanity": ["-m", "tools.sanity", *SHIPPED]}
    commands["tests"] = ["-m", "pytest", "-m", "not long", "-p", "no:cacheprovider", *(SHORT if short else SUITES), *arguments]
    failed = []
    for title, command in commands.items():
        print(f"matrix: ansible-core {version.number}, {title}", flush=True)
        if subprocess.run([python, *command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False).returncode:
            failed.append(f"{title} with ansible-core {version.number}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Run tests with the supported versions of ansible-core.")
    parser.add_argument("--short", action="store_true", help="a sample of the tests, with the oldest and the newest version")
    parser.add_argument("series", nargs="*", metavar="VERSION", help="these versions only, for example 2.17")
    own, arguments = _split(sys.argv[1:])
    options = parser.parse_args(own)
    failed = []
    try:
        chosen = choose(read_table(), options.series, short=options.short)
    except ValueError as error:
        sys.exit(f"matrix: {error}")
    for version in chosen:
        if version.number == installed_version("ansible-core"):
            failed += run(version, Path(sys.executable), arguments, short=options.short)
        elif python := find_python(version.pythons):
            failed += run(version, provide(version, python), arguments, short=options.short)
        else:
            print(f"matrix: ansible-core {version.number} is not tested: no Python {' or '.join(version.pythons)} on PATH or in pyenv")
            if os.environ.get("CI") == "true":
                failed.append(f"no Python for ansible-core {version.number}")
    if failed:
        print(f"matrix: failed: {', '.join(failed)}")
    return bool(failed)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before ``--`` and those after it."""
    if "--" not in arguments:
        return arguments, []
    index = arguments.index("--")
    return arguments[:index], arguments[index + 1 :]


if __name__ == "__main__":
    sys.exit(main())
