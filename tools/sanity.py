"""Runs ``ansible-test sanity`` on a copy of the collection.

ansible-test asks the kernel for its directory and so does not accept the link below ``collections/``: it gets a copy of what git lists, at
``.build/ansible_collections/equinix_metal/openshift``. It also wants to download a bootstrap for pip; a script that runs ``ensurepip``,
put where that download would be kept, does the same with what Python carries, so a package index is all that is needed. Its cache is
kept below ``.build/home``, not in the user's home.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ansible_test  # ansible-core's own, found where it is installed

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
COPY = BUILD / "ansible_collections" / "equinix_metal" / "openshift"
HOME = BUILD / "home"

ENSUREPIP = """\
# Stands where ansible-test would keep the bootstrap it downloads.
import runpy, sys
sys.argv = ["ensurepip", "--default-pip"]
runpy.run_module("ensurepip", run_name="__main__")
"""


def copy_collection() -> None:
    """What git tracks or would track, as it is in the working tree; never the link."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, COPY / name
        if name.startswith("collections/") or not source.is_file():
            continue  # the link itself, and files deleted but not yet committed
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    # Else ansible-test would ask the repository around the copy, which ignores everything in .build.
    subprocess.run(["git", "init", "--quiet"], cwd=COPY, check=True)


def provide_pip() -> None:
    """Put a bootstrap for pip where this ansible-test looks for the one it would download."""
    source = Path(next(iter(ansible_test.__path__))) / "_internal" / "python_requirements.py"
    versions = set(re.findall(r"\bpip='([0-9.]+)'", source.read_text(encoding="utf-8")))
    if not versions:
        sys.exit(f"sanity: {source} no longer names the version of pip it wants; see provide_pip() in {__file__}")
    cache = HOME / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in versions:
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(ENSUREPIP, encoding="utf-8")


def keep_pip_settings() -> None:
    """ansible-test drops PIP_* from the environment and the home is another: a user's own index or certificates go into that home."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True).stdout
    settings: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):  # the environment has the last word
        name, value = line.split("=", 1)
        settings[name.rpartition(".")[2]] = value.strip().strip("'").replace("\\n", " ")
    target = HOME / ".config" / "pip" / "pip.conf"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch(mode=0o600)  # an index's address may carry a password
    target.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()), encoding="utf-8")


def main() -> int:
    copy_collection()
    provide_pip()
    keep_pip_settings()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = {**os.environ, "HOME": str(HOME), "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["ansible-test", "sanity", "--color", "no", "--python", python, *sys.argv[1:]]
    return subprocess.run(command, cwd=COPY, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
