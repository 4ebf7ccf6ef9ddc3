"""The machines of fake hardware: what is powered on and deployed asks the boot service from its own address, once per power-on."""

import threading
from typing import Any

import httpx
import openstack

from metal_api.ironic.mapping import EXTRA


class Firmware:
    """Boots the nodes of an Ironic that may be killed at any time, for a boot service that may be too."""

    def __init__(self, connection: openstack.connection.Connection, boot_url: str) -> None:
        self._connection, self._boot_url = connection, boot_url
        self._booted: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            try:
                found = self._connection.baremetal.get(
                    "/nodes?limit=1000&fields=uuid,power_state,provision_state,extra", microversion="1.80"
                )
                nodes = found.json()["nodes"]
            except Exception:  # noqa: BLE001, S112 - the Ironic is dead at the moment
                continue
            for node in nodes:
                self._boot(node)

    def _boot(self, node: dict[str, Any]) -> None:
        if node["power_state"] != "power on" or node["provision_state"] != "active":
            self._booted.discard(node["uuid"])
            return
        if node["uuid"] in self._booted:
            return
        address = node["extra"][EXTRA]["address"]
        try:
            with httpx.Client(base_url=self._boot_url, transport=httpx.HTTPTransport(local_address=address), timeout=5) as client:
                script = client.get("/auto.ipxe")
                if script.status_code == 200:
                    client.post("/phone-home", data={"type": "provisioning.104.01", "body": "Device connected to DHCP system"})
        except httpx.HTTPError:
            # The boot service is dead at the moment: a machine tries again.
            return
        if script.status_code in {200, 404}:
            self._booted.add(node["uuid"])
