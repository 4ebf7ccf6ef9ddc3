"""Which installer makes the files: a release, what a channel showed once, or one of the user's own."""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.openshift.installer import catalogue

from .conftest import Mirror, Role

VERSION, OLDER = "4.20.33", "4.19.42"


def own_installer(role: Role) -> Path:
    return role.folder / "bin" / f"{VERSION}-x86_64" / "openshift-install"


@pytest.fixture
def channel(role: Role) -> Role:
    """A cluster whose channel has moved on since it was asked: it showed an older release."""
    before = catalogue.release(OLDER, "x86_64")
    pin = {"channel": "stable", "architecture": "x86_64", "version": before.version, "digest": before.digest}
    (role.folder / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    return role


def test_a_channel_is_resolved_and_pinned_with_the_digest(role: Role) -> None:
    result = role.well(openshift_version="stable-4.20")
    pin = json.loads((role.folder / "release.json").read_text(encoding="utf-8"))
    shown = catalogue.release(catalogue.aliases()["stable-4.20"], "x86_64")
    assert pin == {"channel": "stable-4.20", "architecture": "x86_64", "version": shown.version, "digest": shown.digest}
    # The very release these files were made of by its number.
    assert "Ignition files are recreated" not in result


def test_a_new_release_of_a_channel_changes_no_pinned_cluster(channel: Role) -> None:
    result = channel.well(openshift_version="stable", check=True)
    assert f"({OLDER}) and create the Ignition files" in result


def test_another_payload_of_the_same_version_is_refused(channel: Role) -> None:
    pin = json.loads((channel.folder / "release.json").read_text(encoding="utf-8"))
    pin |= {"version": VERSION, "digest": "sha256:" + "0" * 64}
    (channel.folder / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    # Other inputs, so that files have to be made.
    result = channel.refused(openshift_version="stable", openshift_machine_networks=["10.9.0.0/16"])
    assert "cannot be used: version, digest of its release and architecture" in result
    assert catalogue.release(VERSION, "x86_64").digest in result


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"openshift_version": OLDER}, f"is of version {VERSION}, not of {OLDER}"),
        ({"openshift_version": "", "openshift_architecture": "aarch64"}, "arm64 or multi, they are"),
        ({"openshift_version": "", "ignition_workers": [{"hostname": "worker-0", "architecture": "aarch64"}]}, "and multi, they are"),
    ],
    ids=["version", "architecture", "two architectures"],
)
def test_a_custom_installer_that_does_not_fit_is_refused(role: Role, settings: dict[str, Any], reason: str) -> None:
    assert reason in role.refused(openshift_installer=str(own_installer(role)), **settings)


@pytest.mark.debian("gpgv")
def test_machines_of_two_architectures_use_a_multi_architecture_release(role: Role) -> None:
    keyring = role.environment["OPENSHIFT_RELEASE_KEYRING"]
    result = role.well(
        openshift_version="stable-4.20",
        openshift_release_keyring=keyring,
        ignition_workers=[{"hostname": "worker-0", "architecture": "aarch64"}],
    )
    shown = catalogue.release(VERSION, "multi")
    assert json.loads((role.folder / "release.json").read_text(encoding="utf-8"))["digest"] == shown.digest
    assert "was not verified" not in result


def test_a_release_without_a_signature_is_refused_with_a_keyring(role: Role, mirror: Mirror) -> None:
    shutil.rmtree(own_installer(role).parent)
    released = f"x86_64/clients/ocp/{VERSION}"
    sums = httpx.get(f"{role.environment['OPENSHIFT_MIRROR_URL']}/{released}/sha256sum.txt").raise_for_status().content
    (mirror.folder / released).mkdir(parents=True)
    (mirror.folder / released / "sha256sum.txt").write_bytes(sums)
    # Other inputs, so that files have to be made.
    result = role.refused(
        openshift_mirror_url=mirror.url,
        openshift_release_keyring=role.environment["OPENSHIFT_RELEASE_KEYRING"],
        openshift_machine_networks=["10.9.0.0/16"],
    )
    assert f"{released}/sha256sum.txt.gpg is not there" in result
    assert "leave openshift_release_keyring out" in result
    assert f"GET /{released}/sha256sum.txt.gpg" in mirror.asked
    assert not [asked for asked in mirror.asked if asked.endswith(".tar.gz")]
