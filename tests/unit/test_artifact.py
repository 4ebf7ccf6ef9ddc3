"""What `ansible-galaxy collection build` makes, and that it works where it is installed."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def test_it_has_what_a_collection_ships_of_what_git_tracks(artifact: Path) -> None:
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\n")
    with tarfile.open(artifact) as archive:
        members = archive.getmembers()
    packed = {member.name for member in members if not member.isdir()} - METADATA
    assert packed <= set(listed)
    assert {name.split("/")[0] for name in packed} == SHIPPED
    assert {name for name in packed if name.startswith("requirements/")} == REQUIREMENTS
    assert not [member.name for member in members if member.issym()]


def test_its_playbooks_run_by_full_name(installed: Path, tmp_path: Path) -> None:
    names = [f"equinix_metal.openshift.{path.stem}" for path in (ROOT / "playbooks").glob("*.yml")]
    done = run("ansible-playbook", "--syntax-check", "-i", "localhost,", *names, cwd=tmp_path, ANSIBLE_COLLECTIONS_PATH=str(installed))
    assert done.returncode == 0, done.stderr


def test_the_root_of_the_repository_shows_what_users_and_tools_need_there() -> None:
    """Settings and requirements are in .config, requirements, pyproject.toml and beside what they are for."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split()
    shown = {name.split("/")[0] for name in listed if not name.startswith(".")}
    assert len(shown) <= MOST_AT_THE_ROOT, sorted(shown)
