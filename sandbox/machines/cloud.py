# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The other operating systems: installed by the service, configured by cloud-init from the device's userdata.

Of a cloud-config, ``write_files`` and ``packages`` are applied, below the machine's directory. Packages with an effect are haproxy, the
host's real one with the machine's configuration and address, nftables for the firewall of the nodes (``sandbox.machines.firewall``),
where ``runcmd`` starts its units, and bird2: the program that the collection's load balancers run beside it,
which announces an elastic address while haproxy answers, is simulated (``sandbox.machines.elastic``).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import os
import re
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from metal_api.process import start_child
from sandbox.machines import firewall
from sandbox.machines.firewall import Firewall
from sandbox.machines.host import Host, Hung

HAPROXY_CONFIG = "/etc/haproxy/haproxy.cfg"
HAPROXY_DEFAULTS = "/etc/default/haproxy"
ELASTIC_DEFAULTS = "/etc/default/announce"
HEALTH_PORT = 8404
HAPROXY_STARTS = 5
"""As systemd's default StartLimitBurst."""
SYSTEM_PATH = os.pathsep.join(("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"))


class CloudSystem:
    """An installed system of the service's own images."""

    def __init__(self, host: Host, drive: str, content: dict[str, Any]) -> None:
        self._host = host
        self._drive = drive
        self._content = content

    async def run(self) -> None:
        """Run the first boot, if it is pending, then the services of the cloud-config until cancelled."""
        host = self._host
        host.console(f"Linux version ({self._content['system']}), root on {self._drive}")
        if self._content.get("first_boot"):
            await self._first_boot()
        host.at("system")
        host.console(f"{host.hardware.hostname} login:")
        announcing = asyncio.create_task(self._announce())
        try:
            files = {name: path.read_bytes() for name in (firewall.CONF, firewall.PROGRAM) if (path := self._path(name)).exists()}
            units = self._content.get("units", ()) if "nftables" in self._content["packages"] else ()
            rules = Firewall(host, firewall.Settings.read(files, units))
            async with rules.following():
                if "haproxy" in self._content["packages"]:
                    await self._haproxy(rules)
                await asyncio.Event().wait()
        finally:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)

    async def _first_boot(self) -> None:
        host = self._host
        config = await self._cloud_config()
        await host.take(30, 60)
        for entry in config.get("write_files") or []:
            try:
                self._write(entry)
            except (KeyError, TypeError, ValueError, OSError) as error:
                await host.report("failed", f"[cloud-init] write_files: {entry.get('path')!r}: {error}")
        packages = [name if isinstance(name, str) else str(name[0]) for name in config.get("packages") or []]
        if packages:
            await host.take(20, 40)
        for ignored in sorted(set(config) & {"runcmd", "bootcmd"}):
            host.remark(f"cloud-config's {ignored} is not run: the sandbox runs no foreign commands on its host")
        self._content.update(first_boot=False, packages=packages, units=_enabled_units(config.get("runcmd") or []))
        host.write_disk(self._drive, self._content)
        # The service's images phone home at the end of their first boot: "ready to go".
        await host.post(f"{host.site.boot_url}/phone-home", None)

    async def _cloud_config(self) -> dict[str, Any]:
        """Return the device's cloud-config, empty without userdata or with userdata of another kind."""
        host = self._host
        try:
            response = await host.http.request("GET", f"{host.site.metadata_url}/userdata")
        except httpx.TransportError as error:
            await host.report("failed", f"[cloud-init] metadata service: {error}")
            return {}
        text = response.content if response.is_success else b""
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
        if not text.startswith(b"#cloud-config"):
            return {}
        try:
            config = yaml.safe_load(text)
        except yaml.YAMLError as error:
            await host.report("failed", f"[cloud-init] cloud-config: {error}")
            return {}
        return config if isinstance(config, dict) else {}

    def _write(self, entry: dict[str, Any]) -> None:
        path = self._path(str(entry["path"]))
        content = entry.get("content", "")
        raw = content if isinstance(content, bytes) else str(content).encode()
        encoding = str(entry.get("encoding", ""))
        if encoding in ("b64", "base64", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64"):
            raw = base64.b64decode(raw, validate=True)
        if encoding.startswith("gz"):
            raw = gzip.decompress(raw)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("ab" if entry.get("append") else "wb") as stream:
            stream.write(raw)
        path.chmod(int(str(entry.get("permissions", "0644")), 8) & 0o755 | 0o600)

    def _path(self, name: str) -> Path:
        """Return a path of the machine, below its directory. Raises ``ValueError`` for one outside of it."""
        root = (self._host.directory / "root").resolve()
        path = (root / name.lstrip("/")).resolve()
        if not path.is_relative_to(root):
            raise ValueError("outside the machine")
        return path

    async def _haproxy(self, rules: Firewall) -> None:
        host = self._host
        config = self._path(HAPROXY_CONFIG)
        program = shutil.which("haproxy", path=os.pathsep.join((os.environ.get("PATH", ""), SYSTEM_PATH)))
        if program is None:
            await host.report("failed", "[haproxy] the sandbox's host has no haproxy installed, so this load balancer does not serve")
            return
        if not config.exists():
            await host.report(
                "failed", f"[haproxy] {HAPROXY_CONFIG} was not written by the cloud-config; the distribution's own serves nothing"
            )
            return
        for start in range(HAPROXY_STARTS):
            message = await self._run_haproxy(program, config, rules, announce=start == 0)
            await host.report("failed", f"[haproxy] ended: {message}")
            await asyncio.sleep(0.1)
        raise Hung("haproxy ended too often, it is not started again")

    async def _run_haproxy(self, program: str, config: Path, rules: Firewall, *, announce: bool) -> str:
        """Run haproxy until it ends by itself, and return its exit status and last alerts."""
        host = self._host
        # 0.0.0.0 would include the addresses of all other machines on this computer. Other values are used unchanged.
        own = host.hardware.address
        defaults = {name: own if value == "0.0.0.0" else value for name, value in self._defaults().items()}  # noqa: S104 - compared
        environment = {"PATH": SYSTEM_PATH, "LB_ADDRESS": own, **defaults}
        command = ["env", "-i", *map("=".join, environment.items()), program, "-db", "-f"]
        try:
            sockets = self._closed_ports(config, rules, environment["LB_ADDRESS"])
        except OSError as error:
            return f"cannot bind: {error}"
        process = await start_child(
            [*command, str(self._adapted(config, sockets))],
            directory=host.directory,
            output=asyncio.subprocess.PIPE,
            pass_fds=[listener.fileno() for listener in sockets.values()],
        )
        lines: list[str] = []
        report = None
        try:
            if announce:
                report = asyncio.create_task(host.report("running", f"[haproxy] started on {host.hardware.address}"))
            assert process.stdout is not None  # noqa: S101 - a pipe was requested
            async for line in process.stdout:
                text = line.decode("utf-8", "replace").rstrip()
                host.console(f"haproxy: {text}")
                lines = [*lines[-9:], text]
            await process.wait()
        finally:
            for sock in sockets.values():
                sock.close()
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 3)
                except TimeoutError:
                    process.kill()
            if report is not None and not report.done():
                report.cancel()
        alerts = [line for line in lines if "[ALERT]" in line] or lines[-1:]
        return f"exit status {process.returncode}: {' / '.join(alerts)}"

    def _closed_ports(self, config: Path, rules: Firewall, address: str) -> dict[int, socket.socket]:
        """Return a socket for each port of haproxy's frontends that the firewall closes to others."""
        sockets = {}
        for port in map(int, re.findall(r'^\s+bind "\$\{LB_ADDRESS\}:(\d+)"$', config.read_text(encoding="utf-8"), re.MULTILINE)):
            if rules.closes(port):
                sockets[port] = socket.create_server((address, port))
                rules.guard(sockets[port])
        return sockets

    def _adapted(self, config: Path, sockets: Mapping[int, socket.socket]) -> Path:
        """Return a copy of the configuration with which haproxy connects from the machine's address, not from one of the computer.

        It takes over these sockets: the sandbox applies the rules of the firewall to them.
        """
        copy = config.with_suffix(".sandbox")
        copy.touch(mode=0o600)
        lines = re.sub(
            r"^(defaults\b.*)$", rf"\1\n  source {self._host.hardware.address}", config.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        for port, sock in sockets.items():
            lines = lines.replace(f'bind "${{LB_ADDRESS}}:{port}"', f"bind fd@{sock.fileno()}")
        copy.write_text(lines, encoding="utf-8")
        return copy

    async def _announce(self) -> None:
        """Announce an elastic address while haproxy answers, from the time on that the metadata has BGP neighbors."""
        defaults = self._defaults(ELASTIC_DEFAULTS)
        address, metadata_url = defaults.get("ADDRESS"), defaults.get("METADATA_URL")
        if address and metadata_url and "bird2" in self._content["packages"]:
            await self._host.announce(address, metadata_url, self._haproxy_answers)

    async def _haproxy_answers(self) -> bool:
        try:
            response = await self._host.http.request("GET", f"http://{self._host.hardware.address}:{HEALTH_PORT}/healthz", timeout=1.0)
        except httpx.TransportError:
            return False
        return response.is_success

    def _defaults(self, name: str = HAPROXY_DEFAULTS) -> dict[str, str]:
        """KEY=VALUE lines of a file of /etc/default, which a unit reads."""
        path = self._path(name)
        if not path.exists():
            return {}
        pairs = (line.strip().partition("=") for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#"))
        return {key.removeprefix("export ").strip(): value.strip().strip("\"'") for key, equals, value in pairs if equals}


def _enabled_units(commands: Iterable[Any]) -> list[str]:
    """Return the units that a cloud-config's ``runcmd`` enables and starts."""
    start = ["systemctl", "enable", "--now"]
    return [str(unit) for command in commands if isinstance(command, list) and command[:3] == start for unit in command[3:]]
