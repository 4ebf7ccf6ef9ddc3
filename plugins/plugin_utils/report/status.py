# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a cluster: the inventory's machines, the devices and the Nodes compared, and everything that is not as it should be.

Pure functions over what ``world/status`` has read, and the plan of what would bring it to the inventory. What an API did not answer is
unknown and never a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings, text
from ...module_utils.base.kubernetes_objects import device_of_provider_id
from ...module_utils.base.printable import printable
from ...module_utils.base.times import time_of, timestamp
from ...module_utils.cluster.operators import conditions, name_of, operator_facts, version_of
from ...module_utils.joining.csr import Verdict
from ...module_utils.metal.objects import DELETING_STATES
from ...module_utils.nodes.addresses import node_address
from ...module_utils.nodes.identity import Renamed, identify
from ..boot.pointer import ROLES_OF_NODES
from ..plan.drift import PLACES
from ..plan.step import Plan, Step, total
from ..plan.world import price_of
from ..preflight.findings import counted
from ..preflight.planning import status_plan
from ..world.status import ClusterReading, Dated, MetalReading, StatusReadings

GROUPS: Mapping[str, tuple[str, str, str]] = {
    "unreachable": ("Not readable", "API unreachable", "unreachable objects"),
    "differences": ("Differences", "difference", "differences"),
    "degraded": ("Degraded", "degraded object", "degraded objects"),
    "certificates": ("Certificates", "certificate that ends", "certificates that end"),
    "csrs": ("Pending CSRs", "pending CSR", "pending CSRs"),
}
"""The groups of findings, in the order of the report: heading, and words for one and for several findings."""

LINE = 600
USED_LIFETIME = 10
"""A certificate that is rotated has its successor before nine tenths of its lifetime are over: kubelets renew after 70 to 90 percent,
operators after 50 to 80."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be: on which object, what, and what to do next."""

    group: str
    subject: str
    text: str
    advice: str


@dataclass(frozen=True)
class Desired:
    """The settings of a status: the cluster, the inventory's machines, and when a certificate's end is reported."""

    cluster: str
    machines: Sequence[Mapping[str, Any]]
    certificate_days: int
    network: str = "layer3"
    """The machine network, which decides which of a device's addresses is its node address."""


def status_of(read: StatusReadings, certificate_days: int, now: datetime) -> dict[str, Any]:
    """Return the status. Raises CollectionError for malformed settings of the removal of workers."""
    context = read.context
    machines = [machine for machine in context.machines if machine.get("role") != "bootstrap"]
    desired = Desired(context.cluster, machines, certificate_days, context.text("machine_network"))
    return cluster_status(desired, read.metal, read.api, read.presented, status_plan(context), now)


def cluster_status(  # noqa: PLR0913, PLR0917 - one argument for each source
    desired: Desired, metal: MetalReading, api: ClusterReading, presented: Iterable[Dated], plan: Plan, now: datetime
) -> dict[str, Any]:
    """Return the status, as docs/status.md describes it. ``presented``: certificates that servers have presented; ``plan``: of the playbook
    that would bring the cluster to the inventory; ``now``: this computer's time, for a cluster that does not answer.
    """
    exists = bool(metal.devices) or bool(metal.problem) or not api.problem
    moment = api.now or now
    machines, findings = _machines(desired, metal, api, plan, moment)
    dated = [*api.certificates, *presented]
    certificates = sorted(
        (_certificate(certificate, moment, desired.certificate_days) for certificate in dated), key=lambda entry: str(entry["ends_at"])
    )
    if not exists:
        findings = [_absent(desired)] if desired.machines else []
    findings += list(_drifted(plan)) if exists else ()
    findings += _unreachable(metal, api) if exists else ()
    findings += [*_degraded(api, moment), *_ending(certificates), *_pending(api)]
    findings.sort(key=lambda finding: list(GROUPS).index(finding.group))
    counts = Counter(finding.group for finding in findings)
    return {
        "cluster": desired.cluster,
        "generated_at": timestamp(now),
        "exists": exists,
        "healthy": not findings,
        "verdict": _verdict(desired, metal, api, exists, counts),
        "counts": {group: counts[group] for group in GROUPS},
        "findings": [asdict(finding) for finding in findings],
        "notes": [printable(note, LINE) for note in _notes(metal, api, moment)],
        "metal_api": {"answers": not metal.problem, "problem": printable(metal.problem, LINE)},
        "cluster_api": {"answers": not api.problem, "problem": printable(api.problem, LINE) if exists else ""},
        "plan": plan.data() if exists else None,
        "price_per_hour": None if metal.problem else total(map(price_of, metal.devices)),
        "machines": machines,
        "version": _version(api),
        "operators": operator_facts(api.operators),
        "pools": [_pool(pool) for pool in api.pools],
        "certificates": certificates,
        "certificate_requests": [_request(verdict, moment) for verdict in api.verdicts],
        "locks": [dict(lock) for lock in metal.locks],
    }


# --- machines -------------------------------------------------------------------------------------------------------------------------


def _machines(
    desired: Desired, metal: MetalReading, api: ClusterReading, plan: Plan, now: datetime
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Return a line for each machine of the inventory, the devices and the Nodes, and the findings on all of them.

    A device is in the line of its Node, whatever its host name is.
    """
    by_name = {str(machine["hostname"]).lower(): machine for machine in desired.machines}
    identities = identify(api.nodes, metal.devices)
    renamed = {problem.node: problem for problem in identities.renamed}
    devices: dict[str, list[Mapping[str, Any]]] = {}
    for device in metal.devices:
        name = identities.node_of(str(device.get("id"))) or str(device.get("hostname")).lower()
        devices.setdefault(name, []).append(device)
    nodes = {str(node["name"]): node for node in api.nodes}
    asking = {verdict.request.node for verdict in api.verdicts}
    changes = {step.object: [step.detail] for step in plan.steps if step.verb == "change" and step.kind == "node"}
    lines, findings = [], []
    for name in sorted({*by_name, *devices, *nodes}):
        lacks = changes.get(name, ())
        machine = Joined(name, by_name.get(name), devices.get(name, []), nodes.get(name), name in asking, lacks, renamed.get(name))
        machine_findings = list(machine.findings(knows_devices=not metal.problem, knows_nodes=not api.problem and api.has_nodes, now=now))
        lines.append(machine.line(machine_findings, desired.network))
        findings += machine_findings
    infra_ids = Counter(device.get("infra_id") for device in metal.devices if device.get("infra_id"))
    if len(infra_ids) > 1:
        named = ", ".join(f"{identity} ({number})" for identity, number in infra_ids.most_common())
        findings.append(
            Finding(
                "differences",
                desired.cluster,
                f"its devices are of different installs, by their tag openshift-infra-id: {named}",
                "list the devices with playbooks/orphans.yml, and delete those of the other install",
            )
        )
    order = {"control-plane": 0, "worker": 1}
    lines.sort(key=lambda line: (order.get(line["role"], 2), line["name"]))
    return lines, findings


@dataclass(frozen=True)
class Joined:
    """What the inventory, the Metal API and the cluster have under one name."""

    name: str
    desired: Mapping[str, Any] | None
    devices: Sequence[Mapping[str, Any]]
    node: Mapping[str, Any] | None
    is_asking: bool
    lacks: Sequence[str] = ()
    """What scale.yml would set on its Node."""
    renamed: Renamed | None = None
    """The device of the Node, if it has another host name."""

    @property
    def device(self) -> Mapping[str, Any] | None:
        """The device, of several one that is not being deleted: that of the Node, else the one that was created last."""
        own = self.renamed.device.id if self.renamed else str((self.node or {}).get("device_id") or "")
        ordered = sorted(
            self.devices,
            key=lambda device: (device.get("state") not in DELETING_STATES, device.get("id") == own, str(device.get("created_at"))),
        )
        return ordered[-1] if ordered else None

    @property
    def role(self) -> str:
        """The role by the inventory, by the device's tag, or by the Node's labels."""
        if self.desired is not None:
            return str(self.desired.get("role") or "")
        if self.device is not None:
            return str(self.device.get("role") or "")
        return "control-plane" if self.node is not None and self.node["control_plane"] else "worker"

    def line(self, findings: Sequence[Finding], network: str) -> dict[str, Any]:
        """Return the machine as ``cluster_status`` returns it. ``network``: the machine network."""
        device, node = self.device, self.node
        return {
            "name": self.name,
            "role": self.role,
            "pool": str((self.desired or {}).get("pool") or ""),
            "in_inventory": self.desired is not None,
            "device": None
            if device is None
            else {
                **{name: device.get(name) for name in ("id", "state", "plan", "metro", "created_at", "price_per_hour")},
                "address": node_address(device, network),
            },
            "node": None
            if node is None
            else {
                **{name: node[name] for name in ("ready", "unschedulable", "kubelet_version", "os_image")},
                "since": timestamp(node["since"]) if node["since"] else None,
            },
            "findings": [finding.text for finding in findings],
        }

    def findings(self, *, knows_devices: bool, knows_nodes: bool, now: datetime) -> Iterator[Finding]:
        """Yield what is not as it should be; nothing that an API which does not answer would have to confirm."""
        if knows_devices:
            yield from self._of_device()
        if knows_nodes:
            yield from self._of_node(knows_devices=knows_devices, now=now)
        elif knows_devices and self.device is None and self.desired is not None:
            yield self._without_device("it has no device")

    def _finding(self, message: str, advice: str, group: str = "differences") -> Finding:
        return Finding(group, self.name, printable(message, LINE), advice)

    def _of_device(self) -> Iterator[Finding]:
        device, desired = self.device, self.desired
        if device is None:
            return
        state = str(device.get("state"))
        if self.renamed:
            yield self._finding(
                f"its device {self.renamed.device.id} is named {self.renamed.device.hostname or 'nothing'} at the Metal API",
                f"restore its name: {self.renamed.command}",
            )
        staying = [
            device
            for device in self.devices
            if device.get("state") not in DELETING_STATES and str(device.get("hostname")).lower() == self.name
        ]
        if len(staying) > 1:
            ids = ", ".join(str(device.get("id")) for device in staying)
            yield self._finding(f"{len(staying)} devices have its host name: {ids}", "delete all but one of these devices")
        if self.role == "bootstrap":
            yield self._finding(f"the bootstrap device exists ({state}): the installation is not complete", "run install.yml again")
            return
        if desired is None:
            yield self._unwanted(state)
        elif state == "failed":
            yield self._finding("its device has failed", self._replace())
        elif state == "inactive":
            yield self._finding("its device is powered off", "power it on with equinix_metal.openshift.metal_device, or replace it")
        elif state in DELETING_STATES:
            yield self._finding(f"its device is being deleted ({state})", self._replace())
        elif state != "active":
            percentage = device.get("provisioning_percentage")
            progress = f", {percentage:g} %" if isinstance(percentage, (int, float)) and percentage else ""
            yield self._finding(f"its device is not active yet ({state}{progress})", "wait for the run that creates it, or run it again")
        if desired is not None:
            yield from self._different(device, desired)
        if device.get("termination_time"):
            yield self._finding(
                f"the Metal API deletes its device at {device['termination_time']}",
                "remove termination_time with equinix_metal.openshift.metal_device if the machine is to stay",
            )

    def _unwanted(self, state: str) -> Finding:
        if self.role == "control-plane":
            advice = "put it back into the inventory: scale.yml removes no control plane machine"
        elif self.role == "worker":
            advice = "run scale.yml, which drains and deletes it, or put it back into the inventory"
        else:
            advice = "put it back into the inventory, or delete the device"
        return self._finding(f"it has a device ({state}) and is not in the inventory", advice)

    def _different(self, device: Mapping[str, Any], desired: Mapping[str, Any]) -> Iterator[Finding]:
        places = mappings(desired.get("placement")) or [desired]
        for name in ("plan", "metro"):
            wished = list(dict.fromkeys(str(place[name]) for place in [*places, desired] if place.get(name)))
            if wished and device.get(name) and device[name] not in wished:
                text_of = f"its device has the {name} {device[name]}, the inventory says {' or '.join(wished)}"
                yield self._finding(text_of, "change the inventory, or replace the machine")
        if device.get("role") and desired.get("role") and device["role"] != desired["role"]:
            yield self._finding(
                f"its device has the role {device['role']}, the inventory says {desired['role']}",
                "change the inventory, or replace the machine",
            )

    def _of_node(self, *, knows_devices: bool, now: datetime) -> Iterator[Finding]:
        node, device, desired = self.node, self.device, self.desired
        if self.role not in ROLES_OF_NODES:
            return
        if node is None:
            if desired is not None and device is None and knows_devices:
                yield self._without_device("it has neither a device nor a Node")
            elif desired is not None and (device is None or device.get("state") == "active"):
                csr = "its CSR is pending" if self.is_asking else "it has filed no CSR"
                yield self._finding(
                    f"it has not joined: no Node, and {csr}", "run playbooks/approve.yml, or install.yml if it never ran to its end"
                )
            return
        if knows_devices and device is None:
            yield self._orphaned(node)
        elif device is not None and node["device_id"] and node["device_id"] not in {other.get("id") for other in self.devices}:
            yield self._finding(
                f"its Node was registered by the device {node['device_id']}, which is gone; {device.get('id')} has its host name now",
                "run scale.yml, which deletes the stale Node",
            )
        if not node["ready"]:
            since = f" since {timestamp(node['since'])} ({age(now - node['since'])})" if node["since"] else ""
            yield self._finding(f"its Node is NotReady{since}: {node['message']}", "check the device; docs/troubleshooting.md", "degraded")
        if node["unschedulable"]:
            by = ", by an unfinished removal" if node["cordoned_here"] else ""
            yield self._finding(
                f"its Node is cordoned{by}", "run scale.yml again" if node["cordoned_here"] else f"oc adm uncordon {self.name}"
            )
        if desired is not None:
            yield from self._of_pool(node, desired)

    def _of_pool(self, node: Mapping[str, Any], desired: Mapping[str, Any]) -> Iterator[Finding]:
        if self.lacks:
            yield self._finding(f"its Node lacks what the inventory sets: {'; '.join(self.lacks)}", "run scale.yml, which sets it")
        if node["control_plane"] != (desired.get("role") == "control-plane"):
            actual = "of the control plane" if node["control_plane"] else "no control plane Node"
            yield self._finding(f"its Node is {actual}, the inventory says {desired.get('role')}", "change the inventory")

    def _orphaned(self, node: Mapping[str, Any]) -> Finding:
        state = "Ready" if node["ready"] else "NotReady"
        if self.desired is None:
            return self._finding(
                f"its Node ({state}) has no device with the cluster's tag and is not in the inventory",
                "delete the Node, or put the machine into the inventory if it is of this cluster",
            )
        return self._without_device(f"its device has vanished, its Node is {state}")

    def _without_device(self, message: str) -> Finding:
        return self._finding(message, self._replace())

    def _replace(self) -> str:
        if self.role == "control-plane":
            return "replace the control plane machine: docs/day2.md"
        return "run scale.yml, which replaces it" if self.role == "worker" else "run install.yml, which creates it"


def _drifted(plan: Plan) -> Iterator[Finding]:
    """Yield what the plan changes beside Nodes, and devices that come or go: records and files follow these, and are no fault then."""
    devices = [step for step in plan.steps if step.kind == "device"]
    follows = ("records", "files") if any(step.verb != "change" for step in devices) else ()
    for step in plan.steps:
        is_other = step.kind in ("config", "routers", "records", "files") and step.verb != "publish" and step.kind not in follows
        if is_other or (step.kind == "device" and step.verb == "change" and set(step.after) - PLACES):
            yield Finding("differences", step.object, printable(_difference(step), LINE), f"run {plan.playbook}, which changes it")


def _difference(step: Step) -> str:
    if step.kind == "device":
        return f"its device is not as the inventory says: {step.detail}"
    words = {"create": "is missing", "remove": "is to be removed"}.get(step.verb, "is not as the inventory says")
    return f"{step.object} {words}: {': '.join(filter(None, [step.detail, step.reason]))}"


def _absent(desired: Desired) -> Finding:
    message = f"the inventory has {counted(len(desired.machines), 'machine')}, and nothing has the cluster's tag"
    return Finding("differences", desired.cluster, message, "run install.yml, which creates the cluster")


# --- the cluster ----------------------------------------------------------------------------------------------------------------------


def _unreachable(metal: MetalReading, api: ClusterReading) -> Iterator[Finding]:
    if metal.problem:
        yield Finding(
            "unreachable",
            "Metal API",
            printable(metal.problem, LINE),
            "check metal_api_url, the token and the network; devices, price and lock are unknown until then",
        )
    if api.problem:
        yield Finding(
            "unreachable",
            "cluster API",
            printable(api.problem, LINE),
            "check the kubeconfig, the load balancer and the control plane devices; if all of them run, etcd may have lost its quorum:"
            " docs/recovery.md. Nodes and operators are unknown until then",
        )
    for problem in api.unread:
        yield Finding("unreachable", "cluster API", printable(problem, LINE), "use a kubeconfig that may read this object")


def _degraded(api: ClusterReading, now: datetime) -> Iterator[Finding]:
    status_conditions = conditions(api.cluster_version)
    for kind, good, words in (("Available", "True", "is not available"), ("Failing", "False", "fails")):
        if kind in status_conditions and status_conditions[kind].status != good:
            yield Finding("degraded", "cluster version", f"the cluster version {words}: {status_conditions[kind].text()}", "oc adm upgrade")
    for operator in api.operators:
        name, states = name_of(operator), conditions(operator)
        for kind, good, words in (("Available", "True", "is not available"), ("Degraded", "False", "is degraded")):
            state = states.get(kind)
            if state is not None and state.status != good:
                yield Finding(
                    "degraded",
                    name,
                    f"operator {name} {words}{_since(state.since, now)}: {printable(state.message, LINE)}",
                    f"oc describe co {name}{'; a member whose data is lost: docs/recovery.md' if name == 'etcd' else ''}",
                )
    for pool in api.pools:
        state = conditions(pool).get("Degraded")
        if state is not None and state.status == "True":
            message = f"machine config pool {name_of(pool)} is degraded{_since(state.since, now)}: {printable(state.message, LINE)}"
            yield Finding("degraded", name_of(pool), message, f"oc describe mcp {name_of(pool)}")


def _since(moment: datetime | None, now: datetime) -> str:
    return f" since {timestamp(moment)} ({age(now - moment)})" if moment else ""


def age(span: timedelta) -> str:
    """Return a time span as a person says it: ``3 d``, ``5 h``, ``12 min``, ``40 s``."""
    seconds = max(0, round(span.total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or (seconds >= length and unit == "min"):
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _version(api: ClusterReading) -> dict[str, Any]:
    version = mapping(api.cluster_version)
    spec, status = mapping(version.get("spec")), mapping(version.get("status"))
    boot_images = text(mapping(mapping(api.boot_images).get("data")).get("releaseVersion"))
    updates = [text(update.get("version")) for update in mappings(status.get("availableUpdates"))]
    completed = [text(entry.get("version")) for entry in mappings(status.get("history")) if entry.get("state") == "Completed"]
    return {
        "openshift": version_of(api.cluster_version),
        "kubernetes": api.kube_version or None,
        "channel": printable(spec.get("channel") or "") or None,
        "last_completed": printable(completed[0]) if completed else None,
        "available_updates": sorted(map(printable, filter(None, updates)), key=_numbers, reverse=True),
        "boot_images": printable(boot_images) or None,
    }


def _numbers(version: str) -> tuple[tuple[int, ...], str]:
    """Return the sort key of a version: 4.20.9 is before 4.20.33."""
    return tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdecimal()), version


def _pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    status, status_conditions = mapping(pool.get("status")), conditions(pool)
    counts = {
        name: status.get(key) if isinstance(status.get(key), int) else 0
        for name, key in (("machines", "machineCount"), ("ready", "readyMachineCount"), ("updated", "updatedMachineCount"))
    }
    states = {kind.lower(): kind in status_conditions and status_conditions[kind].status == "True" for kind in ("Updating", "Degraded")}
    return {"name": name_of(pool), **counts, **states, "paused": mapping(pool.get("spec")).get("paused") is True}


def _notes(metal: MetalReading, api: ClusterReading, now: datetime) -> Iterator[str]:
    """Yield what is worth knowing and no fault."""
    for lock in metal.locks:
        who = " ".join(filter(None, (str(lock.get("operation") or "a run"), "of", str(lock.get("holder") or "an unknown user"))))
        job = f", job {lock['job']}" if lock.get("job") else ""
        expires = time_of(lock.get("expires_at")) if lock.get("expires_at") else None
        over = f"; it expired at {lock['expires_at']}" if expires and expires < now else ""
        yield f"The cluster lock is held by {who}{job} since {lock.get('acquired_at')}, renewed {lock.get('renewed_at')}{over}"
    version = _version(api)
    progressing = conditions(api.cluster_version).get("Progressing")
    if progressing is not None and progressing.status == "True":
        yield f"The cluster version is progressing: {progressing.text()}"
    if version["available_updates"]:
        yield f"Update available in {version['channel'] or 'its channel'}: {version['available_updates'][0]} (oc adm upgrade)"
    if version["boot_images"] and version["openshift"] and version["boot_images"] != version["openshift"]:
        yield (
            f"The boot images of the cluster are of {version['boot_images']}, the cluster runs {version['openshift']}: "
            "new machines update themselves at their first boot"
        )
    identities = identify(api.nodes, metal.devices)
    for node in api.nodes:
        owner, provider_id = identities.device_of(node["name"]), text(node.get("provider_id"))
        if owner is not None and provider_id and device_of_provider_id(provider_id) != owner.id:
            yield f"Node {node['name']} keeps its providerID {provider_id}, which is not that of its device {owner.id}"
    for pool in map(_pool, api.pools):
        if pool["updating"]:
            yield f"Machine config pool {pool['name']} is updating: {pool['updated']} of {pool['machines']} machines are updated"
        if pool["paused"]:
            yield f"Machine config pool {pool['name']} is paused"
    for operator in operator_facts(api.operators):
        if operator["progressing"] and operator["available"] and not operator["degraded"]:
            yield f"Operator {operator['name']} is progressing: {operator['message']}"


# --- certificates and CSRs ------------------------------------------------------------------------------------------------------------


def _certificate(dated: Dated, now: datetime, days: int) -> dict[str, Any]:
    ends_at, begins_at = dated.validity.ends_at, dated.validity.begins_at
    left = ends_at - now
    late = timedelta(days=days)
    if begins_at is not None:
        late = min(late, (ends_at - begins_at) / USED_LIFETIME)
    state = "ended" if left <= timedelta(0) else "ending" if left < late else "valid"
    return {
        "kind": dated.kind,
        "subject": dated.subject,
        "ends_at": timestamp(ends_at),
        "days": left // timedelta(days=1),
        "left": age(left),
        "state": state,
        "within_days": left < timedelta(days=days),
    }


def _ending(certificates: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for certificate in certificates:
        if certificate["state"] == "valid":
            continue
        name = f"{certificate['kind']}: {certificate['subject']}"
        when = f"ended at {certificate['ends_at']}" if certificate["state"] == "ended" else f"ends at {certificate['ends_at']}"
        yield Finding("certificates", name, f"the certificate {when} and was not renewed", ADVICE.get(certificate["kind"], ROTATED))


ROTATED = "the cluster renews it by itself: check the operators, and that all machines are on"
ADVICE: Mapping[str, str] = {
    "kubeconfig": "create a new kubeconfig before that, with oc login or from an approved CSR of kubernetes.io/kube-apiserver-client",
    "kubelet client": "start the machine and run playbooks/approve.yml -e openshift_recover_nodes=true",
    "kubelet serving": "run playbooks/approve.yml",
}


def _pending(api: ClusterReading) -> Iterator[Finding]:
    joined = {node["name"] for node in api.nodes if node["ready"]}
    for verdict in api.verdicts:
        request = verdict.request
        # A kubelet that was answered late has filed several CSRs. The cluster deletes those that are left after a day.
        is_left_over = verdict.decision == "wait" and request.kind == "client" and request.node in joined
        if verdict.decision == "ignore" or is_left_over:
            continue
        advice = {
            "approve": "run playbooks/approve.yml, which approves it",
            "wait": "run playbooks/approve.yml, which waits until it can be approved",
        }.get(verdict.decision, "find out who filed it: docs/joining.md")
        name = printable(request.node) or "no node"
        yield Finding("csrs", request.label, f"pending for {name}: {WORDS[verdict.decision]}: {verdict.reason}", advice)


WORDS = {
    "approve": "would be approved",
    "wait": "would wait",
    "refuse": "would be refused",
    "deny": "would be denied",
    "ignore": "not decided here",
}
"""A decision as the status prints it."""


def _request(verdict: Verdict, now: datetime) -> dict[str, Any]:
    request = verdict.request
    return {
        "name": request.label,
        "signer": printable(request.signer),
        "node": printable(request.node),
        "requestor": printable(request.requestor),
        "filed_at": timestamp(request.filed_at) if request.filed_at else None,
        "age": age(now - request.filed_at) if request.filed_at else "",
        "verdict": WORDS[verdict.decision],
        "reason": verdict.reason,
    }


def _verdict(desired: Desired, metal: MetalReading, api: ClusterReading, exists: bool, counts: Mapping[str, int]) -> str:
    if not exists:
        return f"{desired.cluster} does not exist"
    counted_groups = [
        f"{counts[group]} {one if counts[group] == 1 else many}" for group, (_heading, one, many) in GROUPS.items() if counts[group]
    ]
    return f"{desired.cluster}: {', '.join(counted_groups)}" if counted_groups else f"{desired.cluster} is healthy"
