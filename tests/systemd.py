"""What systemd says of units for it."""

import subprocess
from pathlib import Path


def check_units(*units: Path) -> None:
    """Require that ``systemd-analyze verify`` finds nothing in units."""
    read = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], check=False, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")


def check_exposure(unit: Path, at_most: int) -> None:
    """Require that ``systemd-analyze security`` rates the exposure of a service at ``at_most`` of 100; one without any hardening has 96."""
    judged = ["systemd-analyze", "security", "--offline=true", f"--threshold={at_most}", "--no-pager", str(unit)]
    found = subprocess.run(judged, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-3000:]
