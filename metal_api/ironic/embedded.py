# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Ironic of the server's own: standalone, one process on loopback, started and ended with the server.

It is installed from the package index into a virtual environment in the cache folder, at the versions of ``requirements.txt`` beside this
module. Its database, which has the credentials of the BMCs, is in the server's state folder, and can be lost at any time: Ironic cannot
migrate SQLite, so that of other versions is replaced by an empty one. The server's own store and the rack file have all that is in it.
"""

from __future__ import annotations

import asyncio
import configparser
import hashlib
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import openstack
from rich.console import Console

from metal_api.building import BuildError, ensure_environment
from metal_api.ironic.client import IronicClient, IronicError
from metal_api.process import Child
from metal_api.state_folder import write_private

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
PROGRAM: Final = Path(__file__).with_name("standalone.py")
HOST: Final = "metal-api"
"""The name of the conductor: nodes belong to it, so it must not follow the name of the computer."""

USER: Final = "metal-api"
READY_WITHIN: Final = 120.0
"""Seconds until Ironic has to answer after its start: it needs 5 on an idle computer, 20 on a busy one."""

_HASH: Final = "import bcrypt, sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(4)).decode())"
"""A low cost is enough: the password has 256 random bits, and Ironic checks it at every call."""


class EmbeddedError(Exception):
    """The Ironic of the server's own cannot be installed or started; the message names the remedy."""


@dataclass(frozen=True)
class Access:
    """How an Ironic is reached. ``user``: empty for one without authentication. ``cloud``: a name in clouds.yaml, instead."""

    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    cloud: str = ""

    def connect(self) -> openstack.connection.Connection:
        """Return a connection of openstacksdk. Nothing is sent yet."""
        if self.cloud:
            return openstack.connect(cloud=self.cloud)
        if self.user:
            auth = {"endpoint": self.url, "username": self.user, "password": self.password}
            kind = "http_basic"
        else:
            auth, kind = {"endpoint": self.url}, "none"
        # Of this server's options alone: no clouds.yaml and no OS_* of the user's shell.
        return openstack.connect(load_yaml_config=False, load_envvars=False, auth_type=kind, auth=auth)


def ensure_ironic(progress: Console | None = None) -> Path:
    """Return the folder of Ironic's programs, installing them first if need be (about 1 minute and 320 MB, once).

    Blocks: call it before the event loop or in a thread. Raises :class:`EmbeddedError`.
    """
    try:
        return ensure_environment("ironic", REQUIREMENTS, title="Ironic", takes="about a minute", progress=progress)
    except BuildError as error:
        raise EmbeddedError(f"{error} An Ironic that runs elsewhere is named by --ironic-url.") from None


@dataclass(frozen=True)
class Site:
    """What depends on where it runs. ``boot_url``: of the boot service, for machines. ``agent``: whether there is one to clean disks.

    ``fake_hardware``: whether nodes without hardware can be enrolled, for tests. ``power_sync``: seconds between two checks of the power of
    all nodes, which find a BMC that stopped answering.
    """

    boot_url: str
    agent: bool = False
    fake_hardware: bool = False
    power_sync: int = 60


class EmbeddedIronic:
    """``folder``: for its database, configuration, password and log. ``programs``: of :func:`ensure_ironic`. ``port``: on 127.0.0.1."""

    def __init__(self, folder: Path, programs: Path, port: int, site: Site) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder, self._programs, self._port, self._site = folder.resolve(), programs, port, site
        self._configuration = self._folder / "ironic.conf"
        self.log = self._folder / "ironic.log"
        password = self._folder / "password"
        if not password.exists():
            write_private(password, secrets.token_urlsafe(32))
        self.access = Access(f"http://127.0.0.1:{port}", USER, password.read_text(encoding="ascii"))
        # Without the option Ironic logs to standard error, which the child has in a file.
        self._child = Child(
            "ironic",
            lambda: [str(programs / "python"), str(PROGRAM), "--config-file", str(self._configuration)],
            directory=self._folder,
            log=self.log,
        )

    @property
    def pid(self) -> int | None:
        return self._child.pid

    @property
    def starts(self) -> int:
        """How often it was started, by :meth:`start` and after it ended by itself."""
        return self._child.starts

    async def start(self) -> None:
        """Make the database if need be, start, and wait until it answers. Raises :class:`EmbeddedError`."""
        await asyncio.to_thread(self._prepare)
        await self._child.start()
        client = IronicClient(self.access.connect())
        deadline = time.monotonic() + READY_WITHIN
        try:
            while not await self._answers(client):
                if time.monotonic() > deadline or self._child.starts > 3:
                    await self._child.stop()
                    raise EmbeddedError(f"Ironic does not start. The end of {self.log}:\n{self._child.last_words(10)}")
                await asyncio.sleep(0.3)
        finally:
            client.close()

    async def stop(self) -> None:
        """End it. Operations that it carries out fail, and are tried again after the next start."""
        await self._child.stop(15)

    async def _answers(self, client: IronicClient) -> bool:
        # An answer is not enough: until its conductor has registered the list of drivers is empty.
        try:
            return "redfish" in await client.drivers()
        except IronicError:
            return False

    def _prepare(self) -> None:
        for name in ("state", "http", "tftp", "images", "master"):
            (self._folder / name).mkdir(exist_ok=True, mode=0o700)
        done = subprocess.run(
            [str(self._programs / "python"), "-c", _HASH], input=self.access.password, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EmbeddedError(f"the environment of Ironic in {self._programs.parent} is damaged, remove it: {done.stderr.strip()[-300:]}")
        write_private(self._folder / "htpasswd", f"{USER}:{done.stdout}")
        parser = configparser.ConfigParser(interpolation=None, default_section="")
        parser.read_dict(self._settings())
        with (self._folder / "ironic.conf").open("w", encoding="utf-8") as file:
            parser.write(file)
        self._prepare_database()

    def _prepare_database(self) -> None:
        """Make an empty database, unless there is one that these versions of Ironic have made."""
        database, made = self._folder / "ironic.sqlite", self._folder / "database-is-complete"
        versions = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
        if database.exists() and made.exists() and made.read_text(encoding="ascii") == versions:
            return
        # None yet, one of which the making was interrupted, or one of other versions.
        made.unlink(missing_ok=True)
        for left in self._folder.glob("ironic.sqlite*"):
            left.unlink()
        database.touch(mode=0o600)
        done = subprocess.run(
            [str(self._programs / "ironic-dbsync"), "--config-file", str(self._configuration), "create_schema"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise EmbeddedError(f"the database {database} of Ironic cannot be made: {done.stderr.strip()[-500:]}")
        made.write_text(versions, encoding="ascii")

    def _settings(self) -> dict[str, dict[str, str]]:
        site, fake = self._site, self._site.fake_hardware

        def interfaces(*names: str) -> str:
            return ",".join((*names, "fake") if fake else names)

        # IPMI without its program would keep Ironic from starting.
        ipmi = shutil.which("ipmitool") is not None
        types = ["redfish", "idrac", *(["ipmi"] if ipmi else []), *(["fake-hardware"] if fake else [])]
        power = interfaces("redfish", "idrac-redfish", *(["ipmitool"] if ipmi else []))
        return {
            "DEFAULT": {
                "auth_strategy": "http_basic",
                "http_basic_auth_user_file": str(self._folder / "htpasswd"),
                # The API calls the conductor in its own process.
                "rpc_transport": "none",
                "host": HOST,
                "my_ip": "127.0.0.1",
                "state_path": str(self._folder / "state"),
                # Not a line for each of its requests: one a second is a poll.
                "default_log_levels": "ironic.api=WARNING,stevedore=WARNING,urllib3=WARNING,requests=WARNING,sushy=WARNING,oslo=WARNING",
                "enabled_hardware_types": ",".join(types),
                "enabled_bios_interfaces": "no-bios",
                "enabled_boot_interfaces": interfaces("redfish-virtual-media", "idrac-redfish-virtual-media", "ipxe"),
                "enabled_console_interfaces": "no-console",
                "enabled_deploy_interfaces": interfaces("ramdisk"),
                "enabled_firmware_interfaces": "no-firmware",
                "enabled_inspect_interfaces": interfaces("redfish", "idrac-redfish", "no-inspect"),
                "enabled_management_interfaces": power,
                "enabled_network_interfaces": "noop",
                "enabled_power_interfaces": power,
                "enabled_raid_interfaces": "no-raid",
                "enabled_rescue_interfaces": "no-rescue",
                "enabled_storage_interfaces": "noop",
                "enabled_vendor_interfaces": "no-vendor",
                "default_network_interface": "noop",
            },
            "api": {"host_ip": "127.0.0.1", "port": str(self._port), "api_workers": "1", "max_limit": "1000"},
            "database": {"connection": f"sqlite:///{self._folder / 'ironic.sqlite'}?timeout=60"},
            "dhcp": {"dhcp_provider": "none"},
            "conductor": {
                "automated_clean": str(site.agent),
                "sync_power_state_interval": str(site.power_sync),
                # For BMCs that answer again: their servers are in maintenance until then, neither offered nor deleted.
                "power_failure_recovery_interval": str(site.power_sync),
                # A machine that powered itself off stays off, as those of the vendor did.
                "force_power_state_during_sync": "False",
                "power_state_change_timeout": "120",
                "max_concurrent_deploy": "1000",
                "max_concurrent_clean": "1000",
                "file_url_allowed_paths": str(self._folder / "images"),
            },
            "deploy": {
                "http_root": str(self._folder / "http"),
                "http_url": f"{site.boot_url}/ironic",
                # BMCs fetch the ISO from the boot service itself.
                "ramdisk_image_download_source": "http",
                "default_boot_mode": "uefi",
                # Partition tables and file systems: overwriting whole disks would need hours.
                "erase_devices_priority": "0",
                "erase_devices_metadata_priority": "10",
            },
            # What the agent gets as Ironic's address: the boot service leads on to it.
            "service_catalog": {"auth_type": "none", "endpoint_override": site.boot_url},
            # A BMC that is dead is reported within two minutes.
            "redfish": {"connection_attempts": "2", "connection_retry_interval": "3"},
            "pxe": {
                "tftp_root": str(self._folder / "tftp"),
                "tftp_master_path": str(self._folder / "master"),
                "images_path": str(self._folder / "images"),
                "instance_master_path": str(self._folder / "master"),
            },
        }
