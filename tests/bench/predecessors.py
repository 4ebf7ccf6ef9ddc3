"""THE BASELINE, not ours: the same work done the way the collections before this one do it.

Pages of ten, because none of them asks for larger ones; one GET for every device at every poll; one call after the other, each on a new
connection. In two things it is kinder than they are, so that it can be compared at all: it waits when it is told 429, where they fail, and
it has no Ansible around it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import requests

TIMEOUT = 60


class Predecessor:
    """``environment``: the exports of a sandbox; its token may be another one at each call."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._url = environment["METAL_API_URL"]
        self._devices = f"projects/{environment['METAL_PROJECT_ID']}/devices"
        self._environment = environment

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        headers = {"X-Auth-Token": self._environment["METAL_AUTH_TOKEN"]}
        while True:
            answer = requests.request(method, f"{self._url}/{path}", headers=headers, timeout=TIMEOUT, **arguments)
            if answer.status_code != 429:
                answer.raise_for_status()
                return answer.json()
            time.sleep(float(answer.headers["Retry-After"]))

    def list_devices(self) -> list[dict[str, Any]]:
        devices: list[dict[str, Any]] = []
        page = 1
        while True:
            answer = self._call("GET", self._devices, params={"page": page})
            devices += answer["devices"]
            if answer["meta"]["next"] is None:
                return devices
            page += 1

    def refresh(self) -> None:
        """Read the project and each of its devices by itself, as terraform refreshes the resources in its state."""
        self._call("GET", self._devices.removesuffix("/devices"))
        for device in self.list_devices():
            self._call("GET", f"devices/{device['id']}")

    def order(self, machines: list[dict[str, Any]], interval: float) -> None:
        """Have these machines: check whether they exist, order them, wait until they are active."""
        there = {device["hostname"] for device in self.list_devices()}
        waiting = [self._call("POST", self._devices, json=each)["id"] for each in machines if each["hostname"] not in there]
        while waiting:
            time.sleep(interval)
            waiting = [each for each in waiting if self._call("GET", f"devices/{each}")["state"] != "active"]

    def order_again(self, machines: list[dict[str, Any]]) -> None:
        """The same when all of them exist: a list and a GET for each machine, as a loop over a module of one device does."""
        ids = {device["hostname"]: device["id"] for device in self.list_devices()}
        for machine in machines:
            self._call("GET", f"devices/{ids[machine['hostname']]}")
