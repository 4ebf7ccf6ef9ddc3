"""Real programs that announce addresses, each built from its Go module, since no container image runs here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from sandbox.openshift.binaries import ensure_binaries, go_command
from tests.cluster.control_plane import ControlPlane
from tests.cluster.olm import DEFINITIONS

IMAGE = "ghcr.io/kube-vip/kube-vip:v1.2.2"
"""Of the version that the collection has nodes run."""
NAMESPACE = "metallb-system"


@pytest.fixture(scope="session")
def kube_vip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kube-vip of the pinned version."""
    folder = tmp_path_factory.mktemp("kube-vip")
    module = f"github.com/kube-vip/kube-vip@{IMAGE.rpartition(':')[2]}"
    build_go_module(folder, module, "h1:09N+PPZRC4u7D5wnu+zjezFVga9XOIE0L+7qGOWOjeU=", ".")
    return folder / "kube-vip"


def build_go_module(folder: Path, module: str, checksum: str, *packages: str) -> Path:
    """Build packages of a Go module, ``path@version``, into ``folder``. Return the folder of its source.

    ``checksum`` is that of the module as go.sum has it. The module's own go.sum has those of what it is built from.
    """
    go = go_command(Console())
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}

    def run(*command: str, within: Path) -> str:
        done = subprocess.run([go, *command], cwd=within, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    downloaded = json.loads(run("mod", "download", "-json", module, within=folder))
    assert downloaded["Sum"] == checksum
    source = Path(downloaded["Dir"])
    run("build", "-o", f"{folder}/", *packages, within=source)
    return source


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
