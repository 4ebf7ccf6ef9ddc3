"""What runs the server on a computer of a user: the unit for systemd, and the image of the Containerfile."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal_api.__main__ import command_line
from sandbox.coreos_image.build import debian_mirrors
from tests.metal_api.ironic.server import ROOT, Server, rack_file
from tests.systemd import check_exposure, check_units

UNIT = ROOT / "metal_api" / "packaging" / "metal-api.service"
CONTAINERFILE = ROOT / "metal_api" / "packaging" / "Containerfile"
PYTHON = "/opt/metal-api/.venv/bin/python"
HOST_CA = Path("/etc/ssl/certs/ca-certificates.crt")


def _start_command() -> list[str]:
    [found] = re.findall(r"^ExecStart=((?:.*\\\n)*.*)$", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return shlex.split(found.replace("\\\n", " "))


def test_the_unit_starts_the_server_with_options_that_it_has() -> None:
    python, _option, module, *arguments = _start_command()
    assert (python, module) == (PYTHON, "metal_api")
    chosen = command_line().parse_args(arguments)
    assert chosen.command == "serve"
    assert chosen.state == Path("/var/lib/metal-api")


@pytest.mark.debian("systemd")
def test_systemd_accepts_the_hardened_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # Here nothing is installed in /opt.
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PYTHON, sys.executable), encoding="utf-8")
    check_units(unit)
    # What remains: the network of the host, and DHCP there.
    check_exposure(unit, 25)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[str]:
    """A container of the image, built on a Debian that mmdebstrap makes: no registry is asked."""
    absent = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)} from Debian: apt-get install {' '.join(absent)}")
    _run(
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        "--include=ca-certificates",
        "bookworm",
        str(tmp_path / "debian.tar"),
        *debian_mirrors(),
    )
    name = f"metal-api-test-{uuid.uuid4()}"
    base, image = f"localhost/{name}-debian", f"localhost/{name}"
    containers = []
    try:
        containers.append(_run("buildah", "from", "scratch"))
        _run("buildah", "add", containers[0], str(tmp_path / "debian.tar"), "/")
        _run("buildah", "commit", containers[0], base)
        # The package index is reached as by this computer.
        settings = [f"--env={key}={value}" for key, value in os.environ.items() if key.startswith("PIP_")]
        settings += [f"--volume={HOST_CA}:{HOST_CA}:ro"] if HOST_CA.exists() else []
        build = ["build", "--isolation=chroot", "--pull-never", f"--from={base}", f"--file={CONTAINERFILE}", f"--tag={image}"]
        _run("buildah", *build, *settings, str(ROOT))
        containers.append(_run("buildah", "from", "--pull-never", image))
        yield containers[1]
    finally:
        if containers:
            _run("buildah", "rm", *containers)
        subprocess.run(["buildah", "rmi", image, base], check=False, capture_output=True)


@pytest.mark.long
def test_the_image_runs_the_server(container: str, tmp_path: Path) -> None:
    rack = rack_file(tmp_path / "rack.yml", "127.98.0", 1)
    server = Server(tmp_path, rack)
    inside = ["buildah", "run", "--isolation=chroot", "--network=host", f"--volume={tmp_path}:{tmp_path}", container, "--"]
    server.command = [*inside, PYTHON, *server.command[1:]]
    try:
        server.start()
        server.until(lambda: server.free() == 1, what="the server of the rack is offered")
        id_ = server.order(hostname="w1").json()["id"]
        events = f"/devices/{id_}/events"
        server.until(lambda: "server.deployed" in {each["type"] for each in server.api.get(events).json()["events"]}, what="deployed")
    finally:
        server.stop()


def _run(*command: str) -> str:
    """Return the last line of the output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout.strip().rpartition("\n")[2]
