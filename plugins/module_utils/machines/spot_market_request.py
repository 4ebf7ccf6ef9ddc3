# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spot market requests: standing orders for devices at a maximum price.

The API returns metro, plan, price and numbers of a request, but no name, no tags and no other attributes of its devices. So a request is
identified by its metro and plan, and among several by its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifier
from ..base.errors import CollectionError, MetalError
from ..base.json_objects import mappings
from ..base.times import timestamp
from ..metal import attribute
from ..metal.attribute import Attribute, options_of
from ..metal.objects import metro_code, normal_time, reference, state_of
from ..metal.resource import Resource, delete_once, is_gone, limited, only_one
from .device import DEVICE_OPTIONS, state_text

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from ..metal.resource import Found

OF_A_DEVICE = (
    "plan",
    "operating_system",
    "userdata",
    "ipxe_script_url",
    "always_pxe",
    "tags",
    "customdata",
    "description",
    "billing_cycle",
    "locked",
    "project_ssh_keys",
    "user_ssh_keys",
    "no_ssh_keys",
    "termination_time",
)

_ANOTHER = "a request cannot be changed: delete it and create another"

ATTRIBUTES = (
    Attribute(name="devices_min", option={"type": "int"}, immutable=_ANOTHER, required=True),
    Attribute(name="devices_max", option={"type": "int"}, immutable=_ANOTHER, required=True),
    Attribute(name="max_bid_price", option={"type": "float"}, immutable=_ANOTHER, required=True),
    attribute.metro(immutable=_ANOTHER),
    Attribute(name="end_at", option={"type": "str"}, normal=normal_time, sent=normal_time, immutable=_ANOTHER),
)
"""Attributes that distinguish requests for one plan in one metro; their plan is inside instance_parameters."""

SPOT_MARKET_REQUEST_OPTIONS = Options(
    {
        "id": identifier(),
        **options_of(ATTRIBUTES),
        "instance_parameters": {
            "type": "dict",
            "aliases": ["instance_attributes"],
            "options": {
                **{name: DEVICE_OPTIONS.argument_spec[name] for name in OF_A_DEVICE},
                "hostname": {"type": "str"},
                "hostnames": {"type": "list", "elements": "str"},
                "features": {"type": "list", "elements": "str"},
            },
        },
        "allow_multiple": {"type": "bool", "default": False},
        "force_termination": {"type": "bool", "default": False},
    },
    required_one_of=[["id", "metro"]],
    required_by={"metro": ["instance_parameters"]},
).merge(STATE_OPTIONS, WAIT_OPTIONS)

INCLUDED = {"include": "devices,plan"}


def _devices(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the devices of a request. The vendor's OpenAPI text calls them instances, its clients devices."""
    return [{**device, "id": reference(device)} for device in mappings(request.get("devices") or request.get("instances"))]


def _plan_names(request: Mapping[str, Any]) -> set[str]:
    """Return all names of its plan that the API returned, or else of its devices' plan."""
    plans = [request.get("plan"), *(device.get("plan") for device in _devices(request))]
    plan: Mapping[str, Any] = next((entry for entry in plans if isinstance(entry, Mapping)), {})
    return {str(name) for name in (reference(plan), plan.get("slug"), plan.get("name")) if name}


def _plan(request: Mapping[str, Any]) -> str | None:
    plans = [request.get("plan"), *(device.get("plan") for device in _devices(request))]
    return next((str(plan["slug"]) for plan in plans if isinstance(plan, Mapping) and plan.get("slug")), None)


class SpotMarketRequest(Resource):
    """A request by its id, else by its metro and plan, else (``allow_multiple``) by all its attributes."""

    result_key = "spot_market_request"
    kind = "spot market request"
    path = "spot-market-requests"
    created_by = "its metro and plan"
    attributes = ATTRIBUTES
    included = INCLUDED

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        super().__init__(client, params)
        self.immutable = {**self.immutable, "plan": _ANOTHER}
        self._parameters: Mapping[str, Any] = params["instance_parameters"] or {}

    @property
    def title(self) -> str:
        params = self.params
        if params["id"]:
            return f"spot market request {params['id']}"
        return f"spot market request for {self._parameters.get('plan')} in {params['metro']}"

    def find_by_options(self) -> Found | None:
        params = self.params
        if not self._parameters.get("plan"):
            raise CollectionError("instance_parameters must have a plan: metro and plan identify a request")
        listed = self.client.read_list(self.list_path, "spot_market_requests", doing=f"read {self.title}")
        here = [request for request in listed if metro_code(request) in (None, params["metro"].lower())]
        # The list has neither plan nor devices (vendor's OpenAPI text).
        read = [self.read(str(request.get("id")), f"read {self.title}") for request in here]
        return self._among(read)

    def _among(self, requests: list[Found]) -> Found | None:
        plan, desired = self._parameters["plan"], self.desired()
        same = [request for request in requests if plan in _plan_names(request) or not _plan_names(request)]
        exact = [request for request in same if limited(self.comparable(request), desired) == desired]
        if not exact and not self.params["allow_multiple"]:
            unidentified = [request for request in same if not _plan_names(request) or metro_code(request) is None]
            if unidentified:
                ids = ", ".join(sorted(str(request.get("id")) for request in unidentified))
                raise CollectionError(f"Cannot identify {self.title}: the API returned no plan or metro for {ids}, which may be it")
            exact = same
        return only_one(exact, f"requests are {self.title}", "its id")

    def read(self, identity: str, doing: str) -> Found:
        """Return the request with its devices, of which only returned attributes are kept: they have userdata."""
        current = super().read(identity, doing)
        kept = ("id", "href", "hostname", "state", "provisioning_percentage", "plan")
        return {**current, "devices": [{name: device[name] for name in kept if name in device} for device in _devices(current)]}

    def desired(self) -> dict[str, Any]:
        plan = self._parameters.get("plan")
        return {**super().desired(), **({} if plan is None else {"plan": plan})}

    def comparable(self, current: Found) -> dict[str, Any]:
        plan = self._parameters.get("plan")
        names = _plan_names(current)
        # An attribute that is not listed cannot differ.
        return {**super().comparable(current), "plan": plan if plan in names or not names else _plan(current)}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        devices = [{name: device.get(name) for name in ("id", "hostname", "state")} for device in _devices(current)]
        return {**super().result(current), "plan": _plan(current), "devices": devices}

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**super().predict(current, changes), "plan": {"slug": changes.get("plan")}}

    def creation_problems(self) -> list[str]:
        least, most = self.params["devices_min"], self.params["devices_max"]
        problems = super().creation_problems()
        if not self._parameters.get("operating_system"):
            problems.append("to create it, instance_parameters must have an operating_system")
        if not problems and not 1 <= least <= most:
            problems.append(f"devices_min must be 1 to devices_max ({most}), not {least}")
        return problems

    def create(self) -> Found:
        parameters = {name: value for name, value in self._parameters.items() if value is not None}
        if "termination_time" in parameters:
            parameters["termination_time"] = normal_time(parameters["termination_time"])
        body = {**self.body(), "instance_parameters": parameters}
        made = self.client.write_one("POST", self.list_path, body, doing=f"create {self.title}", again=False)
        return self.refresh(made)

    def pending(self, current: Found) -> list[str]:
        """Return what is pending until devices_min devices are active."""
        least = current.get("devices_min") or 0
        devices = _devices(current)
        active = [device for device in devices if state_of(device) == "active"]
        if len(active) >= least:
            return []
        end = normal_time(current.get("end_at"))
        if not devices and end and end <= timestamp(datetime.now(UTC)):
            raise CollectionError(f"{self.title} ({current.get('id')}) ended at {end} without its devices. Delete it and create another")
        if not devices:
            return [f"{self.title} has none of at least {least} devices: the price is too low, or there is no capacity"]
        others = [state_text(device) for device in devices if device not in active]
        return [f"{self.title} has {len(active)} of at least {least} devices", *others]

    def delete(self, current: Found) -> list[str]:
        params = {"force_termination": True} if self.params["force_termination"] else None
        delete_once(self.client, f"spot-market-requests/{current['id']}", doing=f"delete {self.title}", params=params)
        return []

    def remaining(self, current: Found) -> list[str]:
        """Return what still exists of the request, and with ``force_termination`` of its devices."""
        if self._exists(f"spot-market-requests/{current['id']}") is not None:
            return [f"{self.title} is not deleted yet"]
        devices = _devices(current) if self.params["force_termination"] else []
        left = [self._exists(f"devices/{device['id']}") for device in devices]
        return [state_text(device) for device in left if device is not None and state_of(device) != "deleted"]

    def _exists(self, path: str) -> Found | None:
        try:
            return self.client.read(path, doing=f"check whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return None
            raise
