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
  - Reads the devices of one project or of several from a service that speaks the Equinix Metal API, with as few calls as there are pages of
    the largest size (1,000 devices).
  - Takes files whose names end in C(.metal.yml) or C(.metal.yaml).
  - Host variables never hold userdata, customdata, passwords or keys. What the API tells is never evaluated as a template.
  - A device with odd or missing fields is still a host, as far as it has a name. One that has none is left out with a warning.
  - Several devices of one name all become hosts. The oldest that is not about to go has the name, the others have their short id added to
    it, and a warning tells. The same is done with a name that is the name of a group, or means the controller, or that a device of another
    source has, which was read before.
  - Names of hosts and C(ansible_host) are host names (RFC 1123; underscores are accepted) or IP addresses. A device chooses its host name
    and its tags freely, so a value such as C(-oProxyCommand=...) is refused with a warning that names the device, and the next of
    O(hostnames) or O(addresses) is taken.
  - A host that another inventory source defines keeps its variables, wherever that source stands in the order of sources. A device of the
    same name adds what is missing. What both say of the machine comes as C(metal_existing_plan) and so on, always for C(metal_plan),
    C(metal_metro), C(metal_tags), C(metal_operating_system), C(metal_billing_cycle), C(metal_description),
    C(metal_hardware_reservation_id), C(metal_ip_addresses), C(metal_locked), C(metal_project_id) and C(metal_termination_time), which say
    what is wanted. C(ansible_host) is never set on such a host, with a warning, unless O(compose) does it.
  - O(keyed_groups) add no host to a group of another inventory source. Names of groups have letters, digits and underscores only.
extends_documentation_fragment:
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
requirements:
  - Python 3.11 or newer
  - packet-python >= 1.44.3
  - jmespath, for O(where)
options:
  plugin:
    description: Marks the file as meant for this plugin.
    type: str
    required: true
    choices: [equinix_metal.openshift.metal]
  metal_api_url:
    description:
      - Address of the Metal API, with its path. May be a template.
      - Needed, here or in the environment variable E(METAL_API_URL).
    type: str
  metal_api_token:
    description:
      - Token for the Metal API. May be a template.
      - Needed, here or in one of the environment variables E(METAL_AUTH_TOKEN), E(METAL_API_TOKEN), E(PACKET_API_TOKEN),
        E(PACKET_AUTH_TOKEN) and E(PACKET_TOKEN), the first that is set and not empty.
    type: str
    aliases: [api_token, auth_token]
  metal_api_timeout:
    description: How long one call may take until the last byte of its answer, in seconds; more than 0.
    type: float
    default: 30
  metal_api_retries:
    description: How often one call is tried again.
    type: int
    default: 8
  metal_api_ca_path:
    description:
      - A file with the certificates of authorities (PEM), or a folder of them, to trust instead of the usual ones.
      - It can also be in the environment variable E(METAL_API_CA_PATH).
    type: path
  metal_api_proxy:
    description:
      - Address of a proxy, instead of what E(HTTPS_PROXY), E(HTTP_PROXY) and E(NO_PROXY) say. May be a template.
      - It can also be in the environment variable E(METAL_API_PROXY).
    type: str
  metal_ua_prefix:
    description:
      - Prefix of the C(User-Agent) header of requests to the API.
      - It can also be in the environment variable E(METAL_UA_PREFIX).
    type: str
  project_id:
    description:
      - The project's id (a UUID). May be a template.
      - Needed, here or in the environment variable E(METAL_PROJECT_ID), unless O(project_ids) are given.
    type: str
  project_ids:
    description:
      - Ids of several projects, instead of O(project_id). V(all) stands for all projects the token sees.
    type: list
    elements: str
    aliases: [projects]
    default: []
  filters:
    description:
      - Only devices that fit, of all that is given here.
      - The API itself chooses by C(search), C(hostname), C(categories), C(type), the first C(tag) and a single C(metro), so that
        what does not fit is not transferred. It has no parameter for further tags, several metros, C(plan) and C(state). Those are
        chosen here.
    type: dict
    default: {}
    suboptions:
      search:
        description: A text in host name, description, short id, tags, plan, operating system or addresses, as the API searches.
        type: str
      hostname:
        description: A part of the host name, in upper or lower case.
        type: str
      tag:
        description: Tags the device must all have.
        type: list
        elements: str
      metro:
        description: Metros, one of which the device is in.
        type: list
        elements: str
      plan:
        description: Plans, one of which the device has.
        type: list
        elements: str
      state:
        description: States, one of which the device is in.
        type: list
        elements: str
      categories:
        description: Categories of devices, as the API knows them.
        type: list
        elements: str
      type:
        description: How the device was ordered, for example V(ondemand) or V(reserved).
        type: str
  where:
    description:
      - A JMESPath expression over the variables of a device, written without O(variable_prefix). Devices for which it is false or empty
        are left out. So is one for which it cannot be told, with a warning, or with an error when O(strict) is set.
    type: str
  hostnames:
    description:
      - Where the name of a host comes from, the first that gives a host name or an IP address. V(hostname), V(short_hostname) (its first
        label), V(id), V(short_id), V(public_ipv4), V(private_ipv4), V(public_ipv6), or V(tag:KEY) for the value of a tag C(KEY=value).
    type: list
    elements: str
    default: [hostname, id]
  addresses:
    description:
      - Where C(ansible_host) comes from, the first that gives a host name or an IP address. V(public_ipv4), V(private_ipv4),
        V(public_ipv6), V(elastic_ipv4) (a reserved address that is assigned), V(hostname), or V(tag:KEY).
      - Without an address C(ansible_host) is not set.
    type: list
    elements: str
    default: [public_ipv4, private_ipv4, public_ipv6]
  variable_prefix:
    description: What every host variable begins with.
    type: str
    default: metal_
  groups_by:
    description:
      - What groups are made of, for example C(metal_metro_da), C(metal_plan_c3_small_x86), C(metal_state_active), C(metal_role_worker) and
        C(metal_cluster_demo_metal_test). Roles and clusters are those of the tags C(openshift-role) and C(openshift-cluster).
      - V(tag) is all tags but those that say which operations were carried out (C(ansible-operation)).
      - All devices are in the group C(metal).
    type: list
    elements: str
    choices: [metro, plan, state, tag, role, cluster, project]
    default: [metro, plan, state, role, cluster]
seealso:
  - module: equinix_metal.openshift.metal_device_info
"""

EXAMPLES = r"""
# inventory/02.metal.yml: everything of the project in METAL_PROJECT_ID, with address and token from the environment
plugin: equinix_metal.openshift.metal

---
# The machines of one cluster, by their private addresses
plugin: equinix_metal.openshift.metal
filters:
  tag: [openshift-cluster=demo.metal.test]
  state: [active]
hostnames: [short_hostname]
addresses: [private_ipv4]

---
# Several projects, a token from a vault, cached for five minutes
plugin: equinix_metal.openshift.metal
metal_api_url: https://metal.example.com/metal/v1
metal_api_token: "{{ lookup('ansible.builtin.env', 'MY_TOKEN') }}"
project_ids: [all]
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/metal
cache_timeout: 300

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

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT, from_environment
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.identifiers import canonical_id
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import COLLECTION_VERSION, LIBRARY_ERROR, MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import device_result
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import without_operation_tags
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import DELETING_STATES, filter_tag

try:
    import jmespath

    JMESPATH_IMPORT_ERROR: str | None = None
except ImportError as problem:
    JMESPATH_IMPORT_ERROR = str(problem)

try:
    # Since ansible-core 2.19 only what is marked as trusted is a template, and nothing here is marked.
    from ansible.template import trust_as_template as _newer  # noqa: F401 - only asked whether it is there

    TRUST_IS_MARKED = True
except ImportError:
    TRUST_IS_MARKED = False

Facts = dict[str, Any]
Warn = Callable[[str], None]

WANTED = frozenset(
    {
        "plan",
        "metro",
        "tags",
        "operating_system",
        "billing_cycle",
        "description",
        "hardware_reservation_id",
        "ip_addresses",
        "locked",
        "project_id",
        "termination_time",
    }
)
"""Facts whose names with the usual prefix are also variables that say what is wanted of a machine."""

LEFT_OUT = ("facility", "provisioning_events")
"""Parts of a device that no variable is made of: asked for as stubs (``exclude``), which takes a quarter off a page."""

TOLD_ONE_BY_ONE = 10
"""How many odd devices get a warning of their own; of thousands nobody reads each."""

ADDRESSES = ("public_ipv4", "private_ipv4", "public_ipv6", "elastic_ipv4")
NAMES = ("hostname", "short_hostname", "id", "short_id", *ADDRESSES)
ONE_OF = ("metro", "plan", "state")
# These mean the controller itself; a device that calls itself so must not become it.
RESERVED_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "all", "ungrouped"})  # noqa: S104 - an address to refuse

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)
_NUMBER = re.compile("[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)

MADE: WeakSet[Any] = WeakSet()
"""Hosts and groups that this plugin has made. All others are those of other inventory sources."""
ADDED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""Variables that this plugin has set on hosts of other inventory sources."""


def is_name(text: str) -> bool:
    """Whether the text is a host name (RFC 1123, with underscores) or an IP address: nothing that a program would take for an option."""
    if _HOST_NAME.fullmatch(text) and len(text) <= 253:
        return True
    try:
        # An address with a scope has any text in it.
        return "%" not in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def is_reachable(text: str) -> bool:
    """Whether a connection to this name or address may be made.

    Programs read a name whose last label is a number as an address: ``127.1`` and ``2130706433`` are the controller's own.
    """
    if not is_name(text) or text.lower() in RESERVED_NAMES:
        return False
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return not _NUMBER.fullmatch(text.rpartition(".")[2])


def unsafe(value: Any) -> Any:
    """Somebody else's text, which must never be evaluated. Names of hosts need it not: no template is one."""
    if TRUST_IS_MARKED:
        return value
    from ansible.utils.unsafe_proxy import wrap_var  # noqa: PLC0415 - older ansible-core only; newer ones are about to drop it

    return wrap_var(value)


def facts_of(device: Mapping[str, Any]) -> Facts:
    """What is told of one device: what the modules tell, with its addresses beside the rest, and its place in a cluster."""
    facts = device_result(device)
    addresses = facts.pop("addresses")
    del facts["provisioning_started_at"]  # of the parts that are left out
    identity = facts["id"]
    elastic = [
        entry["address"]
        for entry in facts["ip_addresses"]
        if entry.get("management") is False and entry.get("public") and entry.get("address_family") == 4
    ]
    return {
        **facts,
        **addresses,
        "elastic_ipv4": elastic[0] if elastic else None,
        "short_id": identity[:8] if isinstance(identity, str) else None,
        "role": tag_value(facts["tags"], "openshift-role"),
        "cluster": tag_value(facts["tags"], "openshift-cluster"),
    }


def tag_value(tags: Iterable[str], key: str) -> str | None:
    """The value of the first tag ``key=value``."""
    return next((tag[len(key) + 1 :] for tag in tags if tag.startswith(key + "=")), None)


def candidates(facts: Facts, choices: Iterable[str]) -> Iterator[str]:
    """What the device has of these, in their order."""
    for choice in choices:
        if choice.startswith("tag:"):
            value = tag_value(facts["tags"], choice.removeprefix("tag:"))
        elif choice == "short_hostname":
            value = facts["hostname"].split(".")[0] if isinstance(facts["hostname"], str) else None
        else:
            value = facts[choice]
        if isinstance(value, str) and value.strip():
            yield value.strip()


def preferred(
    facts: Facts,
    choices: Iterable[str],
    warn: Warn = lambda _text: None,
    *,
    usable: Callable[[str], bool] = is_name,
    what: str = "the name of a host",
) -> str | None:
    """Return the first of these values of the device that is ``usable``, and warn of each that is not, with ``what`` it was for."""
    for value in candidates(facts, choices):
        if usable(value):
            return value
        warn(f"device {shown(facts['id'])}: {shown(value)} is no host name and no IP address that can be used as {what}")
    return None


def shown(value: Any) -> str:
    """Somebody else's text in a message."""
    return f"'{printable(value, 100)}'" if isinstance(value, str) else printable(value, 100)


def named(
    devices: Iterable[Facts],
    choices: list[str],
    warn: Warn,
    groups: Collection[str] = (),
    known: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, Facts]]:
    """Each device with a name of its own. Of several of one name the oldest that is not leaving has it.

    ``groups``: names that groups have. Variables of a host of such a name would become the group's.
    ``known``: names that devices have by another source, each with the device's id. They keep them.
    """
    taken: set[str] = set()

    def rank(facts: Facts) -> tuple[bool, str, str]:
        return (str(facts["state"]) in DELETING_STATES, str(facts["created_at"] or "~"), str(facts["id"]))

    def trouble(name: str, identity: Any) -> str | None:
        if name in taken or known.get(name, identity) != identity:
            return "is the name of another device"
        if name in groups:
            return "is the name of a group"
        return "has a meaning of its own" if name.lower() in RESERVED_NAMES else None

    for facts in sorted(devices, key=rank):
        name = preferred(facts, choices, warn)
        if name is None:
            warn(f"device {shown(facts['id'])} has none of {', '.join(choices)} and is left out")
            continue
        unique, why = name, trouble(name, facts["id"])
        if why is not None:
            unique = f"{name}-{facts['short_id']}"
            if trouble(unique, facts["id"]) or not facts["short_id"] or not is_name(unique):
                warn(f"device {shown(facts['id'])} is left out: {name!r} {why}")
                continue
            warn(f"{name!r} {why}: device {shown(facts['id'])} is the host {unique!r}")
        taken.add(unique)
        yield unique, facts


def fits(facts: Facts, filters: Mapping[str, Any]) -> bool:
    """Whether the device is what the filters ask for, as far as that can be seen in its facts."""
    if not set(filters.get("tag") or ()) <= set(facts["tags"]):
        return False
    hostname = filters.get("hostname")
    if hostname and str(hostname).lower() not in str(facts["hostname"] or "").lower():
        return False
    return all(not filters.get(name) or facts[name] in filters[name] for name in ONE_OF)


def query_of(filters: Mapping[str, Any]) -> dict[str, str]:
    """The filters the API applies itself: those that its list of devices has parameters for (vendor's OpenAPI text).

    ``plan`` and ``state`` are none of them. ``tag`` and ``metro`` are one text each; one with a comma could be taken for two.
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
def uncollected() -> Iterator[None]:
    """Without Python's search for reference cycles: a page is a quarter of a million new containers and none of them is one, so that
    searching them costs as much as decoding them.
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


def groups_of(facts: Facts, kinds: Iterable[str]) -> Iterator[str]:
    """The groups a device is in, by these choices of O(groups_by)."""
    for kind in kinds:
        if kind == "tag":
            yield from (group_name("metal", "tag", tag) for tag in without_operation_tags(facts["tags"]))
        else:
            value = facts["project_id" if kind == "project" else kind]
            if isinstance(value, str) and value:
                yield group_name("metal", kind, value)


def safe_group_name(name: str, *_more: Any, **_further: Any) -> str:
    """Return a valid name for a group. Ansible itself only warns of an invalid one, unless it is set to transform names."""
    return re.sub("^[0-9]", "_", group_name(name))


def _files(source: str) -> Iterator[str]:
    """The files of an inventory source, in the order in which Ansible reads them."""
    if "," in source or not Path(source).is_dir():
        yield source
        return
    for name in sorted(os.listdir(source)):  # noqa: PTH208 - as Ansible does it
        if not IGNORED.search(os.fsencode(name)):
            yield from _files(os.path.join(source, name))  # noqa: PTH118 - as Ansible does it


def _said_of(host: Any) -> set[str]:
    """Names of the variables that sources give to a host, itself or by its groups."""
    return {name for entity in (host, *host.get_groups()) for name in entity.vars}


def _is_dynamic(path: Path) -> bool:
    """Whether another program or service makes the hosts of this source: it is not asked twice."""
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
        self._told = 0
        filters = self._filters()
        self._check_choices()
        devices = [facts for facts in self._devices(path, cache, filters) if fits(facts, filters)]
        if self.get_option("where"):
            devices = list(self._chosen(devices, self._compiled(self.get_option("where"))))
        before = {name for name, group in self.inventory.groups.items() if group not in MADE}
        self.inventory.add_group("metal")
        kinds = self.get_option("groups_by")
        for group in sorted({name for facts in devices for name in groups_of(facts, kinds)}):
            self.inventory.add_group(group)
            self.inventory.add_child("metal", group)
        # Hosts that another file of this plugin has made, or found to exist: a wanted machine that no device was found for has no id.
        identities = {name: host.vars.get(self.get_option("variable_prefix") + "id") for name, host in self.inventory.hosts.items()}
        known = {name: identity for name, identity in identities.items() if identity}
        hosts_behind, groups_behind = self._defined_behind(path)
        add = self._adding(hosts_behind)
        self._others_groups = before | groups_behind
        groups = {*self.inventory.groups, *groups_behind}
        for name, facts in named(devices, self.get_option("hostnames"), self._warn, groups, known):
            add(name, facts)
        MADE.update(group for name, group in self.inventory.groups.items() if name not in self._others_groups)
        if self._told > TOLD_ONE_BY_ONE:
            self.display.warning(f"inventory {self.NAME}: {self._told - TOLD_ONE_BY_ONE} more devices like these are told of at -v")

    # Reading

    def _devices(self, path: str, cache: bool, filters: Mapping[str, Any]) -> list[Facts]:
        """The facts of all devices, from the cache when it is wanted and has them."""
        url, token, projects = self._connection()
        # Another address, token, project or filter is another question; what is stored must not answer it, nor what another version stored.
        # The token is hashed with the rest: of so few digits of such a sum nobody gets it back.
        asked = json.dumps([COLLECTION_VERSION, url, token, projects, query_of(filters)], sort_keys=True)
        self.load_cache_plugin()
        key = f"{self.get_cache_key(path)}_{hashlib.sha256(asked.encode()).hexdigest()[:12]}"
        kept = bool(self.get_option("cache"))
        if kept and cache:
            stored = self.cache.get(key)
            if isinstance(stored, Mapping) and isinstance(stored.get("devices"), list):
                age = max(0.0, time.time() - float(stored.get("read_at") or 0))
                self.display.v(f"{path}: {len(stored['devices'])} devices from the cache, {age:.0f} s old")
                return [dict(facts) for facts in stored["devices"]]
        try:
            devices = self._read(url, token, projects, query_of(filters))
        except CollectionError as problem:
            # The cause would be printed as it is, behind the message.
            raise AnsibleParserError(f"{path}: {printable(problem.message, 4000)}") from None
        if kept:
            self.cache[key] = {"read_at": time.time(), "devices": devices}
        return devices

    def _read(self, url: str, token: str, projects: list[str], query: Mapping[str, str]) -> list[Facts]:
        if LIBRARY_ERROR is not None:
            raise CollectionError(f"The Python library packet-python is needed: {LIBRARY_ERROR}")
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
        devices: list[Facts] = []
        with uncollected():
            for project in projects:
                try:
                    devices += self._read_project(client, project, query)
                except NotFoundError as gone:
                    # Listed a moment ago; one that was asked for by its id has to be there.
                    if not every:
                        raise
                    self._warn(gone.message)
        return devices

    @staticmethod
    def _read_project(client: MetalClient, project: str, query: Mapping[str, str]) -> list[Facts]:
        return client.read_list(
            f"projects/{project}/devices",
            "devices",
            doing=f"list the devices of project {project}",
            params={**query, "exclude": LEFT_OUT},
            keep=lambda device: {**facts_of(device), "project_id": project},
        )

    # Options

    def _given(self, option: str) -> Any:
        """An option of the connection, from the environment when the file does not have it.

        Not by ``env`` in the documentation: of several variables Ansible takes the last one, and an empty one as well.
        """
        value = self.get_option(option)
        return from_environment(ENVIRONMENT[option]) if value is None else value

    def _connection(self) -> tuple[str, str, list[str]]:
        """Address, token and projects. Raises AnsibleParserError telling all of them that are missing."""
        url, token, project = (self._text(option) for option in ("metal_api_url", "metal_api_token", "project_id"))
        projects = [str(each) for each in self.get_option("project_ids") or []] or ([project] if project else [])
        problems = []
        if not url:
            problems.append("no API address is set: set metal_api_url or the environment variable METAL_API_URL")
        if not token:
            problems.append("no token is set: set metal_api_token or the environment variable METAL_AUTH_TOKEN")
        if not projects:
            problems.append("no project is set: set project_id, project_ids or the environment variable METAL_PROJECT_ID")
        try:
            projects = [canonical_id(each, ("all",)) for each in projects]
        except ValueError as problem:
            problems.append(f"{'project_ids' if self.get_option('project_ids') else 'project_id'} {problem}")
        if problems:
            raise AnsibleParserError(together("Cannot use the Metal API", problems))
        return url, token, projects

    def _text(self, option: str) -> str:
        """An option that may be a template."""
        value = self._given(option)
        if isinstance(value, str) and self.templar.is_template(value):
            value = self.templar.template(value)
        return str(value or "").strip()

    def _filters(self) -> dict[str, Any]:
        """The filters, each with the type its documentation has; one that is not known is an error, never ignored."""
        given = self.get_option("filters") or {}
        lists, texts = ("tag", "metro", "plan", "state", "categories"), ("search", "hostname", "type")
        unknown = sorted(set(given) - set(lists) - set(texts))
        if unknown:
            raise AnsibleParserError(together("filters", [f"{name!r} is not one of {', '.join((*lists, *texts))}" for name in unknown]))
        filters: dict[str, Any] = {name: given[name] for name in texts if given.get(name)}
        for name in lists:
            value = given.get(name) or []
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
            raise AnsibleParserError(f"where: the Python library jmespath is needed: {JMESPATH_IMPORT_ERROR}")
        try:
            return jmespath.compile(str(where))
        except jmespath.exceptions.JMESPathError as problem:
            raise AnsibleParserError(f"where: {problem}") from problem

    def _chosen(self, devices: Iterable[Facts], where: Any) -> Iterator[Facts]:
        """The devices for which the expression is true. One that it cannot be told of is left out alone, unless ``strict``."""
        for facts in devices:
            try:
                if where.search(facts):
                    yield facts
            except jmespath.exceptions.JMESPathError as problem:
                text = f"where cannot be told of device {facts['id']!r} ({facts['hostname']}): {problem}"
                if self.get_option("strict"):
                    raise AnsibleParserError(text) from problem
                self._warn(f"{text}. It is left out")

    # Hosts

    def _defined_behind(self, path: str) -> tuple[dict[str, set[str]], set[str]]:
        """The hosts, with the names of their variables, and the groups of the sources that Ansible reads after this one, if they are files.

        Whether a host is one of another source must not depend on the order of the sources.
        """
        given = [source if "," in source else unfrackpath(source, follow=False) for source in context.CLIARGS.get("inventory") or ()]
        files = [file for source in given for file in _files(source)]
        behind = files[files.index(path) + 1 :] if path in files else []
        plain = [file for file in behind if "," in file or not _is_dynamic(Path(file))]
        if not plain:
            return {}, set()
        try:
            others = InventoryManager(loader=self.loader, sources=plain)
        except AnsibleError as problem:
            raise AnsibleParserError(f"{path}: cannot read the sources behind it, whose hosts it must not change: {problem}") from problem
        return {name: _said_of(host) for name, host in others.hosts.items()}, set(others.groups)

    def _adding(self, behind: Mapping[str, Collection[str]]) -> Callable[[str, Facts], None]:
        """What adds one host, with all options read: they are the same for thousands.

        ``behind``: hosts of sources that are read later, each with the names of its variables.
        """
        inventory, prefix, addresses = self.inventory, self.get_option("variable_prefix"), self.get_option("addresses")
        compose, strict = self.get_option("compose"), self.get_option("strict")
        kinds, groups, keyed_groups = (self.get_option(name) for name in ("groups_by", "groups", "keyed_groups"))

        def add(name: str, facts: Facts) -> None:
            address = preferred(facts, addresses, self._warn, usable=is_reachable, what="ansible_host")
            if address is None and not is_reachable(name):
                self._warn(f"device {shown(facts['id'])} has no address, and its name {name!r} would be read as one: it is left out")
                return
            there = inventory.hosts.get(name)
            inventory.add_host(name, group="metal")
            host = inventory.hosts[name]
            if there is None and name not in behind:
                MADE.add(host)
            own = ADDED.setdefault(host, set()) if host not in MADE else None
            theirs = {*_said_of(host), *behind.get(name, ())} - own if own is not None else set()
            for key, value in facts.items():
                # What another source says of its host stays. What it says in files of group variables is not known yet.
                taken = own is not None and (key in WANTED or prefix + key in theirs)
                variable = f"{prefix}existing_{key}" if taken else prefix + key
                inventory.set_variable(name, variable, unsafe(value))
                if own is not None:
                    own.add(variable)
            if own is None and address:
                inventory.set_variable(name, "ansible_host", unsafe(address))
            elif address and address != host.vars.get("ansible_host") and "ansible_host" not in (compose or {}):
                self._warn(
                    f"device {shown(facts['id'])} has the name of the host {name!r} of another inventory source, which keeps its variables:"
                    f" {address} does not become its ansible_host"
                )
            for group in groups_of(facts, kinds):
                inventory.add_host(name, group=group)
            if compose:
                self._set_composite_vars(compose, inventory.get_host(name).get_vars(), name, strict=strict)
            # These read the host's variables again, so that composed ones can be used.
            if groups:
                self._add_host_to_composed_groups(groups, {}, name, strict=strict)
            if keyed_groups:
                self._add_host_to_keyed_groups(keyed_groups, {}, name, strict=strict)

        return add

    def _add_host_to_keyed_groups(self, keys: Any, variables: Any, host: str, *more: Any, **further: Any) -> None:
        """Add the host to groups that are named by what the API returns, but to none of another source: what is in those is wanted."""
        this = self.inventory.get_host(host)
        before = set(this.groups)
        super()._add_host_to_keyed_groups(keys, variables, host, *more, **further)
        for group in [each for each in this.groups if each not in before and each.name in self._others_groups and this in each.hosts]:
            group.remove_host(this)
            self._warn(f"host {host!r} is not added to the group {group.name!r} of another inventory source (keyed_groups)")

    def _warn(self, text: str) -> None:
        self._told += 1
        (self.display.warning if self._told <= TOLD_ONE_BY_ONE else self.display.v)(f"inventory {self.NAME}: {text}")
