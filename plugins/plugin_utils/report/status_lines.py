# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a cluster as lines for a person: the verdict, what needs attention with the next step, then what there is.

Pure functions over the result of :func:`status.cluster_status`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.printable import printable
from ..preflight.findings import counted
from .rows import columns, continued, price, rows
from .status import GROUPS

SHOWN = 20
"""Findings of a group, machines and certificates to list; the others are counted. The file and the page have all."""
LABEL = 12
"""Columns of the labels: the longest is Certificates."""
MACHINE_HEAD = ("MACHINE", "ROLE", "INVENTORY", "DEVICE", "NODE", "VERSION")
KIND_ORDER = ("API server", "machine config server", "kubeconfig", "kubelet client", "kubelet serving", "signer")

Data = Mapping[str, Any]


def status_lines(status: Data) -> list[str]:
    """Return the lines. The first one is the verdict."""
    lines = [printable(status["verdict"])]
    for group, (heading, _one, _many) in GROUPS.items():
        findings = [finding for finding in status["findings"] if finding["group"] == group]
        if findings:
            lines += ["", f"{heading}:", *_limited(findings, _finding)]
    if status["plan"] and status["plan"]["steps"]:
        lines += [
            "",
            f"To bring it to the inventory, {status['plan']['playbook']} would do this:",
            *(f"  {line}" for line in status["plan"]["lines"]),
        ]
    lines += ["", *_summary(status)]
    if status["machines"]:
        lines += ["", *machine_lines(status["machines"])]
    if status["notes"]:
        lines += ["", *(f"Note: {note}" for note in status["notes"])]
    return lines


def _finding(finding: Data) -> list[str]:
    text = f"  {finding['subject']}: {finding['text']}" if finding["subject"] not in finding["text"] else f"  {finding['text']}"
    return [printable(text, 800), f"    next: {printable(finding['advice'])}"]


def _limited(findings: Sequence[Data], lines: Any) -> list[str]:
    shown = [line for finding in findings[:SHOWN] for line in lines(finding)]
    more = len(findings) - SHOWN
    return [*shown, f"  and {more} more"] if more > 0 else shown


def _summary(status: Data) -> list[str]:
    version = status["version"]
    release = printable(version["openshift"] or "unknown")
    boot = f", boot images {printable(version['boot_images'])}" if version["boot_images"] else ""
    entries = [("Read", str(status["generated_at"])), ("OpenShift", f"{release}{boot}"), ("Machines", _machines(status))]
    cost = price(status["price_per_hour"], "{:.2f} USD per hour") or "unknown"
    entries.append(("Price", cost))
    if status["cluster_api"]["answers"]:
        entries += [("Operators", _operators(status["operators"]))]
        entries += continued("Pools", [_pool(pool) for pool in status["pools"]])
    entries += continued("Certificates", certificate_lines(status["certificates"]))
    if status["certificate_requests"]:
        words = Counter(request["verdict"] for request in status["certificate_requests"])
        entries.append(("CSRs", ", ".join(f"{number} {word}" for word, number in sorted(words.items()))))
    return rows(entries, LABEL)


def _machines(status: Data) -> str:
    machines = status["machines"]
    known = sum(machine["device"] is not None for machine in machines)
    devices = counted(known, "device") if status["metal_api"]["answers"] else "devices unknown"
    joined_nodes = [machine["node"] for machine in machines if machine["node"] is not None]
    ready = sum(node["ready"] for node in joined_nodes)
    nodes = f"{counted(len(joined_nodes), 'Node')}, {ready} Ready" if status["cluster_api"]["answers"] else "Nodes unknown"
    return f"{sum(machine['in_inventory'] for machine in machines)} in the inventory, {devices}, {nodes}"


def _operators(operators: Sequence[Data]) -> str:
    well = sum(operator["available"] and not operator["degraded"] for operator in operators)
    progressing = sum(operator["progressing"] for operator in operators)
    return f"{well} of {len(operators)} available" + (f", {progressing} progressing" if progressing else "")


def _pool(pool: Data) -> str:
    states = [name for name in ("updating", "degraded", "paused") if pool[name]]
    more = f" ({', '.join(states)})" if states else ""
    return f"{printable(pool['name'])}: {pool['ready']} of {pool['machines']} ready, {pool['updated']} updated{more}"


def certificate_lines(certificates: Iterable[Data]) -> list[str]:
    """Return one line for each kind of certificate: how many there are, and the one that ends first."""
    kinds: dict[str, list[Data]] = {}
    for certificate in certificates:
        kinds.setdefault(certificate["kind"], []).append(certificate)
    lines = []
    for kind in sorted(kinds, key=lambda kind: KIND_ORDER.index(kind) if kind in KIND_ORDER else len(KIND_ORDER)):
        first = min(kinds[kind], key=lambda certificate: str(certificate["ends_at"]))
        number = f"{len(kinds[kind])}, first " if len(kinds[kind]) > 1 else ""
        lines.append(f"{kind}: {number}{printable(first['subject'])} {ending(first)}")
    return lines


def ending(certificate: Data) -> str:
    day = str(certificate["ends_at"])[:10]
    if certificate["state"] == "ended":
        return f"ended on {day}"
    return f"ends in {certificate['left']} ({day})"


def machine_lines(machines: Sequence[Data]) -> list[str]:
    """Return the table of machines, those with findings first."""
    ordered = sorted(machines, key=lambda machine: not machine["findings"])
    table = columns([MACHINE_HEAD, *([printable(text) for text in machine_row(machine)] for machine in ordered[:SHOWN])])
    more = len(ordered) - SHOWN
    return [*(f"  {line}" for line in table), *([f"  and {counted(more, 'machine')} more"] if more > 0 else [])]


def machine_row(machine: Data) -> list[str]:
    device, node = machine["device"], machine["node"]
    status = "-"
    if node is not None:
        status = ("Ready" if node["ready"] else "NotReady") + (",SchedulingDisabled" if node["unschedulable"] else "")
    return [
        machine["name"],
        machine["role"] or "-",
        "yes" if machine["in_inventory"] else "no",
        device["state"] or "unknown" if device is not None else "-",
        status,
        (node["kubelet_version"] or "unknown") if node is not None else "-",
    ]


def failing_groups(status: Data, fail_on: Sequence[str]) -> list[str]:
    """Return the groups of findings that a run is to fail with."""
    return [group for group, number in status["counts"].items() if number and ("any" in fail_on or group in fail_on)]
