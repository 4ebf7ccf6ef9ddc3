"""Runs ``ansible-test sanity`` on a copy of the collection (``collection_copy``): ``python -m tools.sanity``.

ansible-test wants to download a bootstrap for pip. A script that runs ``ensurepip``, put where that download would be kept, does the same
with what Python carries, so a package index is all that is needed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import ansible_test  # ansible-core's own, found where it is installed

from tools.collection_copy import BUILD, HOME, copy_collection, start_ansible_test

ENSUREPIP = """\
# Stands where ansible-test would keep the bootstrap it downloads.
import runpy, sys
sys.argv = ["ensurepip", "--default-pip"]
runpy.run_module("ensurepip", run_name="__main__")
"""


def provide_pip() -> None:
    """Put a bootstrap for pip where this ansible-test keeps the one it would download."""
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
    copy = copy_collection(BUILD)
    provide_pip()
    keep_pip_settings()
    return start_ansible_test(copy, "sanity", sys.argv[1:]).wait()


if __name__ == "__main__":
    sys.exit(main())
