"""Parts of plays that run a role alone, as a playbook of a user's own does."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sandbox.testing.process import REPOSITORY

PACED: Mapping[str, Any] = MappingProxyType(
    {
        "vars_files": [str(REPOSITORY / "playbooks" / "vars" / "connections.yml")],
        "module_defaults": {"group/equinix_metal.openshift.wait": "{{ connection_wait }}"},
    }
)
"""Keys of a play whose waits have the intervals and the factor of the variables ``openshift_*``, as those of the playbooks."""


def constants(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants of a role among these variables: as ``vars`` of its include they replace those of the role."""
    return {name: value for name, value in variables.items() if name.startswith("__")}


def played(playbook: Path, *arguments: str | Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a playbook in its folder; return how it ended and what it printed."""
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", playbook, *arguments],
        cwd=playbook.parent,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout + done.stderr
