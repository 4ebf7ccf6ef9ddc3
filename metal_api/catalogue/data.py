# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue: plans, metros (with their facility), operating systems. Data in catalogue.yml."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

import yaml

from metal_api.core.machines import Drive, DriveKind

# Not all real ids of plans and operating systems are known: these are computed from the slug, the same in every server.
_NAMES = uuid.UUID("6a5d2b4e-3f0c-5d0e-9b57-0d5f3f0f2a11")


NETWORK_BOOT: Final = "custom_ipxe"
"""The operating system of devices that boot from the network; all others are images that the service installs."""


@dataclass(frozen=True)
class Metro:
    """``features``: of its facility, as the vendor names them; a plain network has ``baremetal`` alone."""

    id: str
    code: str
    name: str
    country: str
    facility: str
    features: tuple[str, ...] = ("baremetal", "backend_transfer", "layer_2", "global_ipv4", "ibx")

    @cached_property
    def facility_id(self) -> str:
        return str(uuid.uuid5(_NAMES, f"facility/{self.facility}"))


@dataclass(frozen=True)
class Plan:
    """``drives``: mappings of count, size_gb, type, category. ``ports``: number of eth ports."""

    slug: str
    cpu: str
    cores: int
    memory_gb: int
    drives: tuple[dict[str, Any], ...]
    ports: int
    nic: str
    price_hour: float
    type: str
    categories: tuple[str, ...]
    deployment_types: tuple[str, ...] = ("on_demand", "spot_market")

    @cached_property
    def id(self) -> str:
        return str(uuid.uuid5(_NAMES, f"plan/{self.slug}"))

    @property
    def ending(self) -> str:
        """``x86`` or ``arm64``: the API has no other field for the architecture."""
        return self.slug.rpartition(".")[2]

    @property
    def architecture(self) -> str:
        return "aarch64" if self.ending == "arm64" else "x86_64"

    @cached_property
    def machine_drives(self) -> tuple[Drive, ...]:
        """The disks with the names of the device's kernel: sd* in catalogue order, NVMe separately."""
        kinds: dict[str, DriveKind] = {"SSD": "SSD", "HDD": "HDD", "NVME": "NVMe"}
        # Without end, as those of the kernel: /dev/sdaa follows /dev/sdz.
        letters = ("".join(characters) for length in count(1) for characters in product(ascii_lowercase, repeat=length))
        names = {"NVMe": (f"/dev/nvme{n}n1" for n in count()), "sd": (f"/dev/sd{suffix}" for suffix in letters)}
        return tuple(
            Drive(next(names["NVMe" if kinds[drive["type"]] == "NVMe" else "sd"]), drive["size_gb"], kinds[drive["type"]])
            for drive in self.drives
            for _unused in range(drive["count"])
        )

    @cached_property
    def specs(self) -> dict[str, Any]:
        return {
            # One socket in all plans: the vendor's tables have the cores per server only.
            "cpus": [{"count": 1, "type": f"{self.cpu} {self.cores}-Core Processor"}],
            "memory": {"total": f"{self.memory_gb}GB"},
            "drives": [
                {"count": drive["count"], "size": _size(drive["size_gb"]), "type": drive["type"], "category": drive["category"]}
                for drive in self.drives
            ],
            "nics": [{"count": self.ports, "type": self.nic}],
            "features": {"raid": len(self.drives) > 1, "txt": self.ending == "x86", "uefi": True},
        }


@dataclass(frozen=True)
class OperatingSystem:
    """``subnet``: prefix length of the public IPv4 subnet it needs. ``on``: plan slugs it can be provisioned on."""

    slug: str
    name: str
    distro: str
    version: str
    on: tuple[str, ...]
    licensed: bool
    default: bool
    subnet: int

    @cached_property
    def id(self) -> str:
        return str(uuid.uuid5(_NAMES, f"operating-system/{self.slug}"))


class Catalogue:
    """Plans, metros and operating systems by slug, code or id.

    ``metros``: instead of the vendor's; ``plans``: besides the vendor's, or in place of one with the same slug. In other metros
    than the vendor's the prices of the vendor's plans are 0, and there is no spot market.
    """

    def __init__(self, metros: Iterable[Metro] = (), plans: Iterable[Plan] = ()) -> None:
        data = yaml.safe_load(Path(__file__).with_name("catalogue.yml").read_text(encoding="utf-8"))
        self.metros = {
            row["code"]: Metro(row["id"], row["code"], row["name"], row["country"], row.get("facility", f"{row['code']}1"))
            for row in data["metros"]
        }
        own = {metro.code: metro for metro in metros}
        self.metros = own or self.metros
        besides = {plan.slug: plan for plan in plans}
        self.plans = {row["slug"]: _plan(row) for row in data["plans"]} | besides
        if own:
            self.plans = {
                slug: replace(plan, price_hour=plan.price_hour if slug in besides else 0.0, deployment_types=("on_demand",))
                for slug, plan in self.plans.items()
            }
        self.operating_systems = {
            row["slug"]: OperatingSystem(
                slug=row["slug"],
                name=row["name"],
                distro=row["distro"],
                version=row["version"],
                on=tuple(plan.slug for plan in self.plans.values() if plan.ending in row["architectures"]),
                licensed=row.get("licensed", False),
                default=row.get("default", False),
                subnet=row.get("subnet", 31),
            )
            for row in data["operating_systems"]
        }
        self.plans, self.metros = _Plans(self.plans), _Metros(self.metros)
        entries: list[Metro | Plan | OperatingSystem] = [*self.metros.values(), *self.plans.values(), *self.operating_systems.values()]
        self._by_id = {entry.id: entry for entry in entries}
        self._facilities = {metro.facility: metro for metro in self.metros.values()} | {
            metro.facility_id: metro for metro in self.metros.values()
        }

    def metro(self, name: object) -> Metro | None:
        """Return a metro by code (also in upper case, as in the vendor's docs) or id."""
        text = str(name)
        metro = self.metros.get(text.lower()) or self._by_id.get(text)
        return metro if isinstance(metro, Metro) else None

    def metro_of_facility(self, name: object) -> Metro | None:
        return self._facilities.get(str(name))

    def plan(self, name: object) -> Plan | None:
        plan = self.plans.get(str(name)) or self._by_id.get(str(name))
        return plan if isinstance(plan, Plan) else None

    def operating_system(self, name: object) -> OperatingSystem | None:
        system = self.operating_systems.get(str(name)) or self._by_id.get(str(name))
        return system if isinstance(system, OperatingSystem) else None


class _Plans(dict[str, Plan]):
    def __missing__(self, slug: str) -> Plan:
        """Return a plan that was removed from the catalogue, for the devices that still have it. It cannot be ordered."""
        return Plan(slug, "unknown", 0, 0, (), 2, "unknown", 0.0, "standard", (), ())


class _Metros(dict[str, Metro]):
    def __missing__(self, code: str) -> Metro:
        """Return a metro that was removed from the catalogue, for the devices that are still in it. It accepts no orders."""
        return own_metro(code, code, "")


_current: list[Catalogue] = []


def catalogue() -> Catalogue:
    """Return the catalogue of this process: the vendor's, unless :func:`set_catalogue` has set another."""
    if not _current:
        _current.append(Catalogue())
    return _current[0]


def set_catalogue(chosen: Catalogue) -> None:
    """Set the catalogue of this process, before its first :class:`metal_api.world.MetalWorld`."""
    _current[:] = [chosen]


def own_metro(code: str, name: str, country: str) -> Metro:
    """Return a metro that the vendor does not have, with ids computed from its code and a plain network."""
    return Metro(str(uuid.uuid5(_NAMES, f"metro/{code}")), code, name, country, f"{code}1", ("baremetal",))


def _plan(data: dict[str, Any]) -> Plan:
    extra = data.get("categories", [])
    return Plan(
        slug=data["slug"],
        cpu=data["cpu"],
        cores=data["cores"],
        memory_gb=data["memory_gb"],
        drives=tuple(data["drives"]),
        ports=data["ports"],
        nic=data["nic"],
        price_hour=data["price_hour"],
        type=data.get("type", "standard"),
        categories=("compute", *extra) if "legacy_gen" in extra else ("compute", "current_gen", *extra),
    )


def _size(gigabytes: int) -> str:
    return f"{gigabytes / 1000:g}TB" if gigabytes >= 1000 else f"{gigabytes}GB"
