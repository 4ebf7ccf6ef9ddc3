"""The tables of docs/choices.md, from the preflight checks of every combination: ``python -m tests.validate.choices``."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from tests.validate.cases import Case
from tests.validate.test_cases import report

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "choices.md"
BLOCK: Final = re.compile(r"(?s)(<!-- (?P<name>\w+): begin.*?-->\n).*?(?P<end><!-- (?P=name): end -->)")
SUBJECT: Final = re.compile(r"^(?:plain network in lab: |\w+, 0 hosts in the group load_balancer; )")
"""What is checked, before the problems of it."""
HOSTS: Final = ("bootstrap-0", "master-0", "master-1", "master-2", "worker-0", "worker-1")
REQUIRED: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("openshift_machine_network", "private"): {"openshift_machine_networks": ["10.66.0.0/16"], "openshift_private_access": True},
    ("openshift_machine_network", "vlan"): {
        "openshift_vlan_subnet": "192.168.40.0/24",
        "openshift_machine_networks": ["192.168.40.0/24"],
    },
    ("openshift_load_balancer", "external"): {
        "openshift_api_address": "203.0.113.20",
        "openshift_ingress_address": "203.0.113.21",
        "openshift_node_firewall_sources": ["203.0.113.16/28"],
    },
    ("openshift_publish", "host"): {"openshift_publish_host": "boot.example.com"},
    ("openshift_publish", "object_storage"): {"openshift_publish_bucket": "boot"},
}
"""What a choice requires, so that only combinations are refused."""
OWN_RACK: Final = {"metal_metro": "lab", "openshift_image_mirror_url": "http://boot.metal.test:8080/images"}
"""Variables of a metro of servers of one's own."""
REQUIRED_IN_RACK: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("openshift_load_balancer", "kube_vip"): {"openshift_api_address": "192.0.2.5"}
}
"""The same in such a metro, where an address is announced by ARP."""


@dataclass(frozen=True)
class Table:
    """Two variables whose values are combined."""

    rows: str
    columns: str
    service: Mapping[str, Any]


TABLES: Final = {
    "networks": Table("openshift_machine_network", "openshift_load_balancer", {}),
    "rack": Table("openshift_machine_network", "openshift_load_balancer", OWN_RACK),
    "publishing": Table("openshift_publish", "openshift_ignition_platform", {}),
}


def refusals(choices: Mapping[str, str], service: Mapping[str, Any]) -> list[str]:
    """Return why preflight refuses an inventory with these choices, and with all that each of them requires."""
    variables: dict[str, Any] = {"openshift_metadata_url": "http://metadata.metal.test/metadata", **service, **choices}
    for choice in choices.items():
        variables |= {**REQUIRED.get(choice, {}), **(REQUIRED_IN_RACK.get(choice, {}) if service is OWN_RACK else {})}
    entry: dict[str, Any] = {
        "name": " ".join(choices.values()),
        "variables": variables,
        # The service answers at the vendor's name, which openshift_ignition_platform=packet requires.
        "answers": {"metadata": {"addresses": ["192.0.2.9"], "resolver": "192.0.2.53", "problems": {}}},
        "expect": {},
    }
    if choices.get("openshift_machine_network") == "vlan":
        entry["host_variables"] = {name: {"openshift_vlan_address": f"192.168.40.{10 + at}"} for at, name in enumerate(HOSTS)}
    if choices.get("openshift_load_balancer") == "haproxy":
        entry["hosts"] = {"load_balancer": ["balancer"]}
    texts = (SUBJECT.sub("", line["found"]) for line in report(Case(0, entry))["checks"] if line["verdict"] == "failed")
    return [problem for text in texts for problem in text.split("; ")]


def values(variable: str) -> tuple[str, ...]:
    """Return the choices of a variable."""
    return tuple(map(str, VARIABLES[variable].choices))


def render(table: Table) -> Iterator[str]:
    """Yield the lines of a table, and the reasons of preflight below it."""
    columns = values(table.columns)
    yield "| | " + " | ".join(f"`{column}`" for column in columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    reasons: dict[str, int] = {}
    for row in values(table.rows):
        cells = []
        for column in columns:
            problems = refusals({table.rows: row, table.columns: column}, table.service)
            numbers = [reasons.setdefault(problem, len(reasons) + 1) for problem in problems]
            cells.append(f"no ({', '.join(map(str, numbers))})" if numbers else "yes")
        yield f"| `{row}` | " + " | ".join(cells) + " |"
    if reasons:
        yield ""
        yield from (f"{number}. {reason}" for reason, number in reasons.items())


def page(text: str) -> str:
    """Return the page with its tables as preflight decides today."""
    return BLOCK.sub(lambda block: "\n".join([block[1].rstrip("\n"), "", *render(TABLES[block["name"]]), "", block["end"]]), text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
