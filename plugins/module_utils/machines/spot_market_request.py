# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spot market requests: standing orders for devices at a price that is bid.

The API tells of a request what was bid for what, but neither a name nor tags nor the rest of what its devices are to be. So a request is
known by its metro and its plan, and told apart from others by its numbers.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    RESUME_OPTIONS,
    STATE_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    MetalError,
    NotFoundError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import DEVICE_OPTIONS, state_text
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code, normal_time, reference, state_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once, is_gone

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

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

SPOT_MARKET_REQUEST_OPTIONS = Options(
    {
        "id": identifier(),
        "devices_min": {"type": "int"},
        "devices_max": {"type": "int"},
        "max_bid_price": {"type": "float"},
        "metro": {"type": "str"},
        "end_at": {"type": "str"},
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
        "beside_others": {"type": "bool", "default": False},
        "force_termination": {"type": "bool", "default": False},
    },
    required_one_of=[["id", "metro"]],
    required_by={"metro": ["instance_parameters"]},
).merge(STATE_OPTIONS, WAIT_OPTIONS, RESUME_OPTIONS)

INCLUDED = {"include": "devices,plan"}

NUMBERS = ("devices_min", "devices_max", "max_bid_price", "end_at")
"""What requests for one plan in one metro are told apart by."""

_ANOTHER = "a request is not changed: delete it and make another"


def spot_market_request_facts(request: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_spot_market_request`` returns."""
    return {
        **{name: request.get(name) for name in ("id", "devices_min", "devices_max", "max_bid_price", "end_at", "created_at")},
        "metro": metro_code(request),
        "plan": _plan(request),
        "devices": [{name: device.get(name) for name in ("id", "hostname", "state")} for device in _devices(request)],
    }


def _devices(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The devices it has brought about. The vendor's OpenAPI text calls them instances, its clients devices."""
    listed = request.get("devices") or request.get("instances")
    found = [device for device in listed if isinstance(device, Mapping)] if isinstance(listed, list) else []
    return [{**device, "id": reference(device)} for device in found]


def _plan_names(request: Mapping[str, Any]) -> set[str]:
    """All names of its plan that are told; of a plan that is not told those of its devices' plan."""
    told = [request.get("plan"), *(device.get("plan") for device in _devices(request))]
    plan: Mapping[str, Any] = next((each for each in told if isinstance(each, Mapping)), {})
    return {str(name) for name in (reference(plan), plan.get("slug"), plan.get("name")) if name}


def _plan(request: Mapping[str, Any]) -> str | None:
    told = [request.get("plan"), *(device.get("plan") for device in _devices(request))]
    return next((str(each["slug"]) for each in told if isinstance(each, Mapping) and each.get("slug")), None)


class SpotMarketRequest:
    """A request by its id, else by its metro and its plan, else (``beside_others``) by all that is told of it."""

    result_key = "spot_market_request"
    immutable: Mapping[str, str] = dict.fromkeys((*NUMBERS, "metro", "plan"), _ANOTHER)
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params
        self._parameters: Mapping[str, Any] = params["instance_parameters"] or {}

    @property
    def title(self) -> str:
        params = self._params
        if params["id"]:
            return f"spot market request {params['id']}"
        return f"the spot market request for {self._parameters.get('plan')} in {params['metro']}"

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._read(params["id"], f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                text = (
                    f"There is no spot market request with the id {params['id']}. One is made by its metro and plan: leave id out for that"
                )
                raise CollectionError(text, error.details) from error
        if not self._parameters.get("plan"):
            raise CollectionError("instance_parameters must name the plan: by that and its metro a request is known")
        listed = self._client.read_list(
            f"projects/{params['project_id']}/spot-market-requests", "spot_market_requests", doing=f"look for {self.title}"
        )
        here = [each for each in listed if metro_code(each) in (None, params["metro"].lower())]
        # The list tells neither plan nor devices (vendor's OpenAPI text).
        read = [self._read(str(each.get("id")), f"look for {self.title}") for each in here]
        return self._among(read)

    def _among(self, requests: list[Found]) -> Found | None:
        plan = self._parameters["plan"]
        same = [each for each in requests if plan in _plan_names(each) or not _plan_names(each)]
        exact = [each for each in same if self._limited(each) == self.desired()]
        if not exact and not self._params["beside_others"]:
            untold = [each for each in same if not _plan_names(each) or metro_code(each) is None]
            if untold:
                ids = ", ".join(sorted(str(each.get("id")) for each in untold))
                raise CollectionError(f"Could not look for {self.title}: the service tells no plan or metro of {ids}, which may be it")
            exact = same
        if len(exact) > 1:
            ids = ", ".join(sorted(str(each.get("id")) for each in exact))
            raise CollectionError(f"{len(exact)} requests are {self.title}: {ids}. Say which one is meant by its id")
        return exact[0] if exact else None

    def _limited(self, request: Found) -> dict[str, Any]:
        view = self.comparable(request)
        return {name: view[name] for name in self.desired()}

    def _read(self, identity: str, doing: str) -> Found:
        """With its devices, of which only what is told on is kept: they have userdata."""
        found = self._client.read(f"spot-market-requests/{identity}", params=INCLUDED, doing=doing)
        kept = ("id", "href", "hostname", "state", "provisioning_percentage", "plan")
        return {**found, "devices": [{name: device[name] for name in kept if name in device} for device in _devices(found)]}

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {
            **{name: params[name] for name in ("devices_min", "devices_max", "max_bid_price")},
            "end_at": normal_time(params["end_at"]),
            "metro": params["metro"].lower() if params["metro"] else None,
            "plan": self._parameters.get("plan"),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        plan = self._parameters.get("plan")
        return {
            **{name: found.get(name) for name in ("devices_min", "devices_max", "max_bid_price")},
            "end_at": normal_time(found.get("end_at")),
            "metro": metro_code(found),
            # What is not told cannot differ.
            "plan": plan if plan in _plan_names(found) or not _plan_names(found) else _plan(found),
        }

    def result(self, found: Found) -> dict[str, Any]:
        return spot_market_request_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**(found or {}), **changes, "metro": {"code": changes.get("metro")}, "plan": {"slug": changes.get("plan")}}

    def check_creation(self) -> None:
        params = self._params
        problems = [f"to make it, {name} must be given" for name in ("devices_min", "devices_max", "max_bid_price") if params[name] is None]
        if not self._parameters.get("operating_system"):
            problems.append("to make it, instance_parameters must name the operating_system")
        if not problems and not 1 <= params["devices_min"] <= params["devices_max"]:
            problems.append(f"devices_min must be 1 to devices_max ({params['devices_max']}), not {params['devices_min']}")
        if problems:
            raise CollectionError(together(f"Cannot make {self.title}", problems))

    def create(self) -> Found:
        params = self._params
        body = {name: params[name] for name in ("devices_min", "devices_max", "max_bid_price", "metro") if params[name] is not None}
        if params["end_at"]:
            body["end_at"] = normal_time(params["end_at"])
        parameters = {name: value for name, value in self._parameters.items() if value is not None}
        if "termination_time" in parameters:
            parameters["termination_time"] = normal_time(parameters["termination_time"])
        body["instance_parameters"] = parameters
        path = f"projects/{params['project_id']}/spot-market-requests"
        made = self._client.write_one("POST", path, body, doing=f"make {self.title}", again=False)
        return self._read(str(made["id"]), f"look at {self.title}")

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        raise CollectionError(f"Nothing of {self.title} can be changed: {_ANOTHER}")

    def refresh(self, found: Found) -> Found:
        return self._read(str(found["id"]), f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        """Until the least number of devices is active."""
        least = found.get("devices_min") or 0
        devices = _devices(found)
        active = [device for device in devices if state_of(device) == "active"]
        if len(active) >= least:
            return []
        end = normal_time(found.get("end_at"))
        if not devices and end and end <= datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"):
            raise CollectionError(f"{self.title} ({found.get('id')}) ended at {end} without its devices. Delete it, and make another")
        if not devices:
            return [f"{self.title} has none of at least {least} devices: not at this price, or there is no stock"]
        others = [state_text(device) for device in devices if device not in active]
        return [f"{self.title} has {len(active)} of at least {least} devices", *others]

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        return None

    def delete(self, found: Found) -> list[str]:
        params = {"force_termination": True} if self._params["force_termination"] else None
        delete_once(self._client, f"spot-market-requests/{found['id']}", doing=f"delete {self.title}", params=params)
        return []

    def remaining(self, found: Found) -> list[str]:
        """The request, and with ``force_termination`` the devices it had."""
        if self._exists(f"spot-market-requests/{found['id']}") is not None:
            return [f"{self.title} is still there"]
        devices = _devices(found) if self._params["force_termination"] else []
        left = [self._exists(f"devices/{device['id']}") for device in devices]
        return [state_text(device) for device in left if device is not None and state_of(device) != "deleted"]

    def _exists(self, path: str) -> Found | None:
        try:
            return self._client.read(path, doing=f"see whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return None
            raise
