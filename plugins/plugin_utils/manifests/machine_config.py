# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineConfigs: files, units and kernel arguments of all nodes of a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.base.kubernetes_objects import MANAGED
from ...module_utils.boot.ignition import IGNITION_VERSION

PRIORITY = "98"
"""First part of the names of our MachineConfigs. The operator merges them by name: those of users, usually named 99, win."""


def machine_config(
    pool: str,
    subject: str,
    files: Sequence[Mapping[str, Any]] = (),
    units: Sequence[Mapping[str, Any]] = (),
    kernel_arguments: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the MachineConfig ``98-<pool>-<subject>`` for the nodes of a pool.

    ``files`` are results of ``ignition_file``, ``units`` of ``unit``.
    """
    config: dict[str, Any] = {"ignition": {"version": IGNITION_VERSION}}
    if files:
        config["storage"] = {"files": list(files)}
    if units:
        config["systemd"] = {"units": list(units)}
    arguments = {"kernelArguments": list(kernel_arguments)} if kernel_arguments else {}
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": f"{PRIORITY}-{pool}-{subject}", "labels": {"machineconfiguration.openshift.io/role": pool}},
        "spec": {"config": config, **arguments},
    }


def owned(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a MachineConfig with the label by which a run knows that it may delete it."""
    metadata = config["metadata"]
    return {**config, "metadata": {**metadata, "labels": {**metadata["labels"], MANAGED: "true"}}}
