"""Every requirement is pinned, and constraints.txt has the whole environment at the same versions."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


def test_constraints_cover_the_requirements() -> None:
    locked = pins(ROOT / "constraints.txt")
    for path in sorted(ROOT.glob("requirements*.txt")):
        for name, version in pins(path).items():
            assert locked.get(name) == version, f"{path.name}: {name} is {version}, constraints.txt has {locked.get(name)}: run `make lock`"
