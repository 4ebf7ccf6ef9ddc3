"""The connection plugin ``local`` of the tests: modules of others as forks of Ansible's worker, as the collection's own ones are.

Most of the time of a task with a module of ansible-core or of another collection is Python's start and its imports, a quarter of a second
of CPU, and the tests play thousands of them. The fork has both already. All that a module sees is the same but for that: its arguments, its
environment and its output. Everything that is no such call takes the usual way: other commands, another Python, other users, background
tasks, ANSIBLE_KEEP_REMOTE_FILES, a play that does not find the collection.

``tests/conftest.py`` chooses this plugin. What plays as users do is without it: the end-to-end test of the installation, the demo,
molecule, the integration targets, and the matrix of versions of ansible-core.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from ansible.plugins import connection

try:
    from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.module_process import run_in_fork
except ImportError:  # run where the collection is not on Ansible's path
    run_in_fork = None  # type: ignore[assignment]

DOCUMENTATION = """
name: local
short_description: run modules in forks of the worker process
description:
  - For the tests of the collection.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
extends_documentation_fragment:
  - connection_pipelining
"""
PIPELINED = f"/bin/sh -c '{sys.executable} && sleep 0'"
"""What Ansible runs for a module that it hands over by stdin, for a task without an environment of its own."""


def _cores() -> Any:
    """Return ansible-core's own plugin, whose name this one has when it is loaded."""
    spec = spec_from_file_location("ansible_core_local", Path(connection.__file__).with_name("local.py"))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Connection


Local: Any = _cores()


class Connection(Local):  # type: ignore[misc]  # ansible-core has no type information
    """As ansible-core's, but for modules handed over by stdin."""

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Return the exit code, stdout and stderr of a command."""
        if in_data is None or cmd != PIPELINED or self.become or run_in_fork is None:
            answer: tuple[int, bytes, bytes] = super().exec_command(cmd, in_data, sudoable)
            return answer
        done = run_in_fork(lambda: _run(in_data), b"", {})
        return done["rc"], done["stdout"].encode(errors="surrogateescape"), done["stderr"].encode(errors="surrogateescape")


def _run(source: bytes) -> None:
    """Run a packed module as Python does when it reads it from its stdin."""
    exec(compile(source, "<stdin>", "exec"), {"__name__": "__main__"})  # noqa: S102 - what Ansible has packed
