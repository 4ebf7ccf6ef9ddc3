# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operating system of the service in a container: cloud-init applies the device's userdata, systemd runs what that has written.

The installer is simulated. It leaves what that of the service leaves: addresses of the metadata in /etc/network/interfaces, and the
metadata service as cloud-init's datasource, which has the tree of EC2 for it.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Final, NoReturn

import httpx
import yaml

from sandbox.containers.command import ContainerError
from sandbox.containers.container import Container
from sandbox.containers.link import INTERFACE
from sandbox.machines.host import Host, Hung

_FIRST_STANZA: Final = f"auto lo\niface lo inet loopback\n\nauto {INTERFACE}\n"


class CloudContainer:
    """The :class:`sandbox.machines.System` of a drive. Cancelling is a loss of power."""

    def __init__(self, host: Host, drive: str, content: dict[str, Any], *, tree: Path) -> None:
        self._host = host
        self._drive = drive
        self._content = content
        self._container = Container(host, tree)

    async def run(self) -> NoReturn:
        """Boot the system, at first with what the installer has left. Ends with :class:`Rebooting` or :class:`Hung`."""
        host, container, content = self._host, self._container, self._content
        host.console(f"Linux version ({content['system']}), root on {self._drive}")
        try:
            if content.get("first_boot"):
                metadata = await self._metadata()
                container.wipe()
            async with container.mounted(), container.link.connected():
                if content.get("first_boot"):
                    self._configure(metadata)
                    content.update(first_boot=False)
                    host.write_disk(self._drive, content)
                host.at("system")
                await container.run()
        except ContainerError as error:
            raise Hung(f"this computer cannot run the container of the machine: {error}") from error

    async def _metadata(self) -> dict[str, Any]:
        url = f"{self._host.site.metadata_url}/metadata"
        try:
            response = await self._host.http.request("GET", url)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise Hung(f"the installer has no addresses for the system: {url}: {error}") from None
        metadata: dict[str, Any] = response.json()
        return metadata

    def _configure(self, metadata: dict[str, Any]) -> None:
        """Write what the installer leaves on the disk."""
        host = self._host
        interfaces = [_FIRST_STANZA]
        for entry in metadata["network"]["addresses"]:
            # Those of version 6 are not configured here: nothing of the collection's load balancers uses them.
            if entry["address_family"] != 4 or not entry["management"]:
                continue
            lines = [f"iface {INTERFACE} inet static", f"address {entry['address']}/{entry['cidr']}"]
            if entry["public"]:
                lines.append(f"gateway {entry['gateway']}")
            else:
                lines += [f"post-up ip route add {network} via {entry['gateway']}" for network in metadata["private_subnets"]]
            interfaces.append("\n    ".join(lines) + "\n")
        settings = {
            "datasource": {"Ec2": {"metadata_urls": [host.site.metadata_url], "strict_id": False, "timeout": 60, "max_wait": 240}},
            "network": {"config": "disabled"},
            "apt": {"preserve_sources_list": True},
            "locale": False,
            # Keys of the device are those of root, as in the service's images.
            "users": [],
            "disable_root": False,
        }
        for name, text in {
            "etc/hostname": f"{metadata['hostname']}\n",
            "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {metadata['hostname']} {metadata['hostname'].partition('.')[0]}\n",
            "etc/machine-id": f"{uuid.UUID(host.hardware.device_id).hex}\n",
            "etc/resolv.conf": f"nameserver {host.site.name_server[0]}\n",
            "etc/network/interfaces": "\n".join(interfaces),
            # What decides whether cloud-init is started reads lines.
            "etc/cloud/cloud.cfg.d/90_service.cfg": f"datasource_list: [Ec2]\n{yaml.safe_dump(settings)}",
            "etc/phone-home-url": f"{host.site.boot_url}/phone-home\n",
        }.items():
            (self._container.root / name).write_text(text, encoding="utf-8")
