"""Machines pull images by their own files: from quay.io, through a proxy, from a mirror registry, or not at all."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from metal_api.core.machines import Drive, Hardware
from sandbox.clock import Clock
from sandbox.openshift import registry
from sandbox.openshift.installer import catalogue
from sandbox.openshift.installer.host_files import host_files
from sandbox.openshift.installer.install_config import InstallConfig
from sandbox.openshift.pull import (
    Puller,
    PullError,
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


def mirrors(registries: Registries, policy: str = "AllowContactingSource") -> dict[str, bytes]:
    """Return the files of a bootstrap machine with the mirror registry."""
    config = install_config(
        imageDigestSources=[
            {"source": QUAY, "mirrors": [f"{registries.mirror}/{registry.RELEASE_REPOSITORY}"]},
            {"source": ART, "mirrors": [f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"], "sourcePolicy": policy},
        ],
        additionalTrustBundle=registries.private.certificate_file.read_text(encoding="ascii"),
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
    with pytest.raises(PullError, match="manifest unknown") as refused:
        await puller(registries, mirrors(registries, "NeverContactSource")).pull(image)
    assert "quay.io/v2" not in str(refused.value)
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
