"""The unit for systemd that runs the server on a computer of a user."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from metal_api.__main__ import command_line
from tests.metal_api.ironic.server import ROOT
from tests.systemd import check_exposure, check_units

UNIT = ROOT / "metal_api" / "packaging" / "metal-api.service"
PYTHON = "/opt/metal-api/.venv/bin/python"


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
