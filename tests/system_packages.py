"""Tests with the marker ``debian`` need real programs from Debian: without them they are skipped, saying so.

``@pytest.mark.debian("haproxy")`` names packages of ``tests/system-packages.txt``; without names all of them are meant. With ``CI=true``
a missing one is a failure: there, a skipped test would appear as passed.
"""

import os
import shutil
from pathlib import Path

import pytest

LISTED = Path(__file__).with_name("system-packages.txt")
# Debian puts daemons where the search path of an ordinary user does not search.
SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

BOOT_ISO = ("ipxe", "isolinux", "syslinux-common", "grub-efi-amd64-bin", "grub-common", "xorriso", "mtools", "dosfstools")
"""What the boot ISO of the Metal API server is made of."""


def listed() -> dict[str, str]:
    """The packages the tests use: name of the package to a program, or the path of a file, that shows that it is there."""
    text = LISTED.read_text(encoding="utf-8")
    lines = [line.split(maxsplit=2) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {package: program for package, program, _why in lines}


def program(package: str) -> str | None:
    """Path of the program (or the file) of a listed package, or None where it is not installed."""
    name = listed()[package]
    return (name if Path(name).exists() else None) if name.startswith("/") else shutil.which(name, path=SEARCHED)


def missing(*packages: str) -> list[str]:
    """Those of ``packages`` (all that are listed, if none is named) that are not installed."""
    return [package for package in (packages or tuple(listed())) if program(package) is None]


def pytest_runtest_setup(item: pytest.Item) -> None:
    desired = [package for marker in item.iter_markers("debian") for package in (marker.args or tuple(listed()))]
    absent = missing(*desired) if desired else []
    if not absent:
        return
    reason = f"needs {', '.join(absent)} from Debian: apt-get install {' '.join(absent)}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
