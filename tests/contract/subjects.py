"""The subjects that meet the faults of ``faults.py``: every module and the inventory plugin, each with its lifecycle."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.cluster.control_plane import ControlPlane
from tests.contract.cluster import CLUSTER_SCENARIOS
from tests.contract.environment import call, filled, inventory, laid, made, run
from tests.contract.etcd import Machines
from tests.contract.faults import PATIENCE, RETRIES, TIMEOUT, Fault, Kind, Meeting, Service
from tests.contract.front import ClusterFront, Front, MetalFront
from tests.contract.installer import InstallerScenario
from tests.contract.readings import PREREQUISITES, READINGS
from tests.contract.scenario import ClusterScenario, Scenario
from tests.contract.scenarios import SCENARIOS
from tests.contract.zone import ZoneScenario

Result = dict[str, Any]


class Testbed:
    """The services that subjects use; each is started on first use and removed with ``clear``."""

    __test__ = False  # not a class of tests, as pytest guesses from its name

    def __init__(self, sandbox: RunningSandbox, environment: Mapping[str, str], start: Callable[[], ControlPlane], folder: Path) -> None:
        self.sandbox = sandbox
        self.environment = environment
        self.folder = folder
        self.stack = ExitStack()
        self._start = start

    @cached_property
    def cluster(self) -> ControlPlane:
        return self._start()

    @cached_property
    def cluster_front(self) -> ClusterFront:
        return self.stack.enter_context(ClusterFront(self.cluster).serving())

    @cached_property
    def machines(self) -> Machines:
        """The control plane machines of the cluster."""
        return self.stack.enter_context(Machines(self.cluster, self.folder).serving())

    @cached_property
    def reading(self) -> Mapping[str, Any]:
        """The facts of what all readers read."""
        return self.stack.enter_context(made(PREREQUISITES, self.sandbox, self.environment))

    def delete_device(self, device: str) -> None:
        call(self.sandbox, "DELETE", f"devices/{device}")

    def clear(self) -> None:
        """Remove what was created so far; it is created again on first use."""
        self.stack.close()
        for part in ("cluster_front", "machines", "reading"):
            vars(self).pop(part, None)


LONG_WAIT = 25.0
"""Timeout of a wait in seconds without a fault, shorter than that of the process: a busy computer must not cause a timeout."""
WRITES = "POST|PUT|PATCH|DELETE"
QUESTION = "/capacity/metros$"
"""Asked with POST, and nothing changes."""
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NO_QUESTION = f"^(?!.*{QUESTION})"
METAL_REQUESTS: dict[Kind, dict[str, str]] = {
    "read": {"method": "GET"},
    "ask": {"method": "POST", "path": QUESTION},
    "create": {"method": WRITES, "path": NO_QUESTION},
    "change": {"method": WRITES, "path": NO_QUESTION},
    "delete": {"method": WRITES, "path": NO_QUESTION},
}
REMOVAL = "command=member&command=remove&"
CLUSTER_REQUESTS: dict[Kind, dict[str, str]] = {
    "read": {"method": "GET", "path": r"^(?!.*(watch=true|/exec(\?|$)))"},
    "follow": {"method": "GET", "path": "watch=true"},
    "run": {"method": "GET", "path": rf"/exec\?(?!.*{REMOVAL})"},
    "remove": {"method": "GET", "path": rf"/exec\?.*{REMOVAL}"},
    "change": {"method": WRITES},
    "delete": {"method": "DELETE"},
}


class Life(ABC):
    """A subject in its testbed, ready to meet faults."""

    front: Front
    requests: Mapping[Kind, Mapping[str, str]] = METAL_REQUESTS
    """How requests of each kind are selected."""

    @abstractmethod
    def prepare(self, step: str) -> None:
        """Bring the world to where this step has something to do."""

    @abstractmethod
    def act(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> Result:
        """Take the step; ``check``: in check mode; ``hurry``: wait and try again for no longer than it takes to see that it would."""

    @abstractmethod
    def state(self) -> Any:
        """Return the subject's resources. Fails when one exists twice."""

    @abstractmethod
    def converged(self, step: str) -> None:
        """Fails unless a run without faults reaches the desired state, and a second run changes nothing."""


def well(result: Result) -> Result:
    assert not result.get("failed"), result
    return result


def connection(testbed: Testbed, fault: Fault | None) -> dict[str, Any]:
    return {
        "metal_api_url": testbed.environment["METAL_API_URL"],
        "metal_api_token": testbed.environment["METAL_AUTH_TOKEN"],
        "metal_api_timeout": TIMEOUT if fault is not None and fault.silent else PATIENCE,
        "metal_api_retries": RETRIES,
    }


def metal_options(options: Mapping[str, Any], testbed: Testbed, fault: Fault | None, *, hurry: bool = False) -> dict[str, Any]:
    given = dict(options) | connection(testbed, fault)
    if hurry:
        given["metal_api_retries"] = 1
    if "wait_timeout" in options:
        given |= {"wait_timeout": 1 if hurry else 6 if fault else LONG_WAIT, "wait_interval": 0.1}
    return {"project_id": testbed.environment["METAL_PROJECT_ID"], **given}


class OfMetal(Life):
    """A module that uses the Metal API."""

    module: str

    @abstractmethod
    def options(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> dict[str, Any]:
        """Return the module's options of the step."""


class Changing(OfMetal):
    """A module that changes something, and the lifecycle of its resource."""

    def __init__(self, scenario: Scenario, testbed: Testbed) -> None:
        self.module = scenario.module
        self._scenario = scenario
        self._testbed = testbed
        self.front = MetalFront(testbed.sandbox)
        self._worlds: dict[str, Any] = {}
        # A lifecycle is circular: what is created begins where it was deleted, or, without such an end, with what was changed.
        self._round = [step for step in ("create", "change", "absent") if getattr(scenario, step) is not None]
        self._done = ""
        for step in self._round if scenario.absent is not None else (*self._round, "create"):
            well(self.act(step))
            self._worlds[step] = self.state()

    def options(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> dict[str, Any]:
        given = metal_options(getattr(self._scenario, step), self._testbed, fault, hurry=hurry)
        return {**given, "_ansible_check_mode": check}

    def act(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> Result:
        options = self.options(step, fault, check=check, hurry=hurry)
        return run(
            self.module, options, self._testbed.environment, without_pauses=True, page_size=fault.page_size if fault is not None else None
        )

    def prepare(self, step: str) -> None:
        turn = self._round.index(step)
        if self._done != self._round[turn - 1]:
            for earlier in (self._round[-1], *self._round[:turn]):
                well(self.act(earlier))
        self._done = ""

    def state(self) -> Any:
        listing = self._scenario.listing.format(project=self._testbed.environment["METAL_PROJECT_ID"])
        view = self._steady(self._scenario.view(self._scenario.entries(call(self._testbed.sandbox, "GET", listing))))
        # Without a filter by owner: what was ordered without an ownership tag would be billed as well.
        billed = {kind: len(found) for kind, found in self._testbed.sandbox.inventory().items()}
        return view, billed

    def _steady(self, view: Any) -> Any:
        """Without the ids of what came by itself, such as a gateway's own block: they are others each time."""
        given = json.dumps([self._scenario.create, self._scenario.change])
        return json.loads(UUID.sub(lambda found: found[0] if found[0] in given else "an id", json.dumps(view)))

    def converged(self, step: str) -> None:
        well(self.act(step))
        assert self.state() == self._worlds[step], f"after the fault it is {self.state()}, without any it is {self._worlds[step]}"
        assert not well(self.act(step))["changed"]
        self._done = step


class Reading(OfMetal):
    """A module that only reads."""

    def __init__(self, module: str, options: Mapping[str, Any], testbed: Testbed) -> None:
        self.module = module
        self._options = options
        self._testbed = testbed
        self.front = MetalFront(testbed.sandbox)
        self._plain = self._facts(well(self.act("read")))

    def options(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> dict[str, Any]:
        return {**metal_options(self._options, self._testbed, fault, hurry=hurry), "_ansible_check_mode": check}

    @staticmethod
    def _facts(result: Result) -> Result:
        return {name: value for name, value in result.items() if name != "invocation"}

    def prepare(self, step: str) -> None:
        """Everything to read exists already."""

    def act(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> Result:
        options = self.options(step, fault, check=check, hurry=hurry)
        page_size = fault.page_size if fault is not None else None
        result = run(self.module, options, self._testbed.environment, without_pauses=True, page_size=page_size)
        if fault is not None and not result.get("failed") and not fault.rewrites:
            assert self._facts(result) == self._plain, f"{fault.name}: other things were read than without"
        return result

    def state(self) -> Any:
        return None

    def converged(self, step: str) -> None:
        assert self._facts(well(self.act(step))) == self._plain


class Inventory(Life):
    """The inventory plugin, read as a user has it read: by ``ansible-inventory --list``."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self.front = MetalFront(testbed.sandbox)
        self._plain = self._hosts(well(self.act("read")))

    @staticmethod
    def _hosts(result: Result) -> list[str]:
        return sorted(result["listed"]["_meta"]["hostvars"])

    def prepare(self, step: str) -> None:
        """Everything to read exists already."""

    def act(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> Result:
        options = {
            name: value for name, value in connection(self._testbed, fault).items() if name not in ("metal_api_url", "metal_api_token")
        }
        source = self._testbed.folder / "02.metal.yml"
        source.write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")
        result = inventory(source, self._testbed.environment, page_size=fault.page_size if fault is not None else None)
        if fault is not None and not result.get("failed") and not fault.rewrites:
            assert self._hosts(result) == self._plain
        return result

    def state(self) -> Any:
        return None

    def converged(self, step: str) -> None:
        assert self._hosts(well(self.act(step))) == self._plain


class InCluster(Life):
    """A module that uses a cluster's API."""

    requests = CLUSTER_REQUESTS

    def __init__(self, scenario: ClusterScenario, testbed: Testbed) -> None:
        self._scenario = scenario
        self._testbed = testbed
        self.front = testbed.cluster_front
        self._failed = False
        """Whether the last run has failed."""
        self._plain: dict[str, Result] = {}
        if scenario.returned:
            self.prepare("create")
            self._plain["create"] = self._returned(well(self.act("create")))

    def _returned(self, result: Result) -> Result:
        return {name: result[name] for name in self._scenario.returned}

    def prepare(self, step: str) -> None:
        self._scenario.lay(self._testbed)
        if step == "change":
            well(self.act("create"))

    def act(self, step: str, fault: Fault | None = None, *, check: bool = False, hurry: bool = False) -> Result:
        # What comes between it and the Metal API is of the modules that speak to nothing else.
        metal = metal_options({}, self._testbed, None) if self._scenario.metal else {}
        options = {
            **getattr(self._scenario, step),
            **metal,
            "kubeconfig": str(self._testbed.cluster.kubeconfig),
            "api_addresses": [self._testbed.cluster_front.address],
            "api_timeout": TIMEOUT if fault is not None and fault.silent else PATIENCE,
            "wait_timeout": 1 if hurry else 5 if fault else LONG_WAIT,
            "wait_interval": 0.1,
            "_ansible_check_mode": check,
        }
        page_size = fault.page_size if fault is not None else None
        result = run(self._scenario.module, options, self._testbed.environment, without_pauses=True, page_size=page_size)
        self._failed = bool(result.get("failed"))
        if step in self._plain and fault is not None and not result.get("failed") and not fault.rewrites:
            assert self._returned(result) == self._plain[step], f"{fault.name}: other results than without"
        return result

    def state(self) -> Any:
        return self._scenario.read_state(self._testbed)

    def converged(self, step: str) -> None:
        if not self._scenario.is_idempotent:
            assert self._failed or self.state() == self._scenario.worlds[step]
            # What the next run makes is compared without what this one has made.
            self.prepare(step)
        result = well(self.act(step))
        assert self.state() == self._scenario.worlds[step]
        assert step not in self._plain or self._returned(result) == self._plain[step]
        assert not self._scenario.is_idempotent or not well(self.act(step))["changed"]


@dataclass(frozen=True)
class Subject:
    """A subject that meets the faults, by its name."""

    title: str
    service: Service
    of: Scenario | ClusterScenario | None = None

    @property
    def module(self) -> str:
        return self.of.module if self.of is not None else self.title

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """Which requests of which steps meet a fault: one lifecycle for reads, one for writes."""
        if isinstance(self.of, ClusterScenario):
            return self.of.meetings
        if self.of is None:
            return (("ask", "read"), ("read", "read")) if self.title in ASKING else (("read", "read"),)
        # What cannot be absent is never ordered, only changed.
        writes: dict[str, Kind] = {"create": "create" if self.of.absent is not None else "change", "change": "change", "absent": "delete"}
        steps = [step for step in writes if getattr(self.of, step) is not None]
        asked: list[Meeting] = [("ask", "create")] if self.module in ASKING else []
        return (*(("read", step) for step in steps), *((writes[step], step) for step in steps), *asked)

    @contextmanager
    def alive(self, testbed: Testbed) -> Iterator[Life]:
        """Yield the lifecycle of the subject with its prerequisites."""
        if isinstance(self.of, ClusterScenario):
            try:
                yield InCluster(self.of, testbed)
            finally:
                if self.of.clear is not None:
                    self.of.clear(testbed)
        elif isinstance(self.of, Scenario):
            with laid(self.of, testbed.sandbox, testbed.environment) as ready, _others(testbed.sandbox):
                try:
                    yield Changing(ready, testbed)
                finally:
                    testbed.sandbox.call("DELETE", "faults")
                    if ready.absent is not None:
                        well(run(ready.module, metal_options(ready.absent, testbed, None), testbed.environment, without_pauses=True))
        elif self.title == INVENTORY:
            with _others(testbed.sandbox):
                yield Inventory(testbed)
        else:
            yield Reading(self.title, filled(READINGS[self.title], testbed.reading), testbed)


@contextmanager
def _others(sandbox: RunningSandbox) -> Iterator[None]:
    """Devices of another owner in the same project: more than one page of them, when a page holds two."""
    seeded = sandbox.call("POST", "devices", json={"count": 3, "hostname": "other-{{index}}.metal.test", "tags": ["somebody=else"]})
    try:
        yield
    finally:
        for each in seeded["ids"]:
            call(sandbox, "DELETE", f"devices/{each}")


INVENTORY = "inventory"
ELSEWHERE = {
    "cluster_boot_info": "../cluster/test_cluster_boot_info.py",
    "dns_records": "test_zone.py",
    "dns_wait": "test_zone.py",
    "openshift_installer": "test_installer.py",
    "release_images_info": "test_release_images.py",
}
"""Modules whose faults are tested in a file of their own: of a DNS server, a mirror, a registry, and faults that are part of the result."""
ASKING = ("metal_capacity_info", "metal_device_set")
"""Those who ask whether something can be had: a read that is a POST."""
SUBJECTS = [
    *(Subject(scenario.title, "metal", scenario) for scenario in SCENARIOS),
    *(Subject(reader, "metal") for reader in sorted(READINGS)),
    *(Subject(scenario.title, "cluster", scenario) for scenario in CLUSTER_SCENARIOS),
    Subject(INVENTORY, "metal"),
]


def one_process(subject: Subject | Scenario | ClusterScenario | ZoneScenario | InstallerScenario, *more: Any) -> Any:
    """A parameter of a test: with several processes (``pytest -n``) the prerequisites of a subject exist in one of them."""
    return pytest.param(subject, *more, marks=pytest.mark.xdist_group(subject.title))
