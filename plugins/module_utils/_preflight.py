# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is checked before the first order: one function a check, in the order of the report.

The role ``validate`` reads the world and hands it in; nothing here asks anybody. So a check is what it says: what was found, what was
expected, what to do. :func:`judge` makes the report of all.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import email.utils
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple, Union

from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_placement import (
    Place,
    Pool,
    alternatives,
    deal,
    fill,
    questions,
    room,
)

Verdict = Literal["passed", "not checkable", "failed"]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]  # noqa: UP007 - ansible-test's pylint cannot read the other form here
Machine = Mapping[str, Any]

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A label of RFC 1123, as Kubernetes wants it in names of nodes."""
NAME = re.compile(rf"{LABEL}(\.{LABEL})*")
RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
CHANNEL = re.compile(r"(stable|fast|candidate|latest|eus)(-[0-9]+\.[0-9]+)?")
SSH_KEY = re.compile(r"(?P<kind>ssh-[a-z0-9-]+|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9-]+@openssh\.com) (?P<key>[A-Za-z0-9+/]+=*)( .*)?")
SUFFIXES = {"arm64": "aarch64", "x86": "x86_64"}
"""What a plan's slug ends in: the API has no other word for the architecture."""
GIGABYTES = {"GB": 1, "GIB": 1, "G": 1, "TB": 1000, "TIB": 1000, "T": 1000, "MB": 0.001}


class Needs(NamedTuple):
    """Least size of a machine (OpenShift's documentation for user-provisioned infrastructure); memory and disk in GB."""

    cores: int
    memory: int
    disk: int


SIZES = {"bootstrap": Needs(4, 16, 100), "control_plane": Needs(4, 16, 100), "workers": Needs(2, 8, 100)}
REGISTRIES = ("cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io")
"""What the pull secret has to open when the release comes from OpenShift's own mirror."""
PUBLIC_MIRROR = "mirror.openshift.com"
CLOCK_TOLERANCE = 60
"""Seconds. The first certificates count from the controller's clock: by one that goes ahead they are not valid yet where machines boot."""
DISK_NEEDED = 3_000_000_000
"""Bytes: the installer's archive and the installer (about 600 MB and 1.5 GB), Ignition files, logs."""
HOURS_A_MONTH = 730


class UnreadableError(Exception):
    """What a check needs was not read; ``failed``: it was asked for, and the answer was an error that has to be mended."""

    def __init__(self, why: str, *, failed: bool = False) -> None:
        super().__init__(why)
        self.failed = failed


@dataclass(frozen=True)
class Finding:
    """What one check found. ``advice`` is what to do when it is not the check's usual advice."""

    verdict: Verdict
    found: str
    advice: str | None = None


def passed(found: str) -> Finding:
    return Finding("passed", found)


def failed(found: str, advice: str | None = None) -> Finding:
    return Finding("failed", found, advice)


def not_checkable(found: str, advice: str | None = None) -> Finding:
    return Finding("not checkable", found, advice)


def either(good: bool, found: str, advice: str | None = None) -> Finding:
    return passed(found) if good else failed(found, advice)


@dataclass(frozen=True)
class Line:
    """One line of the report."""

    check: str
    verdict: Verdict
    found: str
    expected: str
    advice: str


@dataclass(frozen=True)
class Check:
    """One check: ``expected`` is what it wants, ``advice`` what to do when it is not so."""

    name: str
    expected: str
    advice: str
    find: Callable[[Preflight], Finding]


CHECKS: list[Check] = []


def check(name: str, *, expected: str, advice: str) -> Callable[[Callable[[Preflight], Finding]], Callable[[Preflight], Finding]]:
    def add(find: Callable[[Preflight], Finding]) -> Callable[[Preflight], Finding]:
        CHECKS.append(Check(name, expected, advice, find))
        return find

    return add


class Preflight:
    """What is wanted and what was read, as the checks ask for it.

    ``wanted``: the settings of the role ``validate``, and ``machines`` by group. ``world``: what each task of the role registered.
    """

    def __init__(self, wanted: Mapping[str, Any], world: Mapping[str, Any]) -> None:
        self.wanted = wanted
        self.world = world
        self.groups: dict[str, list[Machine]] = {name: list(machines) for name, machines in wanted["machines"].items()}

    def text(self, name: str) -> str:
        value = self.wanted.get(name)
        return "" if value is None else str(value)

    def read(self, reading: str, payload: str) -> Any:
        """What a task registered. Raises :class:`UnreadableError` when it did not run, or failed."""
        answer = self.world.get(reading) or {}
        if answer.get(payload) is not None:
            return answer[payload]
        if answer.get("skipped", not answer):
            raise UnreadableError(self.why_not_asked(reading))
        # A service that is made for one's own rack may not have this at all.
        status = (answer.get("failure") or {}).get("status")
        raise UnreadableError(str(answer.get("msg") or "no answer"), failed=status not in (404, 501))

    def why_not_asked(self, reading: str) -> str:
        if not self.metal_given:
            return "the Metal API cannot be asked without its settings"
        if reading != "project" and "project" not in (self.world.get("project") or {}):
            return "the Metal API does not answer"
        if not self.missing:
            return "nothing is to be ordered: all machines are there"
        return "nobody was asked, since something before it failed"

    # What is wanted.

    @property
    def machines(self) -> list[Machine]:
        return [machine for machines in self.groups.values() for machine in machines]

    @property
    def cluster(self) -> str:
        return f"{self.text('cluster_name')}.{self.text('base_domain')}"

    @property
    def metal_given(self) -> bool:
        return all(self.text(name) for name in ("metal_api_url", "metal_api_token", "metal_project_id"))

    @property
    def public_mirror(self) -> bool:
        return PUBLIC_MIRROR in self.text("mirror_url")

    @cached_property
    def networks(self) -> dict[str, list[str]]:
        """The networks of install-config by kind, as text."""
        given = {kind: self.wanted.get(f"{kind}_networks") or [] for kind in ("cluster", "service", "machine")}
        return {
            kind: [str(entry.get("cidr", entry)) if isinstance(entry, Mapping) else str(entry) for entry in entries]
            for kind, entries in given.items()
        }

    # What there is.

    @property
    def devices(self) -> list[Mapping[str, Any]]:
        return list((self.world.get("devices") or {}).get("devices") or [])

    @property
    def addresses(self) -> set[str]:
        return {str(entry["address"]) for device in self.devices for entry in device.get("ip_addresses") or []}

    @property
    def standing(self) -> bool:
        """Whether the cluster stands on its own, so that no bootstrap machine is made any more."""
        return bool(self.wanted.get("bootstrap_over")) and bool(self.devices)

    @cached_property
    def missing_by_group(self) -> dict[str, list[Machine]]:
        existing = {device.get("hostname") for device in self.devices}
        return {
            group: [] if group == "bootstrap" and self.standing else [each for each in machines if each["hostname"] not in existing]
            for group, machines in self.groups.items()
        }

    @property
    def missing(self) -> list[Machine]:
        return [machine for machines in self.missing_by_group.values() for machine in machines]

    @cached_property
    def plans(self) -> dict[str, Mapping[str, Any]]:
        return {plan["slug"]: plan for plan in self.read("plans", "plans")}

    def places(self, machine: Machine) -> tuple[Place, ...]:
        """Where a machine may be; none as long as its plan or metro is not given or its placement is not well formed."""
        placement = machine.get("placement")
        if not well_formed(placement):
            return ()
        if machine.get("role") == "load-balancer":
            placement = None
        found = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), placement)
        return tuple(place for place in found if place.metro and place.plan)

    def by_plan(self) -> dict[str, list[str]]:
        """Groups of machines that are missing, by the plans they may be of."""
        found: dict[str, list[str]] = {}
        for group, machines in self.missing_by_group.items():
            for place in dict.fromkeys(place for machine in machines for place in self.places(machine)):
                groups = found.setdefault(place.plan, [])
                if group not in groups:
                    groups.append(group)
        return found

    def metros(self) -> list[str]:
        places = [place for machine in self.missing for place in self.places(machine)]
        return sorted({place.metro for place in places if place.metro != "any"})

    def pools(self) -> list[Pool]:
        """The missing machines as they will be ordered: each pool together, see ``_metal_placement``."""
        pools = []
        for groups in (("bootstrap", "control_plane"), ("workers",), ("load_balancer",)):
            spread = bool(self.wanted.get("spread")) and groups != ("load_balancer",)
            by_places: dict[tuple[Place, ...], list[str]] = {}
            for machine in [machine for group in groups for machine in self.missing_by_group.get(group, [])]:
                if not machine.get("hardware_reservation_id"):
                    by_places.setdefault(self.places(machine), []).append(machine["hostname"])
            for places, names in by_places.items():
                like_it = {
                    machine["hostname"] for group in groups for machine in self.groups.get(group, []) if self.places(machine) == places
                }
                there = Counter(str(device.get("metro")) for device in self.devices if device.get("hostname") in like_it)
                if places:
                    pools.append(Pool(places, tuple(names), spread, there))
        return pools

    def servers(self) -> list[dict[str, Any]]:
        """What the service is to be asked for; nothing as long as a plan or a metro is not known there."""
        try:
            known = {metro["code"] for metro in self.read("metros", "metros")}
            if set(self.metros()) - known or set(self.by_plan()) - set(self.plans):
                return []
        except UnreadableError:
            return []
        return questions(self.pools(), every=bool(self.quorum))

    @property
    def quorum(self) -> int:
        value = self.text("worker_quorum")
        return int(value) if value.isdecimal() else 0

    def chosen(self) -> tuple[dict[str, Place], list[str]]:
        """Where each missing machine will be, and what cannot be had."""
        answers = self.read("capacity", "servers")
        rooms = room([answer for answer in answers if answer["available"] is not None])
        pools = self.pools()
        places, problems = deal(pools, rooms)
        if problems and self.quorum:
            places = fill(pools, rooms)
            workers = {machine["hostname"] for machine in self.groups["workers"]}
            short = {name for pool in pools for name in pool.names} - set(places)
            if short <= workers and len(workers) - len(short) >= self.quorum:
                problems = []
        return places, problems


def judge(wanted: Mapping[str, Any], world: Mapping[str, Any]) -> dict[str, Any]:
    """The report: ``checks`` with failures last, counts, prices in US dollars, ``servers`` to ask capacity for, and ``text`` to show."""
    preflight = Preflight(wanted, world)
    lines = sorted((_line(each, preflight) for each in CHECKS), key=lambda line: ("passed", "not checkable", "failed").index(line.verdict))
    counts = Counter(line.verdict for line in lines)
    cost = _cost(preflight)
    summary = _summary(preflight, counts, cost)
    return {
        "cluster": preflight.cluster,
        "checks": [asdict(line) for line in lines],
        "passed": counts["passed"],
        "not_checkable": counts["not checkable"],
        "failed": counts["failed"],
        "machines_to_order": len(preflight.missing),
        **cost,
        "servers": preflight.servers(),
        "summary": summary,
        "text": [*_columns(lines), summary],
        "problems": _problems(lines),
    }


def _line(each: Check, preflight: Preflight) -> Line:
    try:
        finding = each.find(preflight)
    except UnreadableError as problem:
        finding = failed(str(problem)) if problem.failed else not_checkable(str(problem))
    found = " ".join(finding.found.split())
    advice = "" if finding.verdict == "passed" else finding.advice or (each.advice if finding.verdict == "failed" else "")
    return Line(each.name, finding.verdict, found, each.expected, advice)


def _columns(lines: Sequence[Line]) -> list[str]:
    width = max(len(line.check) for line in lines)
    words = {"passed": "passed", "not checkable": "not checkable", "failed": "FAILED"}
    return [f"{words[line.verdict]:13}  {line.check:{width}}  {line.found}" for line in lines]


def _problems(lines: Sequence[Line]) -> list[str]:
    told = []
    for line in lines:
        if line.verdict == "failed":
            told += [f"- {line.check}: {line.found}", f"    expected: {line.expected}", f"    to do: {line.advice}"]
    return told


def _cost(preflight: Preflight) -> dict[str, Any]:
    """Prices of what is to be ordered; None where the service does not tell."""
    try:
        places, _problems = preflight.chosen()
        prices = {name: preflight.plans[place.plan].get("price_per_hour") for name, place in places.items()}
    except (UnreadableError, KeyError):
        return {
            "price_per_hour": 0.0 if not preflight.missing and preflight.devices else None,
            "price_of_the_run": None,
            "price_per_month": None,
        }
    known = {name: float(price) for name, price in prices.items() if isinstance(price, (int, float))}
    if len(known) != len(prices):
        return {"price_per_hour": None, "price_of_the_run": None, "price_per_month": None}
    passing = {machine["hostname"] for machine in preflight.groups["bootstrap"]}
    hour = sum(known.values())
    staying = sum(price for name, price in known.items() if name not in passing)
    return {
        "price_per_hour": round(hour, 4),
        "price_of_the_run": round(hour * float(preflight.wanted.get("run_hours") or 1), 2),
        "price_per_month": round(staying * HOURS_A_MONTH, 2),
    }


def _summary(preflight: Preflight, counts: Mapping[Verdict, int], cost: Mapping[str, Any]) -> str:
    told = f"{counts['passed']} passed, {counts['not checkable']} not checkable, {counts['failed']} failed"
    ordered = len(preflight.missing)
    if not ordered:
        return f"{told}; no machine is to be ordered"
    told += f"; {ordered} {'machine is' if ordered == 1 else 'machines are'} to be ordered"
    if cost["price_of_the_run"] is None:
        return told
    hours = float(preflight.wanted.get("run_hours") or 1)
    return (
        f"{told}, for {cost['price_per_hour']:.2f} US dollars an hour, so the run costs about {cost['price_of_the_run']:.2f} ({hours:g} h)"
        f" and a month of those that stay {cost['price_per_month']:.0f}"
    )


def listed(items: Iterable[Any], limit: int = 12) -> str:
    texts = [str(item) for item in items]
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def well_formed(placement: Any) -> bool:
    """Whether ``metal_placement`` is a list of mappings with metro, plan or both, or not given."""
    if placement is None:
        return True
    if isinstance(placement, (str, Mapping)) or not isinstance(placement, Sequence):
        return False
    return all(
        isinstance(entry, Mapping)
        and bool(entry)
        and set(entry) <= {"metro", "plan"}
        and all(isinstance(value, str) and value for value in entry.values())
        for entry in placement
    )


# --- the inventory --------------------------------------------------------------------------------------------------------------


@check(
    "variables",
    expected="every openshift_* and metal_* variable known, and of the type its role wants",
    advice="correct them in the inventory; ansible-doc -t role equinix_metal.openshift.<role> has all of them",
)
def _variables(preflight: Preflight) -> Finding:
    known: Mapping[str, Any] = preflight.wanted.get("known_variables") or {}
    given: Sequence[str] = preflight.wanted.get("given_variables") or []
    problems = list(preflight.wanted.get("variable_errors") or [])
    unknown = [name for name in given if name not in known]
    meant = {name: difflib.get_close_matches(name, known, n=1, cutoff=0.9) for name in unknown}
    problems += [f"{name} is not known: {close[0]} is" for name, close in meant.items() if close]
    if problems:
        return failed("; ".join(problems))
    told = f"{len(given) - len(unknown)} given"
    return passed(told + (f"; nobody here reads {listed(unknown)}" if unknown else ""))


@check(
    "host variables",
    expected="what each host says of its machine can be read",
    advice="correct these variables on the host or its group",
)
def _host_variables(preflight: Preflight) -> Finding:
    problems = [problem for machine in preflight.machines for problem in machine.get("problems") or []]
    return either(not problems, "; ".join(problems) or f"of {len(preflight.machines)} hosts")


@check(
    "cluster name",
    expected="1 to 54 lower case letters, digits and dashes, no dash at the ends: '*.apps' takes nine of a DNS label's 63 characters",
    advice="set openshift_cluster_name to such a name",
)
def _cluster_name(preflight: Preflight) -> Finding:
    name = preflight.text("cluster_name")
    return either(bool(re.fullmatch(LABEL, name)) and len(name) <= 54, f"'{name}'")


@check(
    "base domain",
    expected="a DNS domain of lower case labels with two of them at least, 246 characters at most with the cluster's name before it",
    advice="set openshift_base_domain to a domain like example.com",
)
def _base_domain(preflight: Preflight) -> Finding:
    domain = preflight.text("base_domain")
    labels = domain.split(".")
    good = NAME.fullmatch(domain) and len(labels) > 1 and all(len(label) <= 63 for label in labels) and len(preflight.cluster) <= 246
    return either(bool(good), f"'{domain}'")


@check(
    "version",
    expected="a release like 4.20.33, or a channel like stable-4.20",
    advice="set openshift_version to one release (a channel shows another one tomorrow)",
)
def _version(preflight: Preflight) -> Finding:
    version = preflight.text("version")
    if not version and preflight.text("installer"):
        return passed("that of openshift_installer")
    return either(bool(RELEASE.fullmatch(version) or CHANNEL.fullmatch(version)), f"'{version}'")


@check("bootstrap machine", expected="one host in the group bootstrap", advice="have exactly one host in the group bootstrap")
def _bootstrap(preflight: Preflight) -> Finding:
    return either(len(preflight.groups["bootstrap"]) == 1, f"{len(preflight.groups['bootstrap'])} hosts")


@check(
    "control plane",
    expected="3 hosts in the group control_plane, or 1 for a cluster that may fail with its machine",
    advice="the group control_plane needs 3 hosts, or 1",
)
def _control_plane(preflight: Preflight) -> Finding:
    return either(len(preflight.groups["control_plane"]) in (1, 3), f"{len(preflight.groups['control_plane'])} hosts")


@check(
    "workers",
    expected="none, or two or more in the groups below workers; one only beside a control plane of one",
    advice="with one worker the second router has no place: have two or more, or none, and the control plane does their work",
)
def _workers(preflight: Preflight) -> Finding:
    workers = len(preflight.groups["workers"])
    return either(workers != 1 or len(preflight.groups["control_plane"]) == 1, f"{workers} hosts")


@check(
    "worker quorum",
    expected="openshift_worker_quorum not above the number of workers",
    advice="set openshift_worker_quorum to fewer, or to 0 for all of them",
)
def _quorum(preflight: Preflight) -> Finding:
    workers = len(preflight.groups["workers"])
    return either(preflight.quorum <= workers, f"{preflight.quorum} of {workers}" if preflight.quorum else "all are needed")


@check(
    "every host once",
    expected="every host in one of the groups bootstrap, control_plane, workers and load_balancer, each name once",
    advice="two hosts have the same name, or one is in more than one of the groups bootstrap, control_plane, workers and load_balancer",
)
def _once(preflight: Preflight) -> Finding:
    counts = Counter(machine["hostname"].lower() for machine in preflight.machines)
    twice = [name for name, count in counts.items() if count > 1]
    return either(not twice, listed(twice) or f"{len(counts)} names")


@check(
    "host names",
    expected="lower case letters, digits, dashes and dots, 63 at most with the cluster's name behind it: it is the node's name",
    advice="rename these hosts, or shorten the cluster's name or domain",
)
def _host_names(preflight: Preflight) -> Finding:
    names = [machine["hostname"] for machine in preflight.machines]
    # kubernetes.io/hostname is a label of the node, and the value of a label has 63 characters at most.
    odd = [name for name in names if not NAME.fullmatch(name) or len(name) > 63]
    return either(not odd, listed(dict.fromkeys(odd)) or "as Kubernetes wants them")


@check(
    "plan and metro of every host",
    expected="metal_plan and metal_metro given",
    advice="set metal_plan and metal_metro for them, on the host, on its group, or for all",
)
def _planned(preflight: Preflight) -> Finding:
    without = [
        machine["hostname"] for machine in preflight.machines if well_formed(machine.get("placement")) and not _placed(preflight, machine)
    ]
    return either(not without, listed(dict.fromkeys(without)) or "given")


def _placed(preflight: Preflight, machine: Machine) -> bool:
    places = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), machine.get("placement"))
    return len(preflight.places(machine)) == len(places)


@check(
    "placement",
    expected="metal_placement a list of alternatives, each with metro, plan or both",
    advice="write it as [{metro: da}, {metro: ny, plan: c3.medium.x86}], in order of preference",
)
def _placement(preflight: Preflight) -> Finding:
    odd = [machine["hostname"] for machine in preflight.machines if not well_formed(machine.get("placement"))]
    if odd:
        return failed(f"not readable for {listed(odd)}")
    counted = [len(machine["placement"]) for machine in preflight.machines if machine.get("placement")]
    return passed(f"{len(counted)} hosts with up to {max(counted)} alternatives" if counted else "no alternatives")


@check(
    "architecture",
    expected="openshift_architecture x86_64 or aarch64",
    advice="set openshift_architecture as the mirror spells it: x86_64 or aarch64",
)
def _architecture(preflight: Preflight) -> Finding:
    return either(preflight.text("architecture") in SUFFIXES.values(), f"'{preflight.text('architecture')}'")


@check(
    "platform",
    expected="openshift_platform none or external",
    advice="set openshift_platform to none, or to external with openshift_platform_name",
)
def _platform(preflight: Preflight) -> Finding:
    return either(preflight.text("platform") in ("none", "external"), f"'{preflight.text('platform')}'")


@check(
    "networks of the cluster",
    expected="cluster, service and machine networks written as networks, none inside another, with a share of the first for every node",
    advice="correct openshift_cluster_networks, openshift_service_networks and openshift_machine_networks",
)
def _networks(preflight: Preflight) -> Finding:
    problems: list[str] = []
    networks = list(_parsed(preflight, problems))
    for (one, first), (other, second) in combinations(networks, 2):
        if first.version == second.version and first.overlaps(second):
            problems.append(f"{one} network {first} and {other} network {second} overlap")
    problems += [f"no {kind} network is given" for kind, given in preflight.networks.items() if not given]
    problems += _shares(preflight)
    return either(not problems, "; ".join(problems) or ", ".join(f"{kind} {network}" for kind, network in networks))


def _parsed(preflight: Preflight, problems: list[str]) -> Iterator[tuple[str, Network]]:
    for kind, texts in preflight.networks.items():
        for text in texts:
            try:
                yield kind, ipaddress.ip_network(text)
            except ValueError as problem:
                problems.append(f"{kind} network: {problem}")


def _shares(preflight: Preflight) -> list[str]:
    """What is wrong with the hostPrefix of cluster networks."""
    problems = []
    nodes = len(preflight.groups["control_plane"]) + len(preflight.groups["workers"])
    for entry in preflight.wanted.get("cluster_networks") or []:
        prefix = entry.get("hostPrefix") if isinstance(entry, Mapping) else None
        try:
            network = ipaddress.ip_network(str(entry["cidr"] if isinstance(entry, Mapping) else entry))
        except (KeyError, ValueError):
            continue  # told already
        prefix = prefix if prefix is not None else 23 if network.version == 4 else 64
        if not str(prefix).isdecimal() or not network.prefixlen <= int(prefix) < network.max_prefixlen:
            problems.append(
                f"cluster network {network}: hostPrefix {prefix} is not between {network.prefixlen} and {network.max_prefixlen - 1}"
            )
        elif 2 ** (int(prefix) - network.prefixlen) < nodes:
            problems.append(
                f"cluster network {network}: hostPrefix {prefix} is enough for {2 ** (int(prefix) - network.prefixlen)} nodes, not {nodes}"
            )
    return problems


@check(
    "pull secret",
    expected='a JSON object with "auths", each with an "auth" of user and password in base64',
    advice="set openshift_pull_secret to the JSON text that https://console.redhat.com/openshift/install/pull-secret gives",
)
def _pull_secret(preflight: Preflight) -> Finding:
    auths = _auths(preflight)
    odd = [registry for registry, entry in auths.items() if not _credentials(entry)]
    return either(bool(auths) and not odd, f"no user and password for {listed(odd)}" if odd else f"for {len(auths)} registries")


def _auths(preflight: Preflight) -> Mapping[str, Any]:
    """Raises :class:`UnreadableError`, without a word of what it says: it is a secret."""
    secret = preflight.wanted.get("pull_secret")
    if not secret:
        raise UnreadableError("missing", failed=True)
    try:
        read = json.loads(secret) if isinstance(secret, str) else secret
    except ValueError:
        raise UnreadableError("given, but no JSON", failed=True) from None
    auths = read.get("auths") if isinstance(read, Mapping) else None
    if not isinstance(auths, Mapping):
        raise UnreadableError('given, but without "auths"', failed=True)
    return auths


def _credentials(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("auth"), str):
        return False
    try:
        return b":" in base64.b64decode(entry["auth"], validate=True)
    except binascii.Error:
        return False


@check(
    "registries of the pull secret",
    expected=f"with OpenShift's own mirror: {', '.join(REGISTRIES)}",
    advice="take the whole pull secret of https://console.redhat.com/openshift/install/pull-secret",
)
def _registries(preflight: Preflight) -> Finding:
    try:
        auths = _auths(preflight)
    except UnreadableError:
        return not_checkable("the pull secret cannot be read")
    if not preflight.public_mirror:
        return not_checkable(f"which ones a mirror of one's own needs is not known; there are {listed(sorted(auths))}")
    lacking = [registry for registry in REGISTRIES if registry not in auths]
    return either(not lacking, f"missing: {listed(lacking)}" if lacking else "all there")


@check(
    "SSH key",
    expected='the public half, a line like "ssh-ed25519 AAAA..."',
    advice="set openshift_ssh_public_key to what is in the file that ends in .pub",
)
def _ssh_key(preflight: Preflight) -> Finding:
    keys = [line.strip() for line in preflight.text("ssh_public_key").splitlines() if line.strip()]
    if not keys:
        return passed("none: nobody will be able to log in to the nodes")
    if "PRIVATE KEY" in preflight.text("ssh_public_key"):
        return failed("the private half of a key")
    odd = [number for number, key in enumerate(keys, 1) if not _is_ssh_key(key)]
    return either(not odd, f"line {listed(odd)} is none" if odd else f"{len(keys)} given")


def _is_ssh_key(text: str) -> bool:
    match = SSH_KEY.fullmatch(text)
    if match is None:
        return False
    try:
        blob = base64.b64decode(match["key"], validate=True)
    except binascii.Error:
        return False
    # RFC 4253, 6.6: the key begins with the length and the text of its kind.
    return blob[4 : 4 + int.from_bytes(blob[:4], "big")] == match["kind"].encode()


@check(
    "load balancer",
    expected="dns with no host in the group load_balancer, or haproxy with one and openshift_dns_provider rfc2136",
    advice="the balancer learns from DNS which machines are behind it; set openshift_load_balancer to dns or haproxy, and its group to fit",
)
def _load_balancer(preflight: Preflight) -> Finding:
    kind, hosts, provider = preflight.text("load_balancer"), len(preflight.groups["load_balancer"]), preflight.text("dns_provider")
    good = (kind == "dns" and hosts == 0) or (kind == "haproxy" and hosts == 1 and provider == "rfc2136")
    return either(good, f"{kind}, {hosts} hosts in the group load_balancer, names by {provider}")


@check(
    "DNS settings",
    expected="openshift_dns_provider none, or rfc2136 with server, key and a zone that the base domain is in",
    advice="set openshift_dns_server, openshift_dns_key_name, openshift_dns_key_secret; openshift_dns_zone if it is another",
)
def _dns_settings(preflight: Preflight) -> Finding:
    provider, zone, domain = (preflight.text(name) for name in ("dns_provider", "dns_zone", "base_domain"))
    if provider == "none":
        return passed("none: the playbook prints the records to make")
    secret = preflight.text("dns_key_secret")
    good = provider == "rfc2136" and all(preflight.text(f"dns_{name}") for name in ("server", "key_name", "key_secret"))
    below = domain == zone or domain.endswith(f".{zone}")
    found = (
        f"provider {provider}, server '{preflight.text('dns_server')}', zone '{zone}', key '{preflight.text('dns_key_name')}' "
        f"{'with' if secret else 'without'} a secret"
    )
    return either(good and below, found)


@check(
    "Metal API settings",
    expected="address, token and project",
    advice="set metal_api_url, metal_api_token and metal_project_id, or METAL_API_URL, METAL_AUTH_TOKEN, METAL_PROJECT_ID as environment",
)
def _metal_settings(preflight: Preflight) -> Finding:
    url, project = preflight.text("metal_api_url"), preflight.text("metal_project_id")
    token = "given" if preflight.text("metal_api_token") else "missing"
    return either(preflight.metal_given, f"address {url or 'missing'}, token {token}, project {project or 'missing'}")


# --- the Metal API --------------------------------------------------------------------------------------------------------------


@check(
    "Metal API, token and project",
    expected="the project can be read",
    advice="see that metal_api_url answers, that the token is right, and that the project's id is right and the token may see it",
)
def _project(preflight: Preflight) -> Finding:
    if not preflight.metal_given:
        return not_checkable("not asked: settings are missing")
    asked = preflight.text("metal_project_id")
    answer = preflight.world.get("project") or {}
    project = answer.get("project")
    if not isinstance(project, Mapping):
        return failed(f"project {asked}: {answer.get('msg') or 'no answer'}")
    return passed(f"project {project.get('name') or asked}")


@check(
    "rights of the token",
    expected="a token that may write",
    advice="take a key that was not made read-only: this one can look, and order nothing",
)
def _rights(preflight: Preflight) -> Finding:
    answer = preflight.world.get("capacity") or {}
    if "servers" in answer:
        return passed("a question that is asked by POST was answered")
    if (answer.get("failure") or {}).get("status") == 403:
        return failed(f"the token only reads: {answer.get('msg')}")
    return not_checkable("nothing that needs them was asked")


@check(
    "plans",
    expected="plans of the service, for each machine that is missing and each of its alternatives",
    advice="set metal_plan to a plan of the service",
)
def _plans(preflight: Preflight) -> Finding:
    unknown = [plan for plan in preflight.by_plan() if plan not in preflight.plans]
    return either(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(preflight.by_plan()),
        f"metal_plan has to be one of {listed(sorted(preflight.plans), 30)}",
    )


@check(
    "plans are big enough",
    expected="cores, memory and disk: " + ", ".join(f"{group} {n.cores}, {n.memory} GB, {n.disk} GB" for group, n in SIZES.items()),
    advice="take a bigger plan for these machines",
)
def _big_enough(preflight: Preflight) -> Finding:
    small, untold = [], []
    for plan, groups in preflight.by_plan().items():
        for group in groups:
            if plan not in preflight.plans or group not in SIZES:
                continue
            for what, is_, needed in zip(Needs._fields, size(preflight.plans[plan]), SIZES[group], strict=True):
                if is_ is None:
                    untold.append(f"{what} of {plan}")
                elif is_ < needed:
                    small.append(f"{plan} for {group}: {what} {is_:g} of {needed}")
    if small:
        return failed("; ".join(small))
    if untold:
        return not_checkable(f"the service does not tell {listed(dict.fromkeys(untold))}")
    return passed(f"{len(preflight.by_plan())} plans")


def size(plan: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Cores, memory and the biggest disk (GB) of a plan, None for what its specs do not tell."""
    specs = plan.get("specs")
    specs = specs if isinstance(specs, Mapping) else {}
    cores = 0
    for cpu in _mappings(specs.get("cpus")):
        # The number of cores stands in the processor's name only ("EPYC 7402P 24-Core Processor").
        told = re.search(r"(\d+)[- ]?core\b", str(cpu.get("type")), re.IGNORECASE)
        cores += int(told[1]) * int(cpu.get("count") or 1) if told else 0
    memory = specs.get("memory")
    disks = [found for drive in _mappings(specs.get("drives")) if (found := gigabytes(drive.get("size"))) is not None]
    return cores or None, gigabytes(memory.get("total")) if isinstance(memory, Mapping) else None, max(disks, default=None)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def gigabytes(text: Any) -> float | None:
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Z]+)\s*", str(text).upper())
    return float(match[1]) * GIGABYTES[match[2]] if match and match[2] in GIGABYTES else None


@check(
    "architecture of the plans",
    expected="plans of openshift_architecture: the images are made for that one",
    advice="take other plans, or the other openshift_architecture",
)
def _plan_architecture(preflight: Preflight) -> Finding:
    wanted = preflight.text("architecture")
    known = {plan: SUFFIXES.get(plan.rpartition(".")[2]) for plan, groups in preflight.by_plan().items() if groups != ["load_balancer"]}
    if not known:
        raise UnreadableError(preflight.why_not_asked("plans"))
    wrong = [f"{plan} is {architecture}" for plan, architecture in known.items() if architecture not in (None, wanted)]
    if wrong:
        return failed(f"{listed(wrong)}, wanted is {wanted}")
    untold = [plan for plan, architecture in known.items() if architecture is None]
    return not_checkable(f"the names of {listed(untold)} do not tell") if untold else passed(wanted)


@check(
    "metros",
    expected="metros of the service, for each machine that is missing and each of its alternatives",
    advice="set metal_metro to a metro of the service",
)
def _metros(preflight: Preflight) -> Finding:
    known = [metro["code"] for metro in preflight.read("metros", "metros")]
    unknown = [code for code in preflight.metros() if code not in known]
    return either(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(preflight.metros()),
        f"metal_metro has to be one of {listed(sorted(known), 40)}",
    )


@check(
    "operating systems",
    expected="the service offers custom_ipxe, with which the machines boot what we give them, on these plans",
    advice="take plans on which the service offers custom_ipxe",
)
def _operating_systems(preflight: Preflight) -> Finding:
    systems = {system["slug"]: system for system in preflight.read("operating_systems", "operating_systems")}
    problems = []
    for machine in preflight.missing:
        slug = (
            preflight.text("load_balancer_operating_system") if machine.get("role") == "load-balancer" else machine.get("operating_system")
        )
        slug = slug or "custom_ipxe"
        if slug not in systems:
            problems.append(f"there is no {slug}")
        elif on := systems[slug].get("provisionable_on"):
            problems += [
                f"{slug} is not offered on {place.plan}"
                for place in preflight.places(machine)
                if place.plan in preflight.plans and place.plan not in on
            ]
    return either(not problems, listed(dict.fromkeys(problems)) or "offered on all plans")


@check(
    "capacity",
    expected="room for all machines that are missing at once, each where metal_placement allows it",
    advice="take another plan or metro for these, name more in metal_placement, or want fewer of them; nothing was ordered",
)
def _capacity(preflight: Preflight) -> Finding:
    answer = preflight.world.get("capacity") or {}
    if (answer.get("failure") or {}).get("status") == 403:
        return not_checkable("the token may not ask")
    places, problems = preflight.chosen()
    if problems:
        return failed("; ".join(problems))
    if not places:
        return passed("nothing that needs stock is missing")
    told = Counter(str(place) for place in places.values())
    lacking = len([machine for machine in preflight.missing if not machine.get("hardware_reservation_id")]) - len(places)
    found = listed(f"{count} x {place}" for place, count in told.items()) + (
        f"; {lacking} workers beyond the quorum wait" if lacking else ""
    )
    unsure = [answer for answer in preflight.read("capacity", "servers") if answer["available"] is None]
    return not_checkable(f"the service does not say whether there is room for {found}") if unsure else passed(found)


@check(
    "device quota of the project",
    expected="max_devices of the project not below what exists and is missing",
    advice="have the quota raised, or order fewer machines",
)
def _quota(preflight: Preflight) -> Finding:
    project = (preflight.world.get("project") or {}).get("project")
    if not isinstance(project, Mapping):
        return not_checkable("the project cannot be read")
    limits = project.get("max_devices")
    if not isinstance(limits, Mapping) or not limits:
        return not_checkable("the service tells no quota of this project")
    missing = Counter(place.plan for machine in preflight.missing for place in preflight.places(machine)[:1])
    there = Counter(str(device.get("plan")) for device in preflight.devices)
    over = [
        f"{plan}: {limits[plan]} allowed, {there[plan] + count} wanted"
        for plan, count in missing.items()
        if isinstance(limits.get(plan), int) and there[plan] + count > limits[plan]
    ]
    return either(not over, "; ".join(over) or "enough, as far as it is told")


@check(
    "hardware reservations",
    expected="the reserved machines that hosts name are there, free, sound, of their plan and metro",
    advice="correct metal_hardware_reservation_id, or wait until the hardware is free",
)
def _reservations(preflight: Preflight) -> Finding:
    wanted = {machine["hostname"]: machine for machine in preflight.missing if machine.get("hardware_reservation_id")}
    if not wanted:
        return passed("none are asked for")
    known = {each["id"]: each for each in preflight.read("reservations", "hardware_reservations")}
    free = [each for each in known.values() if each.get("provisionable") and not each.get("device_id") and not each.get("need_of_service")]
    problems, taken, any_of_them = [], Counter[str](), Counter[Place]()
    for hostname, machine in wanted.items():
        identity = str(machine["hardware_reservation_id"])
        place = preflight.places(machine)[:1]
        if identity == "next-available":
            any_of_them.update(place)
            continue
        taken[identity] += 1
        problems += [f"{hostname}: {problem}" for problem in _reservation_problems(known.get(identity), identity, place)]
    problems += [f"{identity} is asked for by {count} hosts" for identity, count in taken.items() if count > 1]
    for wanted_place, count in any_of_them.items():
        fitting = [
            each
            for each in free
            if each["plan"] == wanted_place.plan and each["metro"] in (wanted_place.metro, None) and each["id"] not in taken
        ]
        if len(fitting) < count:
            problems.append(f"{count} x {wanted_place} are wanted of those that are free, {len(fitting)} there are")
    return either(not problems, "; ".join(problems) or f"{len(wanted)} free ones")


def _reservation_problems(each: Mapping[str, Any] | None, identity: str, places: Sequence[Place]) -> list[str]:
    if each is None:
        return [f"there is no {identity}"]
    problems = []
    if each.get("device_id"):
        problems.append(f"{identity} has a device on it")
    elif each.get("need_of_service"):
        problems.append(f"{identity} is broken")
    elif not each.get("provisionable"):
        problems.append(f"{identity} cannot be provisioned now")
    for place in places:
        if each.get("plan") != place.plan:
            problems.append(f"{identity} is of plan {each.get('plan')}, not {place.plan}")
        if each.get("metro") not in (None, place.metro):
            problems.append(f"{identity} is in {each.get('metro')}, not {place.metro}")
    return problems


@check(
    "networks beside the project's",
    expected="cluster and service networks apart from the private blocks of the project in 10.0.0.0/8",
    advice="take others for openshift_cluster_networks or openshift_service_networks: machines could not tell pods from their neighbours",
)
def _private_blocks(preflight: Preflight) -> Finding:
    if preflight.standing:
        return not_checkable("the cluster stands: its networks do not change any more")
    listed_blocks = preflight.read("private_blocks", "ip_reservations")
    blocks = [ipaddress.ip_network(f"{block['network']}/{block['cidr']}", strict=False) for block in listed_blocks if block.get("network")]
    if not blocks:
        return not_checkable("the project has no private block yet: it gets one with its first machine in a metro")
    own = [(kind, network) for kind, network in _parsed(preflight, []) if kind != "machine"]
    clashing = [
        f"{kind} network {network} has the project's {block} in it"
        for kind, network in own
        for block in blocks
        if network.version == block.version and network.overlaps(block)
    ]
    return either(not clashing, "; ".join(clashing) or f"apart from {listed(map(str, blocks))}")


@check(
    "clock",
    expected=f"this computer's clock within {CLOCK_TOLERANCE} s of the Metal API's",
    advice="set the clock of this computer (chrony, systemd-timesyncd): certificates made by a wrong one are not valid where machines boot",
)
def _clock(preflight: Preflight) -> Finding:
    answer = preflight.world.get("clock") or {}
    told = answer.get("date")
    if not told:
        return not_checkable("no answer of the service told its time")
    ours = float(answer["now"])
    ahead = ours - email.utils.parsedate_to_datetime(str(told)).timestamp()
    return either(abs(ahead) <= CLOCK_TOLERANCE, f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the service")


# --- the mirror -----------------------------------------------------------------------------------------------------------------


@check(
    "mirror",
    expected="the checksums of the version, with the installer's archive",
    advice="see that openshift_mirror_url answers and has openshift_version",
)
def _mirror(preflight: Preflight) -> Finding:
    answer = preflight.world.get("mirror") or {}
    archives = _archives(preflight)
    if not archives:
        return failed(
            f"{answer.get('url') or preflight.text('mirror_url')} for {preflight.text('version')}: {answer.get('msg') or 'no answer'}"
        )
    return passed(archives[0])


def _archives(preflight: Preflight) -> list[str]:
    content = str((preflight.world.get("mirror") or {}).get("content") or "")
    version = preflight.text("version")
    which = re.escape(version) if RELEASE.fullmatch(version) else RELEASE.pattern
    return [match[0] for match in re.finditer(rf"\bopenshift-install-linux-{which}\.tar\.gz\b", content)]


@check(
    "release signature",
    expected="the checksums' signature is good by openshift_release_keyring",
    advice="do not use this mirror before you know why: the checksums are not what was signed, or the keyring is another's",
)
def _signature(preflight: Preflight) -> Finding:
    answer = preflight.world.get("signature") or {}
    if not preflight.text("release_keyring"):
        return not_checkable("openshift_release_keyring names no keyring to check it by")
    if not _archives(preflight):
        return not_checkable("there are no checksums")
    if answer.get("status") != 200:
        return not_checkable(f"the mirror has none: {answer.get('msg') or 'no answer'}")
    return either(
        answer.get("rc") == 0, "good" if answer.get("rc") == 0 else f"gpgv: {str(answer.get('stderr') or 'it could not be run').strip()}"
    )


@check(
    "installer's architecture",
    expected="an installer that runs on this computer",
    advice="run the playbook on a computer of that architecture",
)
def _installer_architecture(preflight: Preflight) -> Finding:
    here = str((preflight.world.get("controller") or {}).get("architecture") or "")
    wanted = preflight.text("architecture")
    if not here:
        return not_checkable("this computer did not tell its architecture")
    here = {"arm64": "aarch64", "amd64": "x86_64"}.get(here, here)
    if here == wanted:
        return passed(here)
    return not_checkable(
        f"the mirror's folder is for {wanted}, this computer is {here}; whether its installer runs here is seen when it does",
        "run the playbook on a computer of that architecture if it does not",
    )


# --- this computer --------------------------------------------------------------------------------------------------------------


@check(
    "disk space",
    expected=f"{DISK_NEEDED / 1e9:g} GB free where the cluster's folder is",
    advice="make room, or set openshift_directory to a folder on another disk",
)
def _disk_space(preflight: Preflight) -> Finding:
    free = (preflight.world.get("controller") or {}).get("free_bytes")
    if free is None:
        return not_checkable("df did not tell")
    if preflight.standing:
        return passed(f"{int(free) / 1e9:.1f} GB; the installer is there already")
    return either(int(free) >= DISK_NEEDED, f"{int(free) / 1e9:.1f} GB at {preflight.text('directory')}")


@check(
    "cluster's folder",
    expected="a folder that this user may write, and nobody else may read: it has secrets",
    advice="chmod 700 it, or set openshift_directory to another",
)
def _directory(preflight: Preflight) -> Finding:
    controller = preflight.world.get("controller") or {}
    if not controller.get("writable", True):
        return failed(f"{preflight.text('directory')} cannot be written")
    mode = controller.get("mode")
    if mode is None:
        return passed(f"{preflight.text('directory')} will be made")
    return either(int(mode, 8) & 0o077 == 0, f"{preflight.text('directory')} has mode {mode}")


@check(
    "publishing address",
    expected="an address of this computer that machines reach",
    advice="set openshift_publish_address to the address at which the machines reach this computer, without scheme and port",
)
def _publish_address(preflight: Preflight) -> Finding:
    address = preflight.text("publish_address")
    if not re.fullmatch(r"[0-9A-Za-z.:-]+", address) or "//" in address:
        return failed(f"'{address}'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        if re.fullmatch(r"[0-9.]+", address) or not NAME.fullmatch(address.lower()):
            return failed(f"'{address}' is neither an address nor a name")
        return not_checkable(f"{address} is a name: no machine is there yet that could say whether it finds it")
    if parsed.is_unspecified:
        return failed(f"{address} is every address of this computer and none for others")
    if parsed.is_loopback:
        local = re.search(r"//(127\.|\[::1\]|localhost)", preflight.text("metal_api_url"))
        return either(bool(local), f"{address} is loopback" + (", as the Metal API is" if local else ": only this computer reaches it"))
    return not_checkable(f"no machine is there yet that could say whether it reaches {address}")


@check(
    "publishing ports",
    expected="free, or our own server's",
    advice="end what listens there, or set openshift_publish_http_port and openshift_publish_https_port",
)
def _publish_ports(preflight: Preflight) -> Finding:
    if preflight.standing and not preflight.missing:
        return not_checkable("nothing is to be published: all machines are there")
    probes = (preflight.world.get("publish") or {}).get("results") or []
    if not probes:
        return not_checkable("without an address there is nothing to look at")
    # A port that is asked to be free and is not leaves a message.
    taken = [str(probe.get("item")) for probe in probes if probe.get("msg")]
    # Our own server of an earlier run listens on both; the role that starts it knows it by its id.
    ours = bool((preflight.world.get("publish") or {}).get("ours"))
    told = listed(str(probe.get("item")) for probe in probes)
    if taken and not ours:
        return failed(f"something listens on {listed(taken)} at {preflight.text('publish_address')}")
    return passed(f"{told}, with our server of an earlier run" if ours else told)


# --- names ----------------------------------------------------------------------------------------------------------------------


@check(
    "DNS zone takes updates",
    expected="the server answers for the zone, signed with the key",
    advice="see that the server answers for this zone and takes updates signed with openshift_dns_key_name",
)
def _dns_zone(preflight: Preflight) -> Finding:
    if preflight.text("dns_provider") != "rfc2136":
        return not_checkable("no server is set that takes updates (openshift_dns_provider)")
    answer = preflight.world.get("dns") or {}
    if not answer or answer.get("skipped"):
        return not_checkable("not asked: settings are missing")
    # Asked signed with the key whether a record is there that nobody ever makes.
    code = str(answer.get("dns_rc_str") or "")
    where = f"{preflight.text('dns_zone')} at {preflight.text('dns_server')} port {preflight.text('dns_port')}"
    return either(code in ("NOERROR", "NXRRSET", "NXDOMAIN"), f"{where}: {answer.get('msg') or 'answers ' + (code or 'nothing')}")


@check(
    "no stale DNS records",
    expected="no name of a cluster that does not exist yet leads anywhere",
    advice="another cluster may have this name: take another openshift_cluster_name, or remove these records",
)
def _stale_records(preflight: Preflight) -> Finding:
    if preflight.text("dns_provider") != "rfc2136":
        return not_checkable("no server is set that could be asked (openshift_dns_provider)")
    records = preflight.world.get("records")
    if not records:
        return not_checkable("the server was not asked")
    found = {name: [value for value in values if _is_address(value)] for name, values in records.items()}
    foreign = {name: strange for name, values in found.items() if (strange := sorted(set(values) - preflight.addresses))}
    told = listed(f"{name} is {'/'.join(values)}" for name, values in foreign.items())
    if foreign and not preflight.devices and not preflight.wanted.get("folder_exists"):
        return failed(told)
    if foreign:
        return passed(f"this run sets right what an earlier one left: {told}")
    return passed(f"{sum(map(len, found.values()))} records, all ours")


def _is_address(text: Any) -> bool:
    try:
        ipaddress.ip_address(str(text))
    except ValueError:
        return False
    return True


@check(
    "DNS as nodes ask it",
    expected="the resolver that nodes use finds the base domain where the names are kept",
    advice="delegate the zone to the server, or give the nodes a resolver that asks it",
)
def _resolver(preflight: Preflight) -> Finding:
    answer = preflight.world.get("resolver") or {}
    if preflight.text("dns_provider") != "rfc2136":
        return not_checkable("the records are made by hand when the machines have addresses: nothing is there to ask for yet")
    if not answer.get("own"):
        return not_checkable("the server does not tell who keeps the zone")
    seen = answer.get("seen")
    if seen == answer["own"]:
        return passed(f"{preflight.text('dns_zone')}: the resolver finds what the server keeps")
    found = f"the resolver finds {'another zone' if seen else 'nothing'} for {preflight.text('dns_zone')}"
    if preflight.text("resolver"):
        return failed(f"{found} ({preflight.text('resolver')})")
    return not_checkable(f"{found} on this computer; which resolver nodes use is not known (validate_resolver)")


@check(
    "balancer's ports",
    expected="6443, 22623, 80 and 443 answer at a balancer that exists",
    advice="look at haproxy on the balancer: its journal tells what became of it",
)
def _balancer_ports(preflight: Preflight) -> Finding:
    if preflight.text("load_balancer") != "haproxy":
        return passed("no machine balances: the names have several addresses")
    probes = (preflight.world.get("balancer") or {}).get("results") or []
    if not probes:
        return not_checkable("the balancer is made by this run: its ports are its own, and free")
    # A port that is waited for in vain leaves a message.
    closed = [str(probe["item"]) for probe in probes if probe.get("msg")]
    if closed and not preflight.standing:
        return not_checkable(f"{listed(closed)} do not answer yet; this run waits for them")
    return either(not closed, f"closed: {listed(closed)}" if closed else listed(probe["item"] for probe in probes))


@check(
    "price",
    expected="what an hour of all that is missing costs",
    advice="look the prices up",
)
def _price(preflight: Preflight) -> Finding:
    if not preflight.missing:
        return passed("nothing is to be ordered")
    cost = _cost(preflight)
    if cost["price_per_hour"] is None:
        return not_checkable("the service does not tell, or was not asked")
    return passed(f"{cost['price_per_hour']:.2f} US dollars an hour")
