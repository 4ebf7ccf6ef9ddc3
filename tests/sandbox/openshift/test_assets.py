# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read from bootstrap.ign, and what is said when it cannot be."""

from __future__ import annotations

import base64
import copy
import gzip
from typing import Any

import pytest

from sandbox.openshift.assets import AssetError, Assets, data_url, files_of


def test_installer_and_cluster_understand_each_other(ignition: dict[str, Any]) -> None:
    assets = Assets.from_ignition(ignition)
    assert assets.domain == "demo.metal.test"
    assert assets.control_plane_replicas == 3
    assert assets.version.startswith("4.")
    assert assets.pull_secret == '{"auths": {"quay.io": {"auth": "aWQ6cGFzcw=="}}}'
    assert {manifest["kind"] for manifest in assets.manifests} >= {"ConfigMap", "Secret", "Infrastructure", "Scheduler", "ClusterVersion"}
    assert Assets.from_json(assets.to_json()) == assets


def test_what_is_missing_is_named(ignition: dict[str, Any]) -> None:
    config = copy.deepcopy(ignition)
    dropped = ("/opt/openshift/tls/kube-csr-signer.key", "/opt/openshift/metadata.json")
    config["storage"]["files"] = [file for file in config["storage"]["files"] if file["path"] not in dropped]
    with pytest.raises(AssetError, match=r"lacks /opt/openshift/metadata\.json, /opt/openshift/tls/kube-csr-signer\.key"):
        Assets.from_ignition(config)


def test_an_unreadable_manifest_is_named(ignition: dict[str, Any]) -> None:
    config = copy.deepcopy(ignition)
    config["storage"]["files"].append({"path": "/opt/openshift/manifests/odd.yaml", "contents": {"source": "data:,a:%20[b"}})
    with pytest.raises(AssetError, match=r"manifest manifests/odd\.yaml cannot be read"):
        _unused = Assets.from_ignition(config).manifests


@pytest.mark.parametrize(
    ("url", "content"),
    [
        ("data:,a%20b", b"a b"),
        ("data:text/plain;charset=utf-8;base64,YSBi", b"a b"),
        ("data:;base64,", b""),
    ],
)
def test_data_urls(url: str, content: bytes) -> None:
    assert data_url(url) == content


@pytest.mark.parametrize("url", ["https://example.com/a", "data:no comma", "data:;base64,*"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        data_url(url)


def test_compressed_contents_are_unpacked() -> None:
    source = "data:;base64," + base64.b64encode(gzip.compress(b"text")).decode()
    assert files_of({"storage": {"files": [{"path": "/a", "contents": {"source": source, "compression": "gzip"}}, {"path": "/b"}]}}) == {
        "/a": b"text"
    }
