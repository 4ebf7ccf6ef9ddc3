"""ansible-test on a copy of the collection.

ansible-test asks the kernel for its directory and so does not accept the link below ``collections/``: it gets a copy of what git lists.
Its cache is kept below ``.build``, not in the user's home.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
HOME = BUILD / "home"


def copy_collection(below: Path) -> Path:
    """What git tracks or would track, as it is in the working tree; never the link. Returns where the copy is, below ``below``."""
    copy = below / "ansible_collections" / "equinix_metal" / "openshift"
    shutil.rmtree(copy, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, copy / name
        if name.startswith("collections/") or not source.is_file():
            continue  # the link itself, and files deleted but not yet committed
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    # Else ansible-test would ask the repository around the copy, which ignores everything in .build.
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    return copy


def start_ansible_test(copy: Path, command: str, arguments: Sequence[str], *, log: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """``ansible-test <command>`` in the copy, with this Python. What it says goes to ``log``, or where our own output goes."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = {**os.environ, "HOME": str(HOME), "PYTHONDONTWRITEBYTECODE": "1"}
    HOME.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        ["ansible-test", command, "--color", "no", "--python", python, *arguments],
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT if log else None,
    )
