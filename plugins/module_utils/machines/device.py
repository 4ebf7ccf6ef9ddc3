# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One device: its returned attributes, comparison with the options, and its lifecycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options, identifier, identifiers
from ..base.diff import digest
from ..base.errors import (
    CollectionError,
    DeniedError,
    DeviceFailedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    NotYetError,
    StillExistsError,
    ValidationError,
    together,
)
from ..base.json_objects import mapping, mappings
from ..metal.catalogue import price_per_hour
from ..metal.hardware_reservation import reserved_metro
from ..metal.objects import (
    DELETING_STATES,
    filter_tag,
    inner,
    metro_code,
    normal_data,
    normal_tags,
    normal_time,
    plan_name,
    reference,
    state_of,
    texts,
)
from ..metal.resource import Resource, create_once, delete_once, is_gone, still_exists
from .capacity import ask_capacity, unavailable
from .operation import BEGINNING, Operation, events_after, oldest_first, operation_tags, under_way, without_operation_tags

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from ..metal.resource import Found

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
        "public_ipv4_subnet_size": {"type": "int"},
        "private_ipv4_subnet_size": {"type": "int"},
        "hardware_reservation_id": identifier("next-available", ""),
        "ip_addresses": {"type": "list", "elements": "dict", "options": IP_ADDRESS_OPTIONS},
        "termination_time": {"type": "str"},
        "power_state": {"type": "str", "choices": ["on", "off"]},
    }
)
"""Attributes of one device: options of ``metal_device`` and of each machine of ``metal_device_set``."""

SETTLED = frozenset({"active", "inactive"})
OFF = frozenset({"inactive", "powering_off"})

COMPARED_UNCHANGED = ("hostname", "description", "billing_cycle", "locked", "always_pxe", "network_frozen", "ipxe_script_url")
"""Attributes that are the same in the options, in the body of a create or an update, and in the answer."""

SENT_UNCHANGED = (
    "plan",
    "operating_system",
    "hardware_reservation_id",
    "userdata",
    "customdata",
)
"""Attributes sent with a create as they were given, and compared in another form."""

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
"""Attributes of a create that the API does not return in a comparable form."""

_ANOTHER = "leave the option out, or delete the device (state=absent) and create it again"

IMMUTABLE = {
    "plan": f"a device keeps its plan: {_ANOTHER}",
    "metro": f"a device keeps its place: {_ANOTHER}",
    "operating_system": "an update cannot install another one: leave the option out, or install it with metal_device (operation=reinstall"
    " with an operation_id that was not used before)",
    "hardware_reservation_id": f"a device keeps its hardware: {_ANOTHER}",
    "project_id": "a device keeps its project: set project_id to that one, or leave it out when id is set",
}

TOLERATED_ABSENCES = 2
"""Consecutive reads that may miss a device before it counts as deleted: the API may not list a new object at once (known behaviour)."""


# --- returned attributes ------------------------------------------------------------------------------------------------------

RETURNED = (
    *("id", "hostname", "description", "state", "created_at", "billing_cycle", "ipxe_script_url", "always_pxe", "locked"),
    *("termination_time", "spot_instance", "spot_price_max", "provisioning_percentage"),
)
"""Fields that are returned as they are."""


def device_result(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a device for module results and the inventory: a malformed or missing field gives None or an empty list.

    Never userdata, customdata, root_password or the text of keys. ``addresses`` has the first management address of each kind.
    """
    addresses = [entry for entry in mappings(device.get("ip_addresses")) if isinstance(entry.get("address"), str)]
    return {
        **{name: device.get(name) for name in RETURNED},
        "plan": plan_name(device),
        "price_per_hour": price_per_hour(mapping(device.get("plan"))),
        "metro": metro_code(device),
        "operating_system": inner(device, "operating_system", "slug"),
        "tags": texts(device.get("tags")),
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
        "network_ports": [_port_result(port) for port in mappings(device.get("network_ports"))],
        "hardware_reservation_id": reference(device.get("hardware_reservation")),
        "project_id": reference(device.get("project")),
        "provisioning_started_at": _provisioning_started(device),
    }


def _provisioning_started(device: Mapping[str, Any]) -> str | None:
    """Return the time of the last event that begins a provisioning; a reinstallation has one too (recorded answers)."""
    moments = [event.get("created_at") for event in mappings(device.get("provisioning_events")) if event.get("type") == BEGINNING]
    return max((moment for moment in moments if isinstance(moment, str)), default=None)


def _first(addresses: Iterable[Mapping[str, Any]], *, family: int, public: bool) -> str | None:
    fitting = [entry for entry in addresses if entry.get("address_family") == family and bool(entry.get("public")) is public]
    # Addresses without the field count as the device's own; elastic ones have management: false.
    fitting.sort(key=lambda entry: entry.get("management") is False)
    return str(fitting[0]["address"]) if fitting else None


def _port_result(port: Mapping[str, Any]) -> dict[str, Any]:
    data = mapping(port.get("data"))
    return {
        **{name: port.get(name) for name in ("id", "name", "type", "network_type")},
        **{name: data.get(name) for name in ("mac", "bonded")},
        "bond": inner(port, "bond", "name"),
        "virtual_networks": [network for network in map(reference, mappings(port.get("virtual_networks"))) if network],
    }


# --- comparison ---------------------------------------------------------------------------------------------------------------


def desired_attributes(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> dict[str, Any]:
    """Return the given attributes in comparable form, without those that cannot be compared."""
    as_given = ("plan", "operating_system", "hardware_reservation_id", "power_state")
    desired: dict[str, Any] = {name: params.get(name) for name in (*COMPARED_UNCHANGED, *as_given)}
    desired["metro"] = _asked_metro(params)
    if params.get("tags") is not None:
        desired["tags"] = normal_tags([*without_operation_tags(params["tags"]), *ownership_tags])
    operation = Operation.of(params)
    desired["operation"] = str(operation) if operation else None
    if params.get("id"):
        # Without an id the device is searched in this project only.
        desired["project_id"] = params.get("project_id")
    if params.get("termination_time") is not None:
        desired["termination_time"] = normal_time(params["termination_time"]) or ""
    if params.get("userdata") is not None:
        desired["userdata"] = digest(params["userdata"])
    if params.get("customdata") is not None:
        desired["customdata"] = normal_data(params["customdata"])
    return {name: value for name, value in desired.items() if value is not None}


def comparable_attributes(device: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return all comparable attributes of a device, in the form of its options: a plan given by its UUID is returned as UUID."""
    view: dict[str, Any] = {
        **{name: device.get(name) for name in ("hostname", "billing_cycle")},
        **{name: device.get(name) or "" for name in ("description", "ipxe_script_url")},
        **{name: bool(device.get(name)) for name in ("locked", "always_pxe", "network_frozen")},
        "metro": metro_code(device),
        # An answer may leave the project out.
        "project_id": reference(device.get("project")) or params.get("project_id"),
        "termination_time": normal_time(device.get("termination_time")) or "",
        "power_state": "off" if state_of(device) in OFF else "on",
        # Operation tags belong to the collection, whatever tags the user gives.
        "tags": normal_tags(without_operation_tags(texts(device.get("tags")))),
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
    """Return the metros of the options, in order of preference and lower case; ``any`` may be among them."""
    value = params.get("metro") or []
    return [metro.lower() for metro in ([value] if isinstance(value, str) else value) if metro.strip()]


def _asked_metro(params: Mapping[str, Any]) -> str | list[str] | None:
    """Return the metro to compare a device's with: a text, a list of several, or None where any metro will do."""
    metros = metros_of(params)
    if not metros or "any" in metros:
        return None
    return metros[0] if len(metros) == 1 else metros


def _as_asked(asked: Any, names: set[str], usual: str | None) -> str | None:
    return asked if isinstance(asked, str) and asked in names else usual


def device_tags(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> list[str]:
    """Return the tags of a request: ownership tags and the user's, each once, without operation tags."""
    return list(dict.fromkeys([*ownership_tags, *without_operation_tags(params.get("tags") or [])]))


def device_body(params: Mapping[str, Any], ownership_tags: Sequence[str]) -> dict[str, Any]:
    """Return the body of a create: the given attributes and the ownership tags.

    A new device counts as rebooted and installed: it gets the tag of the operation, so that no later run requests it.
    """
    body: dict[str, Any] = {}
    for name in (*COMPARED_UNCHANGED, *SENT_UNCHANGED, *AT_CREATION_ONLY):
        if params.get(name) is not None:
            body[name] = params[name]
    if metros := metros_of(params):
        body["metro"] = metros[0] if len(metros) == 1 else metros
    if params.get("termination_time"):
        body["termination_time"] = normal_time(params["termination_time"])
    if not body.get("hardware_reservation_id"):
        body.pop("hardware_reservation_id", None)  # the API wants no field for no hardware
    if "ip_addresses" in body:
        body["ip_addresses"] = [{name: value for name, value in entry.items() if value is not None} for entry in body["ip_addresses"]]
    tags = device_tags(params, ownership_tags)
    operation = Operation.of(params)
    if tags or operation:
        body["tags"] = operation.done(tags) if operation else tags
    return body


def creation_problems(params: Mapping[str, Any]) -> list[str]:
    needed = ["hostname", "plan", "operating_system", "metro"]
    if params.get("hardware_reservation_id") not in (None, "", "next-available"):
        # The hardware has a plan and a metro (vendor's OpenAPI text).
        needed = ["hostname", "operating_system"]
    options = {**params, "metro": metros_of(params)}
    missing = [name for name in needed if not options.get(name)]
    problems = [f"to create it, {' and '.join(missing)} must be given"] if missing else []
    if "_" in (params.get("hostname") or ""):
        problems.append("hostname has an underscore, which the API does not accept")
    problems += option_problems(params)
    if params.get("operation") == "rescue":
        problems.append("operation=rescue needs an existing device")
    if params.get("operating_system") == "custom_ipxe":
        script = (params.get("userdata") or "").startswith("#!ipxe")
        if script and params.get("ipxe_script_url"):
            problems.append(
                "custom_ipxe has ipxe_script_url and an iPXE script (#!ipxe) in userdata, which takes precedence: remove one of them"
            )
        elif not script and not params.get("ipxe_script_url"):
            problems.append("custom_ipxe needs ipxe_script_url, or a userdata that begins with #!ipxe")
    return problems


def option_problems(params: Mapping[str, Any]) -> list[str]:
    """Return which options of a create are malformed or need another one, whatever device they are for."""
    problems = []
    features = params.get("features")
    if isinstance(features, Mapping):
        is_valid = all(value in ("required", "preferred") for value in features.values())
    else:
        is_valid = features is None or (isinstance(features, list) and all(isinstance(name, str) for name in features))
    if not is_valid:
        problems.append("features must be a list of names, or a dictionary of names with the values required or preferred")
    return problems


# --- lifecycle ----------------------------------------------------------------------------------------------------------------


HARDWARE_ATTEMPTS = 3
"""Tries to order reserved hardware that is listed as free: another client may take it first."""


class Device(Resource):
    """A device by its id, or by its hostname and all ``ownership_tags``; ``params`` are the options of ``metal_device``.

    ``project_given``: whether the task itself sets the project, and not the environment or a default.
    """

    result_key = "device"
    kind = "device"
    path = "devices"
    created_by = "hostname"
    after_creation = frozenset({"power_state"})
    has_rivals = True

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
        self._absences = 0

    @property
    def title(self) -> str:
        return f"device {self.params.get('hostname') or self.params.get('id')}"

    # find

    def find_by_options(self) -> Found | None:
        return self.among(self.namesakes())

    def read(self, identity: str, doing: str) -> Found:
        try:
            return super().read(identity, doing)
        except DeniedError as error:
            if is_gone(error):
                raise NotFoundError(error.message, **error.details) from error
            raise

    def among(self, devices: Iterable[Found]) -> Found | None:
        """Return the device that the options name. Raises CollectionError for several, and for one of another owner."""
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
                f"Cannot manage {self.title}: {len(own)} devices have the hostname {hostname}: {ids}. "
                "Delete the others (metal_device with id, state=absent)",
                {"hostname": hostname, "ids": sorted(str(device.get("id")) for device in own)},
            )
        if foreign:
            self._report_foreign(hostname, foreign, fails=not own and not absent)
        if own:
            return own[0]
        self._fail_if_nameless(devices)
        deleting = [device for device in same if self.is_deleting(device) and self._owned(device)]
        return deleting[0] if deleting and absent else None

    def _fail_if_nameless(self, devices: Sequence[Found]) -> None:
        """Raise CollectionError when an owned device has no hostname: it may be this one, and another order would be a duplicate."""
        nameless = [device for device in devices if not isinstance(device.get("hostname"), str) and self._owned(device)]
        if nameless:
            ids = ", ".join(sorted(str(device.get("id")) for device in nameless))
            raise CollectionError(f"Cannot identify {self.title}: the API returned no hostname for device {ids}, which may be this device")

    def _report_foreign(self, hostname: str, foreign: Sequence[Found], *, fails: bool) -> None:
        ids = ", ".join(sorted(str(device.get("id")) for device in foreign))
        tags = ", ".join(self.ownership_tags)
        text = f"device {ids} has the hostname {hostname} but not the ownership tags {tags}: it has another owner and stays unchanged"
        if fails:
            raise CollectionError(
                f"Cannot create {self.title}: {text}. A second device of this name is not created. "
                "Rename or delete that device, or add the tags to it to adopt it",
                {"hostname": hostname, "ids": sorted(str(device.get("id")) for device in foreign)},
            )
        self.warn(f"The {text}")

    def warn(self, text: str) -> None:
        if self._warn is not None:
            self._warn(text)

    def _owned(self, device: Found) -> bool:
        return set(self.ownership_tags) <= set(texts(device.get("tags")))

    def complete(self, current: Found) -> Found:
        """Return the device with its userdata, if that is compared, and set which attributes are immutable.

        An answer may leave userdata out. The operating system can be changed as long as a reinstallation is pending.
        """
        reinstalls = self._operation and self._operation.kind == "reinstall" and not self._is_done(current)
        self.immutable = {name: remedy for name, remedy in IMMUTABLE.items() if not (reinstalls and name == "operating_system")}
        if self.params.get("userdata") is None or "userdata" in current:
            return current
        answer = self.client.read(f"devices/{current['id']}/userdata", doing=f"read the userdata of {self.title}")
        return {**current, "userdata": answer.get("userdata")}

    # compare

    def desired(self) -> dict[str, Any]:
        desired = desired_attributes(self.params, self.ownership_tags)
        if not self._project_given:
            desired.pop("project_id", None)
        return desired

    def comparable(self, current: Found) -> dict[str, Any]:
        return comparable_attributes(current, self.params)

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return device_result(current)

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
        predicted["tags"] = [*without_operation_tags(texts(predicted.get("tags"))), *operation_tags(texts((current or {}).get("tags")))]
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
        """Raise CollectionError when the device cannot be replaced: it is given by id, or there is no capacity."""
        if self.params.get("id"):
            raise CollectionError(f"Cannot replace {self.title}: its replacement has another id. Set hostname instead of id")
        metros = metros_of(self.params)
        if self.params.get("hardware_reservation_id") or "any" in metros:
            return
        servers = [{"plan": self.params["plan"], "metro": metro, "quantity": 1} for metro in metros]
        problems = unavailable(ask_capacity(self.client, servers, optional=True))
        if len(problems) == len(servers):
            raise CollectionError(together(f"Cannot replace {self.title}", problems), {"servers": servers})

    def create(self) -> Found:
        for attempt in range(1, HARDWARE_ATTEMPTS + 1):
            try:
                return self._order()
            except ValidationError as error:
                # The two refusals and their texts (terraform-provider-equinix matches them).
                taken = error.mentions("no available hardware reservations") or error.mentions("not provisionable")
                if not taken or not self.params.get("hardware_reservation_id"):
                    raise
                free, texts = self._reserved_hardware()
                if texts and not free:
                    raise NotYetError(f"{error.message}. {'; '.join(texts)}: use wait=true", texts, error.details) from error
                # Hardware that is free now has been freed since the refusal, unless the API refuses it for another reason.
                if not free or attempt == HARDWARE_ATTEMPTS:
                    raise
        raise AssertionError("HARDWARE_ATTEMPTS is 1 or more")

    def _order(self) -> Found:
        body = device_body(self.params, self.ownership_tags)
        path, doing = f"projects/{self._project}/devices", f"create {self.title}"
        return self.complete(self.client.write_one("POST", path, body, doing=doing, again=False))

    def _reserved_hardware(self) -> tuple[bool, list[str]]:
        """Return whether reserved hardware for this device is free, and else a text on the hardware that is being freed (wiped)."""
        asked, plan, metros = self.params.get("hardware_reservation_id"), self.params.get("plan"), metros_of(self.params)
        # Devices first: one that is deleted between the two lists is still listed as deleting then.
        devices = self.client.read_list(f"projects/{self._project}/devices", "devices", doing="list the project's devices")
        deleting = {device.get("id") for device in devices if self.is_deleting(device)}
        reservations = self.client.read_list(
            f"projects/{self._project}/hardware-reservations",
            "hardware_reservations",
            params={"include": "facility.metro"},
            doing="list the project's reserved hardware",
        )
        free, texts = False, []
        for reservation in reservations:
            place = reserved_metro(reservation)
            used_by = reference(reservation.get("device"))
            if (
                (asked in ("next-available", reservation.get("id")))
                and (asked != "next-available" or plan in (None, *_names(reservation.get("plan"))))
                and (not metros or "any" in metros or place is None or place in metros)
                and not (reservation.get("spare") or reservation.get("need_of_service"))
                and (used_by is None or used_by in deleting)
            ):
                free = free or bool(reservation.get("provisionable"))
                texts.append(f"{self.params.get('hostname')} waits for hardware reservation {reservation.get('id')}, which is being freed")
        return free, texts[:1]

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        if not {"power_state", "operation"} & set(changes) or state_of(current) in SETTLED:
            return []
        if self._operation and self._operation.newest_before(texts(current.get("tags"))) and state_of(current) == "reinstalling":
            return []  # requested by a run that was killed: only its tag is missing
        self._fail_if_failed(current)
        return [state_text(current)]

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """Change all attributes in one call, then switch power or request the operation: a reinstallation uses the new attributes."""
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
        # Documented for a create only: if the API ignored it, the device would be deleted unexpectedly.
        if "termination_time" in body and normal_time(current.get("termination_time")) != body["termination_time"]:
            raise CollectionError(
                f"Cannot change termination_time of {self.title}: the API accepted the update,"
                f" but returns {current.get('termination_time') or 'none'}"
            )
        if "power_state" in changes:
            action = "power_on" if changes["power_state"] == "on" else "power_off"
            self.client.write("POST", f"{path}/actions", {"type": action}, doing=f"{action.replace('_', ' ')} {self.title}")
            current = self.refresh(current)
        if operation:
            self._newest_before = operation.newest_before(tags)
            if not (asked_before and self._was_accepted(current, operation)):
                self._request(current, operation)
            doing = f"tag {self.title} with its accepted {operation.kind}"
            current = self.client.write_one("PUT", path, {"tags": operation.done(tags)}, doing=doing)
        return self.complete(current)

    def _tags_to_send(self, device: Found, changes: Mapping[str, Any]) -> list[str]:
        """Return the desired tags with the current operation tags. Raises CollectionError when the API returns no tags."""
        if not isinstance(device.get("tags"), list):
            raise CollectionError(
                f"Cannot change the tags of {self.title}: the API returned no current tags, which may include operation tags to keep"
            )
        current = texts(device["tags"])
        return [*device_tags(self.params, self.ownership_tags), *operation_tags(current)] if "tags" in changes else current

    # Two runs that order the same device at once: the cluster lock prevents it; this is for runs without a lock.

    def older_duplicate(self, own: Found, others: Iterable[Found]) -> Found | None:
        """Return the device that another run ordered before ``own`` by the same hostname and tags, None when there is none.

        The newer of two devices is deleted by the run that ordered it.
        """
        hostname = str(self.params["hostname"]).lower()
        same = [
            device
            for device in others
            if device.get("id") not in (None, own.get("id"))
            and str(device.get("hostname") or "").lower() == hostname
            and self._owned(device)
            and device.get("state") != "failed"
            and not self.is_deleting(device)
            and _is_older(device, own)
        ]
        return min(same, key=lambda device: (str(device.get("created_at") or ""), str(device["id"])), default=None)

    def namesakes(self) -> list[Found]:
        path, params = f"projects/{self._project}/devices", {"hostname": self.params["hostname"]}
        return list(self.client.read_list(path, "devices", params=params, doing=f"read {self.title}"))

    # operations

    def _is_done(self, current: Found) -> bool:
        return self._operation is not None and self._operation.is_done(texts(current.get("tags")))

    def _events(self, current: Found) -> list[dict[str, Any]]:
        return self.client.read_list(f"devices/{current['id']}/events", "events", doing=f"read the events of {self.title}")

    def _was_accepted(self, current: Found, operation: Operation) -> bool:
        """Return whether the API has accepted the operation, going by the device and its events.

        Raises CollectionError when the events do not show it.
        """
        if operation.kind == "reinstall" and state_of(current) == "reinstalling":
            return True
        news = events_after(self._events(current), str(self._newest_before))
        if news is None:
            raise CollectionError(
                f"Cannot determine whether the {operation.kind} {operation.word} of {self.title} was requested: the API does not list event"
                f" {self._newest_before}, the last one before it. Check the device; another operation_id requests the operation again"
            )
        return operation.is_confirmed_by(news)

    def _request(self, device: Found, operation: Operation) -> None:
        """Request the operation; after a lost answer check whether it was accepted before another request."""
        body: dict[str, Any] = {"type": operation.kind}
        if operation.kind == "reinstall":
            names = ["operating_system", "deprovision_fast", "preserve_data"]
            if (self.params.get("operating_system") or inner(device, "operating_system", "slug")) == "custom_ipxe":
                names.append("ipxe_script_url")  # accepted with this operating system only (vendor's OpenAPI text)
            body |= {name: self.params[name] for name in names if self.params.get(name) is not None}

        def request() -> Found:
            try:
                self.client.write("POST", f"devices/{device['id']}/actions", body, doing=f"{operation.kind} {self.title}", again=False)
            except ValidationError:
                # Refused because it is in progress: the answer to the first request was lost, and its effect is visible only now.
                if find_accepted() is None:
                    raise
            return device

        def find_accepted() -> Found | None:
            current = self.refresh(device)
            return current if self._was_accepted(current, operation) else None

        try:
            create_once(request, find_accepted)
        except LostAnswerError as error:
            # This run does not request it again; the next run finds its effect.
            raise MetalError(error.message, **error.details) from error

    def _operating(self, current: Found) -> list[str]:
        """Return what is pending until the operation is complete: the device's state shows a reinstallation, events a power operation."""
        if self._over or self._operation is None or not self._is_done(current) or not self.params.get("wait"):
            return []
        # Only the run that requested it knows the newest event before it.
        asked = self._newest_before is not None
        if self._operation.kind != "reinstall" or asked:
            events = self._events(current)
            news = events_after(events, self._newest_before) or [] if self._newest_before else oldest_first(events)
            event = under_way(news) if self._operation.kind != "reinstall" else None
            if event is not None or (asked and not self._begun and not self._operation.is_confirmed_by(news)):
                progress = (event or {}).get("body") or "not started yet"
                return [f"{self._operation.kind} of {current.get('hostname') or current.get('id')} is pending: {progress}"]
        self._over = True
        return []

    def refresh(self, current: Found) -> Found:
        try:
            fresh = self.client.read(f"devices/{current['id']}", doing=f"read {self.title}")
        except MetalError as error:
            if not is_gone(error):
                raise
            self._absences += 1
            if isinstance(error, NotFoundError) and self._absences <= TOLERATED_ABSENCES:
                return current
            raise vanished(current, error) from error
        self._absences = 0
        return self.complete(fresh)

    def pending(self, current: Found) -> list[str]:
        self._fail_if_failed(current)
        power_state = self.params.get("power_state")
        ready = SETTLED if power_state is None else {"active"} if power_state == "on" else {"inactive"}
        self._begun = self._begun or (self._newest_before is not None and state_of(current) == "reinstalling")
        return self._operating(current) if state_of(current) in ready else [state_text(current)]

    def _fail_if_failed(self, current: Found) -> None:
        if current.get("state") == "failed":
            raise failed(self.client, current)
        if self.is_deleting(current):
            raise CollectionError(f"{self.title} ({current.get('id')}) is being deleted by another client. Run again when it is deleted")
        if self._operation and self._operation.kind == "reboot" and state_of(current) == "inactive" and not self._is_done(current):
            raise CollectionError(f"Cannot reboot {self.title}: it is powered off. Switch it on instead (power_state=on)")

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

    def undeleted(self, current: Found) -> list[str]:
        return [] if current.get("state") == "deleted" else [state_text(current)]


def state_text(device: Found) -> str:
    """Return state and progress of a device: ``worker-0.demo.example.com is provisioning (57 %): Server partitions created``."""
    percentage = device.get("provisioning_percentage")
    moving = state_of(device) in ("queued", "provisioning", "reinstalling") and isinstance(percentage, (int, float))
    progress = f" ({percentage:.0f} %)" if moving else ""
    steps = [event for event in mappings(device.get("provisioning_events")) if event.get("created_at") and event.get("body")]
    last = f": {steps[-1]['body']}" if moving and steps else ""
    return f"{device.get('hostname') or device.get('id')} is {state_of(device)}{progress}{last}"


def delete_device(client: MetalClient, current: Found, *, force: bool = False) -> list[str]:
    """Request the deletion of a device; returns what blocks it, empty when the device is deleted or being deleted.

    ``force``: detach storage that is still attached (vendor's OpenAPI text).
    Raises CollectionError when the API refuses it permanently.
    """
    name = f"{current.get('hostname')} ({current.get('id')})"
    try:
        params = {"force_delete": True} if force else None
        delete_once(client, f"devices/{current['id']}", doing=f"delete device {name}", is_deleting=_is_deleting, params=params)
    except (NotFoundError, StillExistsError) as error:
        return [error.message]
    except ValidationError as error:
        # The API's texts: "Cannot delete a device while it is provisioning", "Cannot delete a locked item".
        if error.mentions("provisioning"):
            return [f"{current.get('hostname')} is {current.get('state')} and cannot be deleted before it is active"]
        raise
    except DeniedError as error:
        # A token that may read the device but not delete it is an error at once.
        doing = f"check whether device {current.get('hostname')} is gone"
        if not is_gone(error) or still_exists(client, f"devices/{current['id']}", doing=doing, is_deleting=_is_deleting):
            raise
    return []


def _is_older(device: Found, other: Found) -> bool:
    """Return whether a device was created before another one; with equal times the ids decide."""
    moments = (device.get("created_at"), other.get("created_at"))
    if not all(isinstance(moment, str) for moment in moments):
        moments = ("", "")
    return (moments[0], str(device["id"])) < (moments[1], str(other["id"]))


def _is_deleting(device: Found) -> bool:
    return state_of(device) in DELETING_STATES


def failed(client: MetalClient, current: Found) -> DeviceFailedError:
    """Return the error for a device in the state ``failed``, with its last event."""
    try:
        events = client.read_list(f"devices/{current['id']}/events", "events", doing="read the device's events")
    except MetalError:
        # The device has a list of its own; the error of this read would hide the one to report.
        events = [dict(event) for event in mappings(current.get("provisioning_events"))]
    last = max((event for event in events if event.get("created_at")), key=lambda event: str(event["created_at"]), default=None)
    reason = f"last event {last.get('body')!r} ({last.get('type')}, {last['created_at']})" if last else "the API returned no event"
    return DeviceFailedError(
        f"Device {current.get('hostname')} ({current.get('id')}) has failed: {reason}. Delete it (state=absent) and create it again",
        {"id": current.get("id"), "hostname": current.get("hostname"), "state": "failed", "last_event": (last or {}).get("body")},
    )


def vanished(current: Found, error: MetalError) -> DeviceFailedError:
    gone = DeviceFailedError(
        f"Device {current.get('hostname')} ({current.get('id')}) no longer exists: Equinix Metal deletes devices whose provisioning fails"
        f" (last state: {current.get('state')}). Run again to order another device",
        {**error.details, "id": current.get("id"), "hostname": current.get("hostname"), "state": current.get("state")},
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


def find_devices(
    client: MetalClient, params: Mapping[str, Any], result: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return what ``metal_device_info`` returns: the devices with the given ids, else the project's devices that match the filters.

    Each as ``result`` makes it of the API's, by default :func:`device_result`.
    """
    tags = params["tags"] or []
    if params["ids"] is not None:
        # An id is valid in any project, and an unknown one is an error.
        listing = [client.read(f"devices/{identity}", doing=f"read device {identity}") for identity in params["ids"]]
    else:
        listing = client.read_list(
            f"projects/{params['project_id']}/devices",
            "devices",
            # The API filters by one tag, the rest is filtered below.
            params={"tag": filter_tag(tags)},
            doing="list the project's devices",
        )
    facts = [(result or device_result)(device) for device in listing]
    chosen = [device for device in facts if set(tags) <= set(device["tags"])]
    if params["hostnames"] is not None:
        # As in metal_device: the Metal API keeps capitals, which no DNS name distinguishes.
        hostnames = {str(name).lower() for name in params["hostnames"]}
        chosen = [device for device in chosen if str(device["hostname"] or "").lower() in hostnames]
    if params["states"] is not None:
        chosen = [device for device in chosen if device["state"] in params["states"]]
    return {"devices": sorted(chosen, key=lambda device: (str(device["hostname"]), str(device["id"])))}
