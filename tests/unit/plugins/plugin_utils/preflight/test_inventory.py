"""An unknown variable is reported with the groups and hosts that have it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.inventory import variables
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES

HOSTS = {
    "bootstrap": ["bootstrap-0"],
    "control_plane": ["master-0", "master-1", "master-2"],
    "workers": ["worker-0", "worker-1", "infra-0", "infra-1"],
    "load_balancer": [],
}


def found(
    having: dict[str, list[str]],
    hosts: dict[str, list[str]] | None = None,
    given: tuple[str, ...] = (),
    misplaced: dict[str, list[str]] | None = None,
) -> tuple[str, str]:
    """Verdict and text, when these variables are those of these hosts; ``misplaced`` are those of the whole run."""

    def machine(group: str, host: str) -> dict[str, Any]:
        unknown = sorted(name for name, names in having.items() if host in names)
        of_the_run = sorted(name for name, names in (misplaced or {}).items() if host in names)
        pool = host.rpartition("-")[0] if group == "workers" else None
        return {"inventory_hostname": host, "hostname": host, "pool": pool, "unknown_variables": unknown, "run_variables": of_the_run}

    machines = {group: [machine(group, host) for host in names] for group, names in (hosts or HOSTS).items()}
    finding = variables(Context({"machines": machines, "known_variables": VARIABLES, "given_variables": list(given)}, {}))
    return finding.verdict, finding.found


@pytest.mark.parametrize(
    ("hosts", "where"),
    [
        (["worker-1"], "host worker-1"),
        (["worker-0", "worker-1"], "group worker"),
        (HOSTS["workers"], "group workers"),
        ([*HOSTS["control_plane"], "infra-0", "infra-1"], "group control_plane, group infra"),
        ([*HOSTS["control_plane"], "infra-0"], "group control_plane, host infra-0"),
        (["bootstrap-0"], "host bootstrap-0"),
        ([host for hosts in HOSTS.values() for host in hosts], "group workers, group control_plane, host bootstrap-0"),
    ],
)
def test_groups_are_named_where_all_of_their_hosts_have_it(hosts: list[str], where: str) -> None:
    assert found({"metal_plann": hosts}) == ("failed", f"unknown variable metal_plann ({where}), did you mean metal_plan?")
