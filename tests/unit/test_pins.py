"""Requirements of checks and tests are pinned, those of users are ranges, and constraints.txt has versions within them for Debian 12."""

import re
from pathlib import Path

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
RANGES = REQUIREMENTS / "requirements.txt"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[a-z0-9,]+\])?==(?P<version>\S+)$")


def pins(path: Path) -> dict[str, str]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.split("#")[0].strip()
        if not text or text.startswith("-r "):
            continue
        match = PIN.match(text)
        assert match, f"{path.name}: {text!r} is not pinned with =="
        found[re.sub(r"[-_.]+", "-", match["name"]).lower()] = match["version"]
    return found


def test_what_users_install_is_a_range_around_the_tested_version() -> None:
    """An execution environment shares its libraries with other collections."""
    locked = pins(REQUIREMENTS / "constraints.txt")
    lines = [line for line in RANGES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for requirement in map(Requirement, lines):
        assert not any(part.operator in ("==", "===") for part in requirement.specifier), f"{requirement} is a pin"
        assert requirement.specifier.contains(locked[re.sub(r"[-_.]+", "-", requirement.name).lower()]), requirement
