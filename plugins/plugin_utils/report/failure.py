# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a failed run: what failed, on which object, why, what to do next, what is still billed.

Pure functions over plain data: the failed task's result, the log of phases, and what ``metal_cluster_info`` has returned. Any of it may be
missing or malformed, since a run has failed; the report then calls it unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings
from ...module_utils.base.printable import printable
from ..actions.phases import elapsed, position
from ..preflight.findings import counted
from .commands import Caller
from .rows import columns, continued, price, rows

HIDDEN = "the output is hidden because the task handles secrets (no_log)"
REFUSING = frozenset({"assert", "fail", "validate_argument_spec"})
"""Actions that only check: they have changed nothing."""
SHOWN_ITEMS = 8
"""Objects, groups of objects and devices to list; the others are counted."""
SHOWN_LINES = 12
"""Lines to print of one reason."""
LONGEST_REASON = 2000
OUTPUT_LINES = 6
"""Last lines of a program's output to print, if the message has no reason."""
WITHOUT_REASON = re.compile(r"^(non-zero return code|MODULE FAILURE|Module result deserialization failed|failed)\b", re.IGNORECASE)
"""Messages without a reason, which is in the output of the program."""
NAME_KEYS = ("hostname", "name", "id", "device_id", "dest", "path", "url", "src", "label", "key")
"""Options and keys with the name of an object, in order of preference."""

Data = Mapping[str, Any]


ADVICE: Mapping[str, str] = {
    r"available servers|no capacity|cannot be had|has no room": "Choose another metro or plan in metal_placement, or set "
    "openshift_worker_quorum to continue with fewer workers.",
    r"provisioning (?:has )?failed|\bhas failed\b|state failed": "Have failed devices deleted and replaced: add -e "
    "openshift_replace_failed=2.",
    r"stopped in its installation or first boot": "Correct the cause (can the machine reach the server for boot files?) and have it "
    "replaced: add -e openshift_replace_failed=1. Without that a further run waits for the same machine.",
    r"waits for approval by Equinix Metal": "Ask Equinix Metal to approve the IP reservation, or request fewer addresses. Run the "
    "playbook again when it is approved.",
    r"waits for approval(?! by Equinix Metal)": "Check why the certificate request is not approved: ansible-playbook "
    "playbooks/approve.yml --check.",
    r"no connection to http|was not answered in full|the connection was lost during|the API returned 5\d\d": "The Metal API did not "
    "answer: check metal_api_url and the service, and run the playbook again when it answers.",
    r"does not accept the token|the token may not do this": "Check metal_api_token and its permissions in the project.",
    r"No space left on device|Disk quota exceeded": "Free disk space on the controller (cluster folder and temporary folder).",
    r"bootstrap machine has not finished": "Check that the machines can pull the release's images: ansible-playbook playbooks/mirror.yml. "
    "Their consoles show failed pulls.",
    r"the cluster's API does not answer": "Check which machines and API servers answer: ansible-playbook status.yml. While a cluster is "
    "installed, its machines may fail to pull the release's images: ansible-playbook playbooks/mirror.yml.",
    r"openshift-install": "Read the installer's log: ignition/.openshift_install.log in the cluster folder.",
}
"""What to do next by a pattern of the text of the failure, in the order in which it is printed. The advice of a message itself is not
repeated here."""


def title(play: str, cluster: str, log: Sequence[Data], now: float) -> str:
    """Return the first line: which playbook failed for which cluster, in which phase, after how long."""
    where = f" in {position(log[-1], 'phase {number} of {count}, ')}{log[-1]['title']} (after {elapsed(log, now)})" if log else ""
    of = f" of {cluster}" if cluster else ""
    return f"{play}{of} failed{where}"


# --- what failed ------------------------------------------------------------------------------------------------------------------


def describe(task: Any, result: Any, title: str, cluster: str) -> dict[str, Any]:
    """Return what failed as plain data.

    Its keys: ``title``, ``cluster``, ``task``, ``action``, ``object``, ``items``, ``reasons``, ``advice``, ``refusal``.

    ``task`` and ``result`` are Ansible's ``ansible_failed_task`` and ``ansible_failed_result``, which are missing when the files of a
    role could not be loaded. ``items`` has ``name`` and ``reason`` of each object that failed; without objects ``reasons`` has the reason.
    """
    task, result = mapping(task), mapping(result)
    action = str(task.get("_resolved_action") or task.get("action") or "")
    items = [{"name": printable(name), "reason": printable(reason, LONGEST_REASON)} for name, reason in _items(result)]
    reasons = [] if items else [printable(line, LONGEST_REASON) for line in reason_lines(result)]
    text = "\n".join([*(item["reason"] for item in items), *reasons])
    return {
        "title": printable(title),
        "cluster": printable(cluster),
        "task": printable(task.get("name") or "a task whose name is unknown"),
        "action": printable(action.rpartition(".")[2]),
        "object": "" if items else printable(_object(result)),
        "items": items,
        "reasons": reasons,
        "advice": [advice for pattern, advice in ADVICE.items() if re.search(pattern, text, re.IGNORECASE)],
        "refusal": action.rpartition(".")[2] in REFUSING,
    }


def kept_result(result: Any) -> dict[str, Any]:
    """Return the failed result without tasks and items with ``no_log``, which Ansible only hides when it prints."""
    result = mapping(result)
    if _is_hidden(result):
        return {"censored": HIDDEN}
    kept = {name: value for name, value in result.items() if not str(name).startswith("_ansible_")}
    if isinstance(kept.get("results"), list):
        kept["results"] = [kept_result(item) for item in kept["results"]]
    return kept


def reason_lines(result: Data) -> list[str]:
    """Return the message of a failed task; if it has no reason, with the end of the program's output."""
    if _is_hidden(result):
        return [HIDDEN]
    message = result.get("msg") or result.get("reason") or result.get("message") or ""
    lines = [str(line).rstrip() for line in message] if isinstance(message, list) else str(message).rstrip().splitlines()
    lines = [line for line in lines if line.strip()] or ["the task has returned no reason"]
    lines[0] = lines[0].removeprefix("Task failed: ")
    if WITHOUT_REASON.match(lines[0]):
        lines += _output(result)
    if len(lines) > SHOWN_LINES:
        lines = [*lines[:SHOWN_LINES], f"and {len(lines) - SHOWN_LINES} more lines"]
    return lines


def _items(result: Data) -> Iterator[tuple[str, str]]:
    """Yield each object that failed, and why: the items of a loop, or the devices of a set."""
    results = result.get("results")
    if isinstance(results, list):
        for item in map(mapping, results):
            if item.get("failed") or item.get("unreachable"):
                yield ("an item that is hidden (no_log)" if _is_hidden(item) else _item_name(item)), " ".join(reason_lines(item))
        return
    if _is_hidden(result):
        return
    for name, outcome in mapping(result.get("outcomes")).items():
        if error := mapping(outcome).get("error"):
            yield str(name), str(error)


def _item_name(item: Data) -> str:
    """Return the label of a loop's item, else its name."""
    if label := item.get("_ansible_item_label"):
        return _name(label)
    return _name(item.get(str(item.get("ansible_loop_var") or "item"), "an item whose name is unknown"))


def _name(value: Any) -> str:
    if isinstance(value, Mapping):
        return next((str(value[key]) for key in NAME_KEYS if value.get(key)), "an item whose name is unknown")
    return str(value)


def _object(result: Data) -> str:
    """Return the object of a task without a loop, by the options of its module."""
    if _is_hidden(result):
        return ""
    arguments = mapping(mapping(result.get("invocation")).get("module_args"))
    name = next((str(arguments[key]) for key in NAME_KEYS if isinstance(arguments.get(key), str) and arguments[key]), "")
    # An address without user, password and query, which may have secrets.
    name = re.sub(r"//[^/@]*@", "//", name).partition("?")[0] if "://" in name else name
    return f"{arguments['kind']} {name}".strip() if isinstance(arguments.get("kind"), str) else name


def _output(result: Data) -> list[str]:
    for stream in ("stderr", "module_stderr", "stdout", "module_stdout"):
        if lines := [line.rstrip() for line in str(result.get(stream) or "").splitlines() if line.strip()]:
            return lines[-OUTPUT_LINES:]
    return []


def _is_hidden(result: Data) -> bool:
    return bool(result.get("_ansible_no_log") or "censored" in result)


# --- the report -------------------------------------------------------------------------------------------------------------------


def what_failed(report: Data) -> list[str]:
    """Return which task failed, on which objects and why."""
    action = f" ({report['action']})" if report["action"] else ""
    entries = [("Task", f"{report['task']}{action}")]
    if report["object"]:
        entries.append(("Object", report["object"]))
    groups = grouped(report["items"])
    for names, reason in groups[:SHOWN_ITEMS]:
        entries += [("Object", _listed(names)), ("Reason", reason)]
    if len(groups) > SHOWN_ITEMS:
        rest = sum(len(names) for names, _reason in groups[SHOWN_ITEMS:])
        entries.append(("", f"and {rest} more objects, for other reasons: see failure.json in the failure bundle"))
    return rows([*entries, *continued("Reason", report["reasons"])])


def what_next(report: Data, caller: Caller) -> list[str]:
    """Return what to do: advice for this kind of failure, then how to continue and, of an install, how to delete the cluster.

    The deletion of a cluster is no way out of a failure after its installation.
    """
    entries = continued("Next", report["advice"])
    if caller.job:
        entries.append(("Continue", "launch this job template again: it continues with what exists"))
        if not caller.is_day2:
            entries.append(("Release", "launch the job template that runs destroy.yml: it deletes all of the cluster and ends the billing"))
    elif (destroy := caller.sibling("destroy")) == caller.again:
        entries.append(("Continue", f"{caller.again}  (deletes what is left{caller.same})"))
    else:
        entries.append(("Continue", f"{caller.again}  (continues with what exists{caller.same})"))
        if not caller.is_day2:
            entries.append(("Release", f"{destroy}  (deletes all of the cluster and ends the billing{caller.same})"))
    return rows(entries)


def still_billed(belongings: Any, cluster: str) -> list[str]:
    """Return what of the cluster is still billed, by the result of ``metal_cluster_info``: nothing, a list, or unknown and why."""
    clusters = mappings(mapping(belongings).get("clusters"))
    if not clusters:
        reason = " ".join(reason_lines(mapping(belongings))) if mapping(belongings) else "no request was sent"
        unknown = f"unknown, the Metal API returned no list of the cluster's devices: {printable(reason, LONGEST_REASON)}"
        advice = f"Check for devices with the tag openshift-cluster={cluster}, or run playbooks/orphans.yml when the API answers."
        return rows(continued("Billed", [unknown, advice]))
    devices, blocks = mappings(clusters[0].get("devices")), mappings(clusters[0].get("ip_reservations"))
    if not devices and not blocks:
        return rows([("Billed", f"nothing: {cluster} has no device and no address block in this project")])
    numbers = [counted(len(devices), "device")] if devices else []
    numbers += [counted(len(blocks), "address block")] if blocks else []
    lines = [" and ".join(numbers) + price(clusters[0].get("price_per_hour"), ", {:.2f} USD per hour for the devices")]
    lines += columns([_device(device) for device in devices[:SHOWN_ITEMS]])
    if len(devices) > SHOWN_ITEMS:
        lines.append(f"and {len(devices) - SHOWN_ITEMS} more devices")
    return rows(continued("Billed", lines))


def where_bundle(bundle: Any) -> list[str]:
    """Return where the failure bundle is, and what is not in it; or why there is none."""
    bundle = mapping(bundle)
    if not bundle:
        return []
    if not bundle.get("path"):
        return rows([("Bundle", printable(bundle.get("reason") or "not written, for an unknown reason", LONGEST_REASON))])
    notes = [counted(int(bundle.get("redacted") or 0), "secret") + " removed"]
    if missing := bundle.get("missing"):
        notes.append(f"could not be collected: {', '.join(map(printable, missing))}")
    return rows(continued("Bundle", [printable(bundle["path"], LONGEST_REASON), f"{'; '.join(notes)}. Review it before you share it."]))


def short(report: Data, bundle: Any) -> str:
    """Return the reason as one line, for the result of the task."""
    reasons = [f"{item['name']}: {item['reason']}" for item in report["items"][:1]] or [" ".join(report["reasons"])]
    more = f" (and {len(report['items']) - 1} more objects)" if len(report["items"]) > 1 else ""
    path = mapping(bundle).get("path")
    return f"{report['task']}: {reasons[0]}{more}{f'. Failure bundle: {path}' if path else ''}"


def grouped(items: Sequence[Data]) -> list[tuple[list[str], str]]:
    """Return the names of the objects that failed for the same reason, with the reason of the first of them.

    Reasons are the same if they differ only in the object's name, in ids and in request ids.
    """
    groups: dict[str, tuple[list[str], str]] = {}
    for item in items:
        same = re.sub(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\brequest \w+", "", item["reason"].replace(item["name"], ""))
        groups.setdefault(same, ([], item["reason"]))[0].append(item["name"])
    return list(groups.values())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_ITEMS])
    return f"{shown} and {len(names) - SHOWN_ITEMS} more" if len(names) > SHOWN_ITEMS else shown


def _device(device: Data) -> list[str]:
    cost = "reserved" if device.get("hardware_reservation_id") else price(device.get("price_per_hour"), "{:.2f} USD/h") or "price unknown"
    place = f"{device.get('plan')} in {device.get('metro')}"
    return [printable(text) for text in (device.get("hostname"), place, device.get("state"), cost, f"since {device.get('created_at')}")]
