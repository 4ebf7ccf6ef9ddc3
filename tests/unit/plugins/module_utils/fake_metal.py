"""A Metal API small enough to be wrong in chosen ways, and a module without Ansible around it."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import AnyError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import Waiter
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from tests.unit.plugins.module_utils.fake_client import NOT_FOUND, FakeClient, Lost, Refused

PROJECT = "project-1"


def query_of(params: Mapping[str, Any] | None) -> str:
    """Return the query as the client writes it."""
    return f"?{'&'.join(f'{name}={str(value).lower()}' for name, value in params.items())}" if params else ""


class FakeMetal(FakeClient):
    """Devices in memory; each read of them moves their states on."""

    def __init__(self, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self._one_at_a_time = threading.Lock()
        self.devices: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.fails: set[str] = set()
        """Host names whose provisioning fails and stays to be seen."""
        self.vanishes: set[str] = set()
        """Host names whose provisioning fails and that are taken back."""
        self.stopped: set[str] = set()
        """Host names whose machine reports that its first boot has failed, while its device is active."""
        self.refused: dict[str, str] = {}
        """Host names whose creation is answered with 422 and this text."""
        self.lost: list[str] = []
        """For the next writes: ``before`` or ``after`` the effect the answer is lost."""
        self.hidden = 0
        """For so many lists a device made meanwhile is not seen."""
        self.asked: list[dict[str, Any]] = []
        """The actions that arrived, as they were sent."""
        self.available = True
        self.stock: dict[tuple[str, str], int] = {}
        """Servers by metro and plan; without a number there is no end of them."""
        self.taken_after_question = 0
        """So many are ordered by somebody else after each question."""
        self.ignored = 0
        """So many deletions are answered by somebody else, who says yes."""
        self._just_left: set[str] = set()
        """Ids of devices whose deletion was accepted and that were not looked at since: one look sees them going."""
        self._numbers = itertools.count(1)

    def add(self, hostname: str, **fields: Any) -> dict[str, Any]:
        number = next(self._numbers)
        device = {
            "id": f"id-{number}",
            "hostname": hostname,
            "created_at": f"2026-01-01T00:{number:02}:00Z",
            "state": "active",
            "tags": [],
            "plan": {"slug": "c3.small.x86", "id": "plan-id"},
            "metro": {"code": "da"},
            "operating_system": {"slug": "ubuntu_24_04"},
            "userdata": "",
            "ip_addresses": [{"address": f"192.0.2.{number}", "address_family": 4, "public": True, "management": True}],
            "project": {"href": f"/metal/v1/projects/{PROJECT}"},
            **fields,
        }
        self.devices[device["id"]] = device
        return device

    @property
    def changes(self) -> list[str]:
        return [call for call in self.calls if not call.startswith("GET")]

    def _move(self, seen: str | None = None) -> None:
        """Move on what a look sees: all, or the one device ``seen``."""
        for device in [each for each in self.devices.values() if seen in (None, each["id"])]:
            state, hostname = device["state"], device["hostname"]
            if state == "queued":
                device["state"] = "provisioning"
            elif state == "provisioning" and hostname in self.vanishes:
                del self.devices[device["id"]]
            elif state == "provisioning":
                device["state"] = "failed" if hostname in self.fails else "active"
            elif state in ("powering_off", "powering_on") or (state == "reinstalling" and self.asked):
                device["state"] = "inactive" if state == "powering_off" else "active"
            elif state == "deprovisioning" and device["id"] in self._just_left:
                self._just_left.remove(device["id"])
            elif state == "deprovisioning":
                del self.devices[device["id"]]

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        # Modules send requests from several threads.
        with self._one_at_a_time:
            return copy.deepcopy(self._answer_to(method, path, body, params))

    def _answer_to(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if path == "capacity/metros":
            return self._capacity(body)
        if method == "DELETE":
            self.calls.append(f"DELETE {path}{query_of(params)}")
            return self._delete(path)
        if method == "GET":
            self.calls.append(f"GET {path}")
            return self._read(path)
        self.calls.append(f"{method} {path} {body.get('hostname') or body.get('type') or sorted(body)}")
        fate = self.lost.pop(0) if self.lost else ""
        if fate == "before":
            raise Lost
        answer = self._effect(path, body)
        if fate == "after":
            raise Lost
        return answer

    def _read(self, path: str) -> Any:
        if path.endswith("/events"):
            device = self.devices.get(path.split("/")[1], {})
            if device.get("hostname") in self.stopped:
                return [{"type": "user.0", "state": "failed", "body": "Ignition: no file", "created_at": "2026-01-01T00:09:00Z"}]
            return [
                {"type": "provisioning.101", "body": "Provisioning started", "created_at": "2026-01-01T00:00:00Z"},
                {"type": "provisioning.109", "body": "Disk not found", "created_at": "2026-01-01T00:09:00Z"},
            ]
        if path != f"projects/{PROJECT}/devices":
            self._move(path.split("/")[1])
            return self._device(path)
        self._move()
        if self.hidden:
            self.hidden -= 1
            return [device for device in self.devices.values() if device["state"] not in ("queued", "provisioning")]
        return list(self.devices.values())

    def _device(self, path: str) -> dict[str, Any]:
        identity = path.split("/")[1]
        if identity not in self.devices:
            raise NOT_FOUND
        return self.devices[identity]

    def _capacity(self, body: Any) -> dict[str, Any]:
        self.calls.append("GET capacity/metros")
        stock = {(server["metro"], server["plan"]): self.stock.get((server["metro"], server["plan"]), 10_000) for server in body["servers"]}
        for place in set(stock) & set(self.stock):
            self.stock[place] = max(0, self.stock[place] - self.taken_after_question)
        return {
            "servers": [
                {**server, "available": self.available and stock[server["metro"], server["plan"]] >= server["quantity"]}
                for server in body["servers"]
            ]
        }

    def add_origin(self, error: AnyError) -> AnyError:
        """Errors are compared as they are: without the last request."""
        return error

    def _effect(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == f"projects/{PROJECT}/devices":
            if body["hostname"] in self.refused:
                raise Refused(422, self.refused[body["hostname"]])
            metros = body["metro"] if isinstance(body["metro"], list) else [body["metro"]]
            places = [(metro.lower(), body["plan"]) for metro in metros]
            place = next((each for each in places if self.stock.get(each, 1)), places[0])
            if place in self.stock:
                if not self.stock[place]:
                    raise Refused(422, "There aren't available servers in that metro")
                self.stock[place] -= 1
            fields = {name: value for name, value in body.items() if name not in ("plan", "metro", "operating_system")}
            return self.add(
                fields.pop("hostname"),
                state="queued",
                plan={"slug": body["plan"]},
                metro={"code": place[0]},
                operating_system={"slug": body["operating_system"]},
                **fields,
            )
        device = self._device(path)
        if path.endswith("/actions"):
            self.asked.append(body)
            device["state"] = {"power_off": "powering_off", "reinstall": "reinstalling"}.get(body["type"], "powering_on")
        else:
            device.update(body)
        return device

    def _delete(self, path: str) -> None:
        device = self._device(path)
        if device["state"] in ("queued", "provisioning"):
            raise Refused(422, "Cannot delete a device while it is provisioning")
        if self.ignored:
            self.ignored -= 1
            return
        device["state"] = "deprovisioning"
        self._just_left.add(device["id"])


class Time:
    """A clock that moves only when it is slept on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class BareModule(MetalModule):
    """The lifecycle with options as Ansible would give them, and without leaving the process at its end."""

    def __init__(self, options: Options, given: Mapping[str, Any], metal: FakeMetal) -> None:
        self.params = {**_defaults(options.argument_spec), "project_id": PROJECT, **given}
        for machine in self.params.get("machines") or []:
            machine.update({**_defaults(options.argument_spec["machines"]["options"]), **machine})
        self.check_mode = metal.read_only
        self.result = {"changed": False}
        self.warnings: list[str] = []
        self.displayed: list[str] = []
        self.module = SimpleNamespace(display=lambda notice: self.displayed.append(notice["text"]))  # type: ignore[assignment]
        self._wrote = False
        self._lock_of_this_call = None
        time = Time()
        self._waiter = Waiter(
            self.params.get("wait_timeout", 0),
            self.params.get("wait_interval", 0),
            sleep=time.sleep,
            now=time,
        )

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def _lock_for_this_call(self, tags: Sequence[str], metro: str) -> None:
        """There is nobody else."""


def _defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: option.get("default") for name, option in spec.items()}


def hostnames(devices: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [device["hostname"] for device in devices]
