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
    the largest size.
  - Takes files whose names end in C(.metal.yml) or C(.metal.yaml).
  - Host variables never hold userdata, customdata, passwords or keys. What the API tells is never evaluated as a template.
  - A device with odd or missing fields is still a host, as far as it has a name. One that has none is left out with a warning.
  - Several devices of one name all become hosts. The oldest that is not about to go has the name, the others have their short id added to
    it, and a warning tells.
  - A host that another inventory source has named before keeps its own C(metal_plan), C(metal_metro), C(metal_tags),
    C(metal_operating_system), C(metal_billing_cycle), C(metal_hardware_reservation_id) and C(metal_project_id), which say what is wanted.
    What exists comes as C(metal_existing_plan) and so on.
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
    type: str
    required: true
    env:
      - name: METAL_API_URL
  metal_api_token:
    description:
      - Token for the Metal API. May be a template.
    type: str
    required: true
    aliases: [auth_token]
    env:
      - name: METAL_AUTH_TOKEN
      - name: METAL_API_TOKEN
      - name: PACKET_API_TOKEN
  metal_api_timeout:
    description: How long one call may be silent, in seconds.
    type: float
    default: 30
  metal_api_retries:
    description: How often one call is tried again.
    type: int
    default: 8
  metal_api_ca_path:
    description: A file with the certificates of authorities (PEM), or a folder of them, to trust instead of the usual ones.
    type: path
    env:
      - name: METAL_API_CA_PATH
  metal_api_proxy:
    description: Address of a proxy, instead of what E(HTTPS_PROXY), E(HTTP_PROXY) and E(NO_PROXY) say. May be a template.
    type: str
    env:
      - name: METAL_API_PROXY
  project_id:
    description:
      - The project's id. May be a template.
    type: str
    env:
      - name: METAL_PROJECT_ID
  project_ids:
    description:
      - Ids of several projects, instead of O(project_id). V(all) stands for all projects the token sees.
    type: list
    elements: str
    default: []
  filters:
    description:
      - Only devices that fit. Sent to the service where it can choose, so that what does not fit is not transferred, and looked at
        again here.
    type: dict
    default: {}
    suboptions:
      search:
        description: A text in host name, description, short id, tags, plan, operating system or addresses, as the service searches.
        type: str
      hostname:
        description: A part of the host name.
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
        description: Categories of devices, as the service knows them.
        type: list
        elements: str
      type:
        description: How the device was ordered, for example V(ondemand) or V(reserved).
        type: str
  where:
    description:
      - A JMESPath expression over the variables of a device, written without O(variable_prefix). Devices for which it is false or empty
        are left out.
    type: str
  hostnames:
    description:
      - Where the name of a host comes from, the first that gives one. V(hostname), V(short_hostname) (its first label), V(id), V(short_id),
        V(public_ipv4), V(private_ipv4), V(public_ipv6), or V(tag:KEY) for the value of a tag C(KEY=value).
    type: list
    elements: str
    default: [hostname, id]
  addresses:
    description:
      - Where C(ansible_host) comes from, the first that gives one. V(public_ipv4), V(private_ipv4), V(public_ipv6), V(elastic_ipv4) (a
        reserved address that is assigned), V(hostname), or V(tag:KEY).
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

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ansible_collections.equinix_metal.openshift.plugins.module_utils import _metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_client import MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device import LEAVING, device_facts

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

WANTED = frozenset({"plan", "metro", "tags", "operating_system", "billing_cycle", "hardware_reservation_id", "project_id"})
"""Facts whose names with the usual prefix are also variables that say what is wanted of a machine."""

ADDRESSES = ("public_ipv4", "private_ipv4", "public_ipv6", "elastic_ipv4")
NAMES = ("hostname", "short_hostname", "id", "short_id", *ADDRESSES)
ONE_OF = ("metro", "plan", "state")
# These mean the controller itself; a device that calls itself so must not become it.
RESERVED_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "all", "ungrouped"})


def unsafe(value: Any) -> Any:
    """Somebody else's text, which must never be evaluated."""
    if TRUST_IS_MARKED:
        return value
    from ansible.utils.unsafe_proxy import wrap_var  # noqa: PLC0415 - older ansible-core only; newer ones are about to drop it

    return wrap_var(value)


def facts_of(device: Mapping[str, Any]) -> Facts:
    """What is told of one device: what the modules tell, with its addresses beside the rest, and its place in a cluster."""
    facts = device_facts(device)
    addresses = facts.pop("addresses")
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


def preferred(facts: Facts, choices: Iterable[str]) -> str | None:
    """The first of these that the device has."""
    for choice in choices:
        if choice.startswith("tag:"):
            value = tag_value(facts["tags"], choice.removeprefix("tag:"))
        elif choice == "short_hostname":
            value = facts["hostname"].split(".")[0] if isinstance(facts["hostname"], str) else None
        else:
            value = facts[choice]
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def named(devices: Iterable[Facts], choices: list[str], warn: Any) -> Iterator[tuple[str, Facts]]:
    """Each device with a name of its own. Of several of one name the oldest that is not leaving has it."""
    taken: set[str] = set()

    def rank(facts: Facts) -> tuple[bool, str, str]:
        return (str(facts["state"]) in LEAVING, str(facts["created_at"] or "~"), str(facts["id"]))

    for facts in sorted(devices, key=rank):
        name = preferred(facts, choices)
        if name is None:
            warn(f"device {facts['id']!r} has none of {', '.join(choices)} and is left out")
            continue
        unique = name
        if name in taken or name.lower() in RESERVED_NAMES:
            unique = f"{name}-{facts['short_id']}"
            why = "is the name of another device" if name in taken else "has a meaning of its own"
            if unique in taken or not facts["short_id"]:
                warn(f"device {facts['id']!r} is left out: {name!r} {why}")
                continue
            warn(f"{name!r} {why}: device {facts['id']} is the host {unique!r}")
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
    """The filters the service can apply itself (vendor's OpenAPI text: devices of a project; a field of the answer as parameter)."""
    query = {name: str(filters[name]) for name in ("search", "hostname", "type") if filters.get(name)}
    if filters.get("categories"):
        query["categories"] = ",".join(filters["categories"])
    if filters.get("tag"):
        query["tag"] = filters["tag"][0]
    for name in ONE_OF:
        if len(filters.get(name) or ()) == 1:
            query[name] = filters[name][0]
    return query


def group_name(*parts: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(parts))


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]  # ansible-core has no type information
    NAME = "equinix_metal.openshift.metal"

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith((".metal.yml", ".metal.yaml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        filters = self._filters()
        self._check_choices()
        devices = [facts for facts in self._devices(path, cache, filters) if fits(facts, filters)]
        where = self.get_option("where")
        if where:
            chosen = self._compiled(where)
            devices = [facts for facts in devices if chosen.search(facts)]
        self.inventory.add_group("metal")
        for name, facts in named(devices, self.get_option("hostnames"), self._warn):
            self._add(name, facts)

    # Reading

    def _devices(self, path: str, cache: bool, filters: Mapping[str, Any]) -> list[Facts]:
        """The facts of all devices, from the cache when it is wanted and has them."""
        url, projects = self._text("metal_api_url"), self._projects()
        # Another address, project or filter is another question; what is stored must not answer it.
        asked = json.dumps([url, projects, query_of(filters)], sort_keys=True)
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
            devices = self._read(url, projects, query_of(filters))
        except CollectionError as problem:
            raise AnsibleParserError(f"{path}: {problem.message}") from problem
        if kept:
            self.cache[key] = {"read_at": time.time(), "devices": devices}
        return devices

    def _read(self, url: str, projects: list[str], query: Mapping[str, str]) -> list[Facts]:
        if _metal_client.LIBRARY_ERROR is not None:
            raise CollectionError(f"The Python library packet-python is needed: {_metal_client.LIBRARY_ERROR}")
        client = MetalClient(
            url=url,
            token=self._text("metal_api_token"),
            timeout=self.get_option("metal_api_timeout"),
            retries=self.get_option("metal_api_retries"),
            read_only=True,
            ca_path=self.get_option("metal_api_ca_path"),
            proxy=self._text("metal_api_proxy") or None,
        )
        if "all" in projects:
            listed = client.read_list("projects", "projects", doing="list the projects")
            projects = [str(project["id"]) for project in listed if project.get("id")]
        devices: list[Facts] = []
        for project in projects:
            found = client.read_list(f"projects/{project}/devices", "devices", doing=f"list the devices of project {project}", params=query)
            devices += [{**facts_of(device), "project_id": project} for device in found]
        return devices

    # Options

    def _projects(self) -> list[str]:
        given = self.get_option("project_ids") or []
        single = self._text("project_id")
        projects = [str(project) for project in given] or ([single] if single else [])
        if not projects:
            raise AnsibleParserError("No project is given: set project_id, project_ids or the environment variable METAL_PROJECT_ID")
        return projects

    def _text(self, option: str) -> str:
        """An option that may be a template."""
        value = self.get_option(option)
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

    # Hosts

    def _add(self, name: str, facts: Facts) -> None:
        name = unsafe(name)
        prefix = self.get_option("variable_prefix")
        known_before = name in self.inventory.hosts and prefix == "metal_"
        self.inventory.add_host(name, group="metal")
        variables = {f"{prefix}existing_{key}" if known_before and key in WANTED else prefix + key: value for key, value in facts.items()}
        address = preferred(facts, self.get_option("addresses"))
        if address:
            variables["ansible_host"] = address
        for key, value in variables.items():
            self.inventory.set_variable(name, key, unsafe(value))
        for group in self._groups(facts):
            self.inventory.add_group(group)
            self.inventory.add_child("metal", group)
            self.inventory.add_host(name, group=group)
        strict = self.get_option("strict")
        if self.get_option("compose"):
            self._set_composite_vars(self.get_option("compose"), self.inventory.get_host(name).get_vars(), name, strict=strict)
        # These read the host's variables again, so that composed ones can be used.
        self._add_host_to_composed_groups(self.get_option("groups"), {}, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), {}, name, strict=strict)

    def _groups(self, facts: Facts) -> Iterator[str]:
        for kind in self.get_option("groups_by"):
            if kind == "tag":
                yield from (group_name("metal", "tag", tag) for tag in facts["tags"])
            else:
                value = facts["project_id" if kind == "project" else kind]
                if isinstance(value, str) and value:
                    yield group_name("metal", kind, value)

    def _warn(self, text: str) -> None:
        self.display.warning(f"inventory {self.NAME}: {text}")
