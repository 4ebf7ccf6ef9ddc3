"""What is read from bootstrap.ign, and what is said when it cannot be."""

import copy
import re
from typing import Any
from urllib.parse import quote

import pytest

from sandbox.machines.ignition import decode_data_url
from sandbox.openshift.assets import Assets
from sandbox.openshift.installer import catalogue

DOWNLOAD = "/usr/local/bin/release-image-download.sh"


def with_image(ignition: dict[str, Any], image: str) -> dict[str, Any]:
    """Return the config with another release image, as another installer writes it."""
    config = copy.deepcopy(ignition)
    (script,) = (file for file in config["storage"]["files"] if file["path"] == DOWNLOAD)
    script["contents"]["source"] = "data:," + quote(f"#!/usr/bin/env bash\nRELEASE_IMAGE={image}\n")
    return config


@pytest.mark.parametrize("architecture", ["x86_64", "multi"])
@pytest.mark.parametrize("version", catalogue.VERSIONS)
def test_the_release_is_known_by_its_image(ignition: dict[str, Any], version: str, architecture: str) -> None:
    image = f"mirror.example.com:5000/a/b@{catalogue.release(version, architecture).digest}"
    assets = Assets.from_ignition(with_image(ignition, image))
    assert (assets.version, assets.release_architecture, assets.available_image) == (version, architecture, image)
    assert Assets.from_json(assets.to_json()).version == version


@pytest.mark.parametrize(
    ("channel", "version"), [("stable-4.19", "4.19.42"), ("candidate-4.20", "4.20.33"), ("stable-4.21", catalogue.newest("4.21"))]
)
@pytest.mark.parametrize(
    "image", [f"quay.io/openshift-release-dev/ocp-release@sha256:{'0' * 64}", "registry.ci.openshift.org/origin/release:4.19"]
)
def test_a_release_that_the_mirror_does_not_have_is_replaced_by_one_of_its_channel(
    ignition: dict[str, Any], image: str, channel: str, version: str
) -> None:
    assets = Assets.from_ignition(with_channel(with_image(ignition, image), channel))
    assert (assets.version, assets.release_image) == (version, image)
    assert assets.available_image == catalogue.release(version, "x86_64").image


def with_channel(ignition: dict[str, Any], channel: str) -> dict[str, Any]:
    config = copy.deepcopy(ignition)
    (manifest,) = (file for file in config["storage"]["files"] if file["path"].endswith("/cvo-overrides.yaml"))
    text = re.sub(r"channel: \S+", f"channel: {channel}", decode_data_url(manifest["contents"]["source"]).decode())
    manifest["contents"]["source"] = "data:," + quote(text)
    return config
