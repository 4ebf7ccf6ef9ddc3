"""Manifests that settings ask for: their files, and what a MachineConfig is made of."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.boot.ignition import ignition_file, unit
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests import cluster_manifests as package
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.machine_config import machine_config
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.ignition import manifests as cluster_manifests


def of_each_role(settings: package.Settings) -> Iterable[package.Manifest]:
    return [machine_config(role, "motd", [ignition_file("/etc/motd", settings["motd"])]) for role in ("master", "worker")]


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "SOURCES", (of_each_role,))


def test_no_settings_ask_for_no_manifest() -> None:
    assert cluster_manifests({"control_plane": [], "workers": []}) == []


@pytest.mark.usefixtures("sources")
def test_each_manifest_is_a_file() -> None:
    files = cluster_manifests({"motd": "grüezi\n"})
    assert [each["name"] for each in files] == ["machineconfig-98-master-motd.yaml", "machineconfig-98-worker-motd.yaml"]
    spec = json.loads(files[0]["content"])["spec"]
    (file,) = spec["config"]["storage"]["files"]
    assert b64decode(file["contents"]["source"].partition("base64,")[2]).decode() == "grüezi\n"
    assert set(spec["config"]) == {"ignition", "storage"}, "no empty sections"
    assert "kernelArguments" not in spec


def test_units_and_kernel_arguments() -> None:
    spec = machine_config("infra", "hugepages", (), [unit("x.service", "[Unit]\n")], ["hugepages=16"])["spec"]
    assert spec["kernelArguments"] == ["hugepages=16"]
    assert spec["config"]["systemd"]["units"] == [{"name": "x.service", "enabled": True, "contents": "[Unit]\n"}]


def test_two_manifests_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "SOURCES", (of_each_role, of_each_role))
    with pytest.raises(CollectionError, match=r"machineconfig-98-master-motd\.yaml"):
        cluster_manifests({"motd": ""})
