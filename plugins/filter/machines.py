# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machines
short_description: Machines of the inventory, from the variables of their hosts
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the machine of each host, with the settings in the host's variables.
  - A control plane host that sets neither C(metal_metro) nor C(metal_placement) has those of the bootstrap host. Without C(metal_plan) it
    has the bootstrap host's plan, architecture, install disk and consoles, as far as it sets none of its own.
positional: hostvars
options:
  _input:
    description: Names of hosts, for example C(groups['worker']).
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts, C(hostvars).
    type: dict
    required: true
  strict:
    description: Whether an invalid variable, or two hosts with the same host name, are an error. Otherwise problems are returned with each
      machine, for checks that report the problems of all hosts together.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Print the workers of the inventory
  ansible.builtin.debug:
    msg: "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) }}"

- name: Print their host names
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
    inventory_hostname: {description: Name of the host., type: str, sample: worker-0}
    role: {description: "Role of the machine in the cluster, by C(openshift_role) or by the groups of the host.", type: str, sample: worker}
    pool:
      description: A worker's machine pool, by C(openshift_pool) or by the group of the host below C(workers). V(null) for others.
      type: str
      sample: worker
    plan: {description: "C(metal_plan). Absent when it is not set, like the next two.", type: str, sample: c3.small.x86}
    metro: {description: C(metal_metro)., type: str, sample: da}
    operating_system: {description: C(metal_operating_system)., type: str, sample: custom_ipxe}
    tags:
      description: C(metal_tags), and C(openshift-pool) with the pool if that is not C(worker).
      type: list
      elements: str
      sample: [openshift-pool=infra]
    architecture:
      description: C(openshift_architecture), else by the end of the plan's name (C(x86), C(arm64)), else C(x86_64).
      type: str
      sample: x86_64
    install_device:
      description: C(openshift_install_device). Absent when it is not set, like the next two.
      type: str
      sample: smallest nvme
    root_device_hints: {description: C(openshift_root_device_hints)., type: dict, sample: {minSizeGigabytes: 200, rotational: false}}
    consoles: {description: C(openshift_consoles)., type: list, elements: str, sample: ["ttyS1,115200n8"]}
    boot_profile:
      description: Name of the boot profile. Machines with the same architecture, install disk and consoles share it.
      type: str
      sample: x86_64
    labels:
      description: C(openshift_node_labels), with the label of C(openshift_ingress_pool) on machines of this pool.
      type: dict
      sample: {node-role.kubernetes.io/infra: ""}
    annotations: {description: C(openshift_node_annotations)., type: dict, sample: {example.com/rack: r7}}
    kernel_arguments: {description: C(openshift_kernel_arguments)., type: list, elements: str, sample: [hugepages=16]}
    machine_config_pool:
      description: Name of the MachineConfigPool that the machine's pool has for itself. Absent without C(openshift_pool_machine_config).
      type: str
      sample: infra
    taints:
      description: C(openshift_node_taints).
      type: list
      elements: dict
      sample: [{key: node-role.kubernetes.io/infra, effect: NoSchedule}]
    vlan_address:
      description: C(openshift_vlan_address), an address or a number. Absent when it is not set.
      type: str
      sample: 192.168.40.11
    may_run_router:
      description: Whether routers may run on the machine, by C(openshift_ingress_pool) or by its taints.
      type: bool
      sample: true
    problems: {description: "The problems of the host's variables, with O(strict=false) only.", type: list, elements: str, sample: []}
    unknown_variables:
      description: Names of the host's variables with the prefixes of the collection that it does not have, with O(strict=false) only.
      type: list
      elements: str
      sample: [metal_plann]
    run_variables:
      description: Names of the host's variables that are read for the run as a whole, and never from a host, with O(strict=false) only.
      type: list
      elements: str
      sample: [openshift_worker_quorum]
    billing_cycle:
      description: C(metal_billing_cycle). In the same way every other option that M(equinix_metal.openshift.metal_device_set) has for one
        machine is a key, absent when it is not set.
      type: str
      sample: hourly
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from jinja2.exceptions import UndefinedError

from ..module_utils.base.errors import together
from ..module_utils.base.tags import POOL_TAG
from ..module_utils.cluster.devices import ROLES
from ..module_utils.machines.device import device_result, option_problems
from ..module_utils.machines.set import MACHINE_OPTIONS
from ..module_utils.metal.catalogue import ARCHITECTURES, architecture_of
from ..plugin_utils.machines.pools import DEFAULT_POOL
from ..plugin_utils.manifests.ingress_controller import INGRESS_LABEL
from ..plugin_utils.settings.variables import HOST_DEVICE_OPTIONS, REFUSED_DEVICE_OPTIONS, VARIABLES

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TEXTS = ("plan", "metro", "operating_system")
INSTALL_DEVICE = re.compile(r"/dev/\S+|(smallest|largest)( (nvme|ssd|hdd))?")
"""A path, or a rule: the smallest or largest disk, of one type if given."""
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_VALUE_TEXT = "a value has at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
KEY_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
KEY_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
KERNEL_ARGUMENT = re.compile(r"[!-~]+")
DOMAIN_LENGTH = 253
POOL_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
ROLE_POOLS = ("master", "worker", "arbiter")
"""MachineConfigPools that OpenShift itself has."""
ROLE_LABEL = "node-role.kubernetes.io/"
HINTS: dict[str, type] = {
    "deviceName": str,
    "hctl": str,
    "model": str,
    "vendor": str,
    "serialNumber": str,
    "minSizeGigabytes": int,
    "wwn": str,
    "wwnWithExtension": str,
    "wwnVendorExtension": str,
    "rotational": bool,
}
"""The keys of OpenShift's rootDeviceHints, with their types."""
HINT_FORMS = {
    "deviceName": (re.compile(r"/dev/\S+"), "a path below /dev"),
    "hctl": (re.compile(r"\d+:\d+:\d+:\d+"), "a SCSI address, as 0:0:0:0"),
}
"""Hints that match no disk unless they have this form."""
TYPE_NAMES = {str: "a string (in quotes)", int: "an integer above 0", bool: "true or false"}
FURTHER = tuple(option for option in HOST_DEVICE_OPTIONS if option not in (*TEXTS, "tags"))
SPEC_KEYS = ("type", "elements", "choices", "no_log", "options")
CHECKED = {
    f"metal_{name}": {key: value for key, value in MACHINE_OPTIONS[name].items() if key in SPEC_KEYS}
    for name in FURTHER
    # Preflight has checks of its own for these two.
    if name not in ("placement", "ip_addresses")
}
"""Argument spec of the variables whose values only the module would check, after the first orders."""
PREFIXES = ("openshift_", "metal_")
OF_THE_PLACE = ("metal_metro", "metal_placement")
"""A control plane host that sets neither has those of the bootstrap host."""
OF_THE_PLAN = (
    "metal_plan",
    "openshift_architecture",
    "openshift_install_device",
    "openshift_root_device_hints",
    "openshift_consoles",
)
"""Variables that belong together, since they fit a plan. A control plane host without a plan has those of the bootstrap host."""
DISK = frozenset({"openshift_install_device", "openshift_root_device_hints"})
"""Of these only one may be set, so both are of the same host."""
RUN_VARIABLES = frozenset(name for name, variable in VARIABLES.items() if not variable.is_of_host) - {
    "openshift_cluster_name",
    "openshift_base_domain",
}
"""Variables that are read for the run as a whole. A host's value of another one is never read."""
OF_DEVICES = frozenset((*device_result({}), "public_ipv4", "private_ipv4", "public_ipv6", "elastic_ipv4", "short_id", "role", "cluster"))
"""Host variables that the inventory plugin sets for existing devices."""

IDENTITY = "id"
"""The one of them that no other inventory source sets."""


def is_key(key: Any) -> bool:
    """Return whether this is a key of labels, annotations and taints: a name, optionally below a domain."""
    domain, slash, name = str(key).rpartition("/")
    return bool(KEY_NAME.fullmatch(name) and (KEY_DOMAIN.fullmatch(domain) and len(domain) <= DOMAIN_LENGTH if slash else True))


def _is_of_a_device(variable: str, names: Collection[str]) -> bool:
    """Return whether the inventory plugin has set this variable, on a host whose device exists. ``names``: all variables of the host."""
    fact = variable.removeprefix("metal_")
    if fact not in REFUSED_DEVICE_OPTIONS:
        return fact in OF_DEVICES or fact.startswith("existing_")
    # Only a host of the plugin alone has attributes of its device by these names.
    return fact in OF_DEVICES and f"metal_{IDENTITY}" in names and f"metal_existing_{fact}" not in names


def _is_valid_hint(hint: Any, kind: type) -> bool:
    # By isinstance, since Ansible has its own string and number types; a bool is also an int.
    if kind is bool or isinstance(hint, bool):
        return kind is bool and isinstance(hint, bool)
    if kind is int:
        return isinstance(hint, int) and hint >= 1
    return isinstance(hint, kind) and bool(hint)


class _Host:
    """The variables of one host, and the list of their problems."""

    def __init__(self, name: str, variables: Mapping[str, Any], problems: list[str]) -> None:
        self.name = name
        self._variables = variables
        self._inherited: dict[str, Any] = {}
        self._names = frozenset(str(name) for name in variables if str(name).startswith(PREFIXES))
        self._problems = problems

    def report(self, problem: str) -> None:
        self._problems.append(f"host {self.name}: {problem}")

    def unknown(self) -> list[str]:
        """Return the names of unknown variables with the collection's prefixes. No variable is evaluated."""
        return sorted(name for name in self._names - VARIABLES.keys() if not _is_of_a_device(name, self._names))

    def of_the_run(self) -> list[str]:
        """Return the names of variables that are read for the whole run, and from no host. No variable is evaluated."""
        return sorted(name for name in self._names & RUN_VARIABLES if not _is_of_a_device(name, self._names))

    def further(self) -> dict[str, Any]:
        """Return the options of its device that have no form of their own here, after a check of their types."""
        attributes = {name: value for name in FURTHER if (value := self.get(f"metal_{name}")) is not None}
        checked = {f"metal_{name}": value for name, value in attributes.items() if f"metal_{name}" in CHECKED and value != ""}
        if not checked:
            return attributes
        result = ArgumentSpecValidator({name: CHECKED[name] for name in checked}).validate(checked)
        for message in result.error_messages:
            self.report(message)
        if not result.error_messages:
            options = {name.removeprefix("metal_"): value for name, value in result.validated_parameters.items()}
            for problem in option_problems(options):
                self.report(f"metal_{problem}")
        return attributes

    def get(self, variable: str) -> Any:
        """Return the value of a variable, None if it is not set or cannot be evaluated."""
        try:
            value = self._variables.get(variable)
            # An empty text is a variable of the environment or of a survey that is not set.
            return self._inherited.get(variable, value) if value in (None, "") else value
        except (AnsibleError, UndefinedError) as problem:
            self.report(f"{variable} cannot be evaluated: {problem}")
            return None

    def inherit(self, hostvars: Mapping[str, Any]) -> None:
        """Set what a control plane host does not set to the values of the bootstrap host."""
        bootstrap = next(iter((self.get("groups") or {}).get("bootstrap") or ()), None)
        if bootstrap is None or bootstrap not in hostvars or "control_plane" not in (self.get("group_names") or []):
            return
        names = [] if any(self.get(name) for name in OF_THE_PLACE) else [*OF_THE_PLACE]
        names += [] if self.get("metal_plan") else [name for name in OF_THE_PLAN if self.get(name) in (None, "")]
        if {*names} & DISK != DISK:
            names = [name for name in names if name not in DISK]
        bootstrap_host = _Host(bootstrap, hostvars[bootstrap], [])
        self._inherited = {name: value for name in names if (value := bootstrap_host.get(name)) is not None}

    def text(self, variable: str) -> str | None:
        value = self.get(variable)
        if value is None or isinstance(value, str):
            return value
        self.report(f"{variable} has to be a string, it is {value!r}")
        return None

    def address(self, variable: str) -> str | None:
        """Return an IPv4 address as it is usually written, or the number of one in its network; None for a malformed one."""
        value = self.get(variable)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return str(value)
        if value is None or value == "":
            return None
        try:
            if isinstance(value, str):
                return str(int(value) if value.isdecimal() else IPv4Address(value))
        except ValueError:
            pass
        self.report(f"{variable} has to be an IPv4 address or its number in openshift_vlan_subnet, it is {value!r}")
        return None

    def texts(self, variable: str) -> list[str]:
        value = self.get(variable)
        if value is None:
            return []
        if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value):
            return list(value)
        self.report(f"{variable} has to be a list of strings, it is {value!r}")
        return []

    def strings(self, variable: str) -> dict[str, str]:
        """Return a mapping of strings by Kubernetes keys, without malformed keys."""
        value = self.get(variable)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(item, str) or item is None for item in value.values()):
            self.report(
                f'{variable} has to be a mapping of strings (write numbers and booleans in quotes, "" for no value), it is {value!r}'
            )
            return {}
        malformed = [key for key in value if not is_key(key)]
        if malformed:
            self.report(f"{variable}: {', '.join(map(repr, malformed))} is no Kubernetes key, a name like zone or example.com/zone")
        return {str(key): item or "" for key, item in value.items() if key not in malformed}

    def labels(self) -> dict[str, str]:
        labels = self.strings("openshift_node_labels")
        malformed = {key: value for key, value in labels.items() if not LABEL_VALUE.fullmatch(value)}
        if malformed:
            self.report(f"openshift_node_labels: {LABEL_VALUE_TEXT}, they are {malformed!r}")
        return {key: value for key, value in labels.items() if key not in malformed}

    def taints(self) -> list[dict[str, Any]]:
        value = self.get("openshift_node_taints")
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.report(f"openshift_node_taints has to be a list, it is {value!r}")
            return []
        valid = [dict(item) for item in value if isinstance(item, Mapping) and item.get("key") and item.get("effect") in EFFECTS]
        if len(valid) != len(value):
            self.report(f"openshift_node_taints: every taint needs a key and an effect of {', '.join(EFFECTS)}, they are {value!r}")
        malformed = [taint for taint in valid if not is_key(taint["key"]) or not LABEL_VALUE.fullmatch(str(taint.get("value") or ""))]
        if malformed:
            self.report(f"openshift_node_taints: a key is a name like zone or example.com/zone, {LABEL_VALUE_TEXT}, they are {malformed!r}")
        return [taint for taint in valid if taint not in malformed]

    def own_pool(self, role: str | None, pool: str | None) -> str | None:
        """Return the MachineConfigPool that the pool has for itself, None if its machines are in that of their role."""
        openshift_pool_machine_config = self.get("openshift_pool_machine_config")
        if openshift_pool_machine_config in (None, "", False):
            return None
        if openshift_pool_machine_config is not True:
            self.report(f"openshift_pool_machine_config has to be true or false, it is {openshift_pool_machine_config!r}")
        elif role != "worker":
            self.report("openshift_pool_machine_config: only pools of workers may have a MachineConfigPool of their own")
        elif pool in ROLE_POOLS or not POOL_NAME.fullmatch(pool or ""):
            self.report(
                f"openshift_pool_machine_config: the pool {pool} cannot have a MachineConfigPool of its own; its name has to be lower case"
                f" letters, digits and dashes, and none of {', '.join(ROLE_POOLS)}"
            )
        else:
            return pool
        return None

    def kernel_arguments(self) -> list[str]:
        arguments = self.texts("openshift_kernel_arguments")
        malformed = [argument for argument in arguments if not KERNEL_ARGUMENT.fullmatch(argument)]
        if malformed:
            self.report(f"openshift_kernel_arguments: each entry is one argument without spaces, they are {malformed!r}")
        return [argument for argument in arguments if argument not in malformed]

    def architecture(self, plan: str | None) -> str:
        openshift_architecture = self.text("openshift_architecture")
        if openshift_architecture is not None and openshift_architecture not in ARCHITECTURES.values():
            self.report(
                f"openshift_architecture has to be one of {', '.join(sorted(ARCHITECTURES.values()))}, it is {openshift_architecture!r}"
            )
        return openshift_architecture or architecture_of(plan or "") or "x86_64"

    def disk(self) -> dict[str, Any]:
        """Return the settings of the disk to install to, without malformed ones."""
        settings: dict[str, Any] = {"install_device": self.text("openshift_install_device"), "root_device_hints": self.hints()}
        device = settings["install_device"]
        if device is not None and not INSTALL_DEVICE.fullmatch(device):
            self.report(
                f"openshift_install_device has to be a path below /dev, or smallest or largest (with nvme, ssd or hdd), it is {device!r}"
            )
        elif (device or "").startswith("/") and settings["root_device_hints"]:
            self.report(f"openshift_install_device is {device}, so openshift_root_device_hints has no effect: set only one of them")
        return settings

    def hints(self) -> dict[str, Any] | None:
        value = self.get("openshift_root_device_hints")
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.report(f"openshift_root_device_hints has to be a mapping of {', '.join(HINTS)}, it is {value!r}")
            return {}
        for name, hint in value.items():
            if name not in HINTS:
                self.report(f"openshift_root_device_hints: unknown key {name!r}, not one of {', '.join(HINTS)}")
            elif not _is_valid_hint(hint, HINTS[name]):
                self.report(f"openshift_root_device_hints: {name} has to be {TYPE_NAMES[HINTS[name]]}, it is {hint!r}")
            elif name in HINT_FORMS and not HINT_FORMS[name][0].fullmatch(hint):
                self.report(f"openshift_root_device_hints: {name} has to be {HINT_FORMS[name][1]}, it is {hint!r}")
        return {name: hint for name, hint in value.items() if name in HINTS}

    def role(self) -> str | None:
        groups = self.get("group_names") or []
        roles = [role for group, role in ROLES.items() if group in groups]
        openshift_role = self.text("openshift_role")
        if openshift_role is not None and openshift_role not in ROLES.values():
            self.report(f"openshift_role has to be one of {', '.join(ROLES.values())}, it is {openshift_role!r}")
        if openshift_role:
            return openshift_role
        if len(roles) > 1:
            self.report(f"is in several of the groups {', '.join(ROLES)}: {', '.join(sorted(set(groups) & set(ROLES)))}")
        return roles[0] if roles else None

    def pools(self) -> frozenset[str]:
        """Return the groups that are pools: those below ``workers``, whose hosts are all workers. They are the same for every host."""
        groups: Mapping[str, Iterable[str]] = self.get("groups") or {}
        workers = set(groups.get("workers") or ())
        # The groups of the inventory plugin are not pools.
        below = [group for group in groups if group != "workers" and not group.startswith("metal") and workers]
        return frozenset(group for group in below if set(groups[group]) <= workers)

    def pool(self, among: frozenset[str]) -> str:
        openshift_pool = self.text("openshift_pool")
        if openshift_pool:
            return openshift_pool
        pools = [group for group in self.get("group_names") or [] if group in among]
        if len(pools) > 1 and DEFAULT_POOL not in pools:
            self.report(f"is in several pools ({', '.join(sorted(pools))}): set openshift_pool")
        return DEFAULT_POOL if not pools or DEFAULT_POOL in pools else pools[0]

    def hostname(self) -> str:
        """Return ``<inventory_hostname>.<cluster>.<domain>`` in lower case; a full name is not extended."""
        cluster, domain = self.text("openshift_cluster_name"), self.text("openshift_base_domain")
        for variable, value in (("openshift_cluster_name", cluster), ("openshift_base_domain", domain)):
            if not value:
                self.report(f"{variable} is not set")
        end = ".".join(part for part in (cluster, domain) if part).lower()
        name = self.name.lower()
        return name if not end or name.endswith("." + end) else f"{name}.{end}"


def _machine(host: _Host, pools: frozenset[str]) -> dict[str, Any]:
    role = host.role()
    pool = host.pool(pools) if role == "worker" else None
    tags = host.texts("metal_tags")
    if pool not in (None, DEFAULT_POOL):
        tags = list(dict.fromkeys([*tags, f"{POOL_TAG}{pool}"]))
    machine: dict[str, Any] = {
        "hostname": host.hostname(),
        "inventory_hostname": host.name,
        "role": role,
        "pool": pool,
        "tags": tags,
        "labels": host.labels(),
        "annotations": host.strings("openshift_node_annotations"),
        "taints": host.taints(),
        "kernel_arguments": host.kernel_arguments(),
    }
    own_pool = host.own_pool(role, pool)
    if own_pool:
        # The MachineConfigPool selects its nodes by this label.
        machine |= {"machine_config_pool": own_pool, "labels": machine["labels"] | {f"{ROLE_LABEL}{own_pool}": ""}}
    ingress_pool = host.text("openshift_ingress_pool")
    if ingress_pool and pool == ingress_pool:
        if not LABEL_VALUE.fullmatch(pool):
            host.report(f"openshift_ingress_pool: the name of the pool becomes a label; {LABEL_VALUE_TEXT}, it is {pool!r}")
        machine["labels"] = machine["labels"] | {INGRESS_LABEL: pool}
    is_tolerated = all(taint["effect"] == "PreferNoSchedule" for taint in machine["taints"])
    machine["may_run_router"] = pool == ingress_pool if ingress_pool else is_tolerated
    texts = {name: host.text(f"metal_{name}") for name in TEXTS}
    boot = {"consoles": None if host.get("openshift_consoles") is None else host.texts("openshift_consoles"), **host.disk()}
    boot = {name: value for name, value in boot.items() if value is not None}
    architecture = host.architecture(texts["plan"])
    machine |= {"architecture": architecture, "boot_profile": _boot_profile(architecture, boot), **boot}
    variables = texts | host.further() | {"vlan_address": host.address("openshift_vlan_address")}
    return machine | {name: value for name, value in variables.items() if value is not None}


def _boot_profile(architecture: str, boot: Mapping[str, Any]) -> str:
    """Return a short name, since it is part of a URL; the same in every run, since devices keep the URL."""
    if not boot:
        return architecture
    return f"{architecture}-{hashlib.sha256(json.dumps(boot, sort_keys=True, default=str).encode()).hexdigest()[:8]}"


def machines(names: Any, hostvars: Any, strict: bool = True) -> list[dict[str, Any]]:
    """Return the machines of these hosts; raises AnsibleFilterError with all problems, each with host and variable."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise AnsibleFilterError(f"machines: the input has to be a list of host names, for example groups['worker'], not {names!r}")
    if not isinstance(hostvars, Mapping):
        raise AnsibleFilterError(
            "machines: the argument hostvars is required, as in groups['worker'] | equinix_metal.openshift.machines(hostvars)"
        )
    problems: list[str] = []
    results = []
    pools: frozenset[str] | None = None
    for name in names:
        if name not in hostvars:
            problems.append(f"host {name}: is not in the inventory")
            continue
        own: list[str] = []
        host = _Host(str(name), hostvars[name], own)
        # Computed once, since it is the same for all hosts and takes long with hundreds.
        pools = host.pools() if pools is None else pools
        host.inherit(hostvars)
        machine = _machine(host, pools)
        if not strict:
            machine["problems"] = own
            if unknown := host.unknown():
                machine["unknown_variables"] = unknown
            if misplaced := host.of_the_run():
                machine["run_variables"] = misplaced
        results.append(machine)
        problems += own
    for hostname in sorted({machine["hostname"] for machine in results}):
        hosts = [machine["inventory_hostname"] for machine in results if machine["hostname"] == hostname]
        if len(hosts) > 1:
            problems.append(f"hosts {' and '.join(hosts)}: have the same host name {hostname}")
    if problems and strict:
        raise AnsibleFilterError(together("The inventory cannot be used", problems))
    return results


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"machines": machines}
