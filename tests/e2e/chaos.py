"""Runs that are ended at any moment, with faults of the API on top, and started again: is the world the same as undisturbed?

    make chaos CHAOS="--seed 7 --runs 50"
    make chaos CHAOS="--seed 7 --only 23"       # one of them again, alone

Before a step (an install, scaling up or down, destroying) is disturbed for the first time it is done once undisturbed: that tells which
tasks it has, how long each takes, and what the world is after it. Then each run is ended once, in a way and at a moment that its number
and the seed decide, meets its share of faults, and is started again until it ends well. Then machines, names, nodes, files and processes
have to be those of the undisturbed world, and not one machine more may have been ordered than were missing or could not be delivered.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.harness import End, Moment, Run, User, until

STARTS = 5
"""So often a run may be started until it ends well: each fault may end one."""

PACE = "all: {vars: {openshift_wait_interval: 1, openshift_stable_for: 5}}\n"
"""The sandbox is fast: most of the time would be spent between two looks."""

API = "^/metal/v1/"
DEVICES = f"{API}projects/[^/]+/devices$"
FAULTS: dict[str, dict[str, Any]] = {
    "reads: 500": {"method": "GET", "path": API, "status": 500},
    "reads: 502": {"method": "GET", "path": API, "status": 502},
    "reads: 503": {"method": "GET", "path": API, "status": 503},
    "429": {"path": API, "status": 429, "headers": {"Retry-After": "1"}},
    "reads: connection cut": {"method": "GET", "path": API, "cut": "before"},
    "reads: half an answer": {"method": "GET", "path": API, "cut": "body"},
    "slow": {"path": API, "delay": 3},
    "order: 500": {"method": "POST", "path": DEVICES, "status": 500},
    "order: cut before": {"method": "POST", "path": DEVICES, "cut": "before"},
    "order: cut after the effect": {"method": "POST", "path": DEVICES, "cut": "after"},
    "delete: 500": {"method": "DELETE", "path": API, "status": 500},
    "delete: cut after the effect": {"method": "DELETE", "path": API, "cut": "after"},
    "a machine fails": {"hostname": "."},
}


@dataclass(frozen=True)
class Step:
    """From a cluster with ``before`` workers to one with ``after``; None is no cluster."""

    playbook: str
    before: int | None
    after: int | None

    def __str__(self) -> str:
        return f"{self.playbook.removesuffix('.yml')} {self.before or 0} to {self.after or 0}"

    def missing(self) -> int:
        """How many machines have to be ordered."""
        if self.after is None:
            return 0
        return max(0, self.after - (self.before or 0)) + (4 if self.before is None else 0)  # control plane and bootstrap


INSTALL, UP, DOWN, DESTROY = Step("install.yml", None, 2), Step("scale.yml", 2, 3), Step("scale.yml", 3, 2), Step("destroy.yml", 2, None)
CIRCLE = (UP, DOWN, UP, DOWN, DESTROY, INSTALL)
"""The steps of the runs by their number. Each begins where the one before it ends."""


@dataclass(frozen=True)
class Trial:
    """What happens to one run; ``faults`` are names of FAULTS with how many requests each meets after letting some pass."""

    number: int
    step: Step
    moment: Moment
    faults: tuple[tuple[str, int, int], ...]

    @classmethod
    def drawn(cls, seed: int, number: int, step: Step, begun: tuple[float, ...]) -> Trial:
        """``begun``: when the tasks of the undisturbed run were first heard of, and when it ended, in seconds from its start."""
        dice = random.Random(f"{seed}/{number}")  # noqa: S311 - it has to be the same again
        # Half of them any task, however short, half any time: most of which is spent in few tasks, waiting.
        by_task, by_time, within = dice.random(), dice.uniform(begun[0], begun[-1]), dice.random()
        if dice.random() < 0.5:
            task = int(by_task * (len(begun) - 1))
            delay = within * (begun[task + 1] - begun[task])
        else:
            task = max(index for index, start in enumerate(begun[:-1]) if start <= by_time)
            delay = by_time - begun[task]
        end = dice.choice(list(End))
        faults = tuple((name, dice.randint(1, 2), dice.randint(0, 4)) for name in dice.sample(sorted(FAULTS), dice.randint(0, 3)))
        return cls(number, step, Moment("", round(delay, 2), task + 1, end), faults)


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: ``differences`` is empty when all is as undisturbed."""

    trial: Trial
    ended_after: str
    starts: int
    hits: int
    seconds: float
    differences: tuple[str, ...]

    def row(self) -> str:
        verdict = "same" if not self.differences else "DIFFERENT"
        faults = ", ".join(name for name, _times, _skip in self.trial.faults) or "none"
        when = f"{self.trial.moment.delay:g} s after {self.ended_after}"
        return (
            f"{self.trial.number:>3}  {self.trial.step!s:<15} {self.trial.moment.end:<9} {when[:60]:<60} {self.starts:>2} starts "
            f"{self.hits:>2} faults {self.seconds:>4.0f} s  {verdict}  ({faults})"
        )


def world(user: User) -> dict[str, Any]:
    """All there is, without what is another each time: ids, addresses, times."""
    devices = user.devices()
    owner = {
        address["address"]: device["hostname"] for device in devices for address in device["ip_addresses"] if address["address_family"] == 4
    }
    installed = (user.cluster / "kubeconfig").exists()
    billed = user.sandbox.inventory()
    return {
        "machines": {
            device["hostname"]: [device["state"], device["plan"]["slug"], device["metro"]["code"], *sorted(device["tags"])]
            for device in devices
        }
        | ({"in all": len(devices)} if len({device["hostname"] for device in devices}) < len(devices) else {}),
        "billed": {kind: len(found) for kind, found in billed.items() if isinstance(found, list | dict)},
        "names": {name: sorted(owner.get(value, value) for value in values) for name, values in user.names_in_zone().items()},
        "nodes": {
            node["metadata"]["name"]: [
                sorted(condition["type"] for condition in node["status"]["conditions"] if condition["status"] == "True"),
                sorted(node["metadata"]["labels"].items()),
                node.get("spec", {}).get("taints", []),
                node.get("spec", {}).get("unschedulable", False),
            ]
            for node in (user.kube("/api/v1/nodes")["items"] if installed else [])
        },
        # What tells why a run failed is kept, whatever becomes of the cluster.
        "files": sorted(
            str(path.relative_to(user.folder))
            for path in (user.folder / "clusters").glob("**/*")
            if path.is_file() and "-failed-" not in path.name
        ),
        "processes": sorted(user.processes().values()),
    }


def differences(wanted: Any, found: Any, where: str = "") -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in sorted(wanted.keys() | found.keys()):
            yield from differences(wanted.get(name), found.get(name), f"{where}/{name}")
    elif wanted != found:
        yield f"{where}: {found}, undisturbed {wanted}"


class Chaos:
    """A user whose runs are disturbed; ``say`` is called with each line of what happens."""

    def __init__(self, folder: Path, seed: int, speed: float, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._seed = seed
        self._speed = speed
        self._say = say
        self._users = contextlib.ExitStack()
        self._user: User | None = None
        self._workers: int | None = None
        self._begun: dict[Step, tuple[float, ...]] = {}
        self._worlds: dict[int | None, dict[str, Any]] = {}
        self._count = 0

    def __enter__(self) -> Chaos:
        # Where this is started in the background Ctrl-C is ignored, and would be by all it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    @property
    def user(self) -> User:
        if self._user is None:
            self._count += 1
            user = User(self._folder / f"world-{self._count}", speed=self._speed)
            user.folder.mkdir(parents=True)
            self._user = self._users.enter_context(user.at_work())
            (user.inventory / "09-pace.yml").write_text(PACE, encoding="utf-8")
        return self._user

    def _leave(self) -> None:
        """Leave this world as it is, for whoever wants to look; what runs in it ends."""
        if self._user is not None:
            for number in self._user.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
        self._user = None
        self._workers = None
        self._users.close()

    def _undisturbed(self, step: Step) -> None:
        """Do this step, and keep how it went and what the world is then."""
        run = self._start(step, None).ended_well()
        self._begun[step] = (*run.begun, run.seconds)
        self._workers = step.after
        until(lambda: not self.user.processes(), what="the end of all the run left running")
        after = world(self.user)
        known = self._worlds.setdefault(step.after, after)
        if found := list(differences(known, after)):
            raise AssertionError(f"after an undisturbed {step}: " + "\n".join(found))
        self._say(f"     {step!s:<15} undisturbed: {run.tasks} tasks, {run.seconds:.0f} s")

    def disturbed(self, number: int, step: Step) -> Outcome:
        """Run number ``number``: ended, started again until it ends well, compared."""
        if step not in self._begun:
            self._reach(step.before)
            self._undisturbed(step)
        self._reach(step.before)
        trial = Trial.drawn(self._seed, number, step, self._begun[step])
        control = self.user.sandbox
        for name, times, skip in trial.faults:
            control.call("POST", "faults", json=FAULTS[name] | {"times": times, "skip": skip})
        since, started = time.time(), time.monotonic()
        runs = [self._start(step, trial.moment)]
        self._keep(trial, runs)
        ended_after = runs[0].last_task if runs[0].code else "came too late"
        while runs[-1].code and len(runs) <= STARTS:
            runs.append(self._start(step, None))
            self._keep(trial, runs)
        faults = control.call("GET", "faults")["faults"]
        control.call("DELETE", "faults")
        undelivered = sum(max(0, each["hits"] - each["skip"]) for each in faults if each["hostname"])
        found = list(self._compared(step, runs, since, undelivered))
        hits = sum(max(0, each["hits"] - each["skip"]) for each in faults)
        self._workers = step.after
        outcome = Outcome(trial, ended_after, len(runs), hits, time.monotonic() - started, tuple(found))
        if found:
            self._leave()
        return outcome

    def _compared(self, step: Step, runs: list[Run], since: float, undelivered: int) -> Iterator[str]:
        for run in runs[1:]:
            if "Traceback (most recent call last)" in run.output:
                yield f"a traceback:\n{run.tail}"
        if runs[-1].code:
            yield f"it did not end well in {len(runs)} starts:\n{runs[-1].tail}"
            return
        with contextlib.suppress(AssertionError):  # those that are left are told below
            until(lambda: not self.user.processes(), what="the end of all the runs left running")
        yield from differences(self._worlds[step.after], world(self.user))
        asked = {"service": "metal", "method": "POST", "path": "/devices$", "since": since}
        orders = [each for each in self.user.sandbox.call("GET", "journal", params=asked)["journal"] if each["status"] == 201]
        if len(orders) != step.missing() + undelivered:
            yield f"{len(orders)} machines ordered, {step.missing()} were missing and {undelivered} could not be delivered"

    def _reach(self, workers: int | None) -> None:
        """Have a cluster with so many workers, or none, by undisturbed steps: at the beginning, and after a run that went wrong."""
        while self._workers != workers:
            self._undisturbed({None: INSTALL, 2: UP if workers == 3 else DESTROY, 3: DOWN}[self._workers])

    def _start(self, step: Step, moment: Moment | None) -> Run:
        if step.after is None:
            return self.user.destroy(kill=moment)
        self.user.edit_workers(step.after - 1)
        return self.user.play(step.playbook, kill=moment)

    def _keep(self, trial: Trial, runs: list[Run]) -> None:
        (self.user.folder / f"run-{trial.number}-start-{len(runs)}.log").write_text(runs[-1].output, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7, help="decides every moment and fault (default %(default)s)")
    parser.add_argument("--runs", type=int, default=50, help="how many runs are disturbed (default %(default)s)")
    parser.add_argument("--only", type=int, metavar="N", help="run number N alone")
    parser.add_argument("--minutes", type=float, default=180, help="begin no further run after this time (default %(default)g)")
    parser.add_argument("--speed", type=float, default=600, help="simulated seconds per second (default %(default)g)")
    chosen = parser.parse_args()
    # However it is ended, what it started ends too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)

    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    print(f"seed {chosen.seed}; everything is kept in {folder}", flush=True)
    numbers = range(chosen.runs) if chosen.only is None else [chosen.only]
    end = time.monotonic() + chosen.minutes * 60
    outcomes = []
    with Chaos(folder, chosen.seed, chosen.speed, lambda line: print(line, flush=True)) as chaos:
        for number in numbers:
            if time.monotonic() > end:
                break
            outcome = chaos.disturbed(number, CIRCLE[number % len(CIRCLE)])
            outcomes.append(outcome)
            print(outcome.row(), flush=True)
            for line in outcome.differences:
                print(f"       {line}", flush=True)
    different = [outcome.trial.number for outcome in outcomes if outcome.differences]
    print(f"{len(outcomes)} of {len(numbers)} runs, {len(outcomes) - len(different)} as undisturbed")
    for number in different:
        print(f'again, alone: make chaos CHAOS="--seed {chosen.seed} --only {number}"')
    return 1 if different or len(outcomes) < len(numbers) else 0


if __name__ == "__main__":
    sys.exit(main())
