"""The real kube-vip, of the version that the collection has nodes run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.openshift.binaries import go_command

IMAGE = "ghcr.io/kube-vip/kube-vip:v1.2.2"
SUM = "h1:09N+PPZRC4u7D5wnu+zjezFVga9XOIE0L+7qGOWOjeU="
"""Of the module of this version, as go.sum has it."""


@pytest.fixture(scope="session")
def kube_vip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kube-vip of the pinned version, built from its Go module, since no container image runs here."""
    go = go_command(Console())
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    folder = tmp_path_factory.mktemp("kube-vip")

    def run(*command: str, within: Path) -> str:
        done = subprocess.run([go, *command], cwd=within, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = json.loads(run("mod", "download", "-json", f"github.com/kube-vip/kube-vip@{IMAGE.rpartition(':')[2]}", within=folder))
    assert found["Sum"] == SUM
    # Its own go.sum has the sums of what it is built from.
    run("build", "-o", str(folder / "kube-vip"), ".", within=Path(found["Dir"]))
    return folder / "kube-vip"
