"""Which installer makes the files: a release, what a channel showed once, or one of the user's own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import httpx
import pytest
import yaml

from sandbox.openshift.assets import files_of
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


def test_a_custom_installer_is_used_unchanged(role: Role) -> None:
    result = role.well(openshift_version="", openshift_installer=str(own_installer(role)), check=True)
    # The same version and inputs: nothing is to be made.
    assert "changed=0" in result
    assert "Would" not in result


def test_a_custom_installer_of_another_version_is_refused(role: Role) -> None:
    result = role.refused(openshift_version="4.19.42", openshift_installer=str(own_installer(role)))
    assert f"is of version {VERSION}, not of 4.19.42" in result


def test_an_installer_for_another_architecture_is_refused(role: Role) -> None:
    result = role.refused(openshift_version="", openshift_installer=str(own_installer(role)), openshift_architecture="aarch64")
    assert "arm64 or multi, they are" in result


WORKERS = [{"hostname": "worker-0", "architecture": "aarch64"}]


def architectures(role: Role) -> dict[str, str]:
    config_map = yaml.safe_load(
        files_of(json.loads((role.files / "bootstrap.ign").read_bytes()))["/opt/openshift/manifests/cluster-config.yaml"]
    )
    config = yaml.safe_load(config_map["data"]["install-config"])
    return {pool["name"]: pool["architecture"] for pool in (config["controlPlane"], *config["compute"])}


@pytest.mark.debian("gpgv")
def test_machines_of_two_architectures_use_a_multi_architecture_release(role: Role) -> None:
    keyring = role.environment["OPENSHIFT_RELEASE_KEYRING"]
    result = role.well(openshift_version="stable-4.20", openshift_release_keyring=keyring, ignition_workers=WORKERS)
    shown = catalogue.release(VERSION, "multi")
    assert json.loads((role.folder / "release.json").read_text(encoding="utf-8"))["digest"] == shown.digest
    assert "was not verified" not in result
    # What an installer takes on a platform without machines: workers of another architecture are not its business.
    assert architectures(role) == {"master": "amd64", "worker": "amd64"}


def test_a_single_architecture_release_is_refused_for_two_architectures(role: Role) -> None:
    result = role.refused(openshift_version="", openshift_installer=str(own_installer(role)), ignition_workers=WORKERS)
    assert "and multi, they are" in result


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


OKD = "4.20.0-okd-scos.9"


@pytest.mark.debian("gpgv")
def test_okd(role: Role) -> None:
    mirror = role.environment["OPENSHIFT_MIRROR_URL"].replace("openshift-v4", "okd/releases/download")
    result = role.well(
        openshift_distribution="okd",
        openshift_version=OKD,
        openshift_mirror_url=mirror,
        openshift_pull_secret="",
        openshift_release_keyring=role.environment["OPENSHIFT_RELEASE_KEYRING"],
    )
    assert "was not verified" not in result
    stream = json.loads((role.files / "stream.json").read_bytes())
    assert stream["stream"] == "c10s"
