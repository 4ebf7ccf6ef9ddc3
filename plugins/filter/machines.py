# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machines
short_description: The machines that hosts of the inventory stand for
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Makes of the names of hosts the machines that are wanted, with what each host's variables say of it.
positional: hostvars
options:
  _input:
    description:
      - Names of hosts, for example C(groups['worker']).
    type: list
    elements: str
    required: true
  hostvars:
    description:
      - The variables of all hosts, C(hostvars).
    type: dict
    required: true
  strict:
    description:
      - Whether it is an error when a variable cannot be used, or when two hosts stand for one machine. Otherwise what can be told is,
        for whoever checks the whole inventory and tells everything at once.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show the wanted workers
  ansible.builtin.debug:
    msg: "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) }}"

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) | map(attribute='hostname') }}"
"""

RETURN = r"""
_value:
  description: The machines, in the order of the hosts.
  type: list
  elements: dict
  contains:
    hostname:
      description: Full name, which is the host name of the device and the name of the node. Lower case, with cluster and domain at its end.
      type: str
      sample: worker-0.demo.metal.test
    inventory_hostname:
      description: Name of the host.
      type: str
      sample: worker-0
    role:
      description: What the machine is in the cluster, by C(openshift_role) or by the groups the host is in.
      type: str
      sample: worker
    pool:
      description: A worker's machine pool, by C(openshift_pool) or by the group below C(workers) the host is in. V(null) for others.
      type: str
      sample: worker
    plan:
      description: C(metal_plan). Not there when it is not given, like the next two.
      type: str
      sample: c3.small.x86
    metro:
      description: C(metal_metro).
      type: str
      sample: da
    operating_system:
      description: C(metal_operating_system).
      type: str
      sample: custom_ipxe
    tags:
      description: C(metal_tags), and C(openshift-pool) with the pool if that is not C(worker).
      type: list
      elements: str
      sample: [openshift-pool=infra]
    architecture:
      description: C(openshift_architecture), else what the plan's name ends in (C(x86), C(arm64)), else C(x86_64).
      type: str
      sample: x86_64
    install_device:
      description: C(openshift_install_device). Not there when it is not given, like the next two.
      type: str
      sample: smallest nvme
    root_device_hints:
      description: C(openshift_root_device_hints).
      type: dict
      sample: {minSizeGigabytes: 200, rotational: false}
    consoles:
      description: C(openshift_consoles).
      type: list
      elements: str
      sample: ["ttyS1,115200n8"]
    boot_profile:
      description: Name of what the machine boots. Machines of one architecture, with the same disk rule and the same consoles, share it.
      type: str
      sample: x86_64
    labels:
      description: C(openshift_node_labels).
      type: dict
      sample: {node-role.kubernetes.io/infra: ""}
    taints:
      description: C(openshift_node_taints).
      type: list
      elements: dict
      sample: [{key: node-role.kubernetes.io/infra, effect: NoSchedule}]
    problems:
      description: What is wrong with the host's variables, with O(strict=false) only.
      type: list
      elements: str
      sample: []
    billing_cycle:
      description:
        - C(metal_billing_cycle), and in the same way C(description), C(customdata), C(locked), C(hardware_reservation_id), C(ip_addresses),
          C(termination_time), C(no_ssh_keys), C(project_ssh_keys), C(user_ssh_keys) and C(placement). Each is there when it is given.
      type: str
      sample: hourly
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError
from jinja2.exceptions import UndefinedError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.variables import DEVICE_OPTIONS, VARIABLES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import device_facts
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import ARCHITECTURES, architecture_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_devices import ROLES

DEFAULT_POOL = "worker"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TEXTS = ("plan", "metro", "operating_system")
INSTALL_DEVICE = re.compile(r"/dev/\S+|(smallest|largest)( (nvme|ssd|hdd))?")
"""A path, or a rule: which of the disks by size, if need be among those of one type."""
HINTS: dict[str, type] = {
    "deviceName": str,
    "hctl": str,
    "model": str,
    "vendor": str,
    "serialNumber": str,
    "minSizeGigabytes": int,
    "wwn": str,
    "rotational": bool,
}
"""The words of OpenShift's rootDeviceHints."""
WORDS = {str: "a text (in quotes)", int: "a whole number above 0", bool: "true or false"}
FURTHER = tuple(option for option in DEVICE_OPTIONS if option not in (*TEXTS, "tags"))
PREFIXES = ("openshift_", "metal_")
OF_DEVICES = frozenset((*device_facts({}), "public_ipv4", "private_ipv4", "public_ipv6", "elastic_ipv4", "short_id", "role", "cluster"))
"""What the inventory plugin says of devices that exist."""


def _is_of_a_device(variable: str) -> bool:
    """Whether the inventory plugin has set it on a wanted host whose device exists."""
    fact = variable.removeprefix("metal_")
    return fact in OF_DEVICES or fact.startswith("existing_")


def _usable(hint: Any, kind: type) -> bool:
    # Not by its type: Ansible has own kinds of texts and numbers. And a boolean is a number to Python.
    if kind is bool or isinstance(hint, bool):
        return kind is bool and isinstance(hint, bool)
    if kind is int:
        return isinstance(hint, int) and hint >= 1
    return isinstance(hint, kind) and bool(hint)


class _Host:
    """The variables of one host, with every problem they have written down."""

    def __init__(self, name: str, variables: Mapping[str, Any], problems: list[str]) -> None:
        self.name = name
        self._variables = variables
        self._problems = problems

    def tell(self, problem: str) -> None:
        self._problems.append(f"host {self.name}: {problem}")

    def unknown(self) -> list[str]:
        """The names of its variables that look like the collection's and are none of them. Nothing is evaluated."""
        names = {str(name) for name in self._variables if str(name).startswith(PREFIXES)}
        return sorted(name for name in names - VARIABLES.keys() if not _is_of_a_device(name))

    def get(self, variable: str) -> Any:
        """A variable's value, None when there is none or it cannot be had."""
        try:
            return self._variables.get(variable)
        except (AnsibleError, UndefinedError) as problem:
            self.tell(f"{variable} cannot be evaluated: {problem}")
            return None

    def text(self, variable: str) -> str | None:
        value = self.get(variable)
        if value is None or isinstance(value, str):
            return value
        self.tell(f"{variable} has to be a text, it is {value!r}")
        return None

    def texts(self, variable: str) -> list[str]:
        value = self.get(variable)
        if value is None:
            return []
        if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value):
            return list(value)
        self.tell(f"{variable} has to be a list of texts, it is {value!r}")
        return []

    def labels(self) -> dict[str, str]:
        value = self.get("openshift_node_labels")
        if value is None:
            return {}
        if isinstance(value, Mapping) and all(isinstance(item, str) or item is None for item in value.values()):
            return {str(key): item or "" for key, item in value.items()}
        self.tell(
            f'openshift_node_labels has to be a mapping of texts (write numbers and booleans in quotes, "" for no value), it is {value!r}'
        )
        return {}

    def taints(self) -> list[dict[str, Any]]:
        value = self.get("openshift_node_taints")
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.tell(f"openshift_node_taints has to be a list, it is {value!r}")
            return []
        good = [dict(item) for item in value if isinstance(item, Mapping) and item.get("key") and item.get("effect") in EFFECTS]
        if len(good) != len(value):
            self.tell(f"openshift_node_taints: each one needs a key and an effect of {', '.join(EFFECTS)}, they are {value!r}")
        return good

    def architecture(self, plan: str | None) -> str:
        given = self.text("openshift_architecture")
        if given is not None and given not in ARCHITECTURES.values():
            self.tell(f"openshift_architecture has to be one of {', '.join(sorted(ARCHITECTURES.values()))}, it is {given!r}")
        return given or architecture_of(plan or "") or "x86_64"

    def disk(self) -> dict[str, Any]:
        """What is said of the disk to install to, as far as it is well formed."""
        found: dict[str, Any] = {"install_device": self.text("openshift_install_device"), "root_device_hints": self.hints()}
        device = found["install_device"]
        if device is not None and not INSTALL_DEVICE.fullmatch(device):
            self.tell(
                f"openshift_install_device has to be a path below /dev, or smallest or largest (with nvme, ssd or hdd), it is {device!r}"
            )
        elif (device or "").startswith("/") and found["root_device_hints"]:
            self.tell(f"openshift_install_device names {device}, so openshift_root_device_hints has nothing to choose: give one of them")
        return found

    def hints(self) -> dict[str, Any] | None:
        value = self.get("openshift_root_device_hints")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.tell(f"openshift_root_device_hints has to be a mapping of {', '.join(HINTS)}, it is {value!r}")
            return {}
        for name, hint in value.items():
            if name not in HINTS:
                self.tell(f"openshift_root_device_hints: there is no {name!r} among {', '.join(HINTS)}")
            elif not _usable(hint, HINTS[name]):
                self.tell(f"openshift_root_device_hints: {name} has to be {WORDS[HINTS[name]]}, it is {hint!r}")
        return {name: hint for name, hint in value.items() if name in HINTS}

    def role(self) -> str | None:
        groups = self.get("group_names") or []
        found = [role for group, role in ROLES.items() if group in groups]
        given = self.text("openshift_role")
        if given is not None and given not in ROLES.values():
            self.tell(f"openshift_role has to be one of {', '.join(ROLES.values())}, it is {given!r}")
        if given:
            return given
        if len(found) > 1:
            self.tell(f"is in several of the groups {', '.join(ROLES)}: {', '.join(sorted(set(groups) & set(ROLES)))}")
        return found[0] if found else None

    def pools(self) -> frozenset[str]:
        """The groups that are pools: those below ``workers``, whose hosts are all workers. Of every host they are the same."""
        groups: Mapping[str, Iterable[str]] = self.get("groups") or {}
        workers = set(groups.get("workers") or ())
        # Groups of what exists, made by the inventory plugin, are no pools.
        below = [group for group in groups if group != "workers" and not group.startswith("metal") and workers]
        return frozenset(group for group in below if set(groups[group]) <= workers)

    def pool(self, among: frozenset[str]) -> str:
        """The pool the host is in."""
        given = self.text("openshift_pool")
        if given:
            return given
        pools = [group for group in self.get("group_names") or [] if group in among]
        if len(pools) > 1 and DEFAULT_POOL not in pools:
            self.tell(f"is in several pools ({', '.join(sorted(pools))}): set openshift_pool")
        return DEFAULT_POOL if not pools or DEFAULT_POOL in pools else pools[0]

    def hostname(self) -> str:
        """``<inventory_hostname>.<cluster>.<domain>``, lower case; a host that is named in full stays as it is."""
        cluster, domain = self.text("openshift_cluster_name"), self.text("openshift_base_domain")
        for variable, value in (("openshift_cluster_name", cluster), ("openshift_base_domain", domain)):
            if not value:
                self.tell(f"{variable} is not set")
        end = ".".join(part for part in (cluster, domain) if part).lower()
        name = self.name.lower()
        return name if not end or name.endswith("." + end) else f"{name}.{end}"


def _machine(host: _Host, pools: frozenset[str]) -> dict[str, Any]:
    role = host.role()
    pool = host.pool(pools) if role == "worker" else None
    tags = host.texts("metal_tags")
    if pool not in (None, DEFAULT_POOL):
        tags = list(dict.fromkeys([*tags, f"openshift-pool={pool}"]))
    machine: dict[str, Any] = {
        "hostname": host.hostname(),
        "inventory_hostname": host.name,
        "role": role,
        "pool": pool,
        "tags": tags,
        "labels": host.labels(),
        "taints": host.taints(),
    }
    texts = {name: host.text(f"metal_{name}") for name in TEXTS}
    boot = {"consoles": None if host.get("openshift_consoles") is None else host.texts("openshift_consoles"), **host.disk()}
    boot = {name: value for name, value in boot.items() if value is not None}
    architecture = host.architecture(texts["plan"])
    machine |= {"architecture": architecture, "boot_profile": _boot_profile(architecture, boot), **boot}
    given = texts | {name: host.get(f"metal_{name}") for name in FURTHER}
    return machine | {name: value for name, value in given.items() if value is not None}


def _boot_profile(architecture: str, boot: Mapping[str, Any]) -> str:
    """Short, for it is part of a URL; the same in every run, for that URL is the device's."""
    if not boot:
        return architecture
    return f"{architecture}-{hashlib.sha256(json.dumps(boot, sort_keys=True, default=str).encode()).hexdigest()[:8]}"


def machines(names: Any, hostvars: Any, strict: bool = True) -> list[dict[str, Any]]:
    """The machines these hosts stand for; raises AnsibleFilterError telling every problem with its host and variable."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise AnsibleFilterError(f"machines: a list of host names is needed, for example groups['worker'], not {names!r}")
    if not isinstance(hostvars, Mapping):
        raise AnsibleFilterError(
            "machines: hostvars is needed as its argument, as in groups['worker'] | equinix_metal.openshift.machines(hostvars)"
        )
    problems: list[str] = []
    found = []
    pools: frozenset[str] | None = None
    for name in names:
        if name not in hostvars:
            problems.append(f"host {name}: is not in the inventory")
            continue
        own: list[str] = []
        host = _Host(str(name), hostvars[name], own)
        # Asked of each host, the groups of hundreds would be gone through hundreds of times.
        pools = host.pools() if pools is None else pools
        machine = _machine(host, pools)
        if not strict:
            machine["problems"] = own
            if unknown := host.unknown():
                machine["unknown_variables"] = unknown
        found.append(machine)
        problems += own
    for hostname in sorted({machine["hostname"] for machine in found}):
        hosts = [machine["inventory_hostname"] for machine in found if machine["hostname"] == hostname]
        if len(hosts) > 1:
            problems.append(f"hosts {' and '.join(hosts)}: both stand for {hostname}")
    if problems and strict:
        raise AnsibleFilterError(together("The inventory cannot be used", problems))
    return found


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"machines": machines}
