# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the inventory: variables, groups, hosts.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import Place, alternatives
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    counted,
    either,
    failed,
    listed,
    passed,
    warning,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import NAME, Machine, Situation, well_formed

INHERITED = (
    "boot_profile",
    "operating_system",
    "hardware_reservation_id",
    "ip_addresses",
    "no_ssh_keys",
    "project_ssh_keys",
    "user_ssh_keys",
)
"""What a machine keeps when it is reinstalled as another."""


def variables(situation: Situation) -> Finding:
    known: Mapping[str, Any] = situation.wanted.get("known_variables") or {}
    given: Sequence[str] = situation.wanted.get("given_variables") or []
    problems = list(situation.wanted.get("variable_errors") or [])
    # Each variable once, however many hosts have it.
    unknown = {name: "" for name in given if name not in known} | {
        name: f" ({where})" for name, where in _unknown_of_hosts(situation) if name not in given
    }
    meant = {name: difflib.get_close_matches(name, known, n=1, cutoff=0.9) for name in unknown}
    problems += [f"{name}{unknown[name]} is not known: {close[0]} is" for name, close in meant.items() if close]
    if problems:
        return failed("; ".join(problems))
    told = f"{sum(name in known for name in given)} given"
    return passed(told + (f"; nobody here reads {listed(name + where for name, where in unknown.items())}" if unknown else ""))


def _unknown_of_hosts(situation: Situation) -> list[tuple[str, str]]:
    """Variables of hosts that are not known, each with the groups or hosts that have it: a play of localhost does not see them."""
    having: dict[str, list[str]] = {}
    for machine in situation.machines:
        for name in machine.get("unknown_variables") or []:
            having.setdefault(name, []).append(str(machine.get("inventory_hostname")))
    groups = {name: [str(each.get("inventory_hostname")) for each in machines] for name, machines in situation.groups.items()}
    for machine in situation.groups["workers"]:
        if machine.get("pool"):
            groups.setdefault(str(machine["pool"]), []).append(str(machine.get("inventory_hostname")))
    # The largest first; of a pool and of all workers, where they are the same, the pool.
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name == "workers"))
    return [(name, _whose(set(hosts), {group: groups[group] for group in ordered})) for name, hosts in sorted(having.items())]


def _whose(hosts: set[str], groups: Mapping[str, Sequence[str]]) -> str:
    """``group workers, host master-0``: where a variable may be set that these hosts have."""
    left, whose = set(hosts), []
    for group, members in groups.items():
        if len(members) > 1 and left.issuperset(members):
            whose.append(f"group {group}")
            left -= set(members)
    return listed([*whose, *(f"host {host}" for host in sorted(left))], 4)


def host_variables(situation: Situation) -> Finding:
    problems = [problem for machine in situation.machines for problem in machine.get("problems") or []]
    return either(not problems, "; ".join(problems) or f"of {counted(len(situation.machines), 'host')}")


def bootstrap(situation: Situation) -> Finding:
    return either(len(situation.groups["bootstrap"]) == 1, counted(len(situation.groups["bootstrap"]), "host"))


def control_plane(situation: Situation) -> Finding:
    number = len(situation.groups["control_plane"])
    found = counted(number, "host")
    if number in (4, 5) and situation.release is not None and situation.release < (4, 18):
        return warning(f"{found}, which OpenShift supports from 4.18 on")
    return either(number in (1, 3, 4, 5), found)


def reuse(situation: Situation) -> Finding:
    chosen, heir, bootstraps = situation.text("bootstrap_becomes"), situation.heir, situation.groups["bootstrap"]
    if not chosen:
        return passed("it is given back")
    if not situation.bootstrapping:
        return passed("it is no more: the cluster stands")
    if heir is None:
        return failed(f"{chosen} is no host of the workers")
    problems = []
    if situation.text("bootstrap_lifetime") not in ("", "0"):
        problems.append("openshift_bootstrap_lifetime has the service end it, and no service promises to forget that")
    for machine in bootstraps:
        name = machine["hostname"]
        if machine.get("termination_time"):
            problems.append(f"metal_termination_time of {name} has the service end it, and no service promises to forget that")
        problems += [
            f"{name} may be {place}, {chosen} may not" for place in situation.places(machine) if place not in situation.places(heir)
        ]
        problems += [f"{name} and {chosen} differ in {what}" for what in INHERITED if machine.get(what) != heir.get(what)]
    return either(not problems, "; ".join(problems) or f"{heir['hostname']}, which is not ordered")


def workers(situation: Situation) -> Finding:
    workers = len(situation.groups["workers"])
    return either(workers != 1 or len(situation.groups["control_plane"]) == 1, counted(workers, "host"))


def quorum(situation: Situation) -> Finding:
    workers = len(situation.groups["workers"])
    return either(situation.quorum <= workers, f"{situation.quorum} of {workers}" if situation.quorum else "all are needed")


def once(situation: Situation) -> Finding:
    counts = Counter(machine["hostname"].lower() for machine in situation.machines)
    twice = [name for name, count in counts.items() if count > 1]
    return either(not twice, listed(twice) or f"{len(counts)} names")


def host_names(situation: Situation) -> Finding:
    names = [machine["hostname"] for machine in situation.machines]
    # kubernetes.io/hostname is a label of the node, and the value of a label has 63 characters at most.
    odd = [name for name in names if not NAME.fullmatch(name) or len(name) > 63]
    return either(not odd, listed(dict.fromkeys(odd)) or "as Kubernetes wants them")


def planned(situation: Situation) -> Finding:
    without = [
        machine["hostname"] for machine in situation.machines if well_formed(machine.get("placement")) and not _placed(situation, machine)
    ]
    return either(not without, listed(dict.fromkeys(without)) or "given")


def _placed(situation: Situation, machine: Machine) -> bool:
    places = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), machine.get("placement"))
    return len(situation.places(machine)) == len(places)


def placement(situation: Situation) -> Finding:
    odd = [machine["hostname"] for machine in situation.machines if not well_formed(machine.get("placement"))]
    if odd:
        return failed(f"not readable for {listed(odd)}")
    counted = [len(machine["placement"]) for machine in situation.machines if machine.get("placement")]
    return passed(f"{len(counted)} hosts with up to {max(counted)} alternatives" if counted else "no alternatives")
