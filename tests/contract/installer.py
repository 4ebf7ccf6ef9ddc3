"""The scenario of the module that downloads openshift-install, and its folder as it is: as a program, it writes that into a file."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class InstallerScenario:
    """The lifecycle of a folder with installers: the options of each step beside the folder and the mirror."""

    module: str
    create: Mapping[str, Any]
    change: Mapping[str, Any]

    @property
    def title(self) -> str:
        return self.module


INSTALLER_SCENARIOS = [
    InstallerScenario(
        module="openshift_installer",
        create={"version": "stable-4.20"},
        # Another channel shows another release.
        change={"version": "stable-4.19", "architecture": "multi"},
    ),
]


def files(folder: Path) -> dict[str, Any]:
    """Return what the module's diff says of the folder: the pinned release, and the version of each installer."""
    found: dict[str, Any] = {}
    if (folder / "release.json").exists():
        found["release.json"] = json.loads((folder / "release.json").read_bytes())
    for installer in folder.glob("bin/*/*"):
        done = subprocess.run([installer, "version"], check=True, capture_output=True, text=True)
        found[str(installer.relative_to(folder))] = {"version": done.stdout.splitlines()[0].rpartition(" ")[2]}
    return found


def writes(folder: Path) -> list[dict[str, Any]]:
    """Return the last change of each file and folder, as an entry of a journal. A file that comes and goes changes its folder."""
    paths = [folder, *folder.rglob("*")] if folder.exists() else []
    return [{"time": path.stat().st_ctime, "method": "WRITE", "path": str(path.relative_to(folder))} for path in paths]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(files(Path(sys.argv[1]))), encoding="utf-8")
