# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the inventory: variables, groups, hosts."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.machines.device import AT_CREATION_ONLY
from ...module_utils.machines.placement import Place, alternatives
from ..manifests.pools import own_pools, pool_problems
from ..settings.removed import REMOVED
from ..settings.variables import REFUSED_DEVICE_OPTIONS
from .context import NAME, Context, Machine, is_placement
from .findings import Finding, counted, failed, listed, passed, passed_if, warning

SIMILAR = 0.75
"""Similarity, without the prefix, from which on a known variable is suggested for an unknown one."""
MISTYPED = 0.9
"""Similarity from which on an unknown variable counts as a typing error, which ends the run."""

INHERITED = (
    "boot_profile",
    "operating_system",
    "hardware_reservation_id",
    *AT_CREATION_ONLY,
)
"""Options that a device keeps when it is reinstalled as a worker."""


def variables(context: Context) -> Finding:
    known: Mapping[str, Any] = context.settings.get("known_variables") or {}
    given_variables: Sequence[str] = context.settings.get("given_variables") or []
    problems = list(context.settings.get("variable_errors") or [])
    # Each variable once, however many hosts have it.
    unknown = {name: "" for name in given_variables if name not in known} | {
        name: f" ({where})" for name, where in _of_hosts(context, "unknown_variables") if name not in given_variables
    }
    refused = {name: reason for name in unknown if (reason := REFUSED_DEVICE_OPTIONS.get(name.removeprefix("metal_"))) is not None}
    problems += [f"{name}{unknown.pop(name)} cannot be set: {reason}" for name, reason in refused.items()]
    problems += [f"{name}{unknown.pop(name)} is gone: {REMOVED[name]}" for name in sorted(REMOVED.keys() & unknown.keys())]
    mistyped = {name: close[0] for name in unknown if (close := difflib.get_close_matches(name, known, n=1, cutoff=MISTYPED))}
    problems += [f"unknown variable {name}{unknown.pop(name)}, did you mean {close}?" for name, close in mistyped.items()]
    problems += [
        f"{name} ({where}) is read for all hosts only, so this value has no effect"
        for name, where in _of_hosts(context, "run_variables")
        if name not in given_variables
    ]
    if problems:
        return failed("; ".join(problems))
    observed = f"{counted(sum(name in known for name in given_variables), 'variable')} of the collection set"
    if unknown:
        unread = [name + where + _suggestion(name, known) for name, where in unknown.items()]
        return warning(f"{observed}; not used by the collection: {listed(unread)}", "remove these variables, or give them other names")
    return passed(observed)


def _suggestion(name: str, known: Iterable[str]) -> str:
    """Return the known variable whose name is similar after the same prefix, as the end of a sentence."""
    prefix, _underscore, rest = name.partition("_")
    rests = {name.removeprefix(f"{prefix}_"): name for name in known if name.startswith(f"{prefix}_")}
    close = difflib.get_close_matches(rest, rests, n=1, cutoff=SIMILAR)
    return f", did you mean {rests[close[0]]}?" if close else ""


def _of_hosts(context: Context, key: str) -> list[tuple[str, str]]:
    """Return the variables of the hosts' lists ``key``, each with its groups or hosts. A play on localhost does not have them."""
    hosts_by_name: dict[str, list[str]] = {}
    for machine in context.machines:
        for name in machine.get(key) or []:
            hosts_by_name.setdefault(name, []).append(str(machine.get("inventory_hostname")))
    groups = {name: [str(machine.get("inventory_hostname")) for machine in machines] for name, machines in context.groups.items()}
    for machine in context.groups["workers"]:
        if machine.get("pool"):
            groups.setdefault(str(machine["pool"]), []).append(str(machine.get("inventory_hostname")))
    # The largest first. A pool that is all workers is named rather than the group workers.
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name == "workers"))
    return [(name, _owners(set(hosts), {group: groups[group] for group in ordered})) for name, hosts in sorted(hosts_by_name.items())]


def _owners(hosts: set[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Return where a variable of these hosts may be set: ``group workers, host master-0``."""
    left, owners = set(hosts), []
    for group, members in groups.items():
        if len(members) > 1 and left.issuperset(members):
            owners.append(f"group {group}")
            left -= set(members)
    return listed([*owners, *(f"host {host}" for host in sorted(left))], 4)


def host_variables(context: Context) -> Finding:
    problems = [problem for machine in context.machines for problem in machine.get("problems") or []]
    return passed_if(not problems, "; ".join(problems) or f"valid on {counted(len(context.machines), 'host')}")


ADOPTED = "none: the control plane of the adopted cluster is not managed"


def bootstrap(context: Context) -> Finding:
    if context.is_adopted:
        return passed(ADOPTED)
    return passed_if(len(context.groups["bootstrap"]) == 1, counted(len(context.groups["bootstrap"]), "host"))


def control_plane(context: Context) -> Finding:
    if context.is_adopted and context.text("playbook") == "install.yml":
        return failed(
            f"{context.cluster} runs, and was not installed by these playbooks: install.yml would install a second cluster of its name",
            "add workers to it with scale.yml",
        )
    if context.is_adopted:
        return passed(ADOPTED)
    number = len(context.groups["control_plane"])
    observed = counted(number, "host")
    if number in (4, 5) and context.release is not None and context.release < (4, 18):
        return warning(f"{observed}; OpenShift supports this number from release 4.18 on")
    return passed_if(number in (1, 3, 4, 5), observed)


def machine_config_pools(context: Context) -> Finding:
    control_plane, workers = context.groups["control_plane"], context.groups["workers"]
    own = own_pools(workers)
    problems = pool_problems(control_plane, workers)
    return passed_if(not problems, "; ".join(problems) or (listed(own) if own else "those of OpenShift"))


def reuse(context: Context) -> Finding:
    chosen, worker, bootstraps = context.text("bootstrap_becomes"), context.reused_worker, context.groups["bootstrap"]
    if not chosen:
        return passed("not reused: the device is deleted when bootstrap is complete")
    if not context.has_bootstrap_machine:
        return passed("bootstrap is complete and the bootstrap device is gone")
    if worker is None:
        return failed(f"{chosen} is not a host of the group workers")
    problems = []
    for machine in bootstraps:
        name = machine["hostname"]
        if machine.get("termination_time"):
            problems.append(f"metal_termination_time of {name} is set, which a reused device may keep")
        problems += [
            f"{name} may be ordered as {place}, {chosen} may not"
            for place in context.places_of(machine)
            if place not in context.places_of(worker)
        ]
        problems += [f"{name} and {chosen} differ in {what}" for what in INHERITED if machine.get(what) != worker.get(what)]
    return passed_if(not problems, "; ".join(problems) or f"reused as {worker['hostname']}, which is not ordered")


def workers(context: Context) -> Finding:
    workers = len(context.groups["workers"])
    if context.is_adopted:
        return passed(f"{counted(workers, 'host')} beside the nodes of the adopted cluster")
    return passed_if(workers != 1 or len(context.groups["control_plane"]) == 1, counted(workers, "host"))


def quorum(context: Context) -> Finding:
    workers = len(context.groups["workers"])
    return passed_if(context.quorum <= workers, f"{context.quorum} of {workers}" if context.quorum else "all workers are required")


def unique_hosts(context: Context) -> Finding:
    counts = Counter(machine["hostname"].lower() for machine in context.machines)
    twice = [name for name, count in counts.items() if count > 1]
    return passed_if(not twice, listed(twice) or f"{counted(len(counts), 'host name')}")


def host_names(context: Context) -> Finding:
    names = [machine["hostname"] for machine in context.machines]
    # kubernetes.io/hostname is a label of the node, and the value of a label has 63 characters at most.
    invalid = [name for name in names if not NAME.fullmatch(name) or len(name) > 63]
    if invalid:
        return failed(listed(dict.fromkeys(invalid)))
    # A name with dots may be a FQDN of another domain. Those of this cluster end with its domain, and are not extended.
    named = {str(machine.get("inventory_hostname") or "").lower(): machine["hostname"] for machine in context.machines}
    extended = [f"{name} becomes {hostname}" for name, hostname in named.items() if "." in name and name != hostname]
    if extended:
        return warning(
            f"names with dots that do not end with .{context.cluster}, which is appended: {listed(extended)}",
            f"rename hosts with another domain, or let the names end with .{context.cluster}",
        )
    return passed("valid node names")


def plan_and_metro(context: Context) -> Finding:
    without = [machine for machine in context.machines if is_placement(machine.get("placement")) and not _placed(context, machine)]
    if not without:
        return passed("set for every host")
    problems = dict.fromkeys(str(machine["plan_problem"]) for machine in without if machine.get("plan_problem"))
    names = dict.fromkeys(machine["hostname"] for machine in without)
    return failed("; ".join([f"not set for {listed(names)}", *problems]))


def _placed(context: Context, machine: Machine) -> bool:
    places = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), machine.get("placement"))
    return len(context.places_of(machine)) == len(places)


def placement(context: Context) -> Finding:
    malformed = [machine["hostname"] for machine in context.machines if not is_placement(machine.get("placement"))]
    if malformed:
        return failed(f"malformed for {listed(malformed)}")
    sizes = [len(machine["placement"]) for machine in context.machines if machine.get("placement")]
    return passed(f"{counted(len(sizes), 'host')} with up to {counted(max(sizes), 'alternative')}" if sizes else "no alternatives")
