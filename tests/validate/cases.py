"""The tables of inventories, ``cases.yml`` and ``played.yml``, as tests and the page read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cases.yml").read_text(encoding="utf-8"))
PLAYED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "played.yml").read_text(encoding="utf-8"))
GROUPS = ("bootstrap", "control_plane", "workers", "load_balancer")


@dataclass(frozen=True)
class Expected:
    """The expected finding of a check: its verdict, and a part of its text."""

    verdict: str
    found: str = ""


@dataclass(frozen=True)
class Case:
    """One inventory. ``entry`` is the entry of the table with the values of ``$NAME``."""

    number: int
    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def expected(self) -> dict[str, Expected]:
        return {check: Expected(*([entry] if isinstance(entry, str) else entry)) for check, entry in self.entry["expect"].items()}

    @property
    def failures(self) -> set[str]:
        return {check for check, expected in self.expected.items() if expected.verdict == "failed"}

    def inventory(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of all hosts."""
        without = self.entry.get("without", ())
        inventory = {**base["variables"], **self.entry.get("variables", {})}
        return {name: value for name, value in inventory.items() if name not in without}

    def hosts(self, base: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the hosts by group."""
        return {**base["hosts"], **self.entry.get("hosts", {})}

    def variables(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of localhost, with hosts and hostvars."""
        inventory, hosts = self.inventory(base), self.hosts(base)
        own = self.entry.get("host_variables", {})
        # With Ansible's own variables `groups` and `group_names`.
        names = sorted({host for group in hosts.values() for host in group})
        groups = {**hosts, "worker": hosts["workers"]}
        hostvars = {
            host: {
                **inventory,
                **own.get(host, {}),
                "groups": groups,
                "group_names": [group for group, members in groups.items() if host in members],
            }
            for host in names
        }
        return {
            **inventory,
            "case_hosts": hosts,
            "case_hostvars": hostvars,
            "case_answers": self.entry.get("answers", {}),
        }


def read(values: Mapping[str, str], played: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[Case]]:
    """Return the base inventory and the cases, with ``$NAME`` replaced by ``values``; ``played``: the cases of that table."""
    table = _filled(TABLE, values)
    entries = table["cases"]
    if played is not None:
        by_name = {entry["name"]: entry for entry in entries}
        entries = [*(by_name[name] for name in played["cases"]), *_filled(played["worlds"], values)]
    return table["base"], [Case(number, entry) for number, entry in enumerate(entries)]


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(values)
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    return value
