# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack file: metros with their networks, plans, and servers with their BMCs.

See docs/your-own-rack.md for the file. Secrets are never in it: a password is in a file or in an environment variable that it names.
"""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast
from urllib.parse import urlsplit

import yaml

from metal_api.catalogue.data import Catalogue

Driver = Literal["redfish", "ipmi", "idrac", "fake-hardware"]
REDFISH: Final = frozenset({"redfish", "idrac"})
"""The drivers that talk Redfish to the BMC."""

T = TypeVar("T")


@dataclass(frozen=True)
class RackMetro:
    """``network``: of the servers' first interface; ``first``, ``last``: the addresses in it for servers, both included.

    ``dhcp_interface``: where the server of the Metal API serves DHCP and TFTP for this network; empty if another DHCP server does.
    """

    code: str
    name: str
    country: str
    network: IPv4Network
    gateway: IPv4Address
    first: IPv4Address
    last: IPv4Address
    name_servers: tuple[IPv4Address, ...] = ()
    dhcp_interface: str = ""
    time_servers: tuple[IPv4Address, ...] = ()


@dataclass(frozen=True)
class RackPlan:
    """``drives``: mappings of count, size_gb (decimal), type (SSD, HDD, NVME) and category, as in the catalogue."""

    slug: str
    cpu: str
    cores: int
    memory_gb: int
    drives: tuple[dict[str, object], ...]
    ports: int = 2
    nic: str = "10Gbps"
    price_hour: float = 0.0


@dataclass(frozen=True)
class Bmc:
    """``address``: URL of a Redfish service, host[:port] of others. ``system``: path of the Redfish system, empty for the only one.

    ``verify_ca``: True (public CAs), False, or the path of a CA bundle.
    """

    driver: Driver
    address: str
    user: str
    password: str = field(repr=False)
    system: str = ""
    verify_ca: bool | str = True

    @property
    def host_and_port(self) -> tuple[str, str]:
        """Return the host of a BMC with IPMI, an IPv6 address without brackets, and its port, empty for the default."""
        match = _IPMI.fullmatch(self.address)
        return (match["six"] or match["host"], match["port"] or "") if match is not None else (self.address, "")


@dataclass(frozen=True)
class RackServer:
    """``plan``: empty if inspection chooses it. ``macs``: the one that boots first; empty if inspection finds them.

    ``address``: empty for the next free one of its metro. ``boot``: ``virtual-media`` or ``pxe``; ``firmware``: ``bios`` or ``uefi``.
    ``may_be_on``: whether it is enrolled although it is powered on: what runs on it ends then with its first device or its cleaning.
    ``agent_url``: not of the file: the boot service that has the agent which cleans disks, empty for none.
    """

    name: str
    metro: str
    bmc: Bmc
    plan: str = ""
    macs: tuple[str, ...] = ()
    address: str = ""
    reserved_for: str = ""
    boot: Literal["virtual-media", "pxe"] = "virtual-media"
    firmware: Literal["bios", "uefi"] = "uefi"
    may_be_on: bool = False
    agent_url: str = ""


@dataclass(frozen=True)
class Rack:
    """``are_servers_known``: False for the metros and plans of a rack file that cannot be used now."""

    metros: tuple[RackMetro, ...]
    plans: tuple[RackPlan, ...] = ()
    servers: tuple[RackServer, ...] = ()
    are_servers_known: bool = True

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(server.name for server in self.servers)

    def may_have(self, name: str) -> bool:
        """Return whether a server is in the rack file, as far as is known."""
        return not self.are_servers_known or name in self._names


def with_agent(rack: Rack, boot_url: str) -> Rack:
    """Return the rack with the agent of a boot service for all of its servers."""
    return replace(rack, servers=tuple(replace(server, agent_url=boot_url) for server in rack.servers))


class RackError(Exception):
    """The rack file cannot be used. ``problems``: all of them, one line each with its place in the file."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        super().__init__(f"{path}: " + "; ".join(problems))
        self.problems = problems


def load(path: Path) -> Rack:
    """Return the rack of a rack file, with the passwords of its BMCs. Raises :class:`RackError` with all problems of the file."""
    return rack_of(parsed(path), path)


def parsed(path: Path) -> Any:
    """Return the YAML of a rack file, without a check of its values. Raises :class:`RackError`."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError) as error:
        raise RackError(path, [f"the file cannot be read: {error}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise RackError(path, [f"{place}{error.problem or error.context}"]) from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # PyYAML lets errors of Python pass for values that are not of their tag, such as !!bool x, and for numbers of 5000 digits.
        raise RackError(path, [f"the file is not YAML: {error}"]) from None


def rack_of(data: Any, path: Path) -> Rack:
    """Return the rack of the YAML of the rack file ``path``, with the passwords of its BMCs. Raises :class:`RackError`."""
    reader = _Reader(path.parent)
    rack = reader.rack(data)
    if reader.problems:
        raise RackError(path, reader.problems)
    return rack


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values of a node with its aliases written out; more than :data:`_MOST_VALUES` if it contains itself."""
    if id(node) not in known:
        known[id(node)] = _MOST_VALUES + 1
        parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + (sum(_size(part, known) for part in parts) if isinstance(node, yaml.CollectionNode) else 0)
    return known[id(node)]


class _Loader(yaml.SafeLoader):
    """YAML without its traps in a rack file: a MAC address of digits is no number to base 60, Norway (NO) is not false, and a key that
    is there twice is an error instead of the last one.
    """

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - as the base class has it

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None and _size(node, {}) > _MOST_VALUES:
            raise yaml.constructor.ConstructorError(None, None, "aliases (*name) repeat values without end", node.start_mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[str] = set()
        for key, _unused in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in keys:
                    raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is there twice", key.start_mark)
                keys.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?[0-9]+\.[0-9]+", "-0123456789"),
    ("null", r"~|null|", "~n\0"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), ["" if c == "\0" else c for c in _first])

_MOST_VALUES: Final = 5_000_000
"""Values of a rack file with its aliases (ours): tens of thousands of servers have fewer. Few lines could have billions."""
_MOST_DRIVES: Final = 1000
"""Drives of one kind in a plan (ours): the largest disk shelves of one server have some hundreds."""
_METRO: Final = re.compile(r"[a-z][a-z0-9]{1,9}")
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,50}\.x86")
_ARM: Final = ".arm64"
_NO_ARM: Final = "servers with ARM processors cannot be booted: DHCP and the boot ISO have loaders for x86-64 only"
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_INTERFACE: Final = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
_IPMI: Final = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?))(?::(?P<port>[0-9]{1,5}))?")
_METAL3: Final = re.compile(
    r"(?P<kind>ipmi|libvirt|redfish|idrac|ilo\d?)(?P<way>-[a-z]+)?(?:\+(?P<scheme>https?))?://(?P<host>[^/]+)(?P<path>/.*)?"
)
"""Addresses of BMCs as metal3 and the assisted installer write them: driver, transport, host and system in one URL."""
_DEFAULTS: Final = frozenset({"metro", "plan", "reserved_for", "boot", "firmware", "bmc"})
_BMC_DEFAULTS: Final = frozenset({"driver", "user", "password_file", "password_env", "verify_ca", "system"})
_WIDEST_MODE: Final = 0o640
_LONGEST_PASSWORD: Final = 1024
_MISSING: Final = object()
_KINDS: Final[dict[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


class _Fields:
    """The keys of a mapping in the file, each taken once. ``place``: precedes its problems."""

    def __init__(self, place: str, data: object, problems: list[str]) -> None:
        self.place, self._problems = place, problems
        self._data: dict[str, Any] = {}
        if isinstance(data, dict):
            self._data = {str(key): value for key, value in data.items()}
        else:
            self.problem(f"has to be a mapping, not {data!r}")

    def problem(self, text: str) -> None:
        self._problems.append(f"{self.place}: {text}" if self.place else text)

    def __contains__(self, key: str) -> bool:
        return self._data.get(key) is not None

    def take_any(self, key: str) -> object:
        return self._data.pop(key, None)

    def take(self, key: str, kind: type[T], default: object = _MISSING) -> T:
        """Return the value of a key. A key without value is not there. After a problem, an empty value of the right kind is returned."""
        value = self._data.pop(key, None)
        if value is None:
            if default is _MISSING:
                self.problem(f"{key} is missing")
                return kind()
            return cast(T, default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        # A bool is an int for Python, and not for the reader of a file.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.problem(f"{key} has to be {_KINDS[kind]}, not {value!r}")
            return kind()
        return value

    def matching(self, key: str, pattern: re.Pattern[str], meaning: str, default: object = _MISSING) -> str:
        value = self.take(key, str, default)
        if value and pattern.fullmatch(value) is None:
            self.problem(f"{key} {value!r} is not {meaning}")
        return value

    def one_of(self, key: str, choices: Sequence[str], default: object = _MISSING) -> str:
        value = self.take(key, str, default)
        if value and value not in choices:
            self.problem(f"{key} {value!r} is not one of {', '.join(choices)}")
        return value

    def parsed(self, key: str, parse: Callable[[str], T], meaning: str, default: object = _MISSING) -> T | None:
        """Return ``parse`` of a text; None if there is none or it raises ValueError."""
        value = self.take(key, str, default)
        if not value:
            return None
        try:
            return parse(value)
        except ValueError as error:
            self.problem(f"{key} {value!r} is not {meaning}: {error}")
            return None

    def end(self) -> None:
        """Report the keys that were not taken."""
        for key in self._data:
            self.problem(f"unknown key {key!r}")


class _Reader:
    """``folder``: that paths of password files are relative to."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self._folder = folder
        self._passwords: dict[tuple[str, str], str] = {}

    def rack(self, data: object) -> Rack:
        if not isinstance(data, dict):
            self.problems.append("the file has to be a mapping with the keys metros and servers")
            return Rack(())
        top = _Fields("", data, self.problems)
        metros = [self._metro(place, item) for place, item in _listed(top, "metros", "code")]
        plans = [self._plan(place, item) for place, item in _listed(top, "plans", "slug", [])]
        defaults = self._defaults(top.take("defaults", dict, {}))
        servers = [(place, self._server(place, _merged(defaults, item))) for place, item in _listed(top, "servers", "name", [])]
        top.end()
        if not metros and "metros" in data:
            self.problems.append("metros: has to have at least one metro")
        rack = Rack(
            tuple(metro for metro in metros if metro is not None),
            tuple(plan for plan in plans if plan is not None),
            tuple(server for _place, server in servers),
        )
        self._check_metros(rack)
        self._unique("plans", [(f"plan {plan.slug}", plan.slug) for plan in rack.plans], "the slug")
        self._check_servers(rack, servers, are_metros_good=None not in metros, are_plans_good=None not in plans)
        return rack

    def _defaults(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return those keys of ``defaults`` that servers can have: an unknown one is reported here and not for each server."""
        defaults = {**data, "bmc": data.get("bmc") or {}}
        if not isinstance(defaults["bmc"], dict):
            self.problems.append(f"defaults: bmc has to be a mapping, not {defaults['bmc']!r}")
            defaults["bmc"] = {}
        defaults["bmc"] = self._allowed("defaults: bmc", defaults["bmc"], _BMC_DEFAULTS)
        return self._allowed("defaults", defaults, _DEFAULTS)

    def _allowed(self, place: str, data: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
        for key in data.keys() - keys:
            problem = "cannot be the same for all servers" if key in {"name", "macs", "address"} else "is unknown"
            if key == "password":
                problem = "must not be in the rack file: use password_file or password_env"
            self.problems.append(f"{place}: the key {key!r} {problem}")
        return {key: value for key, value in data.items() if key in keys}

    def _metro(self, place: str, data: object) -> RackMetro | None:
        fields = _Fields(place, data, self.problems)
        before = len(self.problems)
        code = fields.matching("code", _METRO, "a code of 2 to 10 lower-case letters and digits")
        name = fields.take("name", str, code)
        country = fields.matching("country", re.compile("[A-Z]{2}"), "a country code such as DE")
        network = fields.parsed("network", _network, "an IPv4 network such as 10.20.0.0/24")
        gateway = fields.parsed("gateway", _address, "an IPv4 address")
        addresses = fields.parsed("addresses", _range, "a range of IPv4 addresses such as 10.20.0.50-10.20.0.99")
        name_servers, time_servers = self._addresses(fields, "name_servers"), self._addresses(fields, "time_servers")
        interface = fields.matching("dhcp_interface", _INTERFACE, "the name of a network interface", "")
        fields.end()
        if network is None or gateway is None or addresses is None or len(self.problems) > before:
            return None
        first, last = addresses
        if gateway not in network:
            fields.problem(f"gateway {gateway} is not in network {network}")
        if first not in network or last not in network:
            fields.problem(f"addresses {first}-{last} are not in network {network}")
        others = [
            ("gateway", gateway),
            *(("name server", server) for server in name_servers),
            *(("time server", server) for server in time_servers),
        ]
        for role, address in others:
            if first <= address <= last:
                fields.problem(f"addresses {first}-{last} include the {role} {address}")
        if network.prefixlen < 31 and (first == network.network_address or last == network.broadcast_address):
            fields.problem(f"addresses {first}-{last} include the network or broadcast address of {network}")
        return RackMetro(code, name, country, network, gateway, first, last, name_servers, interface, time_servers)

    def _addresses(self, fields: _Fields, key: str) -> tuple[IPv4Address, ...]:
        addresses = []
        for value in fields.take(key, list, []):
            try:
                addresses.append(_address(str(value)))
            except ValueError as error:
                fields.problem(f"{key}: {value!r} is not an IPv4 address: {error}")
        return tuple(addresses)

    def _plan(self, place: str, data: object) -> RackPlan | None:
        fields = _Fields(place, data, self.problems)
        before = len(self.problems)
        plan = RackPlan(
            slug=self._slug(fields),
            cpu=fields.take("cpu", str),
            cores=fields.take("cores", int),
            memory_gb=fields.take("memory_gb", int),
            drives=tuple(self._drive(f"{place}: drives[{index}]", drive) for index, drive in enumerate(fields.take("drives", list, []))),
            ports=fields.take("ports", int, 2),
            nic=fields.take("nic", str, "10Gbps"),
            price_hour=fields.take("price_hour", float, 0.0),
        )
        for key in ("cores", "memory_gb", "ports"):
            if getattr(plan, key) < 1 and len(self.problems) == before:
                fields.problem(f"{key} has to be 1 or more")
        fields.end()
        return plan if len(self.problems) == before else None

    @staticmethod
    def _slug(fields: _Fields) -> str:
        slug = fields.take("slug", str)
        if slug.endswith(_ARM):
            fields.problem(f"slug {slug!r}: {_NO_ARM}")
        elif slug and _SLUG.fullmatch(slug) is None:
            fields.problem(f"slug {slug!r} is not a slug that ends in .x86, such as r640.x86")
        return slug

    def _drive(self, place: str, data: object) -> dict[str, object]:
        fields = _Fields(place, data, self.problems)
        before = len(self.problems)
        drive: dict[str, object] = {
            "count": fields.take("count", int, 1),
            "size_gb": fields.take("size_gb", int),
            "type": fields.one_of("type", ("SSD", "HDD", "NVME")),
            "category": fields.one_of("category", ("boot", "storage", "cache"), "storage"),
        }
        if not 1 <= cast(int, drive["count"]) <= _MOST_DRIVES and len(self.problems) == before:
            fields.problem(f"count {drive['count']} is not a number from 1 to {_MOST_DRIVES}")
        fields.end()
        return drive

    def _server(self, place: str, data: object) -> RackServer:
        fields = _Fields(place, data, self.problems)
        bmc = self._bmc(f"{place}: bmc", fields.take("bmc", dict))
        pxe = bmc.driver in {"ipmi", "fake-hardware"}
        boot = fields.one_of("boot", ("virtual-media", "pxe"), "pxe" if pxe else "virtual-media")
        if bmc.driver == "ipmi" and boot == "virtual-media":
            fields.problem("boot virtual-media needs a BMC with Redfish: with driver ipmi set boot: pxe")
        server = RackServer(
            name=fields.matching("name", _NAME, "a host name of lower-case letters, digits and hyphens"),
            metro=fields.take("metro", str),
            bmc=bmc,
            plan=fields.take("plan", str, ""),
            macs=self._macs(fields),
            address=str(fields.parsed("address", _address, "an IPv4 address", "") or ""),
            reserved_for=fields.take("reserved_for", str, ""),
            boot=cast(Literal["virtual-media", "pxe"], boot),
            firmware=cast(Literal["bios", "uefi"], fields.one_of("firmware", ("bios", "uefi"), "uefi")),
            may_be_on=fields.take("may_be_on", bool, default=False),
        )
        if bmc.driver in {"ipmi", "fake-hardware"}:
            for key, value in (("macs", server.macs), ("plan", server.plan)):
                if not value:
                    fields.problem(f"{key} is missing: a BMC with driver {bmc.driver} is not inspected")
        fields.end()
        return server

    def _macs(self, fields: _Fields) -> tuple[str, ...]:
        macs = []
        for value in fields.take("macs", list, []):
            text = str(value).lower().replace("-", ":")
            if re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", text) is None:
                fields.problem(f"macs: {value!r} is not a MAC address such as 52:54:00:12:34:56")
            elif int(text[:2], 16) & 1 or text == "00:00:00:00:00:00":
                fields.problem(f"macs: {text} is a multicast or empty address, no server has it")
            else:
                macs.append(text)
        return tuple(macs)

    def _bmc(self, place: str, data: Mapping[str, Any]) -> Bmc:
        fields = _Fields(place, data, self.problems)
        if "driver" in fields and data["driver"] == "ilo":
            fields.problem("driver ilo is not in Ironic any more: use redfish (iLO 5 and newer) or ipmi")
            data = {**data, "driver": "redfish"}
            fields = _Fields(place, data, self.problems)
        driver = cast(Driver, fields.one_of("driver", ("redfish", "ipmi", "idrac", "fake-hardware"), "redfish"))
        optional: tuple[Any, ...] = ("",) if driver == "fake-hardware" else ()
        bmc = Bmc(
            driver=driver,
            address=self._bmc_address(fields, driver, fields.take("address", str, *optional)),
            user=fields.take("user", str, *optional),
            password=self._password(fields, is_needed=driver != "fake-hardware"),
            system=fields.take("system", str, ""),
            verify_ca=self._verify_ca(fields),
        )
        if bmc.system and driver not in REDFISH:
            fields.problem(f"system is of Redfish, not of driver {driver}")
        elif bmc.system and not bmc.system.startswith("/"):
            fields.problem(f"system {bmc.system!r} is not a path such as /redfish/v1/Systems/1")
        fields.end()
        return bmc

    def _bmc_address(self, fields: _Fields, driver: str, address: str) -> str:
        if not address or driver == "fake-hardware":
            return address
        if (metal3 := _METAL3.fullmatch(address)) is not None:
            fields.problem(f"address {address!r} is written as in metal3: write {_of_metal3(metal3)}")
            return address
        if driver == "ipmi":
            return self._ipmi_address(fields, address.lower())
        try:
            url = urlsplit(address)
            port = url.port
        except ValueError as error:
            fields.problem(f"address {address!r} is not a URL: {error}")
            return address
        if url.username is not None or url.password is not None:
            fields.problem("address has a user or password in its URL: use user and password_file")
        elif url.scheme not in {"https", "http"} or not url.hostname:
            fields.problem(f"address {address!r} is not a URL such as https://10.30.0.12")
        elif url.query or url.fragment or url.path.rstrip("/") not in {"", "/redfish", "/redfish/v1"}:
            fields.problem(f"address {address!r} has more than host and port: give the path of the system as system")
        host = f"[{url.hostname}]" if url.hostname and ":" in url.hostname else url.hostname
        return f"{url.scheme}://{host}{f':{port}' if port else ''}"

    @staticmethod
    def _ipmi_address(fields: _Fields, address: str) -> str:
        match = _IPMI.fullmatch(address)
        try:
            six = str(IPv6Address(match["six"])) if match is not None and match["six"] else ""
        except ValueError:
            match, six = None, ""
        if match is None:
            fields.problem(f"address {address!r} is not a host, IPv4 address or IPv6 address in brackets, with an optional port")
        return address.replace(f"[{match['six']}]", f"[{six}]") if match is not None and six else address

    def _verify_ca(self, fields: _Fields) -> bool | str:
        if "verify_ca" not in fields:
            return True
        value = fields.take_any("verify_ca")
        if isinstance(value, bool):
            return value
        path = self._folder / str(value)
        if not path.is_file():
            fields.problem(f"verify_ca has to be true, false or a file with CA certificates; {path} is not a file")
        return str(path.resolve())

    def _password(self, fields: _Fields, *, is_needed: bool) -> str:
        """Return the password of a BMC. The problem of one that many servers share is reported once."""
        if "password" in fields:
            for key in ("password", "password_file", "password_env"):
                fields.take_any(key)
            fields.problem("password must not be in the rack file: put it into a file of mode 0600 and name it as password_file")
            return ""
        sources = [(key, name) for key in ("password_file", "password_env") if (name := fields.take(key, str, ""))]
        if len(sources) != 1:
            if is_needed or sources:
                fields.problem("exactly one of password_file and password_env is needed")
            return ""
        source = sources[0]
        if source not in self._passwords:
            try:
                self._passwords[source] = self._password_of(*source)
            except (OSError, ValueError) as error:
                self._passwords[source] = ""
                fields.problem(f"{source[0]} {source[1]}: {error}")
        return self._passwords[source]

    def _password_of(self, key: str, name: str) -> str:
        """Raises OSError, ValueError."""
        if key == "password_env":
            if not (password := os.environ.get(name, "")):
                raise ValueError("the environment variable is not set or empty")
            return password
        with (self._folder / name).open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & ~_WIDEST_MODE:
                raise ValueError(f"its mode {mode:04o} lets other users read or change it: chmod 0600 {self._folder / name}")
            text = file.read(_LONGEST_PASSWORD + 1).rstrip("\r\n")
        if not text or len(text) > _LONGEST_PASSWORD or "\n" in text:
            raise ValueError("it has to have one line, the password")
        return text

    def _check_metros(self, rack: Rack) -> None:
        self._unique("metros", [(f"metro {entry.code}", entry.code) for entry in rack.metros], "the code")
        interfaces = [(f"metro {entry.code}", entry.dhcp_interface) for entry in rack.metros if entry.dhcp_interface]
        self._unique("metros", interfaces, "the dhcp_interface")
        for index, metro in enumerate(rack.metros):
            for other in rack.metros[:index]:
                if metro.network.overlaps(other.network):
                    self.problems.append(f"metros: network {metro.network} of {metro.code} overlaps {other.network} of {other.code}")

    def _check_servers(self, rack: Rack, placed: Sequence[tuple[str, RackServer]], *, are_metros_good: bool, are_plans_good: bool) -> None:
        metros = {entry.code: entry for entry in rack.metros}
        vendors = Catalogue().plans.keys()
        plans = {plan.slug for plan in rack.plans} | vendors
        for place, server in placed:
            metro = metros.get(server.metro)
            if server.metro and metro is None and are_metros_good:
                self.problems.append(f"{place}: metro {server.metro!r} is not one of {', '.join(metros) or 'none'}")
            if server.plan in vendors and server.plan.endswith(_ARM):
                self.problems.append(f"{place}: plan {server.plan!r}: {_NO_ARM}")
            if server.plan and server.plan not in plans and are_plans_good:
                self.problems.append(f"{place}: plan {server.plan!r} is neither in plans nor a plan of the vendor")
            if metro is not None and server.address and not metro.first <= IPv4Address(server.address) <= metro.last:
                text = f"address {server.address} is outside of the addresses {metro.first}-{metro.last} of metro {metro.code}"
                self.problems.append(f"{place}: {text}")
        for metro in rack.metros:
            needed, size = sum(server.metro == metro.code for _place, server in placed), int(metro.last) - int(metro.first) + 1
            if needed > size:
                self.problems.append(f"metro {metro.code}: addresses {metro.first}-{metro.last} are {size}, too few for {needed} servers")
        self._unique("servers", [(place, server.name) for place, server in placed if server.name], "the name")
        self._unique("servers", [(place, server.address) for place, server in placed if server.address], "the address")
        self._unique("servers", [(place, mac) for place, server in placed for mac in server.macs], "the MAC address")
        self._check_bmcs(placed)

    def _check_bmcs(self, placed: Sequence[tuple[str, RackServer]]) -> None:
        known: dict[str, list[tuple[str, str]]] = {}
        for place, server in placed:
            bmc = server.bmc
            if bmc.driver == "fake-hardware" or not bmc.address:
                continue
            others = known.setdefault(bmc.address, [])
            # Without a path a system is the only one of its BMC.
            same = next((other for other, system in others if system == bmc.system or not system or not bmc.system), None)
            if same is not None:
                system = f" and system {bmc.system}" if bmc.system else ""
                self.problems.append(f"{place}: the BMC {bmc.address}{system} is that of {same} already")
            others.append((place, bmc.system))

    def _unique(self, key: str, values: Sequence[tuple[str, str]], label: str) -> None:
        first: dict[str, str] = {}
        for place, value in values:
            if value in first:
                other = f"{place} and {first[value]}" if first[value] != place else f"{place} twice"
                self.problems.append(f"{key}: {label} {value} is that of {other}")
            first.setdefault(value, place)


def _listed(top: _Fields, key: str, name: str, *default: object) -> list[tuple[str, Any]]:
    """Return the items of a list, each with its place in the file: ``servers[3] r1-u12``, its name only where it is one line of text."""
    items = []
    for index, item in enumerate(top.take(key, list, *default)):
        label = item.get(name) if isinstance(item, dict) else None
        shown = f" {label}" if isinstance(label, str) and label.isprintable() else ""
        items.append((f"{key}[{index}]{shown}", item))
    return items


def _merged(defaults: Mapping[str, Any], server: object) -> object:
    """Return a server with the values of ``defaults`` for the keys that it lacks, also those of its BMC."""
    if not isinstance(server, dict):
        return server
    own, common = server.get("bmc") or {}, defaults["bmc"]
    if not isinstance(own, dict):
        return {**defaults, **server}
    if own.keys() & {"password_file", "password_env"}:
        common = {key: value for key, value in common.items() if key not in {"password_file", "password_env"}}
    return {**defaults, **server, "bmc": {**common, **own}}


def _of_metal3(match: re.Match[str]) -> str:
    """Return the keys of a BMC whose address is written as in metal3."""
    if match["kind"] in {"ipmi", "libvirt"}:
        return f"driver: ipmi, address: {match['host']!r}"
    driver = "idrac" if match["kind"] == "idrac" else "redfish"
    system = f", system: {match['path']}" if (match["path"] or "/") != "/" else ""
    boot = "" if match["way"] == "-virtualmedia" else ", and boot: pxe for the server unless its BMC has virtual media"
    return f"driver: {driver}, address: '{match['scheme'] or 'https'}://{match['host']}'{system}{boot}"


def _network(text: str) -> IPv4Network:
    network = ipaddress.ip_network(text)
    if not isinstance(network, IPv4Network):
        raise ValueError("IPv6 is not supported")  # noqa: TRY004 - the value of a text
    return network


def _address(text: str) -> IPv4Address:
    address = ipaddress.ip_address(text)
    if not isinstance(address, IPv4Address):
        raise ValueError("IPv6 is not supported")  # noqa: TRY004 - the value of a text
    return address


def _range(text: str) -> tuple[IPv4Address, IPv4Address]:
    first, hyphen, last = text.partition("-")
    if not hyphen:
        raise ValueError("a hyphen between the first and the last address is missing")
    addresses = _address(first.strip()), _address(last.strip())
    if addresses[0] > addresses[1]:
        raise ValueError("the first address is behind the last")
    return addresses
