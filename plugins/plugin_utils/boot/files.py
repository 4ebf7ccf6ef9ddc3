# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that devices boot from: which there are, at which address each is published, and their contents."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.boot.ignition import IGNITION_VERSION, data_url, unit
from ..manifests.chrony import chrony_file
from .pointer import ROLES_OF_NODES, with_own_settings

BOOTSTRAP_IGN = "bootstrap.ign"

METAL, PACKET = "metal", "packet"
"""Platforms of Ignition: metal has no source of a config, packet reads the userdata from the vendor's metadata service."""

CONSOLES = {
    METAL: {"x86_64": ["ttyS1,115200n8", "ttyS0,115200n8", "tty0"], "aarch64": ["tty0", "ttyAMA0,115200"]},
    PACKET: {"x86_64": ["ttyS1,115200n8"], "aarch64": ["ttyAMA0,115200"]},
}
"""Kernel consoles by platform and architecture. On packet it is the port of the vendor's serial-over-SSH console.

On metal the server is unknown: the kernel writes to all of them, and /dev/console is the last one. On x86_64 the kernel registers a serial
console without its UART, and /dev/console would fail (EIO), so the screen is last; on aarch64 only ports that exist are registered.
"""

METADATA_HOST = "metadata.packet.net"
"""Where Ignition's platform packet reads the userdata, at port 443 and with the CAs of the system: neither can be set."""

FINAL_CONFIG = "/etc/coreos/openshift.ign"
"""The installed system's Ignition config, in the live system."""

COMMAND_LINE = 2047
"""Most characters of a kernel's command line on x86_64 and aarch64 (COMMAND_LINE_SIZE). The kernel cuts longer ones off, silently."""

PLAIN = re.compile(r"[A-Za-z]+[0-9]+(,\w+)?")
"""A console that YAML reads as text without quotes; others are written as JSON, which is YAML."""


def boot_profiles(machines: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one profile for each boot profile of the machines, with the attributes of its first machine.

    ``defaults`` are the attributes that a machine does not have; without machines they are the only profile.
    """
    profiles: dict[str, dict[str, Any]] = {}
    for machine in machines or [{}]:
        profile = {**defaults, **machine}
        profiles.setdefault(profile["boot_profile"], {name: profile[name] for name in defaults})
    return list(profiles.values())


def boot_urls(names: Iterable[str], url: str, bootstrap_url: str, signed: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, str]:
    """Return the address of each file: below ``url``, for bootstrap.ign ``bootstrap_url``; in object storage the one that was signed."""
    if signed is not None:
        return {name: signed[name]["url"] for name in names}
    return {name: bootstrap_url if name == BOOTSTRAP_IGN else f"{url}/{name}" for name in names}


def image_url(image: Mapping[str, Any], mirror_url: str = "") -> str:
    """Return where devices get an image of the stream metadata: where the installer says, or on a mirror of the same files."""
    location = str(image["location"])
    return f"{mirror_url}/{posixpath.basename(location)}" if mirror_url else location


def boot_images(stream: Mapping[str, Any], architectures: Iterable[str], mirror_url: str, verified: str) -> list[dict[str, str]]:
    """Return the live images of these architectures, with ``url``, ``sha256``, ``location`` and how they are to be verified."""
    return [
        {"url": image_url(image, mirror_url), "sha256": image["sha256"], "location": image["location"], "verified": verified}
        for architecture in sorted(set(architectures))
        for image in _metal(stream, architecture)["formats"]["pxe"].values()
    ]


def boot_contents(  # noqa: PLR0913, PLR0917 - the positional arguments of a rule
    profiles: Iterable[Mapping[str, Any]],
    stream: Mapping[str, Any],
    urls: Mapping[str, str],
    programs: Sequence[Mapping[str, str]],
    settings: Mapping[str, Any],
    machines: Iterable[Mapping[str, Any]] = (),
    pointers: Mapping[str, str | Mapping[str, Any]] | None = None,
) -> dict[str, str]:
    """Return the content of each boot script and live config, by file name. They are public and have no secrets.

    ``programs``: ``name``, ``script`` and ``unit`` of what runs in the live system. ``settings``: ``ignition_platform``, ``cluster``,
    ``architecture`` (the boot profile of machines that have none), ``image_mirror_url``, ``kernel_arguments`` and ``metadata_url``, and
    ``reporter``, a program like ``programs`` that reports the first boot of the installed system; ``time_servers``, and ``clock_unit``,
    the unit that sets the hardware clock by them.

    On the platform packet the machines of a boot profile share its boot script. On metal each of ``machines`` has a boot script and a live
    config of its own, which adds the final Ignition config to the live config of the profile; ``pointers`` are the Ignition pointers by the
    role of the machine. Before ansible-core 2.19 a text of JSON is a dictionary once it was a variable, so they may be either.
    """
    contents = {}
    by_name = {profile["boot_profile"]: profile for profile in profiles}
    for name, profile in by_name.items():
        contents[f"{name}-live.ign"] = json.dumps(_live_config(profile, programs, settings))
        if settings["ignition_platform"] == PACKET:
            contents[f"{name}.ipxe"] = _script(profile, _metal(stream, profile["architecture"]), urls[f"{name}-live.ign"], settings)
    if settings["ignition_platform"] == PACKET:
        return contents
    parsed = {role: json.loads(config) if isinstance(config, str) else config for role, config in (pointers or {}).items() if config}
    for machine in machines:
        host, profile = machine["hostname"], by_name[machine.get("boot_profile", settings["architecture"])]
        pointer = parsed[machine["role"]]
        final = final_config(with_own_settings(pointer, machine) if machine["role"] in ROLES_OF_NODES else pointer, host, settings)
        contents[f"{host}.ipxe"] = _script(profile, _metal(stream, profile["architecture"]), urls[f"{host}-live.ign"], settings)
        contents[f"{host}-live.ign"] = json.dumps(_machine_live_config(urls[f"{profile['boot_profile']}-live.ign"], final))
    return contents


def final_config(pointer: Mapping[str, Any], hostname: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Ignition config of an installed machine on the platform metal: its pointer and its host name.

    SSH keys are in the config that the pointer leads to; keys of its own would stay on the machine when the cluster replaces its keys.
    """
    files = [*_listed(pointer, "storage", "files"), {**_file("/etc/hostname", 0o644, f"{hostname}\n"), "overwrite": True}]
    units = _listed(pointer, "systemd", "units")
    config: dict[str, Any] = {"ignition": pointer["ignition"], "storage": {"files": files}}
    if settings["metadata_url"] and (reporter := settings.get("reporter")):
        files += [
            _file(f"/etc/{reporter['name']}.url", 0o644, f"{settings['metadata_url']}\n"),
            _file(f"/usr/local/bin/{reporter['name']}", 0o755, reporter["script"]),
        ]
        units.append(_unit(reporter))
    return config | ({"systemd": {"units": units}} if units else {})


def _listed(config: Mapping[str, Any], section: str, name: str) -> list[Any]:
    return list((config.get(section) or {}).get(name) or [])


def bootstrap_pointer(bootstrap_ign: str, url: str, bearer: str = "", ca: str = "") -> dict[str, Any]:
    """Return the Ignition pointer of the bootstrap device: where bootstrap.ign is, its hash, the bearer token and the CA to trust for it.

    On the platform metal the pointer is public and has no token. In object storage the signed address takes the place of the token, and
    usual CAs may be enough.
    """
    digest = hashlib.sha512(bootstrap_ign.encode()).hexdigest()
    # Merged and not replaced: files beside the pointer, such as /etc/hostname, would be dropped.
    merged = {
        "source": url,
        "httpHeaders": [{"name": "Authorization", "value": f"Bearer {bearer}"}] if bearer else [],
        "verification": {"hash": f"sha512-{digest}"},
    }
    ca_bundle = [{"source": data_url(ca)}] if ca else []
    security = {"tls": {"certificateAuthorities": ca_bundle}}
    return {"ignition": {"version": IGNITION_VERSION, "config": {"merge": [merged]}, "security": security}}


def _metal(stream: Mapping[str, Any], architecture: str) -> Any:
    """Return the metal artifacts. All images are of this one entry, so of one build: the initramfs has the hash of its rootfs inside."""
    return stream["architectures"][architecture]["artifacts"]["metal"]


def _script(profile: Mapping[str, Any], metal: Mapping[str, Any], config_url: str, settings: Mapping[str, Any]) -> str:
    images = {kind: image_url(image, settings["image_mirror_url"]) for kind, image in metal["formats"]["pxe"].items()}
    arguments = [
        "initrd=main",
        f"coreos.live.rootfs_url={images['rootfs']}",
        "ignition.firstboot",
        "ignition.platform.id=metal",
        f"ignition.config.url={config_url}",
        *(f"console={console}" for console in profile["consoles"] or CONSOLES[settings["ignition_platform"]][profile["architecture"]]),
        *settings["kernel_arguments"],
    ]
    line = " ".join(arguments)
    if len(line) > COMMAND_LINE:
        raise CollectionError(
            f"The kernel's command line for {config_url.partition('?')[0]} has {len(line)} characters, and kernels read {COMMAND_LINE}: use"
            " another openshift_publish method (the signed addresses of object_storage are part of the line), a shorter"
            " openshift_image_mirror_url, or fewer openshift_live_kernel_arguments"
        )
    return "\n".join(
        [
            "#!ipxe",
            f"# {metal['release']} for {profile['architecture']} machines of {settings['cluster']}",
            f"kernel {images['kernel']} {line}",
            f"initrd --name main {images['initramfs']}",
            "boot\n",
        ]
    )


def _live_config(profile: Mapping[str, Any], programs: Sequence[Mapping[str, str]], settings: Mapping[str, Any]) -> dict[str, Any]:
    disk_rule = {
        "device": profile["install_device"],
        "hints": dict(profile["root_device_hints"]),
        "metadata": settings["metadata_url"],
    }
    files = [
        _file("/etc/coreos/installer.d/10-openshift.yaml", 0o644, _installer_config(profile, settings["ignition_platform"])),
        _file("/etc/choose-disk.json", 0o644, json.dumps(disk_rule)),
        *(_file(f"/usr/local/bin/{program['name']}", 0o755, program["script"]) for program in programs),
    ]
    units = [_unit(program) for program in programs]
    if servers := settings.get("time_servers"):
        files.append(chrony_file(servers))
        units.append(unit("set-clock.service", settings["clock_unit"]))
    return {"ignition": {"version": IGNITION_VERSION}, "storage": {"files": files}, "systemd": {"units": units}}


def _machine_live_config(profile_url: str, final: Mapping[str, Any]) -> dict[str, Any]:
    """Return the live config of one machine: that of its boot profile, and the config that coreos-installer writes to the disk."""
    files = [
        _file("/etc/coreos/installer.d/30-ignition.yaml", 0o644, f"ignition-file: {FINAL_CONFIG}\n"),
        _file(FINAL_CONFIG, 0o600, json.dumps(final, separators=(",", ":"))),
    ]
    return {"ignition": {"version": IGNITION_VERSION, "config": {"merge": [{"source": profile_url}]}}, "storage": {"files": files}}


def _installer_config(profile: Mapping[str, Any], platform: str) -> str:
    """Return the config of coreos-installer.

    By the platform packet the installed system has the serial console, and others have to be named; metal gives it none.
    """
    consoles = profile["consoles"] or (CONSOLES[METAL][profile["architecture"]] if platform == METAL else [])
    named = "".join(f"- {console if PLAIN.fullmatch(console) else json.dumps(console)}\n" for console in consoles)
    return (f"console:\n{named}" if named else "") + f"platform: {platform}\n"


def _unit(program: Mapping[str, str]) -> dict[str, Any]:
    return unit(f"{program['name']}.service", program["unit"])


def _file(path: str, mode: int, content: str) -> dict[str, Any]:
    """Return a file that the image lacks. The media type is left out: hundreds of machines have such files of their own."""
    return {"path": path, "mode": mode, "contents": {"source": f"data:;base64,{b64encode(content.encode()).decode()}"}}
