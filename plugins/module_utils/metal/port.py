# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network ports of a device: the order of steps from what a port is to what it is to be, and taking them.

What is legal when (vendor's OpenAPI text; the order is the one terraform-provider-equinix and equinix.cloud take):

- VLANs are off while a port enters or leaves its bond, and while a bond goes to layer 3. A bond that is put together takes in all its
  ports, so theirs are off as well.
- A bond is taken apart in layer 2 only, and goes to layer 3 as a whole only.
- A native VLAN is one of at least two, and a bond in layer 3 has none.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    PRESENT_OPTIONS,
    RESUME_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
    identifiers,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    LostAnswerError,
    NotFoundError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.identifiers import VLAN_NUMBER
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import StillWaiting, Waiter, WaitTimeout, clock
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Resource

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

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
).merge(PRESENT_OPTIONS, WAIT_OPTIONS, RESUME_OPTIONS)

PORT_INFO_OPTIONS = Options({"ids": identifiers(), "device_id": identifier()})

INCLUDED = "virtual_networks,native_virtual_network"
INCLUDED_OF_DEVICES = {"include": ",".join(f"network_ports.{each}" for each in INCLUDED.split(","))}
OVER = frozenset({"completed", "failed"})
"""States of a batch that is done with; of one whose state is not told nothing is known, and so it is waited for."""
TRIES = 3
LOOK_FOR = 6.0
"""Seconds in which a change has to be seen: what the service shows may be a little behind what it has done (its known behaviour)."""


# --- the plan, pure -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PortState:
    """What a port is. VLANs by number or id, as the user names them; no native VLAN is an empty text. ``layer2`` means a bond's layer.

    ``members``: names of the ports of a bond that is apart, as far as they have VLANs.
    """

    bond: bool
    bonded: bool
    layer2: bool = False
    vlans: frozenset[str] = frozenset()
    native: str = ""
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """One change: ``clear_native``, ``layer_2``, ``disbond``, ``bond``, ``layer_3``, ``native``, ``vlans`` (on and off), or ``members``."""

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
            "native": f"make VLAN {on} the native one",
            "vlans": " and ".join(vlans),
            "members": f"take all VLANs off {off}",
        }
        return texts.get(self.kind, self.kind)


@dataclass
class Way:
    """How far one run has come."""

    done: list[Step] = field(default_factory=list)
    left: list[Step] = field(default_factory=list)


def plan(now: PortState, target: PortState) -> list[Step]:
    """The legal order of steps. Raises CollectionError, with everything that stands against it, when there is none."""
    problems = _contradictions(now, target)
    if problems:
        raise CollectionError(together("Cannot change the port", problems))
    steps: list[Step] = []
    vlans = now.vlans
    native = now.native
    # They come back in the end if they are to stay.
    in_the_way = bool(vlans) and (target.bonded != now.bonded or (now.layer2 and not target.layer2))
    if native and (in_the_way or not target.native or native not in target.vlans):
        steps.append(Step("clear_native"))
        native = ""
    if in_the_way:
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
        problems.append("layer2 belongs to the bond, not to one of its ports: give it with the bond port (bond0)")
    if target.bond and not target.bonded and not target.layer2:
        problems.append("in layer 3 a bond is not taken apart: give layer2=true with bonded=false, or bonded=true with layer2=false")
    if target.bond and not target.bonded and target.vlans:
        problems.append("a bond that is taken apart has no VLANs: give vlan_ids=[] here, and the VLANs with its ports (eth0, eth1)")
    if not target.bond and target.bonded and target.vlans:
        problems.append("a port in a bond has no VLANs of its own: give vlan_ids=[] here, and the VLANs with the bond port (bond0)")
    if target.native and target.native not in target.vlans:
        problems.append(f'VLAN {target.native} is not among its VLANs, so it cannot be the native one: give native_vlan_id="" or add it')
    elif target.native and len(target.vlans) < 2:
        problems.append(f'VLAN {target.native} is its only one, and a native VLAN needs another beside it: give native_vlan_id=""')
    if target.native and target.bond and not target.layer2:
        problems.append('a bond in layer 3 has no native VLAN: give native_vlan_id=""')
    return problems


# --- a port as the API gives it ------------------------------------------------------------------------------------------------


def _vlans(port: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return mappings(port.get("virtual_networks"))


def _ports(device: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return mappings(device.get("network_ports"))


def _is_bond(port: Mapping[str, Any]) -> bool:
    return port.get("type") == "NetworkBondPort"


def _is_bonded(port: Mapping[str, Any]) -> bool:
    data = port.get("data")
    return bool(data.get("bonded")) if isinstance(data, Mapping) else False


def _name(network: Any, given: frozenset[str]) -> str:
    """A VLAN as the user names it: by its id if that was given, else by its number."""
    identity = reference(network)
    if not isinstance(network, Mapping) or identity is None:
        return ""
    number = network.get("vxlan")
    return identity if identity in given or number is None else str(number)


def _by_name(wanted: str | None) -> str | None:
    return None if wanted is None else wanted.strip()


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
        self._check_names()
        identity = self.params["id"] or self._id_by_name()
        try:
            return self.read(str(identity), f"look at {self.title}")
        except NotFoundError as error:
            raise CollectionError(f"{error.message}. A port comes and goes with its device", error.details) from error

    def _check_names(self) -> None:
        numbers = {name for name in self._given if name.isdecimal()}
        if numbers and numbers != self._given:
            raise CollectionError("vlan_ids and native_vlan_id must name all VLANs in one way, by number or by id")

    def _id_by_name(self) -> str:
        identity, name = self.params["device_id"], self.params["name"]
        ports = _ports(self.client.read(f"devices/{identity}", doing=f"look for {self.title}"))
        for port in ports:
            found = reference(port)
            if port.get("name") == name and found:
                return found
        names = ", ".join(sorted(str(port.get("name")) for port in ports)) or "none"
        raise CollectionError(f"Could not look for {self.title}: device {identity} has no port {name}; it has {names}")

    def read(self, identity: str, doing: str) -> Found:
        """The port, and when a bond that is apart is to be put together its ``members`` as well: their VLANs are in the way."""
        found = super().read(identity, doing)
        if self.params["bonded"] and _is_bond(found) and not _is_bonded(found):
            return {**found, "members": self._members(identity)}
        return found

    def _members(self, identity: str) -> list[Mapping[str, Any]]:
        """The ports of a bond, which only their device tells: nothing when that cannot be known."""
        doing = f"look at the ports of {self.title}"
        if self.params["device_id"]:
            devices = [self.client.read(f"devices/{self.params['device_id']}", params=INCLUDED_OF_DEVICES, doing=doing)]
        elif self.params["project_id"]:
            path = f"projects/{self.params['project_id']}/devices"
            devices = self.client.read_list(path, "devices", params=INCLUDED_OF_DEVICES, doing=doing)
        else:
            return []
        return [port for device in devices for port in _ports(device) if reference(port.get("bond")) == identity]

    def desired(self) -> dict[str, Any]:
        params = self.params
        wanted = {
            "bonded": params["bonded"],
            "layer2": params["layer2"],
            "vlan_ids": None if params["vlan_ids"] is None else sorted(set(params["vlan_ids"])),
            "native_vlan_id": _by_name(params["native_vlan_id"]),
            # What it takes to put a bond together is shown as well: it is taken off ports that are not named.
            "member_vlan_ids": {} if params["bonded"] else None,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, current: Found) -> dict[str, Any]:
        now = self._state(current)
        view = {"bonded": now.bonded, "layer2": now.layer2, "vlan_ids": sorted(now.vlans), "native_vlan_id": now.native}
        if not self.params["bonded"]:
            return view
        members = {str(port.get("name")): sorted(_name(each, self._given) for each in _vlans(port)) for port in self._in_the_way(current)}
        return {**view, "member_vlan_ids": members}

    @staticmethod
    def _in_the_way(found: Found) -> list[Mapping[str, Any]]:
        return [port for port in found.get("members") or [] if _vlans(port)]

    def _state(self, found: Found) -> PortState:
        return PortState(
            bond=_is_bond(found),
            bonded=_is_bonded(found),
            # layer2-bonded and layer2-individual; only bonds tell a type.
            layer2=str(found.get("network_type") or "").startswith("layer2"),
            vlans=frozenset(_name(each, self._given) for each in _vlans(found)),
            native=_name(found.get("native_virtual_network"), self._given),
            members=frozenset(str(port.get("name")) for port in self._in_the_way(found)),
        )

    def _target(self, found: Found, changes: Mapping[str, Any]) -> PortState:
        """All of it: also what stays, which may have to be taken away for a moment and put back."""
        now = self._state(found)
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
        data = current.get("data")
        data = data if isinstance(data, Mapping) else {}
        bond = current.get("bond")
        return {
            **{name: current.get(name) for name in ("id", "name", "type", "network_type")},
            "mac": data.get("mac"),
            "bonded": data.get("bonded"),
            "bond": bond.get("name") if isinstance(bond, Mapping) else None,
            "virtual_networks": [{"id": reference(each), "vxlan": each.get("vxlan")} for each in _vlans(current)],
            "native_virtual_network": reference(current.get("native_virtual_network")),
        }

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        current = current or {}
        target = self._target(current, changes)
        plan(self._state(current), target)  # says also in check mode what is not possible
        known = {_name(each, self._given): each for each in _vlans(current)}
        networks = [known.get(name, {"vxlan": int(name)} if name.isdecimal() else {"id": name}) for name in sorted(target.vlans)]
        return {
            **{name: value for name, value in current.items() if name != "members"},
            "data": {**(current.get("data") or {}), "bonded": target.bonded},
            "network_type": current.get("network_type") if target == replace(target, layer2=self._state(current).layer2) else None,
            "virtual_networks": networks,
            "native_virtual_network": known.get(target.native, {"id": target.native} if target.native else None),
        }

    def check_creation(self) -> None:
        raise CollectionError(f"There is no {self.title}; a port comes and goes with its device")

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        """Batches of this port that are under way, since the service takes one change at a time."""
        return self._under_way(str(current["id"]))

    def _under_way(self, identity: str) -> list[str]:
        doing = f"see whether VLANs of {self.title} are being changed"
        batches = self.client.read_list(f"ports/{identity}/vlan-assignments/batches", "batches", doing=doing)
        if self.params["resume"] and batches:
            # A call before this one waited for it.
            _fail_if_failed(max(batches, key=_created), f"change VLANs of {self.title}")
        left = [batch for batch in batches if batch.get("state") not in OVER]
        return [_batch_text(max(left, key=_created), self.title)] if left else []

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """Take the steps, one after the other. After a lost answer the way is planned again from where the port is then."""
        target = self._target(current, changes)
        steps = plan(self._state(current), target)
        if not self.params["wait"] and any(_is_batch(step) for step in steps[:-1]):
            told = "; ".join(map(str, steps))
            raise CollectionError(f"{self.title} takes several steps, of which one is waited for before the next: {told}. Use wait=true")
        way = Way()
        try:
            return self._go(str(current["id"]), current, target, way)
        except CollectionError as error:
            error.acted = error.acted or bool(way.done)
            if not isinstance(error, StillWaiting):
                self._tell_half_way(error, way, target)
            raise

    def _tell_half_way(self, error: CollectionError, way: Way, target: PortState) -> None:
        error.details = {**error.details, "done": [str(step) for step in way.done], "not_done": [str(step) for step in way.left]}
        if not way.done or not way.left:
            return
        error.message += f". Done by then: {'; '.join(map(str, way.done))}. Not done: {'; '.join(map(str, way.left))}"
        error.message += ". Run it again when that is mended"
        taken_off = {vlan for step in way.done if step.kind == "vlans" for vlan in step.unassigned}
        if self.params["vlan_ids"] is None and taken_off & target.vlans:
            # Only this run knows of them.
            error.message += f", with vlan_ids={sorted(target.vlans)}, which were off for a moment only"

    def _go(self, identity: str, found: Found, target: PortState, way: Way) -> Found:
        for attempt in range(1, TRIES + 1):
            if attempt > 1:
                what = f"The end of what is under way on {self.title}"
                self._waiter.until_nothing_missing(lambda: self._under_way(identity), what, whole=True)
                found = self.read(identity, f"look at {self.title}")
            try:
                way.left = plan(self._state(found), target)
                while way.left:
                    step = way.left[0]
                    self._take(found, step)
                    way.done.append(way.left.pop(0))
                    if step.kind == "bond":
                        # Which layer it is in shows only now: a bond that was taken apart in layer 3 is in layer 3 again.
                        found = self.read(identity, f"look at {self.title}")
                        way.left = plan(self._state(found), target)
                return self._arrived(identity, target) if self.params["wait"] else self.read(identity, f"look at {self.title}")
            except LostAnswerError:
                if attempt == TRIES:
                    raise
        raise AssertionError("TRIES is 1 or more")

    def _arrived(self, identity: str, target: PortState) -> Found:
        """The port as it is to be: also an answer that says yes may have been somebody else's. What is read may be behind for a moment."""
        found: Found = {}
        for _elapsed in clock(LOOK_FOR, min(1.0, self.params["wait_interval"])):
            found = self.read(identity, f"look at {self.title}")
            if self._state(found) == target:
                return found
        left = "; ".join(map(str, plan(self._state(found), target)))
        raise LostAnswerError(f"Could not change {self.title}: the service accepted every step, but this is not done: {left}")

    def _take(self, found: Found, step: Step) -> None:
        doing = f"{step} ({self.title})"
        path = f"ports/{found['id']}"
        if step.kind == "vlans":
            # What was not given comes back after it was off for a moment, which only this call knows.
            self._change_vlans(path, step, doing, whole=self.params["vlan_ids"] is None)
        elif step.kind == "members":
            self._clear_members(found)
        elif step.kind == "clear_native":
            # Not as a thing that is deleted: 404 would be taken for its end then.
            self.client.write("DELETE", f"{path}/native-vlan", None, doing=doing)
        elif step.kind == "native":
            self.client.write_one("POST", f"{path}/native-vlan", {"vnid": step.assigned[0]}, doing=doing)
        elif step.kind == "layer_3":
            asked = self.params["request_ips"]
            self.client.write_one("POST", f"{path}/convert/layer-3", {"request_ips": asked} if asked else {}, doing=doing)
        elif step.kind == "layer_2":
            self.client.write_one("POST", f"{path}/convert/layer-2", {}, doing=doing)
        else:
            # Of a bond port it means all the ports that it has.
            self.client.write_one("POST", f"{path}/{step.kind}", {}, doing=doing)

    def _clear_members(self, found: Found) -> None:
        for port in self._in_the_way(found):
            path, name = f"ports/{reference(port)}", port.get("name")
            if port.get("native_virtual_network"):
                self.client.write("DELETE", f"{path}/native-vlan", None, doing=f"remove the native VLAN of {name} ({self.title})")
            step = Step("vlans", unassigned=tuple(str(reference(each)) for each in _vlans(port)))
            self._change_vlans(path, step, f"take all VLANs off {name} ({self.title})", whole=True)

    def _change_vlans(self, path: str, step: Step, doing: str, *, whole: bool) -> None:
        """One VLAN is changed by itself, at once; several in one batch, which the service works off in its own time."""
        if not _is_batch(step):
            action, (vlan,) = ("assign", step.assigned) if step.assigned else ("unassign", step.unassigned)
            self.client.write_one("POST", f"{path}/{action}", {"vnid": vlan}, doing=doing)
            return
        entries = [{"vlan": vlan, "state": "unassigned"} for vlan in step.unassigned]
        entries += [{"vlan": vlan, "state": "assigned"} for vlan in step.assigned]
        answer = self.client.write_one("POST", f"{path}/vlan-assignments/batches", {"vlan_assignments": entries}, doing=doing)

        def look() -> list[str]:
            batch = self.client.read(f"{path}/vlan-assignments/batches/{reference(answer)}", doing=doing)
            _fail_if_failed(batch, doing)
            return [_batch_text(batch, self.title)] if batch.get("state") not in OVER else []

        if not self.params["wait"]:
            return
        try:
            self._waiter.until_nothing_missing(look, doing[0].upper() + doing[1:], whole=whole)
        except (StillWaiting, WaitTimeout) as error:
            error.acted = True
            raise

    def check_deletion(self, current: Found) -> None:
        raise CollectionError(f"{self.title} comes and goes with its device")


def _is_batch(step: Step) -> bool:
    return step.kind == "members" or (step.kind == "vlans" and len(step.assigned) + len(step.unassigned) > 1)


def _created(batch: Mapping[str, Any]) -> str:
    return str(batch.get("created_at") or "")


def _batch_text(batch: Mapping[str, Any], title: str) -> str:
    return f"VLANs of {title} are being changed: batch {batch.get('id')} is {batch.get('state') or 'in a state that is not told'}"


def _fail_if_failed(batch: Mapping[str, Any], doing: str) -> None:
    if batch.get("state") == "failed":
        texts = "; ".join(map(str, batch.get("error_messages") or [])) or "nothing more"
        raise CollectionError(f"Could not {doing}: the service says of the batch {batch.get('id')}: {texts}", {"batch": batch.get("id")})


def find_ports(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_port_info`` returns: ports by id, of one device, or of all devices of the project."""
    if params["ids"] is not None:
        read = [client.read(f"ports/{each}", params={"include": INCLUDED}, doing=f"look at port {each}") for each in params["ids"]]
        return {"ports": [{**Port.result(port), "device_id": None} for port in read]}
    if params["device_id"]:
        identity = params["device_id"]
        devices = [client.read(f"devices/{identity}", params=INCLUDED_OF_DEVICES, doing=f"list the ports of device {identity}")]
    else:
        devices = client.read_list(
            f"projects/{params['project_id']}/devices",
            "devices",
            params=INCLUDED_OF_DEVICES,
            doing="list the ports of the project's devices",
        )
    return {"ports": [{**Port.result(port), "device_id": device.get("id")} for device in devices for port in _ports(device)]}
