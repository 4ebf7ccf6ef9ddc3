"""Which installer makes the files: a release, what a channel showed once, or one of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.openshift.installer import catalogue

from .conftest import Role

VERSION = "4.20.33"


def own_installer(role: Role) -> Path:
    return role.folder / "bin" / VERSION / "openshift-install"


@pytest.fixture
def channel(role: Role) -> Role:
    """A cluster whose channel has moved on since it was asked: it showed the release before the newest."""
    before = catalogue.release(catalogue.VERSIONS[-2], "x86_64")
    pin = {"channel": "stable", "architecture": "x86_64", "version": before.version, "digest": before.digest}
    (role.folder / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    return role


def test_a_channel_is_asked_and_its_answer_kept_with_the_digest(role: Role) -> None:
    told = role.well(openshift_version="stable-4.20")
    pin = json.loads((role.folder / "release.json").read_text(encoding="utf-8"))
    shown = catalogue.release(catalogue.aliases()["stable-4.20"], "x86_64")
    assert pin == {"channel": "stable-4.20", "architecture": "x86_64", "version": shown.version, "digest": shown.digest}
    # The very release these files were made of by its number.
    assert "New Ignition files" not in told


def test_a_channel_that_moved_on_moves_no_cluster(channel: Role) -> None:
    told = channel.well(openshift_version="stable", check=True)
    assert f"({catalogue.VERSIONS[-2]}) and make the Ignition files" in told


def test_another_payload_of_the_same_version_is_refused(channel: Role) -> None:
    pin = json.loads((channel.folder / "release.json").read_text(encoding="utf-8"))
    pin |= {"version": VERSION, "digest": "sha256:" + "0" * 64}
    (channel.folder / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    # Other inputs, so that files have to be made.
    told = channel.refused(openshift_version="stable", openshift_machine_networks=["10.9.0.0/16"])
    assert "cannot be used: version, digest of its release and architecture" in told
    assert catalogue.release(VERSION, "x86_64").digest in told


def test_a_channel_the_mirror_does_not_have(role: Role) -> None:
    assert "fast-4.99/release.txt" in role.refused(openshift_version="fast-4.99")


def test_an_installer_of_ones_own_is_taken_as_it_is(role: Role) -> None:
    told = role.well(openshift_version="", openshift_installer=str(own_installer(role)), check=True)
    # The same version and inputs: nothing is to be made.
    assert "changed=0" in told
    assert "Would" not in told


def test_an_installer_of_ones_own_of_another_version_is_refused(role: Role) -> None:
    told = role.refused(openshift_version="4.19.42", openshift_installer=str(own_installer(role)))
    assert f"is of version {VERSION}, not of 4.19.42" in told


def test_an_installer_for_other_machines_is_refused(role: Role) -> None:
    told = role.refused(openshift_version="", openshift_installer=str(own_installer(role)), openshift_architecture="aarch64")
    assert "arm64 or multi, they are" in told
