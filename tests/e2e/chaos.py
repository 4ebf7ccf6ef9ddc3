"""Runs that are ended at any moment, with faults of the API on top, and started again: is the world the same as undisturbed?

    python -m tests.e2e.chaos --seed 7 --runs 50
    python -m tests.e2e.chaos --seed 7 --only 23       # one of them again, alone

Before a step (an install, scaling, destroying, giving an install up) is disturbed for the first time it is done once undisturbed:
that tells which roles it goes through, how long each takes, and what the world is after it. Then each run is ended once or twice, in ways
and at moments that its number and the seed decide, meets its share of faults, and is started again until it ends well. Then machines,
names, nodes, files and processes have to be those of the undisturbed world, and not one machine more may have been ordered than were
missing or could not be delivered.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.harness import End, Moment, Run, User, until

RUNS = 50
STARTS = 6
"""So often a run may be started until it ends well: each end and each fault may cost one."""

CHOICES = "all: {vars: {openshift_wait_interval: 1, cluster_stable_for: 5, openshift_replace_failed: 9}}\n"
"""The sandbox is fast: most of the time would be spent between two polls. Machines that fail would be left to the user."""

PATIENCE = 1800
"""Seconds for one start, on a computer that has other work too."""

# Tasks are printed when they begin, and not when they have output.
SHOW_SKIPPED = {"ANSIBLE_DISPLAY_SKIPPED_HOSTS": "true"}

ENDS = (End.KILLED, End.POWER_CUT, End.INTERRUPTED)
"""How runs are ended here; what is at work when ansible-playbook alone is killed is the subject of ``kills``."""

API = "^/metal/v1/"
DEVICES = f"{API}projects/[^/]+/devices$"
FAULTS: dict[str, dict[str, Any]] = {
    "reads: 500": {"method": "GET", "path": API, "status": 500},
    "reads: 502": {"method": "GET", "path": API, "status": 502},
    "reads: 503": {"method": "GET", "path": API, "status": 503},
    "reads: connection cut": {"method": "GET", "path": API, "cut": "before"},
    "reads: half an answer": {"method": "GET", "path": API, "cut": "body"},
    "any: 429": {"path": API, "status": 429, "headers": {"Retry-After": "1"}},
    "any: slow": {"path": API, "delay": 3},
    "order: 500": {"method": "POST", "path": DEVICES, "status": 500},
    "order: cut before": {"method": "POST", "path": DEVICES, "cut": "before"},
    "order: cut after the effect": {"method": "POST", "path": DEVICES, "cut": "after"},
    "delete: 500": {"method": "DELETE", "path": API, "status": 500},
    "delete: cut after the effect": {"method": "DELETE", "path": API, "cut": "after"},
    "machine: fails": {"hostname": "."},
}


@dataclass(frozen=True)
class Step:
    """From a cluster with ``before`` workers to one with ``after``; None is no cluster.

    ``attempt``: what the first start is for. Where it is not ``after``, the user has thought better of it when the run was ended.
    """

    title: str
    before: int | None
    attempt: int | None
    after: int | None

    def missing(self) -> int:
        """How many machines have to be ordered, where the user stays with it."""
        if self.after is None:
            return 0
        return max(0, self.after - (self.before or 0)) + (4 if self.before is None else 0)  # control plane and bootstrap


INSTALL = Step("install", None, 2, 2)
UP = Step("scale up", 2, 3, 3)
DOWN = Step("scale down", 3, 2, 2)
TAKE_BACK = Step("scale up, taken back", 2, 3, 2)
DESTROY = Step("destroy", 2, None, None)
GIVE_UP = Step("install, given up", None, 2, None)
CIRCLE = (INSTALL, UP, DOWN, TAKE_BACK, DESTROY, GIVE_UP)
"""The steps of the runs by their number. Each begins where the one before it ends."""


@dataclass(frozen=True)
class Phase:
    """A role's part of a run: when it is entered for the ``occurrence``-th time, and for how many seconds."""

    role: str
    occurrence: int
    begins: float
    lasts: float


@dataclass(frozen=True)
class Course:
    """An undisturbed step: its phases, and how many requests it makes of the Metal API."""

    phases: tuple[Phase, ...]
    requests: int


def phases(run: Run) -> tuple[Phase, ...]:
    """Of a run that ended well."""
    entries: list[tuple[str, float]] = []
    for heading in run.headings:
        if heading.role and (not entries or entries[-1][0] != heading.role):
            entries.append((heading.role, heading.after))
    ends = [*(begins for _role, begins in entries[1:]), run.seconds]
    roles = [role for role, _begins in entries]
    return tuple(Phase(role, roles[: index + 1].count(role), begins, ends[index] - begins) for index, (role, begins) in enumerate(entries))


@dataclass(frozen=True)
class Trial:
    """What happens to one run: when its first starts are ended, and ``faults``, names of FAULTS with how many requests each meets after
    letting some pass."""

    number: int
    step: Step
    moments: tuple[Moment, ...]
    faults: tuple[tuple[str, int, int], ...]

    @classmethod
    def drawn(cls, seed: int, number: int, step: Step, undisturbed: Course) -> Trial:
        dice = random.Random(f"{seed}/{number}")  # noqa: S311 - it has to be the same again
        moments = []
        for _start in range(1 if dice.random() < 0.7 else 2):
            # Half of them any phase, however short, half any time: most of which is spent in few phases, waiting.
            by_phase, by_time, within = dice.random(), dice.random(), dice.random()
            if dice.random() < 0.5:
                phase = undisturbed.phases[int(by_phase * len(undisturbed.phases))]
            else:
                phase = dice.choices(undisturbed.phases, [each.lasts for each in undisturbed.phases])[0]
                within = by_time
            moments.append(Moment(phase.role, round(within * phase.lasts, 2), phase.occurrence, dice.choice(ENDS)))
        # What many requests can meet comes anywhere in the run, what few can early enough to be met.
        often = {name: undisturbed.requests if name.startswith(("reads", "any")) else 4 for name in FAULTS}
        chosen = dice.sample(sorted(FAULTS), dice.randint(0, 3))
        faults = tuple((name, dice.randint(1, 2), dice.randint(0, often[name])) for name in chosen)
        return cls(number, step, tuple(moments), faults)


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: the world after it, and what was wrong on the way.

    ``ends``: in which phase which end found it; ``met``: in which phase which fault.
    """

    trial: Trial
    ends: tuple[tuple[str, str], ...]
    met: tuple[tuple[str, str], ...]
    starts: int
    seconds: float
    world: dict[str, Any]
    wrong: tuple[str, ...]

    def differences(self, worlds: Mapping[int | None, dict[str, Any]]) -> list[str]:
        """From the undisturbed worlds, by their workers."""
        return [*self.wrong, *differences(worlds[self.trial.step.after], self.world)]

    def row(self) -> str:
        ends = ", ".join(f"{end} in {phase}" for phase, end in self.ends) or "ended before its end came"
        met = ", ".join(f"{fault} in {phase}" for phase, fault in self.met) or "no fault"
        return f"{self.trial.number:>3}  {self.trial.step.title:<20} {self.starts} starts {self.seconds:>4.0f} s  {ends}; {met}"


def world(user: User) -> dict[str, Any]:
    """All there is, without what is another each time: ids (that of the install in the tags, too), addresses, times."""
    devices = user.devices()
    owner = {
        address["address"]: device["hostname"] for device in devices for address in device["ip_addresses"] if address["address_family"] == 4
    }
    installed = (user.cluster / "kubeconfig").exists()
    billed = user.sandbox.inventory()
    return {
        "machines": {
            device["hostname"]: [device["state"], device["plan"]["slug"], device["metro"]["code"], *_tags_of_any_install(device)]
            for device in devices
        }
        | ({"in all": len(devices)} if len({device["hostname"] for device in devices}) < len(devices) else {}),
        "billed": {kind: len(found) for kind, found in billed.items() if isinstance(found, list | dict)},
        "names": {
            name: sorted(owner.get(value, re.sub(r"openshift-infra-id=[^,\"]+", "", value)) for value in values)
            for name, values in user.names_in_zone().items()
            if not name.startswith("ns.")
        },
        "nodes": {
            node["metadata"]["name"]: [
                sorted(condition["type"] for condition in node["status"]["conditions"] if condition["status"] == "True"),
                sorted(node["metadata"]["labels"].items()),
                node.get("spec", {}).get("taints", []),
                node.get("spec", {}).get("unschedulable", False),
            ]
            for node in (user.kube("/api/v1/nodes")["items"] if installed else [])
        },
        # The failure bundle of a run is kept after the cluster is deleted.
        "files": sorted(
            str(path.relative_to(user.folder))
            for path in (user.folder / "clusters").glob("**/*")
            # A run report has the time of its run in its name.
            if path.is_file() and "-failed-" not in path.name and path.parent.name != "reports"
        ),
        "processes": sorted(user.processes().values()),
    }


def _tags_of_any_install(device: dict[str, Any]) -> list[str]:
    return sorted(tag.partition("openshift-infra-id=")[0] or "openshift-infra-id" for tag in device["tags"])


def differences(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted(expected.keys() | found.keys()):
            yield from differences(expected.get(name), found.get(name), f"{where}/{name}")
    elif expected != found:
        yield f"{where}: {found}, undisturbed {expected}"


class Chaos:
    """A user whose runs are disturbed; ``say`` is called with each line of what happens."""

    def __init__(self, folder: Path, speed: float, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._speed = speed
        self._say = say
        self._users = contextlib.ExitStack()
        self._user: User | None = None
        self._workers: int | None = None
        self._count = 0
        self.courses: dict[tuple[int | None, int | None], Course] = {}
        self.worlds: dict[int | None, dict[str, Any]] = {}
        """What the world is undisturbed, by the number of workers."""

    def __enter__(self) -> Chaos:
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()

    @property
    def user(self) -> User:
        if self._user is None:
            self._count += 1
            user = User(self._folder / f"world-{self._count}", speed=self._speed)
            user.folder.mkdir(parents=True)
            user.variables |= SHOW_SKIPPED
            self._user = self._users.enter_context(user.at_work())
            (user.inventory / "09-choices.yml").write_text(CHOICES, encoding="utf-8")
        return self._user

    def leave(self) -> None:
        """Keep the files of this environment for analysis and end its processes."""
        if self._user is not None:
            for number in self._user.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
        self._user = None
        self._workers = None
        self._users.close()

    def learn(self, *steps: Step) -> None:
        """Do these steps undisturbed, each from where it begins, and keep how they go and what the world is then."""
        for step in steps:
            self._reach(step.before)
            self._undisturbed(step.before, step.attempt)
            self._reach(step.after)

    def trial(self, seed: int, number: int) -> Trial:
        """Run number ``number`` of that seed."""
        step = CIRCLE[number % len(CIRCLE)]
        if (step.before, step.attempt) not in self.courses or step.after not in self.worlds:
            self.learn(step)
        return Trial.drawn(seed, number, step, self.courses[step.before, step.attempt])

    def run(self, trial: Trial) -> Outcome:
        """Disturb a run, start it again until it ends well, and compare the result."""
        step = trial.step
        self._reach(step.before)
        control = self.user.sandbox
        names = {
            control.call("POST", "faults", json=FAULTS[name] | {"times": times, "skip": skip})["id"]: name
            for name, times, skip in trial.faults
        }
        since, started = time.time(), time.monotonic()
        runs: list[Run] = []
        for aim, moment in itertools.zip_longest([step.attempt] + [step.after] * (STARTS - 1), trial.moments):
            runs.append(self._start(step.before, aim, moment))
            log = self.user.folder / f"run-{trial.number}-start-{len(runs)}.log"
            log.write_text(runs[-1].output, encoding="utf-8")
            if not runs[-1].code and aim == step.after:
                break
        faults = control.call("GET", "faults")["faults"]
        control.call("DELETE", "faults")
        undelivered = sum(max(0, each["hits"] - each["skip"]) for each in faults if each["hostname"])
        met = [
            (next(run for run in reversed(runs) if run.began <= entry["time"]), entry["time"], names[entry["fault"]])
            for entry in control.call("GET", "journal", params={"since": since})["journal"]
            if entry["fault"] in names
        ]
        wrong = list(self._wrong(step, runs, since, undelivered))
        if not runs[-1].code:
            with contextlib.suppress(AssertionError):  # those that are left are reported as a difference
                until(lambda: not self.user.processes(), what="the end of all the runs left running")
        self._workers = step.after
        return Outcome(
            trial,
            tuple((run.phase(), str(moment.end)) for run, moment in zip(runs, trial.moments, strict=False) if run.cut),
            (*((run.phase(moment - run.began), name) for run, moment, name in met), *[("provision", "machine: fails")] * undelivered),
            len(runs),
            time.monotonic() - started,
            world(self.user),
            tuple(wrong),
        )

    def _wrong(self, step: Step, runs: list[Run], since: float, undelivered: int) -> Iterator[str]:
        for run in runs:
            if "Traceback (most recent call last)" in run.output and not run.cut:
                yield f"a traceback:\n{run.tail}"
        if runs[-1].code:
            yield f"it did not end well in {len(runs)} starts:\n{runs[-1].tail}"
            return
        asked = {"service": "metal", "method": "POST", "path": "/devices$", "since": since}
        orders = [each for each in self.user.sandbox.call("GET", "journal", params=asked)["journal"] if each["status"] == 201]
        if step.attempt == step.after and len(orders) != step.missing() + undelivered:
            yield f"{len(orders)} machines ordered, {step.missing()} were missing and {undelivered} could not be delivered"

    def _undisturbed(self, before: int | None, after: int | None) -> None:
        run = self._start(before, after).ended_well()
        self.courses[before, after] = Course(phases(run), len(run.requests))
        self._workers = after
        until(lambda: not self.user.processes(), what="the end of all the run left running")
        found = world(self.user)
        different = list(differences(self.worlds.setdefault(after, found), found))
        result = f"undisturbed from {before} to {after} workers"
        if different:
            raise AssertionError(f"{result}: " + "\n".join(different))
        self._say(f"     {result}: {len(run.headings)} tasks, {run.seconds:.0f} s")

    def _reach(self, workers: int | None) -> None:
        """Have a cluster with so many workers, or none, by undisturbed steps: at the beginning, and after a run that went wrong."""
        while self._workers != workers:
            self._undisturbed(self._workers, {None: 2, 2: workers, 3: 2}[self._workers])

    def _start(self, before: int | None, after: int | None, moment: Moment | None = None) -> Run:
        if after is None:
            return self.user.destroy(kill=moment, timeout=PATIENCE)
        self.user.edit_workers(after - 1)
        return self.user.play("install.yml" if before is None else "scale.yml", kill=moment, timeout=PATIENCE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7, help="decides every moment and fault (default %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="how many runs are disturbed (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="share them between so many sandboxes at once (default %(default)s)")
    parser.add_argument("--only", metavar="N[-M]", help="run number N alone, or those from N to M")
    parser.add_argument("--minutes", type=float, default=180, help="begin no further run after this time (default %(default)g)")
    parser.add_argument("--speed", type=float, default=600, help="simulated seconds per second (default %(default)g)")
    chosen = parser.parse_args()
    # However it is ended, what it started ends too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    first, last = (0, chosen.runs - 1) if chosen.only is None else (int(each) for each in (chosen.only.split("-") * 2)[:2])
    if chosen.jobs > 1 and last - first >= len(CIRCLE):
        return shared(chosen, first, last)
    return disturbed(chosen.seed, range(first, last + 1), speed=chosen.speed, minutes=chosen.minutes)


def shared(chosen: argparse.Namespace, first: int, last: int) -> int:
    """By processes of their own, each whole circles."""
    began = time.monotonic()
    share = -(-(last + 1 - first) // chosen.jobs)
    share += -share % len(CIRCLE)
    command = [sys.executable, "-m", "tests.e2e.chaos", "--seed", str(chosen.seed), "--speed", f"{chosen.speed:g}"]
    command += ["--minutes", f"{chosen.minutes:g}", "--jobs", "1", "--only"]
    jobs = [subprocess.Popen([*command, f"{begin}-{min(begin + share - 1, last)}"]) for begin in range(first, last + 1, share)]
    try:
        codes = [job.wait() for job in jobs]
    finally:
        for job in jobs:
            job.terminate()
        for job in jobs:
            job.wait()
    print(f"all: {(time.monotonic() - began) / 60:.0f} minutes")
    return max(codes)


def disturbed(seed: int, numbers: range, *, speed: float, minutes: float) -> int:
    """Exit status: 0 when all was as undisturbed and there was time for all."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    print(f"seed {seed}; everything is kept in {folder}", flush=True)
    began = time.monotonic()
    different = []
    done = 0
    with Chaos(folder, speed, lambda line: print(line, flush=True)) as chaos:
        for number in numbers:
            if time.monotonic() > began + minutes * 60:
                break
            outcome = chaos.run(chaos.trial(seed, number))
            found = outcome.differences(chaos.worlds)
            print("\n       ".join([f"{outcome.row()}: {'DIFFERENT' if found else 'same'}", *found]), flush=True)
            done += 1
            if found:
                different.append(number)
                chaos.leave()
    print(f"{done} of {len(numbers)} runs in {(time.monotonic() - began) / 60:.0f} minutes, {done - len(different)} as undisturbed")
    for number in different:
        print(f"again, alone: python -m tests.e2e.chaos --seed {seed} --only {number}")
    return 1 if different or done < len(numbers) else 0


if __name__ == "__main__":
    sys.exit(main())
