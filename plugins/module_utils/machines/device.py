# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One device: what is public of it, how options and the API's object compare, and its life.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options, identifier, identifiers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import digest
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    DeniedError,
    DeviceFailedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    NotYetError,
    StillThereError,
    ValidationError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.capacity import ask_capacity, lacking
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import (
    BEGINNING,
    Operation,
    marks,
    oldest_first,
    since,
    under_way,
    without_marks,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import (
    LEAVING,
    inner,
    metro_code,
    normal_data,
    normal_tags,
    normal_time,
    plan_name,
    reference,
    state_of,
    tag_to_ask_for,
    texts,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import (
    Resource,
    create_once,
    delete_once,
    is_gone,
    still_there,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

IP_ADDRESS_OPTIONS: dict[str, Any] = {
    "address_family": {"type": "int", "choices": [4, 6], "required": True},
    "public": {"type": "bool", "required": True},
    "cidr": {"type": "int"},
    "ip_reservations": identifiers(),
}

SSH_KEY_OPTIONS: dict[str, Any] = {
    "label": {"type": "str", "required": True},
    "key": {"type": "str", "required": True, "no_log": False},
}

DEVICE_OPTIONS = Options(
    {
        "plan": {"type": "str"},
        "metro": {"type": "str"},
        "operating_system": {"type": "str"},
        "userdata": {"type": "str", "no_log": True, "aliases": ["user_data"]},
        "ipxe_script_url": {"type": "str"},
        "always_pxe": {"type": "bool"},
        "tags": {"type": "list", "elements": "str"},
        "customdata": {"type": "dict"},
        "description": {"type": "str"},
        "billing_cycle": {"type": "str", "choices": ["hourly", "daily", "monthly", "yearly"]},
        "locked": {"type": "bool", "aliases": ["lock"]},
        "network_frozen": {"type": "bool"},
        "project_ssh_keys": identifiers(no_log=False),
        "user_ssh_keys": identifiers(no_log=False),
        "ssh_keys": {"type": "list", "elements": "dict", "no_log": False, "options": SSH_KEY_OPTIONS},
        "no_ssh_keys": {"type": "bool", "no_log": False},
        "features": {"type": "raw"},
        "storage": {"type": "dict"},
        "spot_instance": {"type": "bool"},
        "spot_price_max": {"type": "float"},
        "public_ipv4_subnet_size": {"type": "int"},
        "private_ipv4_subnet_size": {"type": "int"},
        "hardware_reservation_id": identifier("next-available", ""),
        "ip_addresses": {"type": "list", "elements": "dict", "options": IP_ADDRESS_OPTIONS},
        "termination_time": {"type": "str"},
        "power_state": {"type": "str", "choices": ["on", "off"]},
    }
)
"""What one device can be given; the options of ``metal_device`` and of each machine of ``metal_device_set``."""

SETTLED = frozenset({"active", "inactive"})
OFF = frozenset({"inactive", "powering_off"})

COMPARED_AS_THEY_ARE = ("hostname", "description", "billing_cycle", "locked", "always_pxe", "network_frozen", "ipxe_script_url")
"""Attributes that are the same in the options, in the body of a create or an update, and in the answer."""

SENT_AS_THEY_ARE = (
    "plan",
    "operating_system",
    "hardware_reservation_id",
    "userdata",
    "customdata",
    "spot_instance",
    "spot_price_max",
)
"""What is sent with a create as it was given, and compared in a form of its own."""

AT_CREATION_ONLY = (
    "project_ssh_keys",
    "user_ssh_keys",
    "ssh_keys",
    "no_ssh_keys",
    "features",
    "storage",
    "ip_addresses",
    "public_ipv4_subnet_size",
    "private_ipv4_subnet_size",
)
"""The API takes these with a create and does not tell them afterwards in a form that could be compared."""

_ANOTHER = "leave the option out, or have the device deleted (state=absent) and created again"

IMMUTABLE = {
    "plan": f"a device keeps its plan: {_ANOTHER}",
    "metro": f"a device keeps its place: {_ANOTHER}",
    "operating_system": "an update cannot install another one: leave the option out, or have metal_device install it (operation=reinstall"
    " with an operation_id that was not used before)",
    "hardware_reservation_id": f"a device keeps its hardware: {_ANOTHER}",
    "project_id": "a device keeps its project: give that one, or leave the option out, since the device is given by its id",
    "spot_instance": f"only a spot instance can be made an ordinary one, not the other way round: {_ANOTHER}",
    "spot_price_max": f"the API takes it at creation only: {_ANOTHER}",
}

ABSENCES_FORGIVEN = 2
"""How many looks in a row may miss a device before it is gone: fresh objects can be missing for a moment (service's known behaviour)."""


# --- what is public -----------------------------------------------------------------------------------------------------------


def device_facts(device: Mapping[str, Any]) -> dict[str, Any]:
    """What modules and the inventory tell of a device: plain values, an odd or missing field gives None or an empty list.

    Never userdata, customdata, root_password or the text of keys. ``addresses`` holds the first management address of each kind.
    """
    addresses = [entry for entry in mappings(device.get("ip_addresses")) if isinstance(entry.get("address"), str)]
    return {
        "id": device.get("id"),
        "hostname": device.get("hostname"),
        "description": device.get("description"),
        "state": device.get("state"),
        "plan": plan_name(device),
        "metro": metro_code(device),
        "operating_system": inner(device, "operating_system", "slug"),
        "tags": texts(device.get("tags")),
        "created_at": device.get("created_at"),
        "addresses": {
            "public_ipv4": _first(addresses, family=4, public=True),
            "private_ipv4": _first(addresses, family=4, public=False),
            "public_ipv6": _first(addresses, family=6, public=True),
        },
        "ip_addresses": [
            {
                name: entry.get(name)
                for name in ("address", "address_family", "public", "management", "cidr", "network", "netmask", "gateway")
            }
            for entry in addresses
        ],
        "network_ports": [_port_facts(port) for port in mappings(device.get("network_ports"))],
        "billing_cycle": device.get("billing_cycle"),
        "hardware_reservation_id": reference(device.get("hardware_reservation")),
        "project_id": reference(device.get("project")),
        "ipxe_script_url": device.get("ipxe_script_url"),
        "always_pxe": device.get("always_pxe"),
        "locked": device.get("locked"),
        "termination_time": device.get("termination_time"),
        "provisioning_started_at": _provisioning_started(device),
        "provisioning_percentage": device.get("provisioning_percentage"),
    }


def _provisioning_started(device: Mapping[str, Any]) -> str | None:
    """When the event that begins every provisioning happened last: a reinstallation tells it anew (recorded answers)."""
    moments = [event.get("created_at") for event in mappings(device.get("provisioning_events")) if event.get("type") == BEGINNING]
    return max((moment for moment in moments if isinstance(moment, str)), default=None)


def _first(addresses: Iterable[Mapping[str, Any]], *, family: int, public: bool) -> str | None:
    fitting = [entry for entry in addresses if entry.get("address_family") == family and bool(entry.get("public")) is public]
    # Addresses without the mark are the device's own as well as far as one can tell; elastic ones say management: false.
    fitting.sort(key=lambda entry: entry.get("management") is False)
    return str(fitting[0]["address"]) if fitting else None


def _port_facts(port: Mapping[str, Any]) -> dict[str, Any]:
    data = port.get("data")
    data = data if isinstance(data, Mapping) else {}
    return {
        "id": port.get("id"),
        "name": port.get("name"),
        "type": port.get("type"),
        "mac": data.get("mac"),
        "bonded": data.get("bonded"),
        "bond": inner(port, "bond", "name"),
        "network_type": port.get("network_type"),
        "virtual_networks": [network for network in map(reference, mappings(port.get("virtual_networks"))) if network],
    }


# --- how options and object compare -------------------------------------------------------------------------------------------


def device_wanted(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> dict[str, Any]:
    """The given attributes in comparable form, without the ones that cannot be compared."""
    wanted: dict[str, Any] = {name: params.get(name) for name in COMPARED_AS_THEY_ARE}
    wanted["plan"] = params.get("plan")
    wanted["metro"] = _asked_metro(params)
    wanted["operating_system"] = params.get("operating_system")
    wanted["hardware_reservation_id"] = params.get("hardware_reservation_id")
    wanted["power_state"] = params.get("power_state")
    wanted["spot_instance"] = params.get("spot_instance")
    wanted["spot_price_max"] = params.get("spot_price_max")
    if params.get("tags") is not None:
        wanted["tags"] = normal_tags([*without_marks(params["tags"]), *ownership_tags])
    operation = Operation.of(params)
    wanted["operation"] = str(operation) if operation else None
    if params.get("id"):
        # Without an id it is looked for in this project, and in no other.
        wanted["project_id"] = params.get("project_id")
    if params.get("termination_time") is not None:
        wanted["termination_time"] = normal_time(params["termination_time"]) or ""
    if params.get("userdata") is not None:
        wanted["userdata"] = digest(params["userdata"])
    if params.get("customdata") is not None:
        wanted["customdata"] = normal_data(params["customdata"])
    return {name: value for name, value in wanted.items() if value is not None}


def device_view(device: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """All comparable attributes of a device, each in the form its option was given in: a plan asked for by its UUID is told by it."""
    view: dict[str, Any] = {
        "hostname": device.get("hostname"),
        "description": device.get("description") or "",
        "billing_cycle": device.get("billing_cycle"),
        "locked": bool(device.get("locked")),
        "always_pxe": bool(device.get("always_pxe")),
        "network_frozen": bool(device.get("network_frozen")),
        "ipxe_script_url": device.get("ipxe_script_url") or "",
        "metro": metro_code(device),
        # Not told it is no other one: an answer may leave it out.
        "project_id": reference(device.get("project")) or params.get("project_id"),
        "termination_time": normal_time(device.get("termination_time")) or "",
        "power_state": "off" if state_of(device) in OFF else "on",
        # The marks of operations are ours, whatever tags the user gives.
        "tags": normal_tags(without_marks(texts(device.get("tags")))),
        "spot_instance": bool(device.get("spot_instance")),
        "spot_price_max": device.get("spot_price_max"),
        "userdata": digest(device.get("userdata")),
        "customdata": normal_data(device.get("customdata")),
    }
    operation = Operation.of(params)
    view["operation"] = str(operation) if operation and operation.is_done(texts(device.get("tags"))) else ""
    view["plan"] = _as_asked(params.get("plan"), _names(device.get("plan")), plan_name(device))
    system = device.get("operating_system")
    view["operating_system"] = _as_asked(params.get("operating_system"), _names(system), inner(device, "operating_system", "slug"))
    if {view["metro"], *(name.lower() for name in _names(device.get("metro")))} & set(metros_of(params)):
        view["metro"] = _asked_metro(params) or view["metro"]
    reservation = reference(device.get("hardware_reservation"))
    view["hardware_reservation_id"] = (
        "next-available" if reservation and params.get("hardware_reservation_id") == "next-available" else reservation or ""
    )
    return view


def _names(item: Any) -> set[str]:
    if not isinstance(item, Mapping):
        return set()
    return {str(item[name]) for name in ("id", "slug", "name", "code") if item.get(name)}


def metros_of(params: Mapping[str, Any]) -> list[str]:
    """The metros that were given, one or a list of them, in order of preference: lower case, and perhaps ``any`` among them."""
    given = params.get("metro") or []
    return [metro.lower() for metro in ([given] if isinstance(given, str) else given) if metro.strip()]


def _asked_metro(params: Mapping[str, Any]) -> str | list[str] | None:
    """What is compared with where a device is: one metro as a text, several as their list, and nothing where any will do."""
    metros = metros_of(params)
    if not metros or "any" in metros:
        return None
    return metros[0] if len(metros) == 1 else metros


def _as_asked(asked: Any, names: set[str], usual: str | None) -> str | None:
    return asked if isinstance(asked, str) and asked in names else usual


def device_tags(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> list[str]:
    """The tags as they are sent: ours and the user's, each once. Marks of operations, of another device perhaps, are none of them."""
    return list(dict.fromkeys([*ownership_tags, *without_marks(params.get("tags") or [])]))


def device_body(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> dict[str, Any]:
    """The body of a create: what was given, and our tags.

    A new device is as good as rebooted and installed: the mark of that operation comes with it, so that no later run asks for it.
    """
    body: dict[str, Any] = {}
    for name in (*COMPARED_AS_THEY_ARE, *SENT_AS_THEY_ARE, *AT_CREATION_ONLY):
        if params.get(name) is not None:
            body[name] = params[name]
    if metros := metros_of(params):
        body["metro"] = metros[0] if len(metros) == 1 else metros
    if params.get("termination_time"):
        body["termination_time"] = normal_time(params["termination_time"])
    if not body.get("hardware_reservation_id"):
        body.pop("hardware_reservation_id", None)  # empty it means none, and nothing is what says so
    if "ip_addresses" in body:
        body["ip_addresses"] = [{name: value for name, value in entry.items() if value is not None} for entry in body["ip_addresses"]]
    tags = device_tags(params, ownership_tags)
    operation = Operation.of(params)
    if tags or operation:
        body["tags"] = operation.done(tags) if operation else tags
    return body


def creation_problems(params: Mapping[str, Any]) -> list[str]:
    """Why a device cannot be created from these options; nothing when it can."""
    needed = ["hostname", "plan", "operating_system", "metro"]
    if params.get("hardware_reservation_id") not in (None, "", "next-available"):
        # The hardware says both (vendor's OpenAPI text).
        needed = ["hostname", "operating_system"]
    given = {**params, "metro": metros_of(params)}
    missing = [name for name in needed if not given.get(name)]
    problems = [f"to create it, {' and '.join(missing)} must be given"] if missing else []
    if "_" in (params.get("hostname") or ""):
        problems.append("hostname has an underscore, which the service does not take")
    features = params.get("features")
    if isinstance(features, Mapping):
        well = all(value in ("required", "preferred") for value in features.values())
    else:
        well = features is None or (isinstance(features, list) and all(isinstance(name, str) for name in features))
    if not well:
        problems.append("features is a list of names, or of each name whether it is required or preferred")
    if params.get("spot_price_max") is not None and not params.get("spot_instance"):
        problems.append("spot_price_max is for spot_instance=true")
    if params.get("operation") == "rescue":
        problems.append("operation=rescue is for a device that is there")
    if params.get("operating_system") == "custom_ipxe":
        script = (params.get("userdata") or "").startswith("#!ipxe")
        if script and params.get("ipxe_script_url"):
            problems.append(
                "custom_ipxe has both ipxe_script_url and a userdata that is a script (#!ipxe), of which only the latter would be run"
            )
        elif not script and not params.get("ipxe_script_url"):
            problems.append("custom_ipxe needs ipxe_script_url, or a userdata that begins with #!ipxe")
    return problems


# --- its life -----------------------------------------------------------------------------------------------------------------


TRIES_FOR_HARDWARE = 3
"""How often hardware is asked for that is free when it is looked at. Others may want it too."""


class Device(Resource):
    """A device by its id, or by its hostname and all ``ownership_tags``; ``params`` are the options of ``metal_device``.

    ``project_given``: whether the project is one of them, and not just the one of everything in this environment.
    """

    result_key = "device"
    kind = "device"
    path = "devices"
    after_creation = frozenset({"power_state"})

    def __init__(
        self, client: MetalClient, params: Mapping[str, Any], warn: Callable[[str], None] | None = None, *, project_given: bool = True
    ) -> None:
        super().__init__(client, params)
        self.immutable = IMMUTABLE
        self._warn = warn
        self._project_given = project_given
        self._project = params.get("project_id")
        self._operation = Operation.of(params)
        self._newest_before: str | None = None
        self._begun = False
        self._over = False
        self.ownership_tags: list[str] = list(params.get("ownership_tags") or [])
        # What the call before this one ordered, and what of that is to be deleted again.
        known = params.get("resume")
        known = known if isinstance(known, Mapping) else {}
        self._ordered: str | None = known.get("ordered")
        self._duplicate: Found | None = None
        self.duplicates: list[dict[str, Any]] = list(known.get("duplicates") or [])
        """Devices that this call ordered and deleted again, since another run had ordered the same one first: ``id`` and ``kept``."""
        # A call that goes on waiting comes seconds later: what is missing then is not just too fresh to be seen.
        self._absences = ABSENCES_FORGIVEN if params.get("resume") else 0

    @property
    def title(self) -> str:
        return f"device {self.params.get('hostname') or self.params.get('id')}"

    # find

    def find(self) -> Found | None:
        found = super().find()
        return None if found is None else self.whole(found)

    def find_by_options(self) -> Found | None:
        return self.among(self._same_name())

    def find_by_id(self) -> Found | None:
        identity = self.params["id"]
        try:
            found = self.client.read(f"devices/{identity}", doing=f"look for device {identity}")
        except MetalError as error:
            if not is_gone(error):
                raise
            if self.params["state"] == "absent":
                return None
            raise CollectionError(
                f"There is no device with the id {identity}. A device is created by its hostname: leave id out for that", error.details
            ) from error
        if not self._owned(found):
            raise CollectionError(f"Cannot change device {identity}: it does not have the tags {', '.join(self.ownership_tags)}")
        return found

    def among(self, devices: Iterable[Found]) -> Found | None:
        """The one device of these that is meant. Raises CollectionError when there are several, or only one that is not ours."""
        if self.params.get("id"):
            return next((device for device in devices if device.get("id") == self.params["id"]), None)
        devices = list(devices)
        hostname = str(self.params["hostname"])
        absent = self.params["state"] == "absent"
        same = [device for device in devices if str(device.get("hostname") or "").lower() == hostname.lower()]
        staying = [device for device in same if not self.is_deleting(device)]
        own = [device for device in staying if self._owned(device)]
        foreign = [device for device in staying if not self._owned(device)]
        if len(own) > 1:
            ids = ", ".join(sorted(str(device.get("id")) for device in own))
            raise CollectionError(
                f"Cannot look after {self.title}: {len(own)} devices have the hostname {hostname}: {ids}. "
                "Delete what is not wanted (metal_device with id, state=absent)",
                {"hostname": hostname, "ids": sorted(str(device.get("id")) for device in own)},
            )
        if foreign:
            self._tell_foreign(hostname, foreign, fails=not own and not absent)
        if own:
            return own[0]
        self._fail_if_nameless(devices)
        leaving = [device for device in same if self.is_deleting(device) and self._owned(device)]
        return leaving[0] if leaving and absent else None

    def _fail_if_nameless(self, devices: Sequence[Found]) -> None:
        """A device of ours without a name may be the one that is meant: ordering another would be a guess."""
        nameless = [device for device in devices if not isinstance(device.get("hostname"), str) and self._owned(device)]
        if nameless:
            ids = ", ".join(sorted(str(device.get("id")) for device in nameless))
            raise CollectionError(f"Could not look for {self.title}: the service tells no hostname of the device {ids}, which may be it")

    def _tell_foreign(self, hostname: str, foreign: Sequence[Found], *, fails: bool) -> None:
        ids = ", ".join(sorted(str(device.get("id")) for device in foreign))
        tags = ", ".join(self.ownership_tags)
        text = f"device {ids} has the hostname {hostname} but not the tags {tags}: it is not ours and is left alone"
        if fails:
            raise CollectionError(
                f"Cannot provide {self.title}: {text}. A second one of this name is not created. "
                "Rename it, delete it, or give it these tags if it is to be taken over",
                {"hostname": hostname, "ids": sorted(str(device.get("id")) for device in foreign)},
            )
        self.warn(f"The {text}")

    def warn(self, text: str) -> None:
        """Show a warning, if there is anybody to see it."""
        if self._warn is not None:
            self._warn(text)

    def _owned(self, device: Found) -> bool:
        return set(self.ownership_tags) <= set(texts(device.get("tags")))

    def whole(self, found: Found) -> Found:
        """With its userdata, if that is compared: an answer may leave it out. What can be changed depends on what is still to be done."""
        changeable = {"spot_instance"} if self.params.get("spot_instance") is False else set()
        if self._operation and self._operation.kind == "reinstall" and not self._is_done(found):
            changeable.add("operating_system")
        self.immutable = {name: way_out for name, way_out in IMMUTABLE.items() if name not in changeable}
        if self.params.get("userdata") is None or "userdata" in found:
            return found
        answer = self.client.read(f"devices/{found['id']}/userdata", doing=f"read the userdata of {self.title}")
        return {**found, "userdata": answer.get("userdata")}

    # compare

    def desired(self) -> dict[str, Any]:
        wanted = device_wanted(self.params, self.ownership_tags)
        if not self._project_given:
            wanted.pop("project_id", None)
        return wanted

    def comparable(self, current: Found) -> dict[str, Any]:
        return device_view(current, self.params)

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return device_facts(current)

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        predicted: dict[str, Any] = dict(current or {"state": "queued", "tags": list(self.ownership_tags)})
        for name, value in changes.items():
            if name in ("plan", "operating_system"):
                predicted[name] = {"slug": value}
            elif name == "metro":
                predicted[name] = {"code": value}
            elif name == "hardware_reservation_id":
                predicted["hardware_reservation"] = {"id": value or None}
            elif name == "power_state":
                if current is not None:
                    predicted["state"] = "active" if value == "on" else "inactive"
            elif name == "operation":
                if current is not None:
                    predicted["state"] = "active"
            elif name in ("termination_time", "ipxe_script_url"):
                predicted[name] = value or None
            elif name not in ("userdata", "customdata"):
                predicted[name] = value
        predicted["tags"] = [*without_marks(texts(predicted.get("tags"))), *marks(texts((current or {}).get("tags")))]
        if self._operation and "operation" in changes:
            predicted["tags"] = self._operation.done(predicted["tags"])
        return predicted

    # state=present

    def creation_problems(self) -> list[str]:
        problems = creation_problems(self.params)
        if self.params.get("power_state") == "off" and self.params.get("wait") is False:
            problems.append("a new device can be switched off only when it is active: use wait=true with power_state=off")
        return problems

    def check_replacement(self) -> None:
        """Raise CollectionError when another cannot be ordered in its place: by id, or for want of stock."""
        if self.params.get("id"):
            raise CollectionError(f"Cannot replace {self.title}: another one has another id. Give its hostname instead of id")
        metros = metros_of(self.params)
        if self.params.get("hardware_reservation_id") or "any" in metros:
            return
        servers = [{"plan": self.params["plan"], "metro": metro, "quantity": 1} for metro in metros]
        problems = lacking(ask_capacity(self.client, servers, optional=True))
        if len(problems) == len(servers):
            raise CollectionError(together(f"{self.title} is not replaced, since another cannot be had", problems), {"servers": servers})

    def create(self) -> Found:
        for attempt in range(1, TRIES_FOR_HARDWARE + 1):
            try:
                return self._order()
            except ValidationError as error:
                # The two refusals, known by these words (terraform-provider-equinix looks for them).
                taken = error.says("no available hardware reservations") or error.says("not provisionable")
                if not taken or not self.params.get("hardware_reservation_id"):
                    raise
                free, texts = self._reserved_hardware()
                if texts and not free:
                    raise NotYetError(f"{error.message}. {'; '.join(texts)}: use wait=true", texts, error.details) from error
                # What is free has become so since it was refused, unless the service refuses it for a reason of its own.
                if not free or attempt == TRIES_FOR_HARDWARE:
                    raise
        raise AssertionError("TRIES_FOR_HARDWARE is 1 or more")

    def _order(self) -> Found:
        body = device_body(self.params, self.ownership_tags)
        path, doing = f"projects/{self._project}/devices", f"create {self.title}"
        return self.whole(self.client.write_one("POST", path, body, doing=doing, again=False))

    def _reserved_hardware(self) -> tuple[bool, list[str]]:
        """Of the reserved hardware that this device may get: whether some is free, and what is being freed, one text for all of it: its
        last device is gone or going, and it is being wiped.
        """
        asked, plan, metros = self.params.get("hardware_reservation_id"), self.params.get("plan"), metros_of(self.params)
        # Devices first: one that goes between the two lists is then still known as leaving.
        devices = self.client.read_list(f"projects/{self._project}/devices", "devices", doing="list the project's devices")
        leaving = {device.get("id") for device in devices if self.is_deleting(device)}
        reservations = self.client.read_list(
            f"projects/{self._project}/hardware-reservations",
            "hardware_reservations",
            params={"include": "facility.metro"},
            doing="list the project's reserved hardware",
        )
        free, texts = False, []
        for reservation in reservations:
            facility = reservation.get("facility")
            place = metro_code(reservation) or (metro_code(facility) if isinstance(facility, Mapping) else None)
            used_by = reference(reservation.get("device"))
            if (
                (asked in ("next-available", reservation.get("id")))
                and (asked != "next-available" or plan in (None, *_names(reservation.get("plan"))))
                and (not metros or "any" in metros or place is None or place in metros)
                and not (reservation.get("spare") or reservation.get("need_of_service"))
                and (used_by is None or used_by in leaving)
            ):
                free = free or bool(reservation.get("provisionable"))
                texts.append(f"{self.params.get('hostname')} waits for the hardware {reservation.get('id')}, which is being freed")
        return free, texts[:1]

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        if not {"power_state", "operation"} & set(changes) or state_of(current) in SETTLED:
            return []
        if self._operation and self._operation.newest_before(texts(current.get("tags"))) and state_of(current) == "reinstalling":
            return []  # asked for by a run that was killed: only to be noted
        self._fail_if_failed(current)
        return [state_text(current)]

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """All attributes in one call, then the switch or the operation: what is installed anew starts with what was given now."""
        operation = self._operation if "operation" in changes else None
        body = {name: self.params[name] for name in changes if name not in ("power_state", "operation", "operating_system")}
        if "termination_time" in body:
            body["termination_time"] = normal_time(body["termination_time"])
        if "tags" in body or operation:
            tags = self._tags_to_send(current, changes)
            asked_before = operation is not None and operation.newest_before(tags) is not None
            if operation and not asked_before:
                tags = operation.requested(tags, self._events(current))
            if tags != current["tags"]:
                body["tags"] = tags
        path = f"devices/{current['id']}"
        if body:
            current = self.client.write_one("PUT", path, body, doing=f"change {', '.join(sorted(body))} of {self.title}")
        # The vendor's text has this attribute in a create only; a service that passes it over would end the device when nobody expects it.
        if "termination_time" in body and normal_time(current.get("termination_time")) != body["termination_time"]:
            raise CollectionError(
                f"The service did not take another termination_time for {self.title}: it has {current.get('termination_time') or 'none'}"
            )
        if "power_state" in changes:
            action = "power_on" if changes["power_state"] == "on" else "power_off"
            self.client.write("POST", f"{path}/actions", {"type": action}, doing=f"{action.replace('_', ' ')} {self.title}")
            current = self.refresh(current)
        if operation:
            self._newest_before = operation.newest_before(tags)
            if not (asked_before and self._was_accepted(current, operation)):
                self._request(current, operation)
            doing = f"note on {self.title} that its {operation.kind} was accepted"
            current = self.client.write_one("PUT", path, {"tags": operation.done(tags)}, doing=doing)
        return self.whole(current)

    def _tags_to_send(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        """The tags that are wanted, and the marks of operations as they are. Raises CollectionError when the service does not tell them."""
        if not isinstance(found.get("tags"), list):
            raise CollectionError(
                f"Could not change the tags of {self.title}: the service does not tell which it has, and some may be marks"
            )
        current = texts(found["tags"])
        return [*device_tags(self.params, self.ownership_tags), *marks(current)] if "tags" in changes else current

    # Two runs that order the same device at the same moment: what the cluster lock prevents, and a second line where none is taken.

    def older_duplicate(self, own: Found, devices: Iterable[Found]) -> Found | None:
        """Return the device that another run ordered before ``own`` by the same hostname and tags, None when there is none.

        Of two the younger one goes, deleted by who ordered it: so whoever sees just his own, and says so, is right.
        """
        hostname = str(own.get("hostname") or "").lower()
        same = [
            device
            for device in devices
            if device.get("id") not in (None, own.get("id"))
            and str(device.get("hostname") or "").lower() == hostname
            and self._owned(device)
            and device.get("state") != "failed"
            and not self.is_deleting(device)
            and _is_older(device, own)
        ]
        return min(same, key=lambda device: (str(device.get("created_at") or ""), str(device["id"])), default=None)

    def note_order(self, created: Found) -> Found:
        """Note that this call ordered it, and return the device to go on with: an older one that another run has ordered too."""
        self._ordered = str(created["id"])
        chosen = self._first_ordered(created)
        return created if chosen["id"] == created["id"] else self.whole(chosen)

    def _first_ordered(self, found: Found) -> Found:
        """Return the device to go on with, by what is listed now: what this call ordered, or else an older one of this name.

        What this call ordered is deleted in the latter case, as soon as the service lets it: not while it is provisioned.
        """
        devices = self._same_name()
        own = next((device for device in devices if device.get("id") == self._ordered), found if found.get("id") == self._ordered else None)
        older = None if own is None or self.is_deleting(own) else self.older_duplicate(own, devices)
        if own is None or older is None:
            self._duplicate = None
            return found if own is None else own
        self._duplicate = own
        self.warn(f"Another run ordered {self.title} as well: {older['id']} is used, {own['id']} is deleted")
        if not self.delete(own):
            self.duplicates.append({"id": own["id"], "kept": older["id"]})
            self._ordered = self._duplicate = None
        return older

    def notes(self) -> dict[str, Any]:
        """Return the duplicates, and warn of one that nobody waits for until the service lets it be deleted."""
        if self._duplicate is not None:
            self.warn(
                f"{self._duplicate['id']}, a second {self.title}, could not be deleted yet, and is billed: delete it when it is provisioned"
                " (metal_device with id, state=absent)"
            )
        return {"duplicates": self.duplicates} if self.duplicates else {}

    def _same_name(self) -> list[dict[str, Any]]:
        path, params = f"projects/{self._project}/devices", {"hostname": self.params["hostname"]}
        return list(self.client.read_list(path, "devices", params=params, doing=f"look for {self.title}"))

    def memory(self) -> dict[str, Any]:
        """What the next call has to know of what was ordered; no secret."""
        return {"ordered": self._ordered, "duplicates": self.duplicates}

    # operations

    def _is_done(self, found: Found) -> bool:
        return self._operation is not None and self._operation.is_done(texts(found.get("tags")))

    def _events(self, found: Found) -> list[dict[str, Any]]:
        return self.client.read_list(f"devices/{found['id']}/events", "events", doing=f"read the events of {self.title}")

    def _was_accepted(self, found: Found, operation: Operation) -> bool:
        """Whether the service has taken up what was asked for, at a look at the device and its events now.

        Raises CollectionError when events do not tell.
        """
        if operation.kind == "reinstall" and state_of(found) == "reinstalling":
            return True
        news = since(self._events(found), str(self._newest_before))
        if news is None:
            raise CollectionError(
                f"Could not see whether {self.title} was asked to {operation.kind} ({operation.word}): the service does not tell the event"
                f" {self._newest_before}, the last one before that. If it stays so, look at the device; another operation_id asks again"
            )
        return operation.is_told_by(news)

    def _request(self, found: Found, operation: Operation) -> None:
        """Ask for it, and when the answer was lost look whether it was done before asking again."""
        body: dict[str, Any] = {"type": operation.kind}
        if operation.kind == "reinstall":
            names = ["operating_system", "deprovision_fast", "preserve_data"]
            if (self.params.get("operating_system") or inner(found, "operating_system", "slug")) == "custom_ipxe":
                names.append("ipxe_script_url")  # taken with that system only (vendor's OpenAPI text)
            body |= {name: self.params[name] for name in names if self.params.get(name) is not None}

        def ask() -> Found:
            try:
                self.client.write("POST", f"devices/{found['id']}/actions", body, doing=f"{operation.kind} {self.title}", again=False)
            except ValidationError:
                # Refused because it is under way: the answer to the first try was lost, and what came of it is told only now.
                if look() is None:
                    raise
            return found

        def look() -> Found | None:
            current = self.refresh(found)
            return current if self._was_accepted(current, operation) else None

        try:
            create_once(ask, look)
        except LostAnswerError as error:
            # Nobody tries this again in this run: the next one sees what came of it.
            raise MetalError(error.message, **error.details) from error

    def _operating(self, found: Found) -> list[str]:
        """What is missing until an accepted operation is over: its state tells an installation, events a power operation."""
        if self._over or self._operation is None or not self._is_done(found) or not self.params.get("wait"):
            return []
        # Known only to the run that asked: what is told then has to be news.
        asked = self._newest_before is not None
        if self._operation.kind != "reinstall" or asked:
            events = self._events(found)
            news = since(events, self._newest_before) or [] if self._newest_before else oldest_first(events)
            event = under_way(news) if self._operation.kind != "reinstall" else None
            if event is not None or (asked and not self._begun and not self._operation.is_told_by(news)):
                said = (event or {}).get("body") or "the service has not begun"
                return [f"{found.get('hostname') or found.get('id')} has to {self._operation.kind}: {said}"]
        self._over = True
        return []

    def refresh(self, current: Found) -> Found:
        if self._ordered is not None:
            fresh = self._first_ordered(current)
            if fresh is not current:
                self._absences = 0
                return self.whole(fresh)
        try:
            fresh = self.client.read(f"devices/{current['id']}", doing=f"look at {self.title}")
        except MetalError as error:
            if not is_gone(error):
                raise
            self._absences += 1
            if isinstance(error, NotFoundError) and self._absences <= ABSENCES_FORGIVEN:
                return current
            raise vanished(current, error) from error
        self._absences = 0
        return self.whole(fresh)

    def pending(self, current: Found) -> list[str]:
        self._fail_if_failed(current)
        wanted = self.params.get("power_state")
        ready = SETTLED if wanted is None else {"active"} if wanted == "on" else {"inactive"}
        self._begun = self._begun or (self._newest_before is not None and state_of(current) == "reinstalling")
        going = [] if self._duplicate is None else [f"{self._duplicate['id']}, a second {self.title}, is to be deleted"]
        return [*going, *(self._operating(current) if state_of(current) in ready else [state_text(current)])]

    def _fail_if_failed(self, found: Found) -> None:
        if found.get("state") == "failed":
            raise failed(self.client, found)
        if self.is_deleting(found):
            raise CollectionError(f"{self.title} ({found.get('id')}) is being deleted by someone else")
        if self._operation and self._operation.kind == "reboot" and state_of(found) == "inactive" and not self._is_done(found):
            raise CollectionError(f"Cannot reboot {self.title}: it is off. Switch it on instead (power_state=on)")

    # state=absent

    def is_deleting(self, current: Found) -> bool:
        return _is_deleting(current)

    def check_deletion(self, current: Found) -> None:
        if current.get("locked"):
            raise CollectionError(
                f"Cannot delete {self.title} ({current.get('id')}): it is locked. Unlock it first (state=present, locked=false)"
            )

    def delete(self, current: Found) -> list[str]:
        return delete_device(self.client, current, force=bool(self.params.get("force_delete")))

    def remaining(self, current: Found) -> list[str]:
        try:
            fresh = self.client.read(f"devices/{current['id']}", doing=f"see whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return []
            raise
        return [] if fresh.get("state") == "deleted" else [state_text(fresh)]


def state_text(device: Found) -> str:
    """What is seen of a device that is not there yet: ``worker-0.demo.example.com is provisioning (57 %): Server partitions created``."""
    percentage = device.get("provisioning_percentage")
    moving = state_of(device) in ("queued", "provisioning", "reinstalling") and isinstance(percentage, (int, float))
    progress = f" ({percentage:.0f} %)" if moving else ""
    steps = [event for event in mappings(device.get("provisioning_events")) if event.get("created_at") and event.get("body")]
    last = f": {steps[-1]['body']}" if moving and steps else ""
    return f"{device.get('hostname') or device.get('id')} is {state_of(device)}{progress}{last}"


def delete_device(client: MetalClient, found: Found, *, force: bool = False) -> list[str]:
    """Ask for a device's deletion; returns what has to pass first, nothing when the device is leaving or gone.

    ``force``: detach storage that is still attached to it (vendor's OpenAPI text).
    Raises CollectionError when the service refuses for good.
    """
    name = f"{found.get('hostname')} ({found.get('id')})"
    try:
        params = {"force_delete": True} if force else None
        delete_once(client, f"devices/{found['id']}", doing=f"delete device {name}", is_deleting=_is_deleting, params=params)
    except (NotFoundError, StillThereError) as error:
        return [error.message]
    except ValidationError as error:
        # "Cannot delete a device while it is provisioning", "Cannot delete a locked item": the service's own texts.
        if error.says("provisioning"):
            return [f"{found.get('hostname')} is {found.get('state')}, which has to end before it can be deleted"]
        raise
    except DeniedError as error:
        # A token that may see it but not delete it is told so, and nobody waits for its end.
        doing = f"see whether device {found.get('hostname')} is gone"
        if not is_gone(error) or still_there(client, f"devices/{found['id']}", doing=doing, is_deleting=_is_deleting):
            raise
    return []


def _is_older(device: Found, other: Found) -> bool:
    """Return whether a device was created before another one; of the same moment, as the service tells it, by their ids."""
    moments = (device.get("created_at"), other.get("created_at"))
    if not all(isinstance(moment, str) for moment in moments):
        moments = ("", "")
    return (moments[0], str(device["id"])) < (moments[1], str(other["id"]))


def _is_deleting(device: Found) -> bool:
    return state_of(device) in LEAVING


def failed(client: MetalClient, found: Found) -> DeviceFailedError:
    """The error for a device in the state ``failed``, with the last thing the service said about it."""
    try:
        events = client.read_list(f"devices/{found['id']}/events", "events", doing="read the device's events")
    except MetalError:
        # The device's own list is the next best; what went wrong with reading events is not what the user has to know now.
        events = [dict(event) for event in mappings(found.get("provisioning_events"))]
    happened = [event for event in events if event.get("created_at")]
    last = max(happened, key=lambda event: str(event["created_at"]), default=None)
    said = f"the last event is {last.get('body')!r} ({last.get('type')}, {last['created_at']})" if last else "the service tells no event"
    return DeviceFailedError(
        f"Device {found.get('hostname')} ({found.get('id')}) has failed: {said}. Delete it (state=absent) and create it again",
        {"id": found.get("id"), "hostname": found.get("hostname"), "state": "failed", "last_event": (last or {}).get("body")},
    )


def vanished(found: Found, error: MetalError) -> DeviceFailedError:
    """The error for a device that was there and is no more."""
    gone = DeviceFailedError(
        f"Device {found.get('hostname')} ({found.get('id')}) is gone: when provisioning fails, the service takes a device back"
        f" (it was {found.get('state')} when last seen). Run again to order another",
        {**error.details, "id": found.get("id"), "hostname": found.get("hostname"), "state": found.get("state")},
    )
    gone.gone = True
    return gone


DEVICE_INFO_OPTIONS = Options(
    {
        "tags": {"type": "list", "elements": "str"},
        "hostnames": {"type": "list", "elements": "str", "aliases": ["hostname"]},
        "ids": identifiers(aliases=["device_ids"]),
        "states": {"type": "list", "elements": "str"},
    }
)


def find_devices(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_device_info`` returns: the devices with these ids, else the project's, with all these tags, one of these host names
    and states.
    """
    tags = params["tags"] or []
    if params["ids"] is not None:
        # A device is found by its id whatever project it is in; one that is not there is an error, as every id of a user's.
        listing = [client.read(f"devices/{each}", doing=f"look at device {each}") for each in params["ids"]]
    else:
        listing = client.read_list(
            f"projects/{params['project_id']}/devices",
            "devices",
            # The rest is done here.
            params={"tag": tag_to_ask_for(tags)},
            doing="list the project's devices",
        )
    facts = [device_facts(device) for device in listing]
    chosen = [device for device in facts if set(tags) <= set(device["tags"])]
    for option, name in (("hostnames", "hostname"), ("states", "state")):
        if params[option] is not None:
            chosen = [device for device in chosen if device[name] in params[option]]
    return {"devices": sorted(chosen, key=lambda device: (str(device["hostname"]), str(device["id"])))}
