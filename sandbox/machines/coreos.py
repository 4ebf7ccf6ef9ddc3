# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RHCOS: the live system that network boot starts, coreos-installer in it, and the installed system's first boot.

Follows coreos-installer's kernel arguments and installer configuration, the live system's dracut modules and Ignition's packet provider.
Arguments without effect in reality have none here, and the machine's screen log has a remark.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

import httpx
import yaml

from sandbox.machines import SystemFactory, disks, ignition
from sandbox.machines.host import Host, Hung, Rebooting
from sandbox.machines.ignition import Config, Engine, IgnitionError
from sandbox.machines.ipxe import Boot, Image

LOG = logging.getLogger(__name__)

INSTALLER_CONFIGS = "/etc/coreos/installer.d/"
INSTALLER_OPTIONS = frozenset(
    (
        *("append-karg", "architecture", "console", "copy-network", "delete-karg", "dest-device", "fetch-retries", "ignition-file"),
        *("ignition-hash", "ignition-url", "image-file", "image-url", "insecure", "insecure-ignition", "network-dir", "offline"),
        *("platform", "preserve-on-error", "save-partindex", "save-partlabel", "secure-ipl", "sector-size", "stream"),
    )
)
NO_EFFECT = {
    "coreos.inst": "is an argument of the old installer",
    "coreos.inst.append": "does not exist",
    "coreos.inst.console": "does not exist",
    "coreos.inst.ignition_hash": "does not exist: an installer.d file can say ignition-hash",
    "coreos.inst.persistent-kargs": "is read by the assisted installer's agent only",
}
KNOWN_INSTALL_ARGUMENTS = frozenset(
    f"coreos.inst.{name}"
    for name in (
        "install_dev",
        "ignition_url",
        "platform_id",
        "image_url",
        "insecure",
        "stream",
        "save_partlabel",
        "save_partindex",
        "skip_reboot",
    )
)
GENTLE_DELAY = 0.2
EMERGENCY_SECONDS = 300
ROOTFS_LIMIT = 64 * 1024 * 1024
"""The mirror's images are small; a real image shall not fill the sandbox's memory."""


@dataclass(frozen=True)
class Artefact:
    """The first line of a kernel, initramfs or rootfs of the sandbox's mirror."""

    kind: str
    build: str
    architecture: str

    @classmethod
    def of(cls, data: bytes) -> Artefact | None:
        match = re.match(rb"sandbox-rhcos (kernel|initramfs|rootfs) (\S+) (x86_64|aarch64)\s", data[:200] + b"\n")
        return None if match is None else cls(*(part.decode("ascii") for part in match.groups()))

    def __str__(self) -> str:
        return f"{self.kind} of build {self.build} for {self.architecture}"


def is_kernel(data: bytes) -> bool:
    """Return whether the firmware would start a file: a kernel of the mirror, or a real one (bzImage, EFI, arm64 Image)."""
    artefact = Artefact.of(data)
    return (
        (artefact is not None and artefact.kind == "kernel")
        or data[0x202:0x206] == b"HdrS"
        or data[:2] == b"MZ"
        or data[56:60] == b"ARM\x64"
    )


class Arguments:
    """A kernel command line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pairs = [(key, value if equals else None) for key, equals, value in (word.partition("=") for word in text.split())]

    def __contains__(self, key: str) -> bool:
        return any(name == key for name, _unused in self._pairs)

    def get(self, key: str) -> str | None:
        """Return the last value, as dracut's getarg does; ``None`` without one."""
        return next((value for name, value in reversed(self._pairs) if name == key and value), None)

    def all(self, key: str) -> list[str]:
        return [value for name, value in self._pairs if name == key and value]

    def remarks(self) -> list[str]:
        """Return remarks about arguments without effect."""
        remarks = []
        for key, _unused in self._pairs:
            if key in NO_EFFECT:
                remarks.append(f"kernel argument {key} {NO_EFFECT[key]}: it does nothing")
            elif key.startswith("coreos.inst.") and key not in KNOWN_INSTALL_ARGUMENTS:
                remarks.append(f"kernel argument {key} is not one of coreos-installer's: it does nothing")
        if self.get("coreos.inst.ignition_url") == "skip":
            remarks.append("coreos.inst.ignition_url=skip is an old value: it is ignored")
        if self.get("ignition.config.url") and not self.ignition_runs:
            remarks.append("ignition.config.url does nothing without ignition.firstboot and ignition.platform.id")
        return remarks

    @property
    def ignition_runs(self) -> bool:
        return "ignition.firstboot" in self and self.get("ignition.platform.id") is not None


class InstallError(Exception):
    """coreos-installer ends with an error; the live system keeps running, with a shell on its console."""


@dataclass
class Plan:
    """The settings of coreos-installer, from files and kernel arguments."""

    device: str = ""
    platform: str = "metal"
    ignition_file: str = ""
    ignition_url: str = ""
    ignition_hash: str = ""
    image_url: str = ""
    consoles: list[str] = field(default_factory=list)
    kargs: list[str] = field(default_factory=list)


def plan_of(arguments: Arguments, files: dict[str, bytes]) -> Plan | None:
    """Return what to install, ``None`` if no installation is requested. Kernel arguments win over files, later files over earlier.

    Raises :class:`InstallError` for a file coreos-installer would not read.
    """
    configs = sorted(path for path in files if path.startswith(INSTALLER_CONFIGS))
    device = arguments.get("coreos.inst.install_dev")
    if not configs and device is None:
        return None
    plan = Plan()
    for path in configs:
        try:
            options = yaml.safe_load(files[path].decode("utf-8")) or {}
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InstallError(f"parsing config file {path}: {error}") from None
        unknown = sorted(set(options) - INSTALLER_OPTIONS) if isinstance(options, dict) else ["(no mapping)"]
        if unknown:
            raise InstallError(f"parsing config file {path}: unknown field {', '.join(unknown)}")
        plan.device = options.get("dest-device", plan.device)
        plan.platform = options.get("platform", plan.platform)
        plan.ignition_file = options.get("ignition-file", plan.ignition_file)
        plan.ignition_url = options.get("ignition-url", plan.ignition_url)
        plan.ignition_hash = options.get("ignition-hash", plan.ignition_hash)
        plan.image_url = options.get("image-url", plan.image_url)
        plan.consoles += options.get("console", [])
        plan.kargs += options.get("append-karg", [])
    plan.device = device or plan.device
    plan.platform = arguments.get("coreos.inst.platform_id") or plan.platform
    url = arguments.get("coreos.inst.ignition_url")
    plan.ignition_url = url if url and url != "skip" else plan.ignition_url
    plan.image_url = arguments.get("coreos.inst.image_url") or plan.image_url
    return plan


class NoDisk(Hung):
    """No disk fits the live config. ``metadata_url``: where its script finds the address for an event; empty without one."""

    def __init__(self, reason: str, *, metadata_url: str) -> None:
        super().__init__(reason)
        self.metadata_url = metadata_url


@dataclass
class Preparation:
    """What the live config does to the machine before the installer starts, as far as it can be read from its text."""

    wiped: list[str] = field(default_factory=list)
    chosen: str = ""
    remarks: list[str] = field(default_factory=list)


def preparation_of(config: Config, files: dict[str, bytes], host: Host) -> Preparation:
    """Read wiping and choice of disk out of a live config. Scripts are never run: the sandbox's own disks would be at stake.

    ``storage.disks`` with ``wipeTable`` is taken at its word. Of enabled units ordered before coreos-installer, and of the
    files they name, the text counts: ``wipefs``, ``sgdisk --zap-all`` or ``blkdiscard`` wipe the drives that are named, or all
    when the script lists drives itself (``lsblk``, ``/sys/block``, ``/dev/disk/by-``); writing ``dest-device`` into installer.d
    chooses a drive: by the rule in a JSON file that the script names (``disks.choose``), without one the smallest. Raises
    :class:`NoDisk` when there is none like that.
    """
    preparation = Preparation()
    names = [drive.name for drive in host.hardware.drives]
    for disk in (config.get("storage") or {}).get("disks") or []:
        if disk.get("wipeTable"):
            device = disks.resolve(host, str(disk.get("device", "")))
            if device is None:
                raise IgnitionError(f"disks: create partitions: device {disk.get('device')!r} not found")
            preparation.wiped.append(device)
    for unit in (config.get("systemd") or {}).get("units") or []:
        body = str(unit.get("contents") or "")
        text = body + "".join(content.decode("utf-8", "replace") for path, content in files.items() if path in body)
        acts = re.search(r"wipefs|sgdisk\s+(-Z|--zap|-o)|blkdiscard", text)
        chooses = "dest-device" in text and INSTALLER_CONFIGS.rstrip("/") in text
        if not (acts or chooses):
            continue
        if not unit.get("enabled"):
            preparation.remarks.append(f"unit {unit.get('name')} is not enabled: it does nothing")
            continue
        if not re.search(r"^Before=.*coreos-installer", body, re.MULTILINE):
            preparation.remarks.append(f"unit {unit.get('name')} has no Before=coreos-installer.service: it may run too late, here it does")
            continue
        if acts:
            listed = re.search(r"lsblk|/sys/block|/sys/class/block|/dev/disk/by-", text)
            wiped = names if listed else [name for name in names if re.search(re.escape(name) + r"\b", text)]
            preparation.wiped += wiped
            preparation.remarks.append(f"unit {unit.get('name')} read as: wipes {', '.join(wiped) or 'nothing'}")
        if chooses:
            rule = _rule(text, files)
            try:
                preparation.chosen = disks.choose(host, rule)
            except disks.NoDiskError as error:
                raise NoDisk(str(error), metadata_url=rule.get("metadata", "") if "phone_home_url" in text else "") from None
            preparation.remarks.append(f"unit {unit.get('name')} read as: installs to {preparation.chosen}")
    return preparation


def _rule(script: str, files: dict[str, bytes]) -> dict[str, Any]:
    named = next((content for path, content in files.items() if path.endswith(".json") and path in script), b"{}")
    rule: dict[str, Any] = json.loads(named)
    return rule


class LiveSystem:
    """The live system of one network boot, from kernel to the end of the install."""

    def __init__(self, host: Host, kernel: dict[str, str], arguments: str, others: list[dict[str, str]]) -> None:
        self._host = host
        self._kernel = kernel
        self._arguments = Arguments(arguments)
        self._others = others
        self._files: dict[str, bytes] = {}
        self._rootfs_hash = ""

    @classmethod
    def saved(cls, host: Host, boot: dict[str, Any]) -> LiveSystem:
        """Return the live system of a boot that :meth:`remember` saved, after a restart of the sandbox."""
        return cls(host, boot["kernel"], boot["arguments"], boot["others"])

    @staticmethod
    def remember(boot: Boot) -> dict[str, Any]:
        """Return the parts of a boot to save: names and headers, not the images."""

        def short(image: Image) -> dict[str, str]:
            return {"name": image.name, "url": image.url, "header": image.data[:200].decode("latin-1")}

        return {"kernel": short(boot.kernel), "arguments": boot.kernel.arguments, "others": [short(image) for image in boot.initrds]}

    async def run(self) -> None:
        """Install and end with :class:`Rebooting`, or :class:`Hung` where a real machine would stay."""
        host, arguments = self._host, self._arguments
        build = await self._kernel_start()
        await self._root(build)
        for remark in arguments.remarks():
            host.remark(remark)
        config = await self._live_ignition()
        self._files = ignition.file_contents(config)
        try:
            prepared = preparation_of(config, self._files, host)
            for remark in prepared.remarks:
                host.remark(remark)
            plan = plan_of(arguments, self._files)
            if plan is None:
                raise Hung("the live system runs, and neither coreos.inst.install_dev nor a file in installer.d asks for an install")
            for name in prepared.wiped:
                host.wipe(name)
                host.console(f"wiped {name}")
            plan.device = plan.device or prepared.chosen
            await self._install(plan, build)
        except NoDisk as error:
            host.console(f"choose-disk: {error}")
            host.console("coreos-installer.service: Dependency failed. You are in emergency mode.")
            if error.metadata_url:
                await host.report_at(error.metadata_url, "failed", f"[choose-disk] {error}")
            raise
        except (InstallError, IgnitionError) as error:
            host.console(f"coreos-installer: Error: {error}")
            host.console("coreos-installer.service: Failed. You are in emergency mode.")
            raise Hung(f"coreos-installer failed: {error}") from None
        if "coreos.inst.skip_reboot" in arguments:
            raise Hung("installed; coreos.inst.skip_reboot keeps the live system running")
        raise Rebooting("coreos-installer is done")

    async def _kernel_start(self) -> str:
        """Boot up to the initramfs, and return the build that all parts must be of."""
        host = self._host
        kernel = Artefact.of(self._kernel["header"].encode("latin-1"))
        if kernel is None:
            raise Hung(f"{self._kernel['url']} is no kernel of the sandbox's mirror; what it would do cannot be played")
        if kernel.architecture != host.hardware.architecture:
            raise Hung(f"the {kernel} cannot start on an {host.hardware.architecture} machine")
        host.serial = any(value.split(",")[0] == host.serial_console for value in self._arguments.all("console"))
        if not host.serial:
            host.remark(f"no console={host.serial_console},115200n8: the serial console is silent from here on")
        host.console(f"Linux version {kernel.build} ({kernel.architecture})")
        host.console(f"Command line: {self._arguments.text}")
        pairs = [(image, Artefact.of(image["header"].encode("latin-1"))) for image in self._others]
        candidates = [(image, artefact) for image, artefact in pairs if artefact is not None and artefact.kind == "initramfs"]
        if not candidates:
            raise self._panic("Kernel panic - not syncing: VFS: Unable to mount root fs (no initramfs was loaded)")
        image, initramfs = candidates[0]
        if host.uefi and image["name"] not in self._arguments.all("initrd"):
            raise self._panic(
                "Kernel panic - not syncing: VFS: Unable to mount root fs "
                f"(UEFI: the kernel needs initrd={image['name']} to find the initramfs of that name)"
            )
        if initramfs.architecture != kernel.architecture:
            raise self._panic(f"Kernel panic - not syncing: No working init found (the {initramfs})")
        await host.take(20, 40)
        self._rootfs_hash = digest[1] if (digest := re.search(r"^rootfs-sha256 ([0-9a-f]{64})$", image["header"], re.MULTILINE)) else ""
        if initramfs.build != kernel.build:
            host.console("dracut-initqueue: no modules for this kernel, network never came up")
            raise Hung(f"kernel and initramfs are not of one build ({kernel.build}, {initramfs.build}): no drivers, no network")
        return kernel.build

    def _panic(self, line: str) -> Hung:
        self._host.console(line)
        return Hung(line)

    async def _root(self, build: str) -> None:
        """Load the root file system, appended to the initramfs or fetched, and check it against the hash in the initramfs."""
        host = self._host
        url = self._arguments.get("coreos.live.rootfs_url")
        appended = [Artefact.of(image["header"].encode("latin-1")) for image in self._others]
        rootfs = next((artefact for artefact in appended if artefact is not None and artefact.kind == "rootfs"), None)
        if rootfs is None:
            if url is None:
                host.console(
                    "coreos-livepxe-rootfs: No rootfs image found. Modify your PXE configuration to add the rootfs image as a second"
                )
                host.console("initrd, or use the coreos.live.rootfs_url kernel parameter to specify an HTTP or TFTP URL to the rootfs.")
                raise Hung("no root file system: the kernel arguments have no coreos.live.rootfs_url")
            content = await self._fetch_root(url)
            await host.take(60, 120)
            rootfs = Artefact.of(content)
            if self._rootfs_hash and rootfs is not None and hashlib.sha256(content).hexdigest() != self._rootfs_hash:
                host.console("coreos-livepxe-rootfs: sha256 of the rootfs is not the one in the initramfs")
                rootfs = None if rootfs.build == build else rootfs
        if rootfs is None or rootfs.kind != "rootfs" or rootfs.build != build:
            host.console("coreos-livepxe-rootfs: Couldn't fetch, verify, and unpack rootfs: Check that the URL is correct and")
            host.console("that the rootfs version matches the initramfs.")
            raise Hung(f"the rootfs ({rootfs or 'damaged, or no rootfs at all'}) does not match the initramfs of build {build}")

    async def _fetch_root(self, url: str) -> bytes:
        """Fetch the root file system: HEAD until it succeeds, then GET; every 5 s without end. The server's certificate is not verified."""
        host, reported = self._host, ""
        while True:
            reason = ""
            for method in ("HEAD", "GET"):
                try:
                    response = await host.http.request(method, url, verify=False, at_most=ROOTFS_LIMIT)
                except httpx.UnsupportedProtocol as error:
                    raise Hung(f"coreos.live.rootfs_url: {error}") from None
                except httpx.TransportError as error:
                    reason = str(error) or type(error).__name__
                    break
                if not response.is_success:
                    reason = f"HTTP {response.status_code}"
                    break
            else:
                return response.content
            host.console(f"coreos-livepxe-rootfs: {url}: {reason}; retrying in 5s...")
            if reason != reported:
                reported = reason
                await host.report("running", f"[live] rootfs not there yet, tried again for ever: {url}: {reason}")
            await asyncio.sleep(max(5 / host.clock.speed, GENTLE_DELAY))

    async def _live_ignition(self) -> Config:
        """Return the live config; an empty one if Ignition does not run in the live system."""
        host, arguments = self._host, self._arguments
        if not arguments.ignition_runs:
            return {}
        platform = arguments.get("ignition.platform.id") or ""
        provider = Provider(host, platform)
        url = arguments.get("ignition.config.url")
        try:
            text: bytes | None
            if url:
                text = await provider.engine.get(url)
            else:
                text = await provider.platform_config()
                if platform == "packet":
                    host.remark(
                        "ignition.platform.id=packet without ignition.config.url: the device's userdata is applied to the live system"
                    )
            if not text:
                return {}
            config = await provider.engine.files(await provider.engine.fetch(ignition.parse(text)))
        except IgnitionError as error:
            host.console(f"ignition: failed: {error}")
            await provider.status("fetch", error)
            raise Hung(f"live Ignition failed: {error}") from None
        await provider.status("fetch", None)
        await host.take(5, 15)
        return config

    async def _install(self, plan: Plan, build: str) -> None:
        host = self._host
        if not plan.device:
            raise InstallError("no destination device was given")
        device = disks.resolve(host, plan.device)
        if device is None:
            drives = ", ".join(drive.name for drive in host.hardware.drives)
            raise InstallError(f"checking for exclusive access to {plan.device}: No such file or directory (this machine has {drives})")
        if not plan.device.startswith("/dev/"):
            host.console(f"coreos-installer: bare name {plan.device} is deprecated, use {device}")
        embedded = await self._embedded(plan)
        if plan.image_url:
            await self._persistent_get(plan.image_url)
        host.console(f"coreos-installer: Installing Red Hat Enterprise Linux CoreOS {build} ({host.hardware.architecture}) to {device}")
        await host.take(120, 240)
        for drive in host.hardware.drives:
            other = host.disk(drive.name)
            if drive.name != device and other is not None and other.get("label") == "boot":
                host.console(f"coreos-installer: Warning: {drive.name} has a file system labelled boot, first boot will fail")
        host.wipe_system()
        host.write_disk(
            device,
            {
                "system": "rhcos",
                "label": "boot",
                "build": build,
                "platform": plan.platform,
                "serial": self._serial_after(plan),
                "kargs": plan.kargs,
                "ignition": None if embedded is None else base64.b64encode(embedded).decode("ascii"),
                "first_boot": True,
            },
        )
        host.console("coreos-installer: Install complete.")

    def _serial_after(self, plan: Plan) -> bool:
        """Return whether the installed system uses the serial console: by its platform, or by its kernel arguments."""
        consoles = plan.consoles + [karg.removeprefix("console=") for karg in plan.kargs if karg.startswith("console=")]
        return plan.platform in ("packet", "equinixmetal") or any(
            console.split(",")[0] == self._host.serial_console for console in consoles
        )

    async def _embedded(self, plan: Plan) -> bytes | None:
        """Return the config to write to the disk, if one was named."""
        if plan.ignition_file:
            if plan.ignition_file not in self._files:
                raise InstallError(f"opening source Ignition config {plan.ignition_file}: No such file or directory")
            text = self._files[plan.ignition_file]
        elif plan.ignition_url:
            text = await self._persistent_get(plan.ignition_url)
        else:
            return None
        if plan.ignition_hash:
            function, _unused, expected = plan.ignition_hash.partition("-")
            if function not in {"sha512", "sha256"} or hashlib.new(function, text).hexdigest() != expected.lower():
                raise InstallError("digest mismatch of the Ignition config")
        try:
            json.loads(text)
        except ValueError as error:
            raise InstallError(f"parsing Ignition config: {error}") from None
        return text

    async def _persistent_get(self, url: str) -> bytes:
        """GET as with ``--fetch-retries infinite``: a wrong URL hangs, it does not fail."""
        host, reported, delay = self._host, "", 1.0
        while True:
            try:
                response = await host.http.request("GET", url)
                if response.is_success:
                    return response.content
                reason = f"HTTP {response.status_code}"
            except httpx.UnsupportedProtocol as error:
                raise InstallError(str(error)) from None
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
            host.console(f"coreos-installer: Error fetching '{url}': {reason}; sleeping {delay:.0f}s and retrying...")
            if reason != reported:
                reported = reason
                await host.report("running", f"[coreos-installer] fetch fails and is tried again for ever: {url}: {reason}")
            await asyncio.sleep(max(delay / host.clock.speed, GENTLE_DELAY))
            delay = min(delay * 2, 10.0)


class Provider:
    """Ignition's platform: the source of the config, and the receiver of status reports."""

    def __init__(self, host: Host, platform: str) -> None:
        self._host = host
        self._platform = platform
        self.engine = Engine(host.http, host.clock, host.console, self._on_retry, host.site.public_ca)

    async def platform_config(self) -> bytes | None:
        """Return the platform's config, ``None`` without one. Raises :class:`IgnitionError`.

        Where no service answers at the vendor's name, packet retries without end.
        """
        if self._platform == "packet":
            return await self.engine.get(f"{self._host.site.packet_url}/userdata", {"accept": "*/*"})
        if self._platform == "metal":
            return None
        raise Hung(f"Ignition's platform {self._platform!r} asks a metadata service that does not exist here, for ever")

    async def status(self, stage: str, error: IgnitionError | None) -> None:
        """Report the result of a stage to the events address of the metadata, as only the packet platform does."""
        if self._platform != "packet":
            return
        body = (
            {"state": "running", "message": f"[{stage}] Ignition status: finished successfully"}
            if error is None
            else {"state": "failed", "message": f"[{stage}] Ignition error: {error}"}
        )
        url = await self._phone_home_url()
        if url is None:
            self._host.console("ignition: no phone_home_url, status not sent")
        else:
            await self._host.post(url.removesuffix("/phone-home") + "/events", body)

    async def check_in(self) -> None:
        """afterburn-firstboot-checkin: an empty POST to the phone_home_url."""
        if self._platform == "packet" and (url := await self._phone_home_url()) is not None:
            await self._host.post(url, None)

    async def _phone_home_url(self) -> str | None:
        try:
            response = await self._host.http.request("GET", f"{self._host.site.packet_url}/metadata", ca_pem=self._host.site.public_ca)
            url = response.json().get("phone_home_url") if response.is_success else None
        except (httpx.TransportError, ValueError, AttributeError):
            return None
        return str(url) if url else None

    async def _on_retry(self, url: str, reason: str) -> None:
        if self._platform == "metal" or url.startswith(self._host.site.packet_url):
            # No service of a real machine could hear of it.
            self._host.remark(f"ignition: a fetch fails and is tried again for ever: {url}: {reason}")
            return
        await self._host.report("running", f"[ignition] fetch fails and is tried again for ever: {url}: {reason}")


class InstalledSystem:
    """RHCOS on a disk."""

    def __init__(self, host: Host, drive: str, content: dict[str, Any], factory: SystemFactory) -> None:
        self._host = host
        self._drive = drive
        self._content = content
        self._factory = factory

    async def run(self) -> None:
        """First boot where it is due, then the system itself, until cancelled. Ends with :class:`Rebooting` or :class:`Hung`."""
        host, content = self._host, self._content
        host.serial = bool(content["serial"])
        if not host.serial:
            host.remark("the installed system has no serial console (platform metal without console=): nothing is seen from here on")
        host.console(f"Linux version {content['build']}, root on {self._drive}")
        if content.get("first_boot"):
            await self._first_boot()
        host.at("system")
        await self._start()

    async def _start(self) -> NoReturn:
        """Run the system until cancelled. Ends with :class:`Rebooting` or :class:`Hung`."""
        self._host.console(f"{self._host.hardware.hostname} login:")
        await self._factory(self._host, self._content["config"]).run()
        raise Hung("the system ended by itself")

    async def _first_boot(self) -> None:
        host, content = self._host, self._content
        await host.take(15, 30)
        labelled = [d.name for d in host.hardware.drives if (host.disk(d.name) or {}).get("label") == "boot"]
        if len(labelled) > 1:
            line = f"coreos-ignition-unique-boot: error: found multiple filesystems with label boot: {' '.join(labelled)}"
            await self._emergency(line, None)
        config = await self._ignite()
        host.console("ignition: Ignition finished successfully")
        content.update(first_boot=False, config=config)
        host.write_disk(self._drive, content)

    async def _ignite(self) -> Config:
        """Run Ignition in the initramfs, and report as a system that has booted. Return the merged config."""
        host, content = self._host, self._content
        arguments = Arguments(" ".join(content["kargs"]))
        provider = Provider(host, content["platform"])
        stage, config = "fetch", ignition.merge({"ignition": {"version": "3.5.0"}}, {})
        try:
            text = await self._source(arguments, provider)
            if text:
                config = await provider.engine.fetch(ignition.parse(text))
            else:
                host.console("ignition: no config provided by user")
            await provider.status(stage, None)
            for stage in ("kargs", "disks", "mount", "files", "umount"):
                if stage == "files":
                    config = await provider.engine.files(config)
                await host.take(2, 6)
                await provider.status(stage, None)
        except IgnitionError as error:
            await provider.status(stage, error)
            await self._emergency(f"ignition: failed in stage {stage}: {error}", error)
        await provider.check_in()
        await self._report_by_units(config)
        return config

    async def _report_by_units(self, config: Config) -> None:
        """Post the events of enabled units. Scripts are not run: text that reads ``phone_home_url`` counts, with the URL in a file."""
        files = ignition.file_contents(config)
        for unit in (config.get("systemd") or {}).get("units") or []:
            body = str(unit.get("contents") or "")
            script = "".join(
                content.decode("utf-8", "replace") for path, content in files.items() if path in body and b"phone_home_url" in content
            )
            message = re.search(r'message: "([^"]*)"', script)
            url = next((content.decode().strip() for path, content in files.items() if path.endswith(".url") and path in script), "")
            if unit.get("enabled") and message and url:
                await self._host.report_at(url, "running", message[1])

    async def _source(self, arguments: Arguments, provider: Provider) -> bytes | None:
        """In Ignition's order: kernel argument, config embedded at install time, platform."""
        url = arguments.get("ignition.config.url")
        if url:
            return await provider.engine.get(url)
        if self._content["ignition"] is not None:
            return base64.b64decode(self._content["ignition"])
        return await provider.platform_config()

    async def _emergency(self, line: str, error: IgnitionError | None) -> NoReturn:
        """Wait five minutes in the emergency shell, then reboot, again and again: the effect of a wrong pointer."""
        host = self._host
        host.console(line)
        host.console("Press Enter for emergency shell or wait 5 minutes for reboot.")
        if error is None and self._content["platform"] == "packet":
            await host.report("failed", f"[sandbox, seen on the console] {line}")
        else:
            LOG.warning("%s: seen on the console: %s", host.hardware.hostname, line)
        await host.clock.sleep(EMERGENCY_SECONDS)
        raise Rebooting("emergency shell timed out")
