# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines pull images by their own files: from quay.io, through a proxy, from a mirror registry, or not at all."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from metal_api.core.machines import Drive, Hardware
from sandbox.clock import Clock
from sandbox.openshift import machine_config_server, node_files, registry
from sandbox.openshift.assets import Assets, files_of
from sandbox.openshift.installer import catalogue, cli
from sandbox.openshift.installer.host_files import host_files
from sandbox.openshift.installer.install_config import InstallConfig
from sandbox.openshift.pull import (
    Puller,
    PullError,
    component_images,
    environment,
    os_image,
    uses_proxy,
)
from tests.registries import Registries
from tests.sandbox.openshift.conftest import PretendedMachine

pytestmark = pytest.mark.asyncio(loop_scope="session")

RELEASE = catalogue.release("4.20.33", "x86_64")
QUAY, ART = "quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev"


@pytest_asyncio.fixture(loop_scope="session")
async def registries(tmp_path: Path) -> AsyncIterator[Registries]:
    served = await Registries.serve(tmp_path)
    yield served
    await served.close()


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def pull_secret(**entries: str) -> bytes:
    return json.dumps({"auths": {name: {"auth": auth} for name, auth in entries.items()}}).encode()


def install_config(**fields: Any) -> InstallConfig:
    networking = {
        "networkType": "OVNKubernetes",
        "machineNetwork": [{"cidr": "127.64.0.0/16"}],
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
        "serviceNetwork": ["172.30.0.0/16"],
    }
    return InstallConfig({"metadata": {"name": "demo"}, "baseDomain": "metal.test", "networking": networking, **fields})


def machine(registries: Registries, architecture: str = "x86_64") -> PretendedMachine:
    hardware = Hardware("id", "node.metal.test", "127.121.0.9", "c3.small.x86", architecture, (Drive("/dev/sda", 480),), (), "custom_ipxe")
    return PretendedMachine(hardware, Clock(600), Path("/nonexistent"), {}, registries.outside)


def puller(registries: Registries, files: Mapping[str, bytes], architecture: str = "x86_64") -> Puller:
    return Puller(machine(registries, architecture), {"/root/.docker/config.json": pull_secret(**{"quay.io": basic("a", "b")}), **files})


def mirrors(registries: Registries, **fields: Any) -> dict[str, bytes]:
    """Return the files of a bootstrap machine with the mirror registry."""
    config = install_config(
        imageDigestSources=[
            {"source": QUAY, "mirrors": [f"{registries.mirror}/{registry.RELEASE_REPOSITORY}"]},
            {"source": ART, "mirrors": [f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"]},
        ],
        additionalTrustBundle=registries.private.certificate_file.read_text(encoding="ascii"),
        **fields,
    )
    return {**host_files(config), "/root/.docker/config.json": pull_secret(**{registries.mirror: basic(*registry.MIRROR_LOGIN)})}


async def test_a_closed_outside_times_out_and_a_proxy_leads_there(registries: Registries, monkeypatch: pytest.MonkeyPatch) -> None:
    registries.is_open = False

    async def times_out(files: Mapping[str, bytes]) -> None:
        with monkeypatch.context() as patch, pytest.raises(PullError, match="i/o timeout"):
            patch.setattr("sandbox.openshift.pull._TIMEOUT", 0.2)
            await puller(registries, files).pull(RELEASE.image)

    await times_out({})
    proxy = {"httpProxy": f"http://127.0.0.1:{registries.proxy.port}", "httpsProxy": f"http://127.0.0.1:{registries.proxy.port}"}
    await puller(registries, host_files(install_config(proxy=proxy))).pull(RELEASE.image)
    assert ("proxy", "CONNECT quay.io:443", 200) in registries.requests
    await times_out(host_files(install_config(proxy={**proxy, "noProxy": "quay.io"})))


async def test_an_image_that_the_mirror_lacks_comes_from_the_source(registries: Registries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.openshift.pull._TIMEOUT", 0.2)
    registries.removed.set([RELEASE.payload.components["etcd"]])
    image = f"{ART}@{RELEASE.payload.components['etcd']}"
    login_of_both = {"quay.io": basic("a", "b"), registries.mirror: basic(*registry.MIRROR_LOGIN)}
    pulls = puller(registries, {**mirrors(registries), "/root/.docker/config.json": pull_secret(**login_of_both)})
    await pulls.pull(image)
    registries.is_open = False
    with pytest.raises(PullError, match=r"Mirrors also failed: .*manifest unknown.*i/o timeout"):
        await pulls.pull(image)
    assert registry.Removed(registries.removed._path).digests == {RELEASE.payload.components["etcd"]}, "survives a restart"


async def test_a_mirror_whose_ca_is_not_trusted_or_whose_login_is_missing(registries: Registries) -> None:
    registries.is_open = False
    files = mirrors(registries)
    without_ca = {path: content for path, content in files.items() if "anchors" not in path}
    with pytest.raises(PullError, match="failed to verify certificate"):
        await puller(registries, without_ca).pull(RELEASE.image)
    with pytest.raises(PullError, match="unauthorized"):
        await puller(registries, files | {"/root/.docker/config.json": pull_secret(**{"quay.io": "x"})}).pull(RELEASE.image)


async def test_tries_again_until_the_image_is_there(registries: Registries, monkeypatch: pytest.MonkeyPatch) -> None:
    registries.removed.set([RELEASE.digest])
    registries.is_open = False
    node = machine(registries)
    node.clock.speed = 1e5
    files = mirrors(registries)
    waits: list[float] = []

    async def sleep(simulated_seconds: float) -> None:
        waits.append(simulated_seconds)
        registries.removed.set([])

    monkeypatch.setattr(node.clock, "sleep", sleep)
    await Puller(node, files).until_pulled("release-image.service", RELEASE.image)
    assert node.lines[0] == f"release-image.service: Pulling {RELEASE.image}..."
    assert any("manifest unknown" in line for line in node.lines)
    assert node.lines[-1] == f"release-image.service: Pull failed. Retrying {RELEASE.image}..."
    assert len(waits) == 1


def installed(folder: Path, **fields: Any) -> dict[str, Any]:
    """Return bootstrap.ign of an install-config with these fields."""
    config = {
        "apiVersion": "v1",
        "baseDomain": "metal.test",
        "metadata": {"name": "demo"},
        "controlPlane": {"name": "master", "replicas": 3},
        "compute": [{"name": "worker", "replicas": 0}],
        "platform": {"none": {}},
        "sshKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0CnbLVNfmVTCkCl4pQb9b4YzqJmyXDJkkKtBNu2RgM core@demo",
        **fields,
    }
    folder.mkdir()
    (folder / "install-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert cli.main(["create", "ignition-configs", "--dir", str(folder), "--log-level", "error"]) == 0
    made: dict[str, Any] = json.loads((folder / "bootstrap.ign").read_bytes())
    return made


def files_of_node(assets: Assets, pool: str) -> dict[str, bytes]:
    """Return what the machine config server gives a node of a pool."""
    chosen = [each for each in node_files.machine_configs(assets) if each["metadata"]["labels"].popitem()[1] == pool]
    config = machine_config_server.merged(chosen)
    return files_of(
        machine_config_server.with_appended(config, rendered="rendered", assets=assets, version=assets.version, node_ca_bundle=b"")
    )


async def test_bootstrap_and_nodes_pull_by_the_files_of_their_ignition_configs(registries: Registries, tmp_path: Path) -> None:
    registries.is_open = False
    registries.wants_login = True
    proxy = f"http://sandbox:proxy@127.0.0.1:{registries.proxy.port}"
    secret = {"auths": {"quay.io": {"auth": basic("a", "b")}, registries.mirror: {"auth": basic(*registry.MIRROR_LOGIN)}}}
    bundle = registries.private.certificate_file.read_text(encoding="ascii")
    mirrored = [{"source": ART, "mirrors": [f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"], "sourcePolicy": "NeverContactSource"}]
    config = installed(
        tmp_path / "cluster",
        pullSecret=json.dumps(secret),
        additionalTrustBundle=bundle,
        proxy={"httpProxy": proxy, "httpsProxy": proxy, "noProxy": ".metal.test"},
        imageDigestSources=mirrored,
    )
    files, assets = files_of(config), Assets.from_ignition(config).with_token()
    # Release images have no mirror here, so they come through the proxy.
    components = component_images(await Puller(machine(registries), files).pull(assets.available_image))
    assert {server for server, _path, _status in registries.requests} == {"proxy", "outside"}
    registries.requests.clear()
    for pool in ("master", "worker"):
        node = files_of_node(assets, pool)
        assert os_image(node) == components["rhel-coreos"]
        await Puller(machine(registries), node).pull(os_image(node))
        assert environment(node)["HTTPS_PROXY"] == proxy
        assert not uses_proxy(environment(node)["NO_PROXY"], "api-int.demo.metal.test:6443")
    assert {server for server, _path, _status in registries.requests} == {"mirror"}
    registries.removed.set([components["rhel-coreos"].partition("@")[2]])
    with pytest.raises(PullError, match="manifest unknown") as refused:
        await Puller(machine(registries), files_of_node(assets, "worker")).pull(components["rhel-coreos"])
    assert "quay.io/v2" not in str(refused.value), "NeverContactSource"
