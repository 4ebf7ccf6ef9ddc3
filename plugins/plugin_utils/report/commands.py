# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands in reports: the one of this run, and those of other playbooks of the collection."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ansible import constants, context

PLAYBOOKS = frozenset(path.stem for path in (Path(__file__).parents[3] / "playbooks").glob("*.yml"))
DAY2 = ("scale", "replace", "approve", "start", "stop")
"""Playbooks of an installed cluster that print a failure report."""
SAME_AGAIN = ("extra_vars", "vault_ids", "vault_password_files", "ask_vault_pass")
JOB_VARIABLES = ("awx_job_id", "tower_job_id")


@dataclass(frozen=True)
class Caller:
    """The command line of ``ansible-playbook``, without the values of extra variables, which may be secrets.

    ``arguments`` are the parsed ones, ``folder`` is the current folder; ``job``: the run is a job of AWX, which has no command line.
    """

    arguments: Mapping[str, Any]
    default_inventory: Sequence[str] = ()
    folder: str = "/"
    job: bool = False

    @classmethod
    def of_this_run(cls, variables: Mapping[str, Any]) -> Caller:
        """Return the command line of the run that this process belongs to."""
        default = constants.DEFAULT_HOST_LIST
        try:
            folder = str(Path.cwd())
        except OSError:
            folder = "/"  # it was deleted: no path is shortened
        return cls(
            context.CLIARGS,
            [str(path) for path in default] if isinstance(default, list) else [str(default)],
            folder,
            any(variables.get(name) for name in JOB_VARIABLES),
        )

    @property
    def again(self) -> str:
        return shlex.join([*self._start, *(self._playbooks or ["install.yml"])])

    def sibling(self, name: str) -> str:
        """Return the command for another playbook of the collection: by path or by full name, like the one of this run."""
        last = (self._playbooks or ["install.yml"])[-1]
        path = PurePath(last)
        known = path.suffix in (".yml", ".yaml") and path.stem in PLAYBOOKS
        return shlex.join([*self._start, str(path.with_name(f"{name}.yml")) if known else f"equinix_metal.openshift.{name}"])

    @property
    def is_day2(self) -> bool:
        name = PurePath((self._playbooks or ["install.yml"])[-1]).name
        return name.removesuffix(".yml").removesuffix(".yaml").rpartition(".")[2] in DAY2

    @property
    def same(self) -> str:
        """The text after a command whose options are not all shown."""
        return ", with the same -e and vault options" if any(self.arguments.get(name) for name in SAME_AGAIN) else ""

    @property
    def _playbooks(self) -> list[str]:
        return [str(name) for name in self.arguments.get("args") or ()]

    @property
    def _start(self) -> list[str]:
        inventories = [str(path) for path in self.arguments.get("inventory") or () if str(path) not in self.default_inventory]
        return ["ansible-playbook", *(part for path in inventories for part in ("-i", self._short(path)))]

    def _short(self, path: str) -> str:
        return str(PurePath(path).relative_to(self.folder)) if PurePath(path).is_relative_to(self.folder) else path
