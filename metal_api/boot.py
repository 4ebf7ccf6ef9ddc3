# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot service, with the answers of Boots (tinkerbell/boots, 2020 to 2022): the iPXE script, phone-home and user events of devices.

Callers are identified by source address, as in the metadata service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as HttpRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from metal_api import boot_iso, images
from metal_api.catalogue.data import NETWORK_BOOT, catalogue
from metal_api.core.bodies import LARGEST_UNKNOWN, Bounded
from metal_api.core.parsing import load_json
from metal_api.core.world import World
from metal_api.device_services import machine_endpoint, report_url
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Device
from metal_api.events import Event, record_event
from metal_api.ironic import agent
from metal_api.servers import Server, Servers

BOOTING = "Device connected to DHCP system"

LONGEST_TEXT = 16 * 1024
"""Characters of an event's text that are kept (ours): a machine could fill the memory with its events."""
_LONGEST_NAME = 256
MOST_EVENTS = 10_000
"""Events of a device, from which on its machine can report no more (ours)."""

_PHONE_HOME = (
    "params",
    f"param body {BOOTING}",
    "param type provisioning.104.01",
    "imgfetch ${tinkerbell}/phone-home##params",
    "imgfree",
)


def script(world: World, device: Device) -> str | None:
    """Return ``/auto.ipxe`` for a custom_ipxe device, None if it may not boot from the network (any more)."""
    is_plain = world.service(Servers).is_plain(device.id)
    if device.rescuing and is_plain:
        return f"#!ipxe\nchain --autofree {world.environment.rescue_script_url}\n"
    if device.operating_system != NETWORK_BOOT or not (device.allow_pxe or device.always_pxe):
        return None
    metro = catalogue().metros[device.metro]
    lines = [
        "#!ipxe",
        "",
        "set iface eth0 || shell",
        f"set tinkerbell {report_url(world, device)}",
        f"set syslog_host {urlsplit(world.environment.boot_url).hostname}",
        "set ipxe_cloud_config packet",
        'echo "Packet.net Baremetal - iPXE boot"',
        # The firmware of servers has an iPXE without params: the fetch of the script is the phone-home.
        *([] if is_plain else _PHONE_HOME),
        "",
        f"set packet_facility {metro.facility}",
        f"set packet_plan {device.plan}",
    ]
    # A script in the userdata overrides the URL (Boots source).
    first, _unused, user_script = device.userdata.partition("\n")
    if first.strip() == "#!ipxe":
        lines += ["", user_script]
    elif device.ipxe_script_url:
        lines += ["", f"chain --autofree {device.ipxe_script_url}"]
    else:
        lines += ['echo "No iPXE script url or userdata found"', "shell"]
    return "\n".join(lines) + "\n"


class BadEventError(Exception):
    """An invalid event, answered with 400."""


def _is_phone_home(world: World, device: Device) -> bool:
    """Return whether the fetch of its script is recorded as the phone-home of a device."""
    if device.rescuing or not world.service(Servers).is_plain(device.id):
        return False
    # A server with always_pxe may boot again and again: nothing new is recorded then.
    return device.state != "active" or _has_room(world, device)


def phone_home(world: World, device: Device, content_type: str, body: bytes) -> None:
    """Record a phone-home. An empty body reports that the device is ready; else ``type`` names the event. Raises :class:`BadEventError`."""
    if world.service(Servers).is_plain(device.id) and world.service(Lifecycle).is_server_waiting(device):
        # Of what the server ran before.
        return
    if not body:
        world.service(Lifecycle).phoned_home(device)
        return
    kind, text = _event(content_type, body)
    _heed_limits(world, device, kind)
    if kind == "provisioning.104.01":
        world.service(Lifecycle).handed_out_script(device, text)
    elif kind == "provisioning.110":
        world.service(Lifecycle).phoned_home(device)
    else:
        world.service(Lifecycle).record_progress(device, kind, text or None)


def _event(content_type: str, body: bytes) -> tuple[str, str]:
    kind = content_type.split(";", maxsplit=1)[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        form = parse_qs(body.decode(errors="replace"))
        event: Any = {name: values[0] for name, values in form.items()}
    elif kind in {"", "application/json"}:
        event = _json(body)
    else:
        raise BadEventError("unsupported content type")
    if not event.get("type"):
        raise BadEventError("an event needs a type")
    return str(event["type"]), str(event.get("body") or "")[:LONGEST_TEXT]


def user_event(world: World, device: Device, body: bytes) -> None:
    """Record ``{"state", "code", "message"}`` as event ``user.<code>``, by default with code 0. Raises :class:`BadEventError`."""
    event = _json(body)
    code = event.get("code") or 0
    if not isinstance(code, int):
        raise BadEventError("code must be a number")
    state = str(event.get("state") or "")
    _heed_limits(world, device, f"{code}{state}")
    record_event(world, device, f"user.{code}", str(event.get("message") or "")[:LONGEST_TEXT], state=state or None)


def _heed_limits(world: World, device: Device, name: str) -> None:
    if len(name) > _LONGEST_NAME:
        raise BadEventError(f"type, code and state may have {_LONGEST_NAME} characters")
    if not _has_room(world, device):
        raise BadEventError(f"the device has {MOST_EVENTS} events, and may report no more")


def _has_room(world: World, device: Device) -> bool:
    return world.store[Event].count("device", device.id) < MOST_EVENTS


def _json(body: bytes) -> dict[str, Any]:
    try:
        document = load_json(body)
    except ValueError as problem:
        raise BadEventError("the body is not JSON") from problem
    if not isinstance(document, dict):
        raise BadEventError("the body is not a JSON object")
    return document


def _of_server(world: World, device: Device | None, address: str) -> str | None:
    """Return the script of a server that is not a device: it cleans its disks, or waits for its next use."""
    server = world.store[Server].first("address", address)
    if server is None or not server.is_plain:
        return None
    if device is not None and device.state != "deprovisioning" and not world.service(Lifecycle).is_server_waiting(device):
        return None
    if server.cleaning and world.environment.has_agent:
        return agent.script(world.environment.boot_url)
    return _next_try(world, "This server is not in use.")


def _next_try(world: World, reason: str) -> str:
    return f"#!ipxe\necho {reason} Next try in 5 seconds.\nsleep 5\nchain {world.environment.boot_url}/boot.ipxe\n"


def _warn_of_address(world: World, mac: str, address: str) -> None:
    """Record that a machine called from an address that is not its device's, with which the device cannot boot."""
    requested = mac.replace("-", ":").lower()
    server = next((candidate for candidate in world.store[Server] if requested in candidate.macs), None)
    device = world.store[Device].get(server.device_id) if server is not None and server.device_id else None
    if device is None or server is None or not server.address:
        return
    text = f"Server {server.name} asked for its boot script from {address}: DHCP has to give {server.address} to {requested}"
    # Once: firmware tries again for ever, and any client of the network can name a MAC address.
    if not any(event.body == text for event in world.store[Event].matching("device", device.id)):
        record_event(world, device, "server.wrong_address", text)


@dataclass(frozen=True)
class BootMedia:
    """The files that a boot service serves for servers. ``folder``: with the boot ISO and the loader of local disks. ``firmware``: folder
    of iPXE for HTTP boot. ``images``: folder with copies of the images that machines boot, None without one. ``agent``: folder of Ironic's
    agent, None without one; ``ironic_url``: of the Ironic that it reports to.
    """

    folder: Path
    firmware: Path = Path("/usr/lib/ipxe")
    images: Path | None = None
    agent: Path | None = None
    ironic_url: str = ""

    def routes(self, world: World) -> list[BaseRoute]:
        boot_url = world.environment.boot_url
        routes: list[BaseRoute] = [
            *(HttpRoute(f"/{name}", self._file(name)) for name in (boot_iso.ISO, boot_iso.DISK_LOADER)),
            HttpRoute("/boot.ipxe", lambda _request: PlainTextResponse(boot_iso.script(boot_url))),
        ]
        if self.firmware.is_dir():
            routes.append(Mount("/ipxe", StaticFiles(directory=self.firmware)))
        if self.images is not None:
            routes.append(Mount(f"/{images.FOLDER}", StaticFiles(directory=self.images)))
        if self.agent is not None:
            routes += [Mount("/agent", StaticFiles(directory=self.agent, follow_symlink=True)), *agent.routes(world, self.ironic_url)]
        return routes

    def _file(self, name: str) -> Callable[[Request], Response]:
        return lambda _request: FileResponse(self.folder / name, media_type="application/octet-stream")


def create_boot_app(world: World, media: BootMedia | None = None) -> ASGIApp:
    """Return the application: ``GET /auto.ipxe``, ``POST /phone-home``, ``POST /events``; with ``media`` also what servers boot: ``GET
    /ipxe.iso`` for BMCs, ``/boot.ipxe``, the script that is in it, ``/disk.efi``, ``/ipxe/...`` for HTTP boot, ``/images/...``,
    ``/agent/...``.
    """

    def auto_ipxe(device: Device | None, request: Request, body: bytes) -> Response:
        address = request.client.host if request.client else ""
        if (waiting := _of_server(world, device, address)) is not None:
            return PlainTextResponse(waiting)
        if device is None and (mac := request.query_params.get("mac")):
            _warn_of_address(world, mac, address)
        text = script(world, device) if device is not None else None
        if text is not None and device is not None and _is_phone_home(world, device):
            world.service(Lifecycle).handed_out_script(device, BOOTING)
        return PlainTextResponse(text) if text is not None else Response(status_code=404)

    def may_report(device: Device, request: Request) -> bool:
        """Return whether a call has the token that a server needs."""
        return "token" in request.path_params or not world.service(Servers).is_plain(device.id)

    def phoned(device: Device | None, request: Request, body: bytes) -> Response:
        if device is not None and may_report(device, request):
            try:
                phone_home(world, device, request.headers.get("content-type", ""), body)
            except BadEventError as problem:
                return PlainTextResponse(str(problem), 400)
        return Response(status_code=200)

    def user_events(device: Device | None, request: Request, body: bytes) -> Response:
        if device is not None and may_report(device, request):
            try:
                user_event(world, device, body)
            except BadEventError as problem:
                return PlainTextResponse(str(problem), 400)
        return Response(status_code=200)

    def wait() -> Response:
        return PlainTextResponse(_next_try(world, "The boot of this server cannot be recorded now."))

    routes: list[BaseRoute] = [
        # Firmware would boot the disk after an error, as after 404.
        HttpRoute("/auto.ipxe", machine_endpoint(world, "boot", auto_ipxe, wait=wait if media is not None else None), methods=["GET"]),
        *(
            HttpRoute(f"{base}/{name}", machine_endpoint(world, "boot", answer), methods=["POST"])
            for base in ("", "/devices/{device_id}/{token}")
            for name, answer in (("phone-home", phoned), ("events", user_events))
        ),
    ]
    if media is not None:
        routes += media.routes(world)
    return Bounded(Starlette(routes=routes), LARGEST_UNKNOWN)
