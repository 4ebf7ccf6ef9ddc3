"""Real programs that announce addresses, each built from its Go module, since no container image runs here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox.openshift.binaries import build_go_module, ensure_binaries, ensure_kube_vip
from tests.cluster.control_plane import ControlPlane
from tests.cluster.olm import DEFINITIONS

NAMESPACE = "metallb-system"


@pytest.fixture(scope="session")
def kube_vip() -> Path:
    return ensure_kube_vip()


@pytest.fixture(scope="session")
def metallb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of MetalLB's speaker and controller, and its source as ``source``."""
    folder = tmp_path_factory.mktemp("metallb")
    checksum = "h1:r7KDgJtk3KZe3qb36zRVrVCYHxLR03nPGT+qFXOomJM="
    source = build_go_module(folder, "go.universe.tf/metallb@v0.15.2", checksum, "./speaker", "./controller")
    (folder / "source").symlink_to(source)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, metallb: Path) -> Iterator[ControlPlane]:
    """A control plane with MetalLB's own custom resources."""
    folder = tmp_path_factory.mktemp("control-plane")
    with ControlPlane(folder, ensure_binaries()).running() as running:
        for path in sorted((metallb / "source/config/crd/bases").glob("*.yaml")):
            running.call("POST", DEFINITIONS, yaml.safe_load(path.read_text(encoding="utf-8"))).raise_for_status()
        running.ensure_namespace(NAMESPACE)
        yield running
