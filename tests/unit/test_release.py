"""``make release``: what it refuses, and that its artifact works where nothing of the checkout is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tools import release
from tools.collection_copy import ROOT, copy_collection


@pytest.mark.parametrize(
    ("version", "fragments", "message"),
    [
        ("0.2", 1, "is not a version: give three numbers, for example 0.2.0"),
        ("v0.2.0", 1, "is not a version"),
        ("0.1.0", 1, "0.1.0 is not after 0.1.0, the version in galaxy.yml: the next one is 0.2.0"),
        ("0.0.9", 1, "is not after"),
        ("0.2.0", 0, "nothing has changed since the last release"),
    ],
)
def test_a_wrong_version_is_refused(version: str, fragments: int, message: str) -> None:
    with pytest.raises(release.ReleaseError, match=message):
        release.check_version(version, "0.1.0", fragments)


def test_versions_are_compared_as_numbers() -> None:
    release.check_version("0.10.0", "0.9.1", 1)


def test_a_program_that_fails_is_reported_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(release.ReleaseError, match="ended with 3:\nreason"):
        release.run("sh", "-c", "echo reason >&2; exit 3", directory=tmp_path)


def test_fragments_become_the_changelog_of_the_version(tmp_path: Path) -> None:
    collection = copy_collection(tmp_path)
    fragments = collection / "changelogs" / "fragments"
    (fragments / "subject.yml").write_text("---\nminor_changes:\n  - a change that users notice.\n", encoding="utf-8")
    release.set_version(collection, "99.0.0")
    assert release.galaxy_version(collection) == "99.0.0"
    changes = yaml.safe_load((collection / "changelogs" / "changelog.yaml").read_text(encoding="utf-8"))["releases"]["99.0.0"]["changes"]
    assert "a change that users notice." in changes["minor_changes"]
    assert not list(fragments.glob("*.yml"))
    assert "v99.0.0" in (collection / "changelogs" / "CHANGELOG.rst").read_text(encoding="utf-8")
    checkout = copy_collection(tmp_path / "checkout")
    release.update_checkout(collection, checkout)
    assert release.galaxy_version(checkout) == "99.0.0"
    assert not list((checkout / "changelogs" / "fragments").glob("*.yml"))
    assert (checkout / "changelogs" / "fragments" / ".keep").is_file()


def test_the_artifact_works_without_the_checkout(tmp_path: Path) -> None:
    collection = copy_collection(tmp_path)
    artifact = release.build_artifact(collection, tmp_path)
    output = release.try_artifact(artifact, tmp_path / "empty")
    assert "failed=0" in output
    assert str(ROOT / "playbooks") not in output
    released = release.write_results(collection, artifact, tmp_path / "build")
    subprocess.run(["sha256sum", "--check", release.CHECKSUMS], cwd=released.parent, check=True)
