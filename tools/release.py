"""Makes a release: ``python -m tools.release [VERSION]`` (``make release VERSION=0.2.0``).

All steps work on a copy, so a release that fails changes nothing in the checkout:

1. With a version: it is set in galaxy.yml, and the fragments become its entry of the changelog.
2. ``ansible-galaxy collection build`` makes the artifact.
3. The artifact is installed offline into an empty folder, and ``equinix_metal.openshift.validate`` runs from there against a sandbox, with
   an empty home and none of the checkout's files. Its dependencies are those of the package ``ansible``.
4. Artifact, changelog and checksums are written to build/, and the version and the changelog to the checkout, to be committed and tagged.

Without a version the artifact of the current one is made and tried, and the checkout stays as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from sandbox.testing.process import RunningSandbox
from tools.collection_copy import BUILD, ROOT, copy_collection

VERSION = re.compile(r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")
CHANGED = ("galaxy.yml", "pyproject.toml", "changelogs")
"""What a version changes in the checkout."""
OF_THE_CHECKOUT = ("PYTHONPATH", "ANSIBLE_CONFIG", "ANSIBLE_COLLECTIONS_PATH")
"""Environment variables with which Ansible would find the checkout."""
CHECKSUMS = "SHA256SUMS"
SHOWN_LINES = 40


class ReleaseError(Exception):
    """The release cannot be made, with the reason and the next step."""


def check_version(version: str, current: str, fragments: int) -> None:
    """Fail if ``version`` is none, is not after ``current``, or has no ``fragments``: no changes to list."""
    if not VERSION.match(version):
        raise ReleaseError(f"{version!r} is not a version: give three numbers, for example {next_minor(current)}")
    if numbers(version) <= numbers(current):
        raise ReleaseError(f"{version} is not after {current}, the version in galaxy.yml: the next one is {next_minor(current)}")
    if not fragments:
        raise ReleaseError("changelogs/fragments is empty: nothing has changed since the last release")


def numbers(version: str) -> tuple[int, ...]:
    """Return the three numbers of a version."""
    return tuple(int(part) for part in version.split("."))


def next_minor(version: str) -> str:
    """Return the next minor version."""
    major, minor, _patch = numbers(version)
    return f"{major}.{minor + 1}.0"


def galaxy_version(collection: Path) -> str:
    """Return the version in galaxy.yml."""
    return str(yaml.safe_load((collection / "galaxy.yml").read_text(encoding="utf-8"))["version"])


def run(*command: str, directory: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program; return its output, or raise ReleaseError with the end of it."""
    inherited = {name: value for name, value in os.environ.items() if name not in OF_THE_CHECKOUT}
    done = subprocess.run(
        command,
        cwd=directory,
        env={**inherited, **(environment or {})},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        shown = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
        raise ReleaseError(f"{' '.join(command[:3])} ended with {done.returncode}:\n{shown}")
    return done.stdout


def set_version(collection: Path, version: str) -> None:
    """Set the version in galaxy.yml and pyproject.toml, and make the fragments its entry of the changelog."""
    fragments = [path for path in (collection / "changelogs" / "fragments").iterdir() if path.suffix == ".yml"]
    check_version(version, galaxy_version(collection), len(fragments))
    galaxy = collection / "galaxy.yml"
    galaxy.write_text(re.sub(r"(?m)^version: .*$", f"version: {version}", galaxy.read_text(encoding="utf-8")), encoding="utf-8")
    server = collection / "pyproject.toml"
    server.write_text(re.sub(r'(?m)^version = ".*"$', f'version = "{version}"', server.read_text(encoding="utf-8")), encoding="utf-8")
    run("antsibull-changelog", "release", "--version", version, directory=collection)
    run("antsibull-changelog", "lint", directory=collection)


def build_artifact(collection: Path, directory: Path) -> Path:
    """Build the artifact in ``directory``; return its path."""
    run("ansible-galaxy", "collection", "build", "--output-path", str(directory), directory=collection)
    (artifact,) = directory.glob("*.tar.gz")
    return artifact


def try_artifact(artifact: Path, directory: Path) -> str:
    """Install the artifact offline below ``directory``, and run the preflight checks from there; return their output."""
    installed, home, work = directory / "collections", directory / "home", directory / "work"
    for folder in (installed, home, work):
        folder.mkdir(parents=True)
    run(
        *("ansible-galaxy", "collection", "install", "--offline", "--no-deps", "--collections-path", str(installed), str(artifact)),
        directory=work,
        environment={"HOME": str(home)},
    )
    shutil.copytree(ROOT / "inventory" / "sandbox", work / "inventory")
    with RunningSandbox(directory / "sandbox", log=directory / "sandbox.log") as sandbox:
        return run(
            *("ansible-playbook", "--inventory", "inventory", "equinix_metal.openshift.validate"),
            directory=work,
            environment={**sandbox.environment, "HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": str(installed)},
        )


def checksum_line(path: Path) -> str:
    """Return the line of a file for ``sha256sum --check``."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def write_results(collection: Path, artifact: Path, output: Path) -> Path:
    """Write artifact, changelog and checksums to ``output``; return the path of the artifact."""
    output.mkdir(parents=True, exist_ok=True)
    released = [Path(shutil.copy2(artifact, output)), Path(shutil.copy2(collection / "changelogs" / "CHANGELOG.rst", output))]
    (output / CHECKSUMS).write_text("".join(map(checksum_line, released)), encoding="utf-8")
    return released[0]


def update_checkout(collection: Path, checkout: Path) -> None:
    """Copy the version and the changelog to the checkout."""
    for name in CHANGED:
        source, target = collection / name, checkout / name
        if source.is_dir():
            kept = {path.relative_to(source) for path in source.rglob("*")}
            for path in sorted(target.rglob("*"), reverse=True):
                if path.is_file() and path.relative_to(target) not in kept:
                    path.unlink()
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)


def release(version: str | None, output: Path) -> Path:
    """Make the release; return the path of the artifact."""
    with tempfile.TemporaryDirectory(prefix="release-", dir=BUILD) as name:
        folder = Path(name)
        collection = copy_collection(folder)
        if version:
            print(f"  changelog of {version}")
            set_version(collection, version)
        print("  artifact")
        artifact = build_artifact(collection, folder)
        print("  installed offline into an empty folder, preflight checks from there")
        try_artifact(artifact, folder / "empty")
        released = write_results(collection, artifact, output)
        if version:
            update_checkout(collection, ROOT)
    return released


def main(arguments: list[str] | None = None) -> int:
    """Make a release and print what to do with it."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("version", nargs="?", metavar="VERSION", help="the new version; without it the current one is built and tried")
    parser.add_argument("--output", type=Path, default=ROOT / "build", metavar="DIR", help="folder for the results (default: build)")
    chosen = parser.parse_args(arguments)
    BUILD.mkdir(exist_ok=True)
    try:
        artifact = release(chosen.version, chosen.output)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"{artifact}\n{artifact.parent / CHECKSUMS}")
    if chosen.version:
        changed = " ".join(CHANGED)
        print(f"\nNext: git add {changed} && git commit -m 'release {chosen.version}' && git tag {chosen.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
