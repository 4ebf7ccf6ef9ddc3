"""What ansible-doc says of modules, fragments merged."""

import json
import subprocess
from collections.abc import Iterable
from typing import Any

from sandbox.testing.process import REPOSITORY


def documentation_of(modules: Iterable[str]) -> dict[str, Any]:
    """By the modules' full names."""
    done = subprocess.run(
        ["ansible-doc", "--type", "module", "--json", *modules],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def programs() -> list[str]:
    """The modules that are programs: not those that only print, which are their action plugins alone."""
    modules = sorted((REPOSITORY / "plugins" / "modules").glob("[a-z]*.py"))
    return [path.stem for path in modules if "\ndef main(" in path.read_text(encoding="utf-8")]
