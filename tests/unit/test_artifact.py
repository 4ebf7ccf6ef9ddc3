"""What `ansible-galaxy collection build` makes, and that it works where it is installed."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
METADATA = {"MANIFEST.json", "FILES.json"}
"""Made by ansible-galaxy."""
SHIPPED = {"COPYING", "README.md", "changelogs", "docs", "inventory", "meta", "playbooks", "plugins", "requirements", "roles"}
"""The top-level entries of the artifact; inventory/ is the example."""
MOST_AT_THE_ROOT = 25
REQUIREMENTS = {"requirements/requirements.txt", "requirements/bindep.txt"}
"""What meta/execution-environment.yml names."""


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Ansible looks for collections on Python's path as well, where other tests may have the checkout.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=cwd, env={**inherited, **environment}, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifact")
    done = run("ansible-galaxy", "collection", "build", "--output-path", str(folder), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(artifact: Path) -> Path:
    """A folder that has the installed collection and nothing of the checkout."""
    folder = artifact.parent / "collections"
    done = run("ansible-galaxy", "collection", "install", "--offline", "--no-deps", "-p", str(folder), str(artifact), cwd=artifact.parent)
    assert done.returncode == 0, done.stderr
    return folder


def test_only_what_git_tracks_is_in_it(artifact: Path) -> None:
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\n")
    with tarfile.open(artifact) as archive:
        members = archive.getmembers()
    packed = {member.name for member in members if not member.isdir()} - METADATA
    assert packed <= set(listed)
    assert {"README.md", "COPYING", "meta/runtime.yml", "plugins/inventory/metal.py"} <= packed
    assert not [member.name for member in members if member.issym()]


def test_it_has_what_a_collection_ships_and_nothing_of_the_checkout(artifact: Path) -> None:
    with tarfile.open(artifact) as archive:
        packed = {member.name for member in archive.getmembers()}
    assert {name.split("/")[0] for name in packed} == SHIPPED | METADATA
    assert {name for name in packed if name.startswith("requirements/")} == REQUIREMENTS


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_its_playbooks_run_by_full_name(playbook: Path, installed: Path, tmp_path: Path) -> None:
    name = f"equinix_metal.openshift.{playbook.stem}"
    done = run("ansible-playbook", "--syntax-check", "-i", "localhost,", name, cwd=tmp_path, ANSIBLE_COLLECTIONS_PATH=str(installed))
    assert done.returncode == 0, done.stderr
    assert str(installed) in done.stdout or name in done.stdout


def test_its_dependencies_are_on_the_pinned_path(installed: Path) -> None:
    desired = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"]
    listed = run("ansible-galaxy", "collection", "list", cwd=installed.parent, ANSIBLE_COLLECTIONS_PATH=str(installed)).stdout
    assert all(name in listed for name in desired)


def test_the_root_of_the_repository_shows_what_users_and_tools_need_there() -> None:
    """Settings and requirements are in .config, requirements, pyproject.toml and beside what they are for."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split()
    shown = {name.split("/")[0] for name in listed if not name.startswith(".")}
    assert len(shown) <= MOST_AT_THE_ROOT, sorted(shown)
