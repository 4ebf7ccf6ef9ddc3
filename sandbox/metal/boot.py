# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot service, as Boots (tinkerbell/boots, 2020 to 2022) answered: the iPXE script, phone-home and user events of machines.

Callers are known by their source address, as with the metadata service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import orjson

from sandbox.metal.records import Device

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld


def script(world: MetalWorld, device: Device) -> str | None:
    """``/auto.ipxe`` for a custom_ipxe device; None when it may not boot from the network (any more)."""
    if device.operating_system != "custom_ipxe" or not (device.allow_pxe or device.always_pxe):
        return None
    metro = world.catalogue.metros[device.metro]
    lines = [
        "#!ipxe",
        "",
        "set iface eth0 || shell",
        f"set tinkerbell {world.boot_url}",
        f"set syslog_host {urlsplit(world.boot_url).hostname}",
        "set ipxe_cloud_config packet",
        'echo "Packet.net Baremetal - iPXE boot"',
        "params",
        "param body Device connected to DHCP system",
        "param type provisioning.104.01",
        "imgfetch ${tinkerbell}/phone-home##params",
        "imgfree",
        "",
        f"set packet_facility {metro.facility}",
        f"set packet_plan {device.plan}",
    ]
    # A script in the userdata goes before the URL (Boots source).
    first, _unused, rest = device.userdata.partition("\n")
    if first.strip() == "#!ipxe":
        lines += ["", rest]
    elif device.ipxe_script_url:
        lines += ["", f"chain --autofree {device.ipxe_script_url}"]
    else:
        lines += ['echo "No iPXE script url or userdata found"', "shell"]
    return "\n".join(lines) + "\n"


class BadEventError(Exception):
    """Answered with 400."""


def phone_home(world: MetalWorld, device: Device, content_type: str, body: bytes) -> None:
    """An empty body says the device is ready; else ``type`` names the event. Raises :class:`BadEventError`."""
    if not body:
        world.lifecycle.phoned_home(device)
        return
    kind, text = _event(content_type, body)
    if kind == "provisioning.104.01":
        world.lifecycle.handed_out_script(device, text)
    elif kind == "provisioning.110":
        world.lifecycle.phoned_home(device)
    else:
        world.lifecycle.happened(device, kind, text or None)


def _event(content_type: str, body: bytes) -> tuple[str, str]:
    kind = content_type.split(";", maxsplit=1)[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        form = parse_qs(body.decode(errors="replace"))
        found: Any = {name: values[0] for name, values in form.items()}
    elif kind in {"", "application/json"}:
        found = _json(body)
    else:
        raise BadEventError("unsupported content type")
    if not found.get("type"):
        raise BadEventError("an event needs a type")
    return str(found["type"]), str(found.get("body") or "")


def user_event(world: MetalWorld, device: Device, body: bytes) -> None:
    """``{"state", "code", "message"}`` becomes the device event ``user.<code>``, code 0 if there is none. Raises :class:`BadEventError`."""
    found = _json(body)
    code = found.get("code") or 0
    if not isinstance(code, int):
        raise BadEventError("code must be a number")
    world.record_event(device, f"user.{code}", str(found.get("message") or ""), state=str(found.get("state") or "") or None)


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except ValueError as problem:
        raise BadEventError("the body is not JSON") from problem
    if not isinstance(found, dict):
        raise BadEventError("the body is not a JSON object")
    return found
