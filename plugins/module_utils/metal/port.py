# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network ports of a device: the plan of steps from the current to the desired state, and its execution.

Rules of the API (vendor's OpenAPI text; the order of steps is that of terraform-provider-equinix and equinix.cloud):

- VLANs must be unassigned while a port enters or leaves its bond, and while a bond is converted to layer 3. To bond a bond port bonds all
  its ports, so their VLANs must be unassigned too.
- A bond can be disbonded in layer 2 only, and converted to layer 3 only while it is bonded.
- A native VLAN needs a second VLAN, and a bond in layer 3 has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.argspec import PRESENT_OPTIONS, WAIT_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError, LostAnswerError, NotFoundError, together
from ..base.identifiers import VLAN_NUMBER
from ..base.json_objects import mapping, mappings
from ..base.wait import Waiter, WaitTimeout, clock
from .objects import reference
from .resource import Resource

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

PORT_OPTIONS = Options(
    {
        "id": identifier(aliases=["port_id"]),
        "device_id": identifier(),
        "name": {"type": "str"},
        "bonded": {"type": "bool"},
        "layer2": {"type": "bool"},
        "vlan_ids": identifiers(VLAN_NUMBER),
        "native_vlan_id": identifier(VLAN_NUMBER, ""),
        "request_ips": {
            "type": "list",
            "elements": "dict",
            "options": {
                "address_family": {"type": "int", "choices": [4, 6], "required": True},
                "public": {"type": "bool", "default": True},
            },
        },
    },
    required_one_of=[["id", "device_id"]],
    mutually_exclusive=[["id", "device_id"], ["id", "name"]],
    required_together=[["device_id", "name"]],
).merge(PRESENT_OPTIONS, WAIT_OPTIONS)

PORT_INFO_OPTIONS = Options({"ids": identifiers(), "device_id": identifier()})

INCLUDED = "virtual_networks,native_virtual_network"
INCLUDED_OF_DEVICES = {"include": ",".join(f"network_ports.{field}" for field in INCLUDED.split(","))}
OVER = frozenset({"completed", "failed"})
"""States of a completed batch. A batch without a state is waited for."""
TRIES = 3
VERIFY_TIMEOUT = 6.0
"""Seconds in which a change has to be readable: reads of the API may lag behind its writes (known behaviour)."""


# --- the plan, pure -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PortState:
    """The state of a port. VLANs by number or id, as the options have them; no native VLAN is an empty text. ``layer2``: of a bond.

    ``members``: names of the ports of a disbonded bond that have VLANs.
    """

    bond: bool
    bonded: bool
    layer2: bool = False
    vlans: frozenset[str] = frozenset()
    native: str = ""
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """One change: ``clear_native``, ``layer_2``, ``disbond``, ``bond``, ``layer_3``, ``native``, ``vlans`` or ``members``."""

    kind: str
    assigned: tuple[str, ...] = ()
    unassigned: tuple[str, ...] = ()

    def __str__(self) -> str:
        on, off = ", ".join(self.assigned), ", ".join(self.unassigned)
        vlans = [f"assign VLAN {on}"] if on else []
        vlans += [f"unassign VLAN {off}"] if off else []
        texts = {
            "clear_native": "remove the native VLAN",
            "layer_2": "convert to layer 2",
            "layer_3": "convert to layer 3",
            "native": f"make VLAN {on} the native VLAN",
            "vlans": " and ".join(vlans),
            "members": f"unassign all VLANs of {off}",
        }
        return texts.get(self.kind, self.kind)


def plan(now: PortState, target: PortState) -> list[Step]:
    """Return the steps in the order that the API allows. Raises CollectionError with all contradictions when there is none."""
    problems = _contradictions(now, target)
    if problems:
        raise CollectionError(together("Cannot change the port", problems))
    steps: list[Step] = []
    vlans = now.vlans
    native = now.native
    # VLANs to keep are assigned again at the end.
    must_unassign = bool(vlans) and (target.bonded != now.bonded or (now.layer2 and not target.layer2))
    if native and (must_unassign or not target.native or native not in target.vlans):
        steps.append(Step("clear_native"))
        native = ""
    if must_unassign:
        steps.append(Step("vlans", unassigned=tuple(sorted(vlans))))
        vlans = frozenset()
    if target.layer2 and not now.layer2:
        steps.append(Step("layer_2"))
    if now.bonded and not target.bonded:
        steps.append(Step("disbond"))
    if target.bonded and not now.bonded:
        if now.members:
            steps.append(Step("members", unassigned=tuple(sorted(now.members))))
        steps.append(Step("bond"))
    if now.layer2 and not target.layer2:
        steps.append(Step("layer_3"))
    if vlans != target.vlans:
        steps.append(Step("vlans", tuple(sorted(target.vlans - vlans)), tuple(sorted(vlans - target.vlans))))
    if target.native and target.native != native:
        steps.append(Step("native", (target.native,)))
    return steps


def _contradictions(now: PortState, target: PortState) -> list[str]:
    problems = []
    if not target.bond and target.layer2 != now.layer2:
        problems.append("layer2 is an attribute of the bond port: set it there (bond0)")
    if target.bond and not target.bonded and not target.layer2:
        problems.append("a bond cannot be disbonded in layer 3: set layer2=true with bonded=false, or bonded=true with layer2=false")
    if target.bond and not target.bonded and target.vlans:
        problems.append("a disbonded bond has no VLANs: set vlan_ids=[] here, and the VLANs at its ports (eth0, eth1)")
    if not target.bond and target.bonded and target.vlans:
        problems.append("a bonded port has no VLANs of its own: set vlan_ids=[] here, and the VLANs at the bond port (bond0)")
    if target.native and target.native not in target.vlans:
        problems.append(f'the native VLAN {target.native} is not one of its VLANs: set native_vlan_id="" or add it')
    elif target.native and len(target.vlans) < 2:
        problems.append(f'the native VLAN {target.native} needs a second VLAN: set native_vlan_id=""')
    if target.native and target.bond and not target.layer2:
        problems.append('a bond in layer 3 has no native VLAN: set native_vlan_id=""')
    return problems


# --- a port as the API returns it ----------------------------------------------------------------------------------------------


def _vlans(port: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return mappings(port.get("virtual_networks"))


def _ports(device: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return mappings(device.get("network_ports"))


def _is_bond(port: Mapping[str, Any]) -> bool:
    return port.get("type") == "NetworkBondPort"


def _is_bonded(port: Mapping[str, Any]) -> bool:
    return bool(mapping(port.get("data")).get("bonded"))


def _name(network: Any, ids: frozenset[str]) -> str:
    """Return a VLAN as the options name it: by its id if that was given, else by its number."""
    identity = reference(network)
    if not isinstance(network, Mapping) or identity is None:
        return ""
    number = network.get("vxlan")
    return identity if identity in ids or number is None else str(number)


class Port(Resource):
    """One port of a device: by its id, or by its device and its name."""

    result_key = "port"
    kind = "port"
    path = "ports"
    included: ClassVar[Mapping[str, str]] = {"include": INCLUDED}

    def __init__(self, client: MetalClient, params: Mapping[str, Any], waiter: Waiter) -> None:
        super().__init__(client, params)
        self._waiter = waiter
        self._given = frozenset([*(params["vlan_ids"] or []), *([params["native_vlan_id"]] if params["native_vlan_id"] else [])])

    @property
    def title(self) -> str:
        params = self.params
        return f"port {params['id']}" if params["id"] else f"port {params['name']} of device {params['device_id']}"

    def find(self) -> Found | None:
        numbers = {name for name in self._given if name.isdecimal()}
        if numbers and numbers != self._given:
            raise CollectionError("vlan_ids and native_vlan_id must name all VLANs by number or all by id")
        identity = self.params["id"] or self._id_by_name()
        try:
            return self.read(str(identity), f"read {self.title}")
        except NotFoundError as error:
            raise CollectionError(f"{error.message}. A port is created and deleted with its device", error.details) from error

    def _id_by_name(self) -> str:
        identity, name = self.params["device_id"], self.params["name"]
        ports = _ports(self.client.read(f"devices/{identity}", doing=f"read {self.title}"))
        for port in ports:
            port_id = reference(port)
            if port.get("name") == name and port_id:
                return port_id
        names = ", ".join(sorted(str(port.get("name")) for port in ports)) or "none"
        raise CollectionError(f"Cannot find {self.title}: the device has the ports {names}")

    def read(self, identity: str, doing: str) -> Found:
        """Return the port; to bond a disbonded bond also its ``members``, whose VLANs have to be unassigned."""
        current = super().read(identity, doing)
        if self.params["bonded"] and _is_bond(current) and not _is_bonded(current):
            return {**current, "members": self._members(identity)}
        return current

    def _members(self, identity: str) -> list[Mapping[str, Any]]:
        """Return the ports of a bond, which only a device lists; empty without device and project."""
        if not self.params["device_id"] and not self.params["project_id"]:
            return []
        devices = _devices(self.client, self.params, f"read the ports of {self.title}")
        return [port for device in devices for port in _ports(device) if reference(port.get("bond")) == identity]

    def desired(self) -> dict[str, Any]:
        params = self.params
        desired = {
            "bonded": params["bonded"],
            "layer2": params["layer2"],
            "vlan_ids": None if params["vlan_ids"] is None else sorted(set(params["vlan_ids"])),
            "native_vlan_id": params["native_vlan_id"],
            # The diff shows VLANs that are unassigned from other ports.
            "member_vlan_ids": {} if params["bonded"] else None,
        }
        return {name: value for name, value in desired.items() if value is not None}

    def comparable(self, current: Found) -> dict[str, Any]:
        now = self._state(current)
        view = {"bonded": now.bonded, "layer2": now.layer2, "vlan_ids": sorted(now.vlans), "native_vlan_id": now.native}
        if not self.params["bonded"]:
            return view
        members = {
            str(port.get("name")): sorted(_name(vlan, self._given) for vlan in _vlans(port)) for port in self._assigned_members(current)
        }
        return {**view, "member_vlan_ids": members}

    @staticmethod
    def _assigned_members(current: Found) -> list[Mapping[str, Any]]:
        return [port for port in current.get("members") or [] if _vlans(port)]

    def _state(self, current: Found) -> PortState:
        return PortState(
            bond=_is_bond(current),
            bonded=_is_bonded(current),
            # layer2-bonded and layer2-individual; only bonds have a type.
            layer2=str(current.get("network_type") or "").startswith("layer2"),
            vlans=frozenset(_name(vlan, self._given) for vlan in _vlans(current)),
            native=_name(current.get("native_virtual_network"), self._given),
            members=frozenset(str(port.get("name")) for port in self._assigned_members(current)),
        )

    def _target(self, current: Found, changes: Mapping[str, Any]) -> PortState:
        """Return the complete target state, with unchanged VLANs that may have to be unassigned temporarily."""
        now = self._state(current)
        return replace(
            now,
            bonded=changes.get("bonded", now.bonded),
            layer2=changes.get("layer2", now.layer2),
            vlans=frozenset(changes.get("vlan_ids", now.vlans)),
            native=changes.get("native_vlan_id", now.native),
            members=frozenset() if changes.get("bonded") else now.members,
        )

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        data = mapping(current.get("data"))
        return {
            **{name: current.get(name) for name in ("id", "name", "type", "network_type")},
            "mac": data.get("mac"),
            "bonded": data.get("bonded"),
            "bond": mapping(current.get("bond")).get("name"),
            "virtual_networks": [{"id": reference(vlan), "vxlan": vlan.get("vxlan")} for vlan in _vlans(current)],
            "native_virtual_network": reference(current.get("native_virtual_network")),
        }

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        current = current or {}
        target = self._target(current, changes)
        plan(self._state(current), target)  # raises for contradictions in check mode too
        known = {_name(vlan, self._given): vlan for vlan in _vlans(current)}
        networks = [known.get(name, {"vxlan": int(name)} if name.isdecimal() else {"id": name}) for name in sorted(target.vlans)]
        return {
            **{name: value for name, value in current.items() if name != "members"},
            "data": {**(current.get("data") or {}), "bonded": target.bonded},
            "network_type": current.get("network_type") if target == replace(target, layer2=self._state(current).layer2) else None,
            "virtual_networks": networks,
            "native_virtual_network": known.get(target.native, {"id": target.native} if target.native else None),
        }

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        """Return the batch of this port that is in progress: the API accepts one change at a time."""
        return self._under_way(str(current["id"]))

    def _under_way(self, identity: str) -> list[str]:
        doing = f"check whether VLANs of {self.title} are being changed"
        batches = self.client.read_list(f"ports/{identity}/vlan-assignments/batches", "batches", doing=doing)
        left = [batch for batch in batches if batch.get("state") not in OVER]
        return [_batch_text(max(left, key=lambda batch: str(batch.get("created_at") or "")), self.title)] if left else []

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """Take the steps one after the other. After a lost answer they are planned again from the current state."""
        target = self._target(current, changes)
        steps = plan(self._state(current), target)
        if not self.params["wait"] and any(_is_batch(step) for step in steps[:-1]):
            listed = "; ".join(map(str, steps))
            raise CollectionError(f"Cannot change {self.title} without waiting between steps: {listed}. Use wait=true")
        done: list[Step] = []
        left: list[Step] = []
        try:
            return self._apply_steps(str(current["id"]), current, target, done, left)
        except CollectionError as error:
            error.acted = error.acted or bool(done)
            self._report_partial(error, done, left, target)
            raise

    def _report_partial(self, error: CollectionError, done: Sequence[Step], left: Sequence[Step], target: PortState) -> None:
        error.details = {**error.details, "done": list(map(str, done)), "not_done": list(map(str, left))}
        if not done or not left:
            return
        error.message += f". Done: {'; '.join(map(str, done))}. Not done: {'; '.join(map(str, left))}. Fix the problem and run again"
        taken_off = {vlan for step in done if step.kind == "vlans" for vlan in step.unassigned}
        if self.params["vlan_ids"] is None and taken_off & target.vlans:
            # Only this run knows them.
            error.message += f" with vlan_ids={sorted(target.vlans)}, which were unassigned temporarily"

    def _apply_steps(self, identity: str, current: Found, target: PortState, done: list[Step], left: list[Step]) -> Found:
        """Take the steps of ``left`` to the target state, and move each to ``done``."""
        for attempt in range(1, TRIES + 1):
            if attempt > 1:
                what = f"Completion of pending changes of {self.title}"
                self._waiter.until_nothing_pending(lambda: self._under_way(identity), what)
                current = self.read(identity, f"read {self.title}")
            try:
                left[:] = plan(self._state(current), target)
                while left:
                    step = left[0]
                    self._take(current, step)
                    done.append(left.pop(0))
                    if step.kind == "bond":
                        # Its layer is known only now: a bond that was disbonded in layer 3 is in layer 3 again.
                        current = self.read(identity, f"read {self.title}")
                        left[:] = plan(self._state(current), target)
                return self._arrived(identity, target) if self.params["wait"] else self.read(identity, f"read {self.title}")
            except LostAnswerError:
                if attempt == TRIES:
                    raise
        raise AssertionError("TRIES is 1 or more")

    def _arrived(self, identity: str, target: PortState) -> Found:
        """Return the port in its target state. Raises LostAnswerError when it is not reached: an answer may have been a gateway's."""
        current: Found = {}
        for _elapsed in clock(min(VERIFY_TIMEOUT, self._waiter.timeout), min(1.0, self._waiter.interval)):
            current = self.read(identity, f"read {self.title}")
            if self._state(current) == target:
                return current
        remaining = "; ".join(map(str, plan(self._state(current), target)))
        raise LostAnswerError(f"Cannot change {self.title}: the API accepted every step, but these are not done: {remaining}")

    def _take(self, current: Found, step: Step) -> None:
        doing = f"{step} ({self.title})"
        path = f"ports/{current['id']}"
        if step.kind == "vlans":
            self._change_vlans(path, step, doing)
        elif step.kind == "members":
            self._clear_members(current)
        elif step.kind == "clear_native":
            # write() and not delete(), for which 404 means success.
            self.client.write("DELETE", f"{path}/native-vlan", None, doing=doing)
        elif step.kind == "native":
            self.client.write_one("POST", f"{path}/native-vlan", {"vnid": step.assigned[0]}, doing=doing)
        elif step.kind == "layer_3":
            requested = self.params["request_ips"]
            self.client.write_one("POST", f"{path}/convert/layer-3", {"request_ips": requested} if requested else {}, doing=doing)
        elif step.kind == "layer_2":
            self.client.write_one("POST", f"{path}/convert/layer-2", {}, doing=doing)
        else:
            # For a bond port it applies to all its ports.
            self.client.write_one("POST", f"{path}/{step.kind}", {}, doing=doing)

    def _clear_members(self, current: Found) -> None:
        for port in self._assigned_members(current):
            path, name = f"ports/{reference(port)}", port.get("name")
            if port.get("native_virtual_network"):
                self.client.write("DELETE", f"{path}/native-vlan", None, doing=f"remove the native VLAN of {name} ({self.title})")
            step = Step("vlans", unassigned=tuple(str(reference(vlan)) for vlan in _vlans(port)))
            self._change_vlans(path, step, f"unassign all VLANs of {name} ({self.title})")

    def _change_vlans(self, path: str, step: Step, doing: str) -> None:
        """Assign or unassign one VLAN in a request of its own, several in a batch, which the API carries out later."""
        if not _is_batch(step):
            action, (vlan,) = ("assign", step.assigned) if step.assigned else ("unassign", step.unassigned)
            self.client.write_one("POST", f"{path}/{action}", {"vnid": vlan}, doing=doing)
            return
        entries = [{"vlan": vlan, "state": "unassigned"} for vlan in step.unassigned]
        entries += [{"vlan": vlan, "state": "assigned"} for vlan in step.assigned]
        answer = self.client.write_one("POST", f"{path}/vlan-assignments/batches", {"vlan_assignments": entries}, doing=doing)

        def poll() -> list[str]:
            batch = self.client.read(f"{path}/vlan-assignments/batches/{reference(answer)}", doing=doing)
            _fail_if_failed(batch, doing)
            return [_batch_text(batch, self.title)] if batch.get("state") not in OVER else []

        if not self.params["wait"]:
            return
        try:
            self._waiter.until_nothing_pending(poll, doing[0].upper() + doing[1:])
        except WaitTimeout as error:
            error.acted = True
            raise


def _is_batch(step: Step) -> bool:
    return step.kind == "members" or (step.kind == "vlans" and len(step.assigned) + len(step.unassigned) > 1)


def _batch_text(batch: Mapping[str, Any], title: str) -> str:
    return f"VLANs of {title} are being changed: batch {batch.get('id')} is {batch.get('state') or 'in an unknown state'}"


def _fail_if_failed(batch: Mapping[str, Any], doing: str) -> None:
    if batch.get("state") == "failed":
        texts = "; ".join(map(str, batch.get("error_messages") or [])) or "no error message"
        raise CollectionError(f"Cannot {doing}: batch {batch.get('id')} failed: {texts}", {"batch": batch.get("id")})


def find_ports(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_port_info`` returns: ports by id, of one device, or of all devices of the project."""
    if params["ids"] is not None:
        read = [client.read(f"ports/{identity}", params={"include": INCLUDED}, doing=f"read port {identity}") for identity in params["ids"]]
        return {"ports": [{**Port.result(port), "device_id": None} for port in read]}
    owner = f"device {params['device_id']}" if params["device_id"] else "the project's devices"
    devices = _devices(client, params, f"list the ports of {owner}")
    return {"ports": [{**Port.result(port), "device_id": device.get("id")} for device in devices for port in _ports(device)]}


def _devices(client: MetalClient, params: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    """Return the device of the options, or all devices of the project, with the VLANs of their ports."""
    if params["device_id"]:
        return [client.read(f"devices/{params['device_id']}", params=INCLUDED_OF_DEVICES, doing=doing)]
    return client.read_list(f"projects/{params['project_id']}/devices", "devices", params=INCLUDED_OF_DEVICES, doing=doing)
