# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: metal
short_description: Devices of a Metal API as hosts
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Lists the devices of one or several projects of an Equinix Metal API, in pages of 1,000 devices.
  - Reads files whose names end in C(.metal.yml) or C(.metal.yaml).
  - Host variables never hold userdata, customdata, passwords or keys. Values from the API are never evaluated as templates.
  - A device with malformed or missing fields is still a host if it has a name. A device without a name is left out with a warning.
  - If several devices have the same name, all become hosts. The oldest one that is not being deleted gets the name, the others get the name
    with their short id added, with a warning. The short id is also added to a name that a group or a device of an inventory source read
    before has, or that means the controller (C(localhost)).
  - Names of hosts and C(ansible_host) are host names (RFC 1123; underscores are accepted) or IP addresses. Host names and tags of devices
    are untrusted text. A value such as C(-oProxyCommand=...) is refused with a warning that names the device, and the next one of
    O(hostnames) or O(addresses) is used.
  - A host that another inventory source defines keeps its variables, whatever the order of the sources. A device of the same name adds the
    variables that the host does not have. Where both have a value, the device's is in C(metal_existing_plan) and so on. This is always so
    for C(metal_plan), C(metal_metro), C(metal_tags), C(metal_operating_system), C(metal_billing_cycle), C(metal_description),
    C(metal_hardware_reservation_id), C(metal_ip_addresses), C(metal_locked), C(metal_project_id), C(metal_termination_time),
    C(metal_spot_instance), C(metal_spot_price_max), C(metal_always_pxe) and C(metal_ipxe_script_url), since these names are settings of the
    desired machine. C(ansible_host) of such a host is never set, with a warning, unless O(compose) sets it.
  - O(metal_api_url), O(metal_api_token), O(metal_api_proxy) and O(project_id) can be templates.
  - O(keyed_groups) adds no host to a group of another inventory source. Names of groups have letters, digits and underscores only.
extends_documentation_fragment: [ansible.builtin.constructed, ansible.builtin.inventory_cache, equinix_metal.openshift._metal.connection]
requirements:
  - Python 3.11 or newer
  - packet-python >= 1.44.3
  - jmespath, for O(where)
options:
  plugin:
    description: Name of this plugin.
    type: str
    required: true
    choices: [equinix_metal.openshift.metal]
  project_id:
    description:
      - ID of the project (a UUID). Can be a template.
      - Required here or in the environment variable E(METAL_PROJECT_ID), unless O(project_ids) is set.
    type: str
  project_ids:
    description: IDs of several projects, instead of O(project_id). V(all) means all projects that the token can read.
    type: list
    elements: str
    aliases: [projects]
    default: []
  filters:
    description:
      - Only devices that match all of these filters become hosts.
      - The API applies C(search), C(hostname), C(categories), C(type), the first C(tag) and a single C(metro), so other devices are not
        transferred. It has no parameter for further tags, several metros, C(plan) and C(state). The plugin applies these.
    type: dict
    default: {}
    suboptions:
      search:
        description: A text that the API searches in host name, description, short id, tags, plan, operating system and addresses.
        type: str
      hostname:
        description: A part of the host name, case-insensitive.
        type: str
      tag:
        description: Tags. The device has all of them.
        type: list
        elements: str
      metro:
        description: Metro codes. The device is in one of them.
        type: list
        elements: str
      plan:
        description: Plans. The device has one of them.
        type: list
        elements: str
      state:
        description: States. The device is in one of them.
        type: list
        elements: str
      categories:
        description: Categories of devices, as the API names them.
        type: list
        elements: str
      type:
        description: How the device was ordered, for example V(ondemand) or V(reserved).
        type: str
  where:
    description: A JMESPath expression over the variables of a device, without O(variable_prefix). Devices for which it is false or empty
      are left out. A device for which it cannot be evaluated is left out with a warning. With O(strict) that is an error.
    type: str
  hostnames:
    description:
      - Sources of a host's name. The first one that is a host name or an IP address is used.
      - V(hostname), V(short_hostname) (its first label), V(id), V(short_id), V(public_ipv4), V(private_ipv4), V(public_ipv6), or V(tag:KEY)
        for the value of a tag C(KEY=value).
    type: list
    elements: str
    default: [hostname, id]
  addresses:
    description:
      - Sources of C(ansible_host). The first one that is a host name or an IP address is used. Without one, C(ansible_host) is not set.
      - V(public_ipv4), V(private_ipv4), V(public_ipv6), V(elastic_ipv4) (an assigned elastic address), V(hostname), or V(tag:KEY).
    type: list
    elements: str
    default: [public_ipv4, private_ipv4, public_ipv6]
  variable_prefix:
    description: Prefix of every host variable.
    type: str
    default: metal_
  groups_by:
    description:
      - Attributes whose values become groups, for example C(metal_metro_da), C(metal_plan_c3_small_x86), C(metal_state_active),
        C(metal_role_worker) and C(metal_cluster_demo_metal_test). Roles and clusters are the values of the tags C(openshift-role) and
        C(openshift-cluster).
      - V(tag) means all tags except those of one-time operations (C(ansible-operation)).
      - All devices are in the group C(metal).
    type: list
    elements: str
    choices: [metro, plan, state, tag, role, cluster, project]
    default: [metro, plan, state, role, cluster]
seealso:
  - module: equinix_metal.openshift.metal_device_info
"""

EXAMPLES = r"""
# inventory/02.metal.yml: all devices of the project in METAL_PROJECT_ID, with URL and token from the environment
plugin: equinix_metal.openshift.metal

---
# The active devices of one cluster, by their private addresses
plugin: equinix_metal.openshift.metal
filters:
  tag: [openshift-cluster=demo.metal.test]
  state: [active]
hostnames: [short_hostname]
addresses: [private_ipv4]

---
# Composed variables can be used in groups
plugin: equinix_metal.openshift.metal
where: plan != 'c3.small.x86' && contains(tags, 'storage')
compose:
  is_old: metal_created_at < '2026-01-01'
groups:
  old: is_old
keyed_groups:
  - key: metal_operating_system
    prefix: system
"""

import contextlib
import gc
import hashlib
import ipaddress
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ansible import context
from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.manager import IGNORED, InventoryManager
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.path import unfrackpath

from ..module_utils.base.argspec import ENVIRONMENT, from_environment
from ..module_utils.base.errors import CollectionError, NotFoundError, together
from ..module_utils.base.identifiers import canonical_id
from ..module_utils.base.printable import printable
from ..module_utils.clients.metal import COLLECTION_VERSION, LIBRARY_ERROR, MetalClient
from ..module_utils.machines.device import device_result
from ..module_utils.machines.operation import without_operation_tags
from ..module_utils.metal.objects import DELETING_STATES, filter_tag
from ..plugin_utils.settings.variables import REFUSED_DEVICE_OPTIONS, VARIABLES

try:
    import jmespath

    JMESPATH_IMPORT_ERROR: str | None = None
except ImportError as problem:
    JMESPATH_IMPORT_ERROR = str(problem)

try:
    # Since ansible-core 2.19 only text that is marked as trusted is a template.
    from ansible.template import trust_as_template

    TRUST_IS_MARKED = True
except ImportError:
    TRUST_IS_MARKED = False

Variables = dict[str, Any]
Warn = Callable[[str], None]

DESIRED = frozenset(name.removeprefix("metal_") for name in VARIABLES) | REFUSED_DEVICE_OPTIONS.keys()
"""Variables whose names with the default prefix are also settings of a desired machine, or would be refused as one."""

EXCLUDED = ("facility", "provisioning_events")
"""Attributes of a device that no variable is read from. The parameter ``exclude`` makes a page a quarter smaller."""

MAX_WARNINGS = 10
"""Devices with a warning of their own. Further warnings are shown at -v only."""

TEMPLATE_STARTS = ("{{", "{%", "{#")

ADDRESSES = ("public_ipv4", "private_ipv4", "public_ipv6", "elastic_ipv4")
NAMES = ("hostname", "short_hostname", "id", "short_id", *ADDRESSES)
ONE_OF = ("metro", "plan", "state")
# These mean the controller itself, or have a meaning for Ansible, so no device may have them as its host's name.
RESERVED_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "all", "ungrouped"})  # noqa: S104 - an address to refuse

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)
_NUMBER = re.compile("[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)

CREATED: WeakSet[Any] = WeakSet()
"""Hosts and groups that this plugin has created. All others belong to other inventory sources."""
ADDED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""Variables that this plugin has set on hosts of other inventory sources."""


def is_name(text: str) -> bool:
    """Return whether the text is a host name (RFC 1123, with underscores) or an IP address, so no program takes it for an option."""
    if _HOST_NAME.fullmatch(text) and len(text) <= 253:
        return True
    try:
        # The scope of an IPv6 address can be any text.
        return "%" not in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def is_reachable(text: str) -> bool:
    """Return whether a connection to this name or address is allowed.

    Programs read a name whose last label is a number as an address: ``127.1`` and ``2130706433`` are the controller itself.
    """
    if not is_name(text) or text.lower() in RESERVED_NAMES:
        return False
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return not _NUMBER.fullmatch(text.rpartition(".")[2])


def unsafe(value: Any) -> Any:
    """Return a value from the API as one that is never evaluated as a template. No template is a valid host name, so names need no mark.

    Text without the beginning of a template is the same text, evaluated or not. Such text has no mark: ``ansible-inventory --export`` shows
    marked text as ``{"__ansible_unsafe": ...}``, and so filters, smart inventories and ``enabled_var`` of AWX get no text of it.
    """
    if isinstance(value, Mapping):
        return {key: unsafe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [unsafe(item) for item in value]
    if not isinstance(value, str):
        return value
    is_plain = not any(start in value for start in TEMPLATE_STARTS)
    if TRUST_IS_MARKED:
        return trust_as_template(value) if is_plain else value
    if is_plain:
        return value
    from ansible.utils.unsafe_proxy import wrap_var  # noqa: PLC0415 - older ansible-core only; newer ones are about to drop it

    return wrap_var(value)


def host_variables(device: Mapping[str, Any]) -> Variables:
    """Return the variables of a device: the result of the modules, with addresses, cluster and role as separate variables."""
    variables = device_result(device)
    addresses = variables.pop("addresses")
    del variables["provisioning_started_at"]  # read from an attribute in EXCLUDED
    identity = variables["id"]
    elastic = [
        entry["address"]
        for entry in variables["ip_addresses"]
        if entry.get("management") is False and entry.get("public") and entry.get("address_family") == 4
    ]
    return {
        **variables,
        **addresses,
        "elastic_ipv4": elastic[0] if elastic else None,
        "short_id": identity[:8] if isinstance(identity, str) else None,
        "role": tag_value(variables["tags"], "openshift-role"),
        "cluster": tag_value(variables["tags"], "openshift-cluster"),
    }


def tag_value(tags: Iterable[str], key: str) -> str | None:
    """Return the value of the first tag ``key=value``."""
    return next((tag[len(key) + 1 :] for tag in tags if tag.startswith(key + "=")), None)


def candidates(variables: Variables, choices: Iterable[str]) -> Iterator[str]:
    """Yield the device's non-empty values of these sources, in their order."""
    for choice in choices:
        if choice.startswith("tag:"):
            value = tag_value(variables["tags"], choice.removeprefix("tag:"))
        elif choice == "short_hostname":
            value = variables["hostname"].split(".")[0] if isinstance(variables["hostname"], str) else None
        else:
            value = variables[choice]
        if isinstance(value, str) and value.strip():
            yield value.strip()


def preferred(
    variables: Variables,
    choices: Iterable[str],
    warn: Warn = lambda _text: None,
    *,
    usable: Callable[[str], bool] = is_name,
    what: str = "the name of a host",
) -> str | None:
    """Return the first of these values of the device that is ``usable``. Each that is not gets a warning; ``what``: the value's use."""
    for value in candidates(variables, choices):
        if usable(value):
            return value
        warn(f"device {shown(variables['id'])}: {shown(value)} is no host name and no IP address that can be used as {what}")
    return None


def shown(value: Any) -> str:
    """Return a value from the API, quoted and printable."""
    return f"'{printable(value, 100)}'" if isinstance(value, str) else printable(value, 100)


def named(
    devices: Iterable[Variables],
    choices: list[str],
    warn: Warn,
    groups: Collection[str] = (),
    known: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, Variables]]:
    """Yield each device with a unique host name. Of several devices of one name, the oldest that is not being deleted keeps it.

    ``groups``: names of groups. Variables of a host with such a name would become the group's.
    ``known``: host names of devices in sources that were read before, each with the device's id. They are kept.
    """
    taken: set[str] = set()

    def rank(variables: Variables) -> tuple[bool, str, str]:
        return (str(variables["state"]) in DELETING_STATES, str(variables["created_at"] or "~"), str(variables["id"]))

    def conflict(name: str, identity: Any) -> str | None:
        if name in taken or known.get(name, identity) != identity:
            return "is the name of another device"
        if name in groups:
            return "is the name of a group"
        return "is a reserved name" if name.lower() in RESERVED_NAMES else None

    for variables in sorted(devices, key=rank):
        name = preferred(variables, choices, warn)
        if name is None:
            warn(f"device {shown(variables['id'])} has no usable {' or '.join(choices)} (hostnames) and is left out")
            continue
        unique, why = name, conflict(name, variables["id"])
        if why is not None:
            unique = f"{name}-{variables['short_id']}"
            if conflict(unique, variables["id"]) or not variables["short_id"] or not is_name(unique):
                warn(f"device {shown(variables['id'])} is left out: {name!r} {why}")
                continue
            warn(f"{name!r} {why}: device {shown(variables['id'])} becomes the host {unique!r}")
        taken.add(unique)
        yield unique, variables


def matches(variables: Variables, filters: Mapping[str, Any]) -> bool:
    """Return whether the device matches the filters that can be checked by its variables."""
    if not set(filters.get("tag") or ()) <= set(variables["tags"]):
        return False
    hostname = filters.get("hostname")
    if hostname and str(hostname).lower() not in str(variables["hostname"] or "").lower():
        return False
    return all(not filters.get(name) or variables[name] in filters[name] for name in ONE_OF)


def api_query(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the query parameters of the filters that the API applies (vendor's OpenAPI text).

    The API has no ``plan`` and ``state``. ``tag`` and ``metro`` are one text each; a comma could be read as a separator.
    """
    query = {name: str(filters[name]) for name in ("search", "hostname", "type") if filters.get(name)}
    if filters.get("categories"):
        query["categories"] = ",".join(filters["categories"])
    tag = filter_tag(filters.get("tag") or ())
    if tag is not None:
        query["tag"] = tag
    if len(filters.get("metro") or ()) == 1:
        query["metro"] = filters["metro"][0]
    return query


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause Python's search for reference cycles: a page has a quarter of a million containers and no cycle, and the search takes as long
    as decoding the page.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def group_name(*parts: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(parts))


def groups_of(variables: Variables, kinds: Iterable[str]) -> Iterator[str]:
    """Yield the groups of a device for these choices of O(groups_by)."""
    for kind in kinds:
        if kind == "tag":
            yield from (group_name("metal", "tag", tag) for tag in without_operation_tags(variables["tags"]))
        else:
            value = variables["project_id" if kind == "project" else kind]
            if isinstance(value, str) and value:
                yield group_name("metal", kind, value)


def safe_group_name(name: str, *_more: Any, **_further: Any) -> str:
    """Return a valid group name. Ansible only warns of an invalid one, unless it is configured to transform names."""
    return re.sub("^[0-9]", "_", group_name(name))


def _files(source: str) -> Iterator[str]:
    """Yield the files of an inventory source, in the order in which Ansible reads them."""
    if "," in source or not Path(source).is_dir():
        yield source
        return
    for name in sorted(os.listdir(source)):  # noqa: PTH208 - as Ansible does it
        if not IGNORED.search(os.fsencode(name)):
            yield from _files(os.path.join(source, name))  # noqa: PTH118 - as Ansible does it


def _defined_variables(host: Any) -> set[str]:
    """Return the names of a host's variables, its groups' included."""
    return {name for entity in (host, *host.get_groups()) for name in entity.vars}


def _is_dynamic(path: Path) -> bool:
    """Return whether the hosts of this source come from a program or a service, which is not called twice."""
    if not path.is_file() or os.access(path, os.X_OK):
        return True
    return bool(re.search(rb"(?m)^[\"']?plugin[\"']?\s*:|\A\s*\{\s*\"plugin\"", path.read_bytes()))


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]  # ansible-core has no type information
    NAME = "equinix_metal.openshift.metal"
    _sanitize_group_name = staticmethod(safe_group_name)

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith((".metal.yml", ".metal.yaml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        self._warnings = 0
        filters = self._filters()
        self._check_choices()
        devices = [variables for variables in self._devices(path, cache, filters) if matches(variables, filters)]
        if self.get_option("where"):
            devices = list(self._where_true(devices, self._compiled(self.get_option("where"))))
        before = {name for name, group in self.inventory.groups.items() if group not in CREATED}
        self.inventory.add_group("metal")
        kinds = self.get_option("groups_by")
        for group in sorted({name for variables in devices for name in groups_of(variables, kinds)}):
            self.inventory.add_group(group)
            self.inventory.add_child("metal", group)
        # Devices that another file of this plugin has read. A desired machine without a device has no id.
        identities = {name: host.vars.get(self.get_option("variable_prefix") + "id") for name, host in self.inventory.hosts.items()}
        known = {name: identity for name, identity in identities.items() if identity}
        later_hosts, later_groups = self._defined_later(path)
        add = self._adding(later_hosts)
        self._foreign_groups = before | later_groups
        groups = {*self.inventory.groups, *later_groups}
        for name, variables in named(devices, self.get_option("hostnames"), self._warn, groups, known):
            add(name, variables)
        CREATED.update(group for name, group in self.inventory.groups.items() if name not in self._foreign_groups)
        if self._warnings > MAX_WARNINGS:
            self.display.warning(f"inventory {self.NAME}: {self._warnings - MAX_WARNINGS} more warnings like these are shown with -v")

    # Reading

    def _devices(self, path: str, cache: bool, filters: Mapping[str, Any]) -> list[Variables]:
        """Return the variables of all devices, from the cache if it is enabled and has them."""
        url, token, projects = self._connection()
        # The key of the cache depends on all that the result depends on, and on the collection's version.
        # The token cannot be read back from a few digits of the hash.
        asked = json.dumps([COLLECTION_VERSION, url, token, projects, api_query(filters)], sort_keys=True)
        self.load_cache_plugin()
        key = f"{self.get_cache_key(path)}_{hashlib.sha256(asked.encode()).hexdigest()[:12]}"
        kept = bool(self.get_option("cache"))
        if kept and cache:
            stored = self.cache.get(key)
            if isinstance(stored, Mapping) and isinstance(stored.get("devices"), list):
                age = max(0.0, time.time() - float(stored.get("read_at") or 0))
                self.display.v(f"{path}: {len(stored['devices'])} devices from the cache, {age:.0f} s old")
                return [dict(variables) for variables in stored["devices"]]
        try:
            devices = self._read(url, token, projects, api_query(filters))
        except CollectionError as problem:
            # ansible-core would print the cause behind the message, without printable().
            raise AnsibleParserError(f"{path}: {printable(problem.message, 4000)}") from None
        if kept:
            self.cache[key] = {"read_at": time.time(), "devices": devices}
        return devices

    def _read(self, url: str, token: str, projects: list[str], query: Mapping[str, str]) -> list[Variables]:
        if LIBRARY_ERROR is not None:
            raise CollectionError(f"The Python library packet-python is required: {LIBRARY_ERROR}")
        client = MetalClient(
            url=url,
            token=token,
            timeout=self.get_option("metal_api_timeout"),
            retries=self.get_option("metal_api_retries"),
            read_only=True,
            ca_path=self._given("metal_api_ca_path"),
            proxy=self._text("metal_api_proxy") or None,
            user_agent_prefix=self._given("metal_ua_prefix"),
        )
        every = "all" in projects
        if every:
            listed = client.read_list("projects", "projects", doing="list the projects")
            projects = [str(project["id"]) for project in listed if project.get("id")]
        devices: list[Variables] = []
        with without_garbage_collection():
            for project in projects:
                try:
                    devices += self._read_project(client, project, query)
                except NotFoundError as gone:
                    # With "all", a project may have been deleted after it was listed. A project given by its id must exist.
                    if not every:
                        raise
                    self._warn(gone.message)
        return devices

    @staticmethod
    def _read_project(client: MetalClient, project: str, query: Mapping[str, str]) -> list[Variables]:
        return client.read_list(
            f"projects/{project}/devices",
            "devices",
            doing=f"list the devices of project {project}",
            params={**query, "exclude": EXCLUDED},
            keep=lambda device: {**host_variables(device), "project_id": project},
        )

    # Options

    def _given(self, option: str) -> Any:
        """Return an option of the connection, from the environment if the file does not have it.

        The documentation has no ``env``, since Ansible uses the last of several variables, even if it is empty.
        """
        value = self.get_option(option)
        return from_environment(ENVIRONMENT[option]) if value is None else value

    def _connection(self) -> tuple[str, str, list[str]]:
        """Return URL, token and projects. Raises AnsibleParserError with all that are missing or malformed."""
        url, token, project = (self._text(option) for option in ("metal_api_url", "metal_api_token", "project_id"))
        projects = [str(identity) for identity in self.get_option("project_ids") or []] or ([project] if project else [])
        problems = []
        if not url:
            problems.append("no API address is set: set metal_api_url or the environment variable METAL_API_URL")
        if not token:
            problems.append("no token is set: set metal_api_token or the environment variable METAL_AUTH_TOKEN")
        if not projects:
            problems.append("no project is set: set project_id, project_ids or the environment variable METAL_PROJECT_ID")
        try:
            projects = [canonical_id(identity, ("all",)) for identity in projects]
        except ValueError as problem:
            problems.append(f"{'project_ids' if self.get_option('project_ids') else 'project_id'} {problem}")
        if problems:
            raise AnsibleParserError(together("Cannot use the Metal API", problems))
        return url, token, projects

    def _text(self, option: str) -> str:
        """Return an option that can be a template."""
        value = self._given(option)
        if isinstance(value, str) and self.templar.is_template(value):
            value = self.templar.template(value)
        return str(value or "").strip()

    def _filters(self) -> dict[str, Any]:
        """Return the filters with the types of their documentation. Raises AnsibleParserError for unknown ones."""
        configured = self.get_option("filters") or {}
        lists, texts = ("tag", "metro", "plan", "state", "categories"), ("search", "hostname", "type")
        unknown = sorted(set(configured) - set(lists) - set(texts))
        if unknown:
            raise AnsibleParserError(together("filters", [f"{name!r} is not one of {', '.join((*lists, *texts))}" for name in unknown]))
        filters: dict[str, Any] = {name: configured[name] for name in texts if configured.get(name)}
        for name in lists:
            value = configured.get(name) or []
            filters[name] = [str(item) for item in value] if isinstance(value, (list, tuple)) else [str(value)]
        filters["metro"] = [code.lower() for code in filters["metro"]]
        return filters

    def _check_choices(self) -> None:
        problems = [
            f"{option}: {choice!r} is not one of {', '.join(known)} or tag:KEY"
            for option, known in (("hostnames", NAMES), ("addresses", (*ADDRESSES, "hostname")))
            for choice in self.get_option(option)
            if choice not in known and not choice.startswith("tag:")
        ]
        if problems:
            raise AnsibleParserError("; ".join(problems))

    @staticmethod
    def _compiled(where: str) -> Any:
        if JMESPATH_IMPORT_ERROR is not None:
            raise AnsibleParserError(f"where: the Python library jmespath is required: {JMESPATH_IMPORT_ERROR}")
        try:
            return jmespath.compile(str(where))
        except jmespath.exceptions.JMESPathError as problem:
            raise AnsibleParserError(f"where: {problem}") from problem

    def _where_true(self, devices: Iterable[Variables], where: Any) -> Iterator[Variables]:
        """Yield the devices for which the expression is true. Without ``strict`` an error leaves out its device only."""
        for variables in devices:
            try:
                if where.search(variables):
                    yield variables
            except jmespath.exceptions.JMESPathError as problem:
                text = f"where cannot be evaluated for device {variables['id']!r} ({variables['hostname']}): {problem}"
                if self.get_option("strict"):
                    raise AnsibleParserError(text) from problem
                self._warn(f"{text}. It is left out")

    # Hosts

    def _defined_later(self, path: str) -> tuple[dict[str, set[str]], set[str]]:
        """Return the hosts, with the names of their variables, and the groups of the static sources that Ansible reads after this one.

        Whether another source defines a host must not depend on the order of the sources.
        """
        sources = [source if "," in source else unfrackpath(source, follow=False) for source in context.CLIARGS.get("inventory") or ()]
        files = [file for source in sources for file in _files(source)]
        later = files[files.index(path) + 1 :] if path in files else []
        plain = [file for file in later if "," in file or not _is_dynamic(Path(file))]
        if not plain:
            return {}, set()
        try:
            others = InventoryManager(loader=self.loader, sources=plain)
        except AnsibleError as problem:
            raise AnsibleParserError(f"{path}: cannot read the inventory sources after it, to keep their hosts: {problem}") from problem
        return {name: _defined_variables(host) for name, host in others.hosts.items()}, set(others.groups)

    def _adding(self, later: Mapping[str, Collection[str]]) -> Callable[[str, Variables], None]:
        """Return a function that adds one host. The options are read once for all hosts.

        ``later``: hosts of sources that are read after this one, each with the names of its variables.
        """
        inventory, prefix, addresses = self.inventory, self.get_option("variable_prefix"), self.get_option("addresses")
        compose, strict = self.get_option("compose"), self.get_option("strict")
        kinds, groups, keyed_groups = (self.get_option(name) for name in ("groups_by", "groups", "keyed_groups"))

        def add(name: str, variables: Variables) -> None:
            address = preferred(variables, addresses, self._warn, usable=is_reachable, what="ansible_host")
            if address is None and not is_reachable(name):
                self._warn(f"device {shown(variables['id'])} has no address, and its name {name!r} is not reachable: it is left out")
                return
            existing = inventory.hosts.get(name)
            inventory.add_host(name, group="metal")
            host = inventory.hosts[name]
            if existing is None and name not in later:
                CREATED.add(host)
            own = ADDED.setdefault(host, set()) if host not in CREATED else None
            defined = {*_defined_variables(host), *later.get(name, ())} - own if own is not None else set()
            for key, value in variables.items():
                # Variables of another source stay. Those in its files of group variables are not loaded yet, so DESIRED lists them.
                taken = own is not None and (key in DESIRED or prefix + key in defined)
                variable = f"{prefix}existing_{key}" if taken else prefix + key
                inventory.set_variable(name, variable, unsafe(value))
                if own is not None:
                    own.add(variable)
            if own is None and address:
                inventory.set_variable(name, "ansible_host", unsafe(address))
            elif address and address != host.vars.get("ansible_host") and "ansible_host" not in (compose or {}):
                self._warn(
                    f"device {shown(variables['id'])} has the name of the host {name!r} of another inventory source:"
                    f" ansible_host of that host is not set to {address}"
                )
            for group in groups_of(variables, kinds):
                inventory.add_host(name, group=group)
            if compose:
                self._set_composite_vars(compose, inventory.get_host(name).get_vars(), name, strict=strict)
                for variable in [name for name in compose if name in host.vars]:
                    inventory.set_variable(name, variable, unsafe(host.vars[variable]))
            # Groups are added last, since their expressions can use composed variables.
            if groups:
                self._add_host_to_composed_groups(groups, {}, name, strict=strict)
            if keyed_groups:
                self._add_host_to_keyed_groups(keyed_groups, {}, name, strict=strict)

        return add

    def _add_host_to_keyed_groups(self, keys: Any, variables: Any, host: str, *more: Any, **further: Any) -> None:
        """Add the host to its keyed groups, but to none of another source, whose members are desired machines."""
        this = self.inventory.get_host(host)
        before = set(this.groups)
        super()._add_host_to_keyed_groups(keys, variables, host, *more, **further)
        for group in [
            parent for parent in this.groups if parent not in before and parent.name in self._foreign_groups and this in parent.hosts
        ]:
            group.remove_host(this)
            self._warn(f"host {host!r} is not added to the group {group.name!r} of another inventory source (keyed_groups)")

    def _warn(self, text: str) -> None:
        self._warnings += 1
        (self.display.warning if self._warnings <= MAX_WARNINGS else self.display.v)(f"inventory {self.NAME}: {text}")
