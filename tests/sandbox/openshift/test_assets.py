# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read from bootstrap.ign, and what is said when it cannot be."""

from __future__ import annotations

import copy
import re
from typing import Any
from urllib.parse import quote

import pytest

from sandbox.openshift.assets import AssetError, Assets, data_url
from sandbox.openshift.installer import catalogue

DOWNLOAD = "/usr/local/bin/release-image-download.sh"


def test_installer_and_cluster_understand_each_other(ignition: dict[str, Any]) -> None:
    assets = Assets.from_ignition(ignition)
    assert assets.domain == "demo.metal.test"
    assert assets.control_plane_replicas == 3
    assert assets.version == catalogue.VERSIONS[-1]
    assert assets.pull_secret == '{"auths": {"quay.io": {"auth": "aWQ6cGFzcw=="}}}'
    assert {manifest["kind"] for manifest in assets.manifests} >= {"ConfigMap", "Secret", "Infrastructure", "Scheduler", "ClusterVersion"}
    assert Assets.from_json(assets.to_json()) == assets


def test_what_is_missing_is_named(ignition: dict[str, Any]) -> None:
    config = copy.deepcopy(ignition)
    dropped = ("/opt/openshift/tls/kubelet-signer.key", "/opt/openshift/tls/admin-kubeconfig-ca-bundle.crt")
    config["storage"]["files"] = [file for file in config["storage"]["files"] if file["path"] not in (*dropped, DOWNLOAD)]
    with pytest.raises(AssetError, match=rf"lacks {dropped[1]}, {dropped[0]}, RELEASE_IMAGE in {DOWNLOAD}"):
        Assets.from_ignition(config)


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


def test_a_release_that_nothing_can_replace_is_named(ignition: dict[str, Any]) -> None:
    config = with_channel(with_image(ignition, "quay.io/a/b:c"), "stable-5.9")
    with pytest.raises(
        AssetError, match=r"neither the release image quay\.io/a/b:c nor a release of ClusterVersion's channel 'stable-5\.9'"
    ):
        _unused = Assets.from_ignition(config).version


def with_channel(ignition: dict[str, Any], channel: str) -> dict[str, Any]:
    config = copy.deepcopy(ignition)
    (manifest,) = (file for file in config["storage"]["files"] if file["path"].endswith("/cvo-overrides.yaml"))
    text = re.sub(r"channel: \S+", f"channel: {channel}", data_url(manifest["contents"]["source"]).decode())
    manifest["contents"]["source"] = "data:," + quote(text)
    return config


def test_an_unreadable_manifest_is_named(ignition: dict[str, Any]) -> None:
    config = copy.deepcopy(ignition)
    config["storage"]["files"].append({"path": "/opt/openshift/manifests/odd.yaml", "contents": {"source": "data:,a:%20[b"}})
    with pytest.raises(AssetError, match=r"manifest manifests/odd\.yaml cannot be read"):
        _unused = Assets.from_ignition(config).manifests
