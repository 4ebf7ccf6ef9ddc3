# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of a failure bundle: of all that was collected the attributes that are listed here, and nothing else.

An allow list: what a module, a service or a user adds to an object is left out until it is listed. Only texts that a service or a module
wrote for people (messages, events, conditions) come as they are; the program that packs the bundle redacts them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from ...module_utils.base.argspec import ENVIRONMENT
from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mapping, mappings, text
from ...module_utils.base.tags import CLUSTER_TAG, INFRA_TAG, ROLE_TAG
from ..settings.file_text import file_text

__all__ = ["failure_contents", "secret_variables", "secrets"]

Data = Mapping[str, Any]

REPORT = ("title", "cluster", "task", "action", "object", "items", "reasons", "advice", "refusal")
RESULT = ("msg", "rc", "waiting", "failed_machines")
FAILURE = ("type", "method", "path", "status", "errors", "request_id")
OBJECT = (
    *("id", "hostname", "name", "role", "state", "plan", "metro", "address", "vxlan"),
    *("created_at", "termination_time", "price_per_hour"),
)
DEVICE = (
    *("id", "hostname", "state", "plan", "metro", "operating_system", "created_at", "addresses", "billing_cycle", "locked"),
    *("hardware_reservation_id", "always_pxe", "termination_time", "provisioning_started_at", "provisioning_percentage"),
)
EVENT = ("created_at", "type", "body", "state", "device_id")
CLUSTER = ("msg", "api_answers", "kube_version", "cluster_id", "cluster_version", "reached", "waiting", "operators", "skipped_nodes")
VERDICT = ("name", "signer", "node", "verdict", "reason")
REFUSED = ("name", "signer", "node", "requestor", "reason")
SECRET_VARIABLES = (
    *("metal_api_token", "openshift_dns_key_secret", "openshift_metallb_password", "openshift_publish_access_key"),
    *("openshift_publish_secret_key", "openshift_publish_session_token", "openshift_pull_secret", "openshift_state_password"),
)
"""Variables that are secrets as a whole."""
VARIABLES_WITH_SECRETS = ("openshift_dns_octodns", "openshift_dns_route53", "openshift_install_config", "openshift_proxy")
SECRETS_OF_ROUTE53 = ("access_key", "secret_key", "session_token")
SECRETS_OF_ENVIRONMENT = (*ENVIRONMENT["metal_api_token"], "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
PASSWORD_OF_URL = re.compile(r"""//[^/@":]*:([^/"]+)@""")


def secret_variables(further: Iterable[str]) -> list[str]:
    """Return the names of the variables that ``secrets`` reads, and further ones."""
    return [*SECRET_VARIABLES, *VARIABLES_WITH_SECRETS, *further]


def secrets(variables: Data, further: Iterable[Any]) -> list[Any]:
    """Return all texts that a failure bundle must not contain, and lists and dictionaries of them.

    These are secrets of variables and of the environment, the passwords in URLs of proxies, and ``further`` ones. ``variables``: values by
    name.
    """
    values: list[Any] = [variables.get(name) for name in SECRET_VARIABLES]
    with contextlib.suppress(CollectionError):  # the path of a file that cannot be read is no secret
        values.append(file_text(text(variables.get("openshift_pull_secret")), "openshift_pull_secret"))
    values += [mapping(variables.get("openshift_dns_route53")).get(name) for name in SECRETS_OF_ROUTE53]
    values += mapping(mapping(variables.get("openshift_dns_octodns")).get("secrets")).values()
    values += [os.environ.get(name) for name in SECRETS_OF_ENVIRONMENT]
    proxies = [
        variables.get("openshift_proxy"),
        mapping(variables.get("openshift_install_config")).get("proxy"),
        os.environ.get("METAL_API_PROXY"),
    ]
    values += map(unquote, PASSWORD_OF_URL.findall(json.dumps(proxies, default=str)))
    return [value for value in (*values, *further) if value]


def failure_contents(collected: Data) -> dict[str, Any]:
    """Return ``contents``, the files of the bundle by name, ``missing``, the collectors without an answer, and ``consoles``.

    ``consoles`` has for each device ``hostname``, ``state`` and where its serial console is: ``user``, ``host`` and ``port``, 0 for that
    of SSH.

    ``collected`` has what the tasks of the role ``gather`` registered: ``failure``, ``versions``, ``belongings``, ``hostnames``,
    ``devices``, ``events``, ``event_count``, ``cluster``, ``verdicts``, ``logs``, ``console_host`` and ``failed``, the collectors that
    could not be run. Any of these may be absent or malformed: a file is empty then, never an error.
    """
    results = {name: mapping(collected.get(name)) for name in ("devices", "events", "cluster", "verdicts", "logs")}
    devices = mappings(results["devices"].get("devices"))
    console_host = text(collected.get("console_host"))
    consoles = [_console(device, console_host) for device in devices] if console_host else []
    unjudged = _unjudged(collected.get("hostnames"), results)
    contents: dict[str, Any] = {
        "failure.json": _failure(mapping(collected.get("failure"))),
        "versions.json": collected.get("versions"),
        "inventory.json": _inventory(collected.get("hostnames"), devices),
        "belongings.json": _belongings(mapping(collected.get("belongings"))),
        "devices.json": _answer(results["devices"], "devices", _device),
        "consoles.txt": "".join(map(_console_line, consoles)),
        "events.json": _events(results["events"], devices, collected.get("event_count")),
        "cluster.json": _only(results["cluster"], CLUSTER),
        "nodes.json": mappings(results["cluster"].get("nodes")),
        "pods.json": mappings(results["cluster"].get("pods")),
        "certificate-requests.json": {"not_judged": unjudged} if unjudged else _verdicts(results["verdicts"]),
    }
    if logs := _only(results["logs"], ("rc", "stdout", "stderr", "msg")):
        contents["gather-bootstrap.json"] = logs
    answered = {
        "devices": "devices" in results["devices"],
        "events": "events" in results["events"],
        "cluster": bool(results["cluster"].get("api_answers")),
        "certificate_requests": "verdicts" in results["verdicts"] and "failure" not in results["verdicts"],
        "bootstrap_logs": results["logs"].get("rc", 0) == 0,
    }
    names = {"certificate_requests": "verdicts", "bootstrap_logs": "logs"}
    silent = [name for name, has in answered.items() if not has and not results[names.get(name, name)].get("skipped")]
    failed = [str(name) for name in collected.get("failed") or []]
    return {"contents": contents, "missing": list(dict.fromkeys([*failed, *silent])), "consoles": consoles}


def _only(item: Data, names: Iterable[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if item.get(name) is not None}


def _answer(result: Data, name: str, select: Callable[[Data], dict[str, Any]]) -> Any:
    """Return the selected attributes of each object of a result, or why there is none."""
    return [select(item) for item in mappings(result[name])] if name in result else _only(result, ("msg",))


def _failure(failure: Data) -> dict[str, Any]:
    return {"report": _only(mapping(failure.get("report")), REPORT), "result": _task(mapping(failure.get("result")))}


def _task(result: Data) -> dict[str, Any]:
    """Return what a failed task says in words: of a loop each item, of a set of devices each device that failed."""
    kept = _only(result, RESULT)
    if failure := _only(mapping(result.get("failure")), FAILURE):
        kept["failure"] = failure
    if items := [_task(item) for item in mappings(result.get("results")) if item.get("failed")]:
        kept["results"] = items
    members = mapping(result.get("outcomes"))
    outcomes = {str(name): _only(mapping(outcome), ("status", "action", "error")) for name, outcome in members.items()}
    return {**kept, "outcomes": outcomes} if outcomes else kept


def _inventory(desired: Any, devices: list[Data]) -> dict[str, list[str]]:
    names = {name for name in desired if isinstance(name, str)} if isinstance(desired, list) else set()
    existing = {text(device.get("hostname")) for device in devices} - {""}
    return {"desired": sorted(names), "missing": sorted(names - existing), "undesired": sorted(existing - names)}


def _belongings(belongings: Data) -> dict[str, Any]:
    clusters = [
        _only(cluster, ("name", "count", "price_per_hour"))
        | {
            kind: [_only(item, OBJECT) for item in mappings(cluster.get(kind))]
            for kind in ("devices", "ip_reservations", "virtual_networks", "metal_gateways")
        }
        for cluster in mappings(belongings.get("clusters"))
    ]
    return {**_only(belongings, ("msg",)), "clusters": clusters}


def _device(device: Data) -> dict[str, Any]:
    tags = device.get("tags")
    owning = (CLUSTER_TAG, ROLE_TAG, INFRA_TAG)
    ours = [tag for tag in tags if isinstance(tag, str) and tag.startswith(owning)] if isinstance(tags, list) else []
    return {**_only(device, DEVICE), "ownership_tags": ours}


def _console(device: Data, template: str) -> dict[str, Any]:
    """Return where a device's serial console is, the one place where firmware and the first boot can be watched."""
    address = template.replace("METRO", text(device.get("metro")))
    host, colon, port = address.rpartition(":")
    # Other colons without brackets are those of an IPv6 address.
    if not colon or not port.isdecimal() or (":" in host and not host.endswith("]")):
        host, port = address, "0"
    device_parts = {"hostname": text(device.get("hostname")), "state": text(device.get("state")), "user": text(device.get("id"))}
    return {**device_parts, "host": host.strip("[]"), "port": int(port)}


def _console_line(console: Data) -> str:
    port = f"-p {console['port']} " if console["port"] else ""
    return f"{console['hostname']} ({console['state']}): ssh {port}{console['user']}@{console['host']}\n"


def _events(result: Data, devices: list[Data], count: Any) -> Any:
    """Return the events of the cluster's devices, and the newest ``count`` of the project: also of devices that exist no more."""
    if "events" not in result:
        return _only(result, ("msg",))
    hostnames = {device.get("id"): text(device.get("hostname")) for device in devices}
    events = mappings(result["events"])
    first_of_newest = len(events) - (count if isinstance(count, int) else 0)
    return [
        {**_only(event, EVENT), **({"hostname": hostnames[event["device_id"]]} if event.get("device_id") in hostnames else {})}
        for position, event in enumerate(events)
        if position >= first_of_newest or event.get("device_id") in hostnames
    ]


def _unjudged(desired: Any, results: Mapping[str, Data]) -> str:
    """Return why the certificate requests were not judged; empty when they were, or an attempt failed."""
    if not desired:
        return "this play lets no machine join, so it has no verdicts: run playbooks/approve.yml --check to get them"
    if "devices" not in results["devices"]:
        return f"the devices of the cluster are not known: {text(results['devices'].get('msg'))}"
    if results["verdicts"].get("skipped"):
        return "there is no cluster to ask yet: its kubeconfig or the address of a control plane device is missing"
    return ""


def _verdicts(result: Data) -> dict[str, Any]:
    lists = {"verdicts": VERDICT, "refused": REFUSED}
    return {
        **_only(result, ("msg",)),
        **{name: [_only(item, kept) for item in mappings(result.get(name))] for name, kept in lists.items() if name in result},
    }
