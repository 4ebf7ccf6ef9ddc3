"""The four contract tests (check mode, idempotence, absent, diff), for every module that changes something, against the sandbox.

1. Check mode touches nothing and predicts ``changed`` and ``diff`` truly.
2. A second run changes nothing and writes nothing.
3. ``absent`` twice, and ``absent`` of what never existed, change nothing.
4. ``--diff`` shows what changed, as the API returns it before and after, and never shows a secret.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ansible_doc import programs
from tests.contract import installer, zone
from tests.contract.cluster import CLUSTER_SCENARIOS
from tests.contract.conftest import Lives
from tests.contract.environment import call, laid
from tests.contract.installer import INSTALLER_SCENARIOS, InstallerScenario
from tests.contract.playbook import Outcome, Task, is_read, run, run_modules
from tests.contract.scenario import SECRET, ClusterScenario, Scenario
from tests.contract.scenarios import SCENARIOS
from tests.contract.subjects import INVENTORY, SUBJECTS, Subject, Testbed, one_process
from tests.contract.zone import ZONE_SCENARIOS, ZoneScenario, reach

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "equinix_metal.openshift"
ASK = Path(__file__).with_name("ask.py")

ELSEWHERE = {
    # It reads an OpenShift cluster, as tests/e2e/test_elsewhere.py has it.
    "cluster_boot_info": "tests/cluster/test_cluster_boot_info.py",
    # It changes nothing, and its wait is of names that a test sets.
    "dns_wait": "tests/contract/test_zone.py",
    # Each call makes a backup.
    "etcd_backup": "tests/sandbox/openshift/test_etcd.py",
    # No list of the API has the members.
    "etcd_member": "tests/sandbox/openshift/test_etcd.py",
    # It reads registries.
    "release_images_info": "tests/contract/test_release_images.py",
}
"""Modules whose contracts are in tests of their own."""

CHANGING: list[Scenario | ClusterScenario | ZoneScenario | InstallerScenario] = [
    *SCENARIOS,
    *(scenario for scenario in CLUSTER_SCENARIOS if scenario.change is not None and scenario.module not in ELSEWHERE),
    *ZONE_SCENARIOS,
    *INSTALLER_SCENARIOS,
]
READING = [subject for subject in SUBJECTS if subject.module not in {scenario.module for scenario in CHANGING} | {INVENTORY, *ELSEWHERE}]

BY_PLAYBOOK = ("metal_vlan", "metal_device_set", "dns_records", "csr_approval")
"""One scenario of each kind of module, one with an action plugin among them, whose contract is tested through Ansible in `make test`."""

Options = Mapping[str, Any] | None


@dataclass(frozen=True)
class Setup:
    """A scenario with its prerequisites: options of its steps, a task that reads the state, and the journal of requests."""

    module: str
    create: Options
    change: Options
    absent: Options
    never: Options
    read_state: Callable[[Path], Task]
    """The task that writes the world into a file."""
    current: Callable[[], Any]
    """The same world, read in this process."""
    view: Callable[[Any], Any]
    """What of the world the module's diff speaks of."""
    journal: Callable[[], list[dict[str, Any]]]
    secrets: tuple[str, ...]


def test_modules_without_a_scenario_are_tested() -> None:
    assert [name for name, path in ELSEWHERE.items() if f'"{name}"' not in (ROOT / path).read_text(encoding="utf-8")] == []


def test_every_module_has_a_scenario() -> None:
    names = programs()
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-doc", "--type", "module", "--json", *(f"{COLLECTION}.{name}" for name in names)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    # A module that has nothing to show a difference of changes nothing.
    supports = {
        name.rpartition(".")[2]: entry["doc"]["attributes"]["diff_mode"]["support"] for name, entry in json.loads(done.stdout).items()
    }
    assert {name for name, support in supports.items() if support != "N/A" and name not in ELSEWHERE} == {
        scenario.module for scenario in CHANGING
    }
    assert {name for name, support in supports.items() if support == "N/A" and name not in ELSEWHERE} == {
        subject.module for subject in READING
    }


@pytest.mark.parametrize("subject", [one_process(subject) for subject in READING], ids=lambda subject: subject.title)
def test_only_reads_are_sent_by_info_modules_in_check_mode_too(subject: Subject, lives: Lives) -> None:
    life = lives.of(subject)
    step = subject.meetings[0][1]
    life.prepare(step)
    life.front.forget()
    read, checked = (life.act(step, check=check) for check in (False, True))
    for result in (read, checked):
        assert not result.get("failed"), result
        assert not result["changed"]
        result.pop("invocation", None)
    assert read == checked
    assert life.front.journal()
    assert all(is_read(each) for each in life.front.journal())


@pytest.mark.parametrize("scenario", [one_process(scenario) for scenario in CHANGING], ids=lambda scenario: scenario.title)
def test_the_four_contracts_hold_for_the_module(
    scenario: Scenario | ClusterScenario | ZoneScenario | InstallerScenario, testbed: Testbed, tmp_path: Path
) -> None:
    """Each module in a process of its own, as Ansible starts it; through Ansible in the next test."""
    with in_service(scenario, testbed, tmp_path) as setup:

        def play(tasks: list[Task]) -> tuple[dict[str, Outcome], str]:
            return run_modules(tasks, setup.current, setup.journal, testbed.environment, tmp_path)

        _hold(setup, play, tmp_path)


def in_playbook(scenario: Scenario | ClusterScenario | ZoneScenario | InstallerScenario) -> Any:
    group = pytest.mark.xdist_group(scenario.title)
    return pytest.param(scenario, marks=[group] if scenario.title in BY_PLAYBOOK else [group, pytest.mark.long])


@pytest.mark.parametrize("scenario", [in_playbook(scenario) for scenario in CHANGING], ids=lambda scenario: scenario.title)
def test_the_four_contracts_hold_in_a_playbook(
    scenario: Scenario | ClusterScenario | ZoneScenario | InstallerScenario, testbed: Testbed, tmp_path: Path
) -> None:
    """With Ansible's part: action plugins, --diff, and what -vvv and the log show of secrets."""
    with in_service(scenario, testbed, tmp_path) as setup:

        def play(tasks: list[Task]) -> tuple[dict[str, Outcome], str]:
            return run(tasks, setup.journal, testbed.environment, tmp_path)

        _hold(setup, play, tmp_path)


def in_service(
    scenario: Scenario | ClusterScenario | ZoneScenario | InstallerScenario, testbed: Testbed, tmp_path: Path
) -> AbstractContextManager[Setup]:
    if isinstance(scenario, Scenario):
        return on_metal(scenario, testbed)
    if isinstance(scenario, ClusterScenario):
        return in_cluster(scenario, testbed)
    if isinstance(scenario, ZoneScenario):
        return in_zone(scenario, testbed)
    return in_folder(scenario, testbed, tmp_path / "cluster")


@contextmanager
def on_metal(scenario: Scenario, testbed: Testbed) -> Iterator[Setup]:
    testbed.sandbox.call("DELETE", "faults")
    with laid(scenario, testbed.sandbox, testbed.environment) as ready:

        def read_state(file: Path) -> Task:
            argv = [sys.executable, str(ASK), ready.listing, str(file)]
            return Task(f"world: {file.name}", "ansible.builtin.command", {"argv": argv})

        yield Setup(
            ready.module,
            ready.create,
            ready.change,
            ready.absent,
            ready.never,
            read_state=read_state,
            current=lambda: call(testbed.sandbox, "GET", ready.listing),
            view=lambda answer: ready.view(ready.entries(answer)),
            journal=testbed.sandbox.journal,
            secrets=(SECRET, *ready.secrets, testbed.sandbox.environment["METAL_AUTH_TOKEN"]),
        )


@contextmanager
def in_zone(scenario: ZoneScenario, testbed: Testbed) -> Iterator[Setup]:
    server = reach(testbed.sandbox.environment)
    create, change, absent, never = ({**given, **server} for given in (scenario.create, scenario.change, scenario.absent, scenario.never))

    def read_state(file: Path) -> Task:
        return Task(f"world: {file.name}", "ansible.builtin.command", {"argv": [sys.executable, zone.__file__, str(file)]})

    yield Setup(
        scenario.module,
        create,
        change,
        absent,
        never,
        read_state=read_state,
        current=lambda: zone.names(testbed.environment),
        view=lambda answer: answer,
        journal=lambda: zone.updates(testbed.sandbox.log),
        secrets=(server["key_secret"],),
    )


@contextmanager
def in_folder(scenario: InstallerScenario, testbed: Testbed, folder: Path) -> Iterator[Setup]:
    given = {"directory": str(folder), "mirror_url": testbed.sandbox.environment["OPENSHIFT_MIRROR_URL"]}

    def read_state(file: Path) -> Task:
        argv = [sys.executable, installer.__file__, str(folder), str(file)]
        return Task(f"world: {file.name}", "ansible.builtin.command", {"argv": argv})

    yield Setup(
        scenario.module,
        {**scenario.create, **given},
        {**scenario.change, **given},
        # The cluster needs its installer for as long as it exists; its folder is deleted as a whole.
        absent=None,
        never=None,
        read_state=read_state,
        current=lambda: installer.files(folder),
        view=lambda answer: answer,
        journal=lambda: installer.writes(folder),
        secrets=(),
    )


@contextmanager
def in_cluster(scenario: ClusterScenario, testbed: Testbed) -> Iterator[Setup]:
    cluster, front = testbed.cluster, testbed.cluster_front
    scenario.lay(testbed)
    front.well()
    front.forget()
    certificate, key = cluster.admin

    def read_state(file: Path) -> Task:
        # Beside the proxy, which writes the journal.
        options = {"url": f"{cluster.url}{scenario.listing}", "dest": str(file), "ca_path": str(cluster.directory / "ca.crt")}
        return Task(f"world: {file.name}", "ansible.builtin.uri", {**options, "client_cert": str(certificate), "client_key": str(key)})

    reach = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [front.address], "wait_interval": 0.2, "wait_timeout": 60}
    yield Setup(
        scenario.module,
        {**scenario.create, **reach},
        {**scenario.change, **reach} if scenario.change is not None else None,
        # An approval or an eviction is not taken back.
        absent=None,
        never=None,
        read_state=read_state,
        current=lambda: cluster.call("GET", scenario.listing).json(),
        view=scenario.view,
        journal=front.journal,
        secrets=(key.read_text(encoding="utf-8").splitlines()[1],),
    )
    if scenario.clear is not None:
        scenario.clear(testbed)


def _hold(setup: Setup, play: Callable[[list[Task]], tuple[dict[str, Outcome], str]], tmp_path: Path) -> None:
    def step(name: str, options: Any, *, check: bool = False) -> Task:
        return Task(name, f"{COLLECTION}.{setup.module}", options, check)

    def read_state(name: str) -> Task:
        return setup.read_state(tmp_path / name)

    # What a resource cannot do (a gateway never changes, a port is never absent) is left out.
    lives = [name for name in ("create", "change", "absent") if getattr(setup, name) is not None]
    never = [step("never", setup.never)] if setup.never is not None else []
    change = [
        step("check change", setup.change, check=True),
        step("change", setup.change),
        read_state("changed"),
        step("change again", setup.change),
    ]
    absent = [
        step("check absent", setup.absent, check=True),
        step("absent", setup.absent),
        read_state("gone"),
        step("absent again", setup.absent),
        step("check absent again", setup.absent, check=True),
    ]

    outcomes, printed = play(
        [
            *never,
            read_state("nothing"),
            step("check create", setup.create, check=True),
            step("create", setup.create),
            read_state("created"),
            step("create again", setup.create),
            step("check create again", setup.create, check=True),
            *(change if "change" in lives else []),
            *(absent if "absent" in lives else []),
        ]
    )

    def world(name: str) -> Any:
        return setup.view(json.loads((tmp_path / name).read_text(encoding="utf-8")))

    def real(name: str) -> Outcome:
        outcome = outcomes[name]
        assert outcome.changed, f"{name} changed nothing"
        assert outcome.writes, f"{name} wrote nothing"
        return outcome

    # 1. Check mode.
    for name in lives:
        predicted, actual = outcomes[f"check {name}"], real(name)
        assert not predicted.writes, f"check mode wrote: {predicted.writes}"
        assert predicted.changed
        assert predicted.diff == actual.diff, f"{name} was predicted otherwise"

    # 2. and 3. Idempotence.
    idempotent = ["create again", "check create again", "change again", "absent again", "check absent again", "never"]
    for name in filter(outcomes.__contains__, idempotent):
        assert not outcomes[name].changed, f"{name} says it changed: {outcomes[name].diff}"
        assert not outcomes[name].writes, f"{name} wrote: {outcomes[name].writes}"
        before, after = outcomes[name].diff
        assert before == after

    # 4. What the diff says is what the API says.
    if "absent" in lives:
        assert world("nothing") == world("gone") == {}
    moments = ["nothing", *({"create": "created", "change": "changed", "absent": "gone"}[name] for name in lives)]
    for name, earlier, later in zip(lives, moments, moments[1:], strict=False):
        before, after = outcomes[name].diff
        assert before != after
        assert _agrees(before, world(earlier)), f"{name}: before is {before}, the API said {world(earlier)}"
        assert _agrees(after, world(later)), f"{name}: after is {after}, the API said {world(later)}"
    assert not [secret for secret in setup.secrets if secret in printed]


def _agrees(result: Any, true: Any) -> bool:
    """Return whether every attribute of the diff has the API's value; attributes that it lacks are not compared."""
    if isinstance(result, dict) and isinstance(true, dict):
        return all(name in true and _agrees(value, true[name]) for name, value in result.items() if name in true or isinstance(value, dict))
    return bool(result == true)
