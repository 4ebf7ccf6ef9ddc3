# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of the rack file as a node of Ironic: the desired node, and the JSON patch from the current one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from metal_api.catalogue.data import Catalogue
from metal_api.ironic.agent import INITRAMFS, KERNEL
from metal_api.ironic.mapping import ARCHITECTURE, EXTRA, METRO_TRAIT
from metal_api.rack import REDFISH, Bmc, Rack, RackServer

Node = Mapping[str, Any]
Patch = dict[str, Any]

PASSWORD_HASH: Final = "bmc_hash"  # noqa: S105 - the name of a key
"""Key in ``extra.metal``, which only nodes made from a rack file have: salted hash of the BMC's password, which Ironic masks."""

_VERSION: Final = "scrypt"
_INTERFACES: Final[Mapping[str, Mapping[str, str]]] = {
    "redfish": {
        **dict.fromkeys(("management", "power", "inspect"), "redfish"),
        "bios": "no-bios",
        "raid": "no-raid",
        "vendor": "no-vendor",
        "deploy": "ramdisk",
        "network": "noop",
    },
    "idrac": {
        **dict.fromkeys(("management", "power", "inspect"), "idrac-redfish"),
        "bios": "no-bios",
        "raid": "no-raid",
        "vendor": "no-vendor",
        "deploy": "ramdisk",
        "network": "noop",
    },
    "ipmi": {
        "management": "ipmitool",
        "power": "ipmitool",
        "inspect": "no-inspect",
        "bios": "no-bios",
        "raid": "no-raid",
        "vendor": "no-vendor",
        "deploy": "ramdisk",
        "network": "noop",
    },
    "fake-hardware": dict.fromkeys(("management", "power", "deploy", "boot"), "fake") | {"network": "noop"},
}
_VIRTUAL_MEDIA: Final = {"redfish": "redfish-virtual-media", "idrac": "idrac-redfish-virtual-media"}
INTERFACES: Final = tuple(
    f"{kind}_interface" for kind in ("bios", "boot", "deploy", "inspect", "management", "network", "power", "raid", "vendor")
)


class PasswordHashes:
    """Salted hashes of passwords. All that one enrolment writes have one salt, so that a password of many BMCs is hashed once."""

    def __init__(self) -> None:
        self._salt = secrets.token_hex(16)

    def new(self, password: str) -> str:
        return _hashed(self._salt, password)

    @staticmethod
    def matches(known: str, password: str) -> bool:
        """Return whether ``known`` is a hash of ``password``. A text that is no hash matches none."""
        version, _unused, salt_and_hash = known.partition("$")
        salt, separator, _unused = salt_and_hash.partition("$")
        return version == _VERSION and bool(separator) and hmac.compare_digest(known, _hashed(salt, password))


@lru_cache(maxsize=1024)
def _hashed(salt: str, password: str) -> str:
    # A client that may read nodes of Ironic can try passwords against the hash: each try has to be expensive (30 ms, 16 MiB).
    digest = hashlib.scrypt(password.encode(), salt=salt.encode(), n=1 << 14, r=8, p=1)
    return f"{_VERSION}${salt}${digest.hex()}"


def is_enrolled(node: Node) -> bool:
    """Return whether a node was made from a rack file."""
    return bool(((node.get("extra") or {}).get(EXTRA) or {}).get(PASSWORD_HASH))


def stored_address(node: Node) -> str:
    """Return the address of a node's server, empty if none is stored."""
    return str(((node.get("extra") or {}).get(EXTRA) or {}).get("address") or "")


def interfaces(server: RackServer) -> dict[str, str]:
    """Return the hardware interfaces of a server's node by their fields."""
    driver = server.bmc.driver
    fields = {f"{kind}_interface": name for kind, name in _INTERFACES[driver].items()}
    if driver != "fake-hardware":
        fields["boot_interface"] = _VIRTUAL_MEDIA[driver] if server.boot == "virtual-media" else "ipxe"
    return fields


_OPTIONAL: Final = ("redfish_system_id", "ipmi_port", "deploy_iso", "deploy_kernel", "deploy_ramdisk")
"""Keys of ``driver_info`` that a server may lack."""


def driver_info(server: RackServer) -> dict[str, Any]:
    """Return how the driver connects to a BMC, without the password, and what it boots to clean disks."""
    bmc = server.bmc
    if bmc.driver in REDFISH:
        info: dict[str, Any] = {"redfish_address": bmc.address, "redfish_username": bmc.user, "redfish_verify_ca": bmc.verify_ca}
        if bmc.system:
            info["redfish_system_id"] = bmc.system
    elif bmc.driver == "ipmi":
        host, port = bmc.host_and_port
        info = {"ipmi_address": host, "ipmi_username": bmc.user} | ({"ipmi_port": port} if port else {})
    else:
        return {}
    # The boot from the network is for once: after an installation the server boots from its disk.
    info |= {"force_persistent_boot_device": "Never"}
    if not server.agent_url:
        return info
    if server.boot == "virtual-media":
        return info | {"deploy_iso": f"{server.agent_url}/ipxe.iso"}
    # Ironic requires both; what is booted is the decision of the boot service.
    return info | {f"deploy_{kind}": f"{server.agent_url}/agent/{name}" for kind, name in (("kernel", KERNEL), ("ramdisk", INITRAMFS))}


def password_key(bmc: Bmc) -> str:
    """Return the key of ``driver_info`` with the password, empty if the driver has none."""
    return "redfish_password" if bmc.driver in REDFISH else "ipmi_password" if bmc.driver == "ipmi" else ""


def new_node(server: RackServer, address: str, hashes: PasswordHashes) -> dict[str, Any]:
    """Return the body that creates the node of a server."""
    bmc, key = server.bmc, password_key(server.bmc)
    body: dict[str, Any] = {
        "name": server.name,
        "driver": bmc.driver,
        **interfaces(server),
        "driver_info": driver_info(server) | ({key: bmc.password} if key else {}),
        "properties": {"cpu_arch": ARCHITECTURE, "capabilities": f"boot_mode:{server.firmware}"},
        "extra": {EXTRA: _extra(server, address) | {PASSWORD_HASH: hashes.new(bmc.password)}},
    }
    return body | ({"resource_class": server.plan} if server.plan else {})


def bmc_patches(server: RackServer, node: Node, hashes: PasswordHashes) -> tuple[list[Patch], list[str]]:
    """Return the patch that changes how Ironic reaches the BMC, and the names of what it changes. The password is sent if it is another."""
    bmc, key = server.bmc, password_key(server.bmc)
    known, desired = node.get("driver_info") or {}, driver_info(server)
    extra = (node.get("extra") or {}).get(EXTRA) or {}
    is_same_driver = node["driver"] == bmc.driver
    is_same_password = is_same_driver and hashes.matches(str(extra.get(PASSWORD_HASH) or ""), bmc.password) and (not key or key in known)
    changed = [name for name, value in desired.items() if known.get(name) != value]
    gone = [name for name in _OPTIONAL if name in known and name not in desired]
    if is_same_driver and is_same_password and not changed and not gone:
        return [], []
    patches: list[Patch] = []
    if not is_same_driver:
        patches += [_set("/driver", bmc.driver), _set("/driver_info", desired | ({key: bmc.password} if key else {}))]
    else:
        patches += [_set(f"/driver_info/{name}", desired[name]) for name in changed]
        patches += [{"op": "remove", "path": f"/driver_info/{name}"} for name in gone]
        if key and not is_same_password:
            patches.append(_set(f"/driver_info/{key}", bmc.password))
    names = [*(["driver"] if not is_same_driver else []), *changed, *gone, *([] if is_same_password else ["password of the BMC"])]
    if not is_same_password:
        patches.append(_set(f"/extra/{EXTRA}/{PASSWORD_HASH}", hashes.new(bmc.password)))
    return patches, names


def description_patches(server: RackServer, node: Node, address: str) -> tuple[list[Patch], list[str]]:
    """Return the patch of what is only described: the project that a server is reserved for, and its address."""
    extra = (node.get("extra") or {}).get(EXTRA) or {}
    desired = _extra(server, address)
    changed = [key for key, value in desired.items() if (extra.get(key) or "") != value]
    return [_set(f"/extra/{EXTRA}/{key}", desired[key]) for key in changed], changed


def hardware_patches(server: RackServer, node: Node) -> tuple[list[Patch], list[str]]:
    """Return the patch of what only a free server can change: interfaces, plan, firmware."""
    desired = interfaces(server) | ({"resource_class": server.plan} if server.plan else {})
    changed = {key: value for key, value in desired.items() if node.get(key) != value}
    patches = [_set(f"/{key}", value) for key, value in changed.items()]
    properties = node.get("properties") or {}
    capabilities = _capabilities(str(properties.get("capabilities") or ""), server.firmware)
    if properties.get("capabilities") != capabilities:
        patches.append(_set("/properties/capabilities", capabilities))
        changed["firmware"] = capabilities
    return patches, ["plan" if key == "resource_class" else key for key in changed]


def metro_changes(traits: Iterable[str], trait: str) -> tuple[list[str], list[str]]:
    """Return the traits to add and to remove, so that ``trait`` is the only one of a metro."""
    known = set(traits)
    return sorted({trait} - known), sorted(name for name in known if name.startswith(METRO_TRAIT) and name != trait)


def plan_of(hardware: Mapping[str, Any], rack: Rack) -> str:
    """Return the slug of the plan that inspected hardware is: the largest one whose memory, cores and drives the hardware has.

    ``hardware``: ``memory_mb``, ``threads`` (0 if the BMC does not report them), ``disks_gb`` (empty if it does not). Plans of the rack
    come before those of the vendor. Empty if the hardware is smaller than all of them.
    """
    vendors = [(plan.slug, plan.memory_gb, plan.cores, plan.drives) for plan in Catalogue().plans.values()]
    for plans in ([(plan.slug, plan.memory_gb, plan.cores, plan.drives) for plan in rack.plans], vendors):
        fitting = [
            (memory, cores, sum(_sizes(drives)), slug)
            for slug, memory, cores, drives in plans
            if not slug.endswith(".arm64")
            # Firmware keeps some memory for itself.
            and memory * 1024 * 0.96 <= hardware["memory_mb"]
            and (not hardware["threads"] or cores <= hardware["threads"])
            and (not hardware["disks_gb"] or _has_drives(hardware["disks_gb"], _sizes(drives)))
        ]
        if fitting:
            return max(fitting)[3]
    return ""


def _sizes(drives: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted((int(drive["size_gb"]) for drive in drives for _unused in range(int(drive["count"]))), reverse=True)


def _has_drives(disks: Sequence[float], sizes: Sequence[int]) -> bool:
    """Return whether each drive of a plan is a disk of its own at least as large (within 5 %: makers round differently)."""
    largest = sorted(disks, reverse=True)
    return len(largest) >= len(sizes) and all(disk >= size * 0.95 for disk, size in zip(largest, sizes, strict=False))


def _extra(server: RackServer, address: str) -> dict[str, str]:
    return {"address": address, "reserved_for": server.reserved_for}


def _capabilities(known: str, firmware: str) -> str:
    """Return a node's capabilities (``name:value,...``) with this boot mode."""
    kept = [capability for capability in known.split(",") if capability and not capability.startswith("boot_mode:")]
    desired = f"boot_mode:{firmware}"
    return known if desired in known.split(",") else ",".join([desired, *kept])


def _set(path: str, value: Any) -> Patch:
    # "add" also replaces a key that is there.
    return {"op": "add", "path": path, "value": value}
