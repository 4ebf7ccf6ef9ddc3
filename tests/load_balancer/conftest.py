"""Real programs that announce addresses, each built from its Go module, since no container image runs here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.openshift.binaries import go_command

IMAGE = "ghcr.io/kube-vip/kube-vip:v1.2.2"
"""Of the version that the collection has nodes run."""


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
