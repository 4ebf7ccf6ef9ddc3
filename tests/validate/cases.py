"""The tables of inventories, ``cases.yml`` and ``played.yml``, as tests and the page read them."""

from __future__ import annotations

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
    """What the report says of one check: its verdict, and a text that stands in what was found."""

    verdict: str
    found: str = ""


@dataclass(frozen=True)
class Case:
    """One inventory. ``entry`` is as in the table, with the world's names put in."""

    number: int
    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def expected(self) -> dict[str, Expected]:
        return {check: Expected(*([said] if isinstance(said, str) else said)) for check, said in self.entry["expect"].items()}

    @property
    def failures(self) -> set[str]:
        return {check for check, expected in self.expected.items() if expected.verdict == "failed"}

    def inventory(self, ground: Mapping[str, Any]) -> dict[str, Any]:
        """Variables of all hosts."""
        without = self.entry.get("without", ())
        inventory = {**ground["variables"], **self.entry.get("variables", {})}
        return {name: value for name, value in inventory.items() if name not in without}

    def hosts(self, ground: Mapping[str, Any]) -> dict[str, list[str]]:
        """Hosts by group."""
        return {**ground["hosts"], **self.entry.get("hosts", {})}

    def variables(self, ground: Mapping[str, Any]) -> dict[str, Any]:
        """Variables of the host that this case is."""
        inventory, hosts = self.inventory(ground), self.hosts(ground)
        own = self.entry.get("host_variables", {})
        # The control plane's and the other groups' hosts as Ansible would know them: `groups` and `group_names` are its own variables.
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


def read(world: Mapping[str, str], played: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[Case]]:
    """The ground and the cases, with ``$name`` replaced by what it is in this world; ``played``: those that it names, and its own."""
    table = _filled(TABLE, world)
    entries = table["cases"]
    if played is not None:
        by_name = {entry["name"]: entry for entry in entries}
        entries = [*(by_name[name] for name in played["cases"]), *_filled(played["worlds"], world)]
    return table["ground"], [Case(number, entry) for number, entry in enumerate(entries)]


def _filled(value: Any, world: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(world)
    if isinstance(value, list):
        return [_filled(item, world) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, world) for key, item in value.items()}
    return value
