# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineConfigPools of pools that have one of their own, and the MachineConfigs with kernel arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.base.json_objects import mapping
from ...module_utils.base.kubernetes_objects import MANAGED
from .chrony import chrony_manifests
from .machine_config import machine_config, owned

ROLE = "machineconfiguration.openshift.io/role"
SUBJECT = "kernel-arguments"

Machines = Sequence[Mapping[str, Any]]


def pool_manifests(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield MachineConfigPools and MachineConfigs for the machines in ``control_plane`` and ``workers``.

    MachineConfigs of workers are also those of each pool, so only what a pool has beyond them is in its own. Preflight refuses machines
    with ``pool_problems``.
    """
    control_plane: Machines = settings.get("control_plane") or ()
    workers: Machines = settings.get("workers") or ()
    of_workers = arguments_of([machine for machine in workers if not machine.get("machine_config_pool")])
    yield from _kernel_arguments("master", arguments_of(control_plane))
    yield from _kernel_arguments("worker", of_workers)
    for name, machines in own_pools(workers).items():
        yield machine_config_pool(name)
        yield from _kernel_arguments(name, [argument for argument in arguments_of(machines) if argument not in of_workers])


def own_pools(workers: Machines) -> dict[str, list[Mapping[str, Any]]]:
    """Return the machines of each MachineConfigPool of its own, by name."""
    by_pool: dict[str, list[Mapping[str, Any]]] = {}
    for machine in workers:
        if machine.get("machine_config_pool"):
            by_pool.setdefault(machine["machine_config_pool"], []).append(machine)
    return by_pool


def arguments_of(machines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the kernel arguments of machines that have the same ones."""
    return next((list(machine.get("kernel_arguments") or ()) for machine in machines), [])


def pool_problems(control_plane: Machines, workers: Machines) -> list[str]:
    """Return why these machines cannot be configured, one text for each problem."""
    shared = [machine for machine in workers if not machine.get("machine_config_pool")]
    own = own_pools(workers)
    problems = [
        f"pool {machine['pool']}: openshift_pool_machine_config is not true on {machine['hostname']}, and is on other hosts of the pool;"
        " set it on the group"
        for machine in shared
        if machine.get("pool") in own
    ]
    for where, machines in (("the control plane", control_plane), ("workers without own MachineConfigPool", shared), *own.items()):
        others = [machine for machine in machines if list(machine.get("kernel_arguments") or ()) != arguments_of(machines)]
        if others:
            which = f"pool {where}" if where in own else where
            problems.append(
                f"openshift_kernel_arguments of {others[0]['hostname']} and {machines[0]['hostname']} differ, and {which} can only have the"
                " same ones; set openshift_pool_machine_config on a pool with its own"
            )
    inherited = arguments_of(shared)
    for name, machines in own.items():
        missing = [argument for argument in inherited if argument not in arguments_of(machines)]
        if missing:
            problems.append(
                f"pool {name}: openshift_kernel_arguments lacks {', '.join(missing)}, which its nodes have too, as all workers; add them"
            )
    return problems


def machine_config_pool(name: str) -> dict[str, Any]:
    """Return the MachineConfigPool of workers with this name."""
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": {f"pools.operator.machineconfiguration.openshift.io/{name}": ""}},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]},
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
        },
    }


def _kernel_arguments(pool: str, arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    if arguments:
        yield owned(machine_config(pool, SUBJECT, kernel_arguments=arguments))


def config_changes(
    workers: Machines, control_plane: Machines, current: Sequence[Mapping[str, Any]], time_servers: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Return the objects of pools, kernel arguments and time servers to create or change (``present``), and to delete (``absent``).

    ``current``: MachineConfigPools and MachineConfigs of the cluster. No MachineConfigPool is deleted. Without ``control_plane`` kernel
    arguments of the control plane are not deleted.
    """
    settings = {"control_plane": control_plane, "workers": workers, "time_servers": time_servers}
    desired = [*pool_manifests(settings), *chrony_manifests(settings)]
    known = [item for item in current if control_plane or not item["metadata"]["name"].startswith("98-master-")]
    return pool_changes(desired, known)


def pool_changes(desired: Iterable[Mapping[str, Any]], current: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what has to be written to a running cluster: objects to create or change (``present``) and to delete (``absent``).

    ``current``: its MachineConfigPools and MachineConfigs. Of these only MachineConfigs with our label are deleted. A
    MachineConfigPool never is, since its nodes would go over to another config.
    """
    requested, existing = {_identity(item): item for item in desired}, {_identity(item): item for item in current}
    removed = [
        item
        for identity, item in existing.items()
        if item.get("kind") == "MachineConfig"
        and MANAGED in mapping(mapping(item.get("metadata")).get("labels"))
        and identity not in requested
    ]
    return {
        "present": [dict(item) for identity, item in requested.items() if not _has(existing.get(identity, {}), item)],
        "absent": [
            {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {"name": item["metadata"]["name"]}} for item in removed
        ],
    }


def _identity(item: Mapping[str, Any]) -> tuple[str, str]:
    return str(item.get("kind")), str(mapping(item.get("metadata")).get("name"))


def _has(current: Any, desired: Any) -> bool:
    """Return whether an object has all fields of another. Lists are compared as a whole."""
    if isinstance(desired, Mapping):
        return isinstance(current, Mapping) and all(key in current and _has(current[key], value) for key, value in desired.items())
    return bool(current == desired)
