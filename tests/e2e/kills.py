"""A playbook is killed while one of its modules writes or is about to, and at once another one is run: is anything bought twice, or left?

A module waits after a 429, orders a device, or deletes one; then the main process of ansible-playbook is killed, its process group, or
all that runs (a power cut). The module may survive that, and what it has sent is carried out by the service all the same. At once the
playbook is run again, or the cluster is destroyed. In the end there has to be one device of each name, ordered once; or none, and none may
come later.

The playbooks have only the roles of install.yml and destroy.yml that write devices, with the cluster lock: a moment takes seconds then, and
not minutes. The whole playbooks are killed by ``tests.e2e.chaos``, test_each_write.py and test_resume.py.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.chaos import DEVICES, PATIENCE
from tests.e2e.harness import NAME, End, Moment, Run, User, until

MOMENTS = 30
CONTEXTS = ("pause", "create", "delete")
ENDS = (End.ALONE, End.KILLED, End.POWER_CUT)
THEN = ("install", "destroy")

CALL = 12
"""Seconds that a call of the Metal API may take: what a run that was killed has sent is over after that."""
LONGEST = 5
"""Seconds that the service takes for a write at most."""
PAUSE = 12
"""Seconds that the service asks for with a 429."""

HOSTS = """
all:
  children:
    bootstrap: {hosts: {bootstrap-0: }}
    control_plane: {hosts: {master-0: }}
    workers: {hosts: {}}
"""
CHOICES = """
all:
  vars: {openshift_wait_interval: 1, cluster_stable_for: 5, openshift_progress_interval: 2, metal_api_timeout: %g}
"""
INFRA_ID = "demo-x7k2p"
ORDER = "tests/e2e/writes/order.yml"
DELETE = "tests/e2e/writes/delete.yml"


@dataclass(frozen=True)
class Kill:
    """One moment: in which ``context``, how long after it has come about, how the playbook is killed, and what is run ``then``.

    ``latency``: seconds that the service takes for what is being sent. ``skip``: how many requests of that kind pass before.
    """

    number: int
    context: str
    end: End
    then: str
    after: float
    latency: float
    skip: int

    @classmethod
    def drawn(cls, seed: int, number: int) -> Kill:
        dice = random.Random(f"{seed}/kill/{number}")  # noqa: S311 - it has to be the same again
        context = CONTEXTS[number % len(CONTEXTS)]
        end = ENDS[number // len(CONTEXTS) % len(ENDS)]
        latency = round(dice.uniform(1, LONGEST), 1)
        after = round(dice.uniform(0, 3 if context == "pause" else latency), 2)
        return cls(number, context, end, dice.choice(THEN), after, latency, dice.randint(0, 1))

    @property
    def fault(self) -> dict[str, Any]:
        if self.context == "pause":
            answer = {"status": 429, "headers": {"Retry-After": str(PAUSE)}, "times": 2}
            return {"method": "POST", "path": DEVICES, "skip": self.skip, **answer}
        if self.context == "create":
            return {"method": "POST", "path": DEVICES, "skip": self.skip, "delay": self.latency, "times": 2}
        return {"method": "DELETE", "path": "/metal/v1/devices/", "skip": self.skip, "delay": self.latency, "times": 2}

    def __str__(self) -> str:
        what = {"pause": f"a pause of {PAUSE} s after a 429", "create": "an order", "delete": "a deletion"}[self.context]
        return f"{self.number:>3}  {self.end} {self.after:g} s into {what} of {self.latency:g} s (after {self.skip}), then {self.then}"


def make_files(user: User) -> None:
    """Write the files that the role provision reads: what the installer of an install would have made."""
    for name, content in {
        "ignition/metadata.json": f'{{"infraID": "{INFRA_ID}"}}',
        "ignition/master.ign": '{"ignition": {"version": "3.2.0"}}',
        "publish/bootstrap-pointer.ign": '{"ignition": {"version": "3.2.0"}}',
    }.items():
        path = user.cluster / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def make_small(user: User, timeout: float) -> None:
    """Have the smallest inventory: one control plane machine and the bootstrap machine. ``timeout``: of one call of the Metal API."""
    (user.inventory / "01-hosts.yml").write_text(HOSTS, encoding="utf-8")
    desired = user.inventory / "01-cluster.yml"
    desired.write_text("---\nall:\n" + desired.read_text(encoding="utf-8").partition("\nall:\n")[2], encoding="utf-8")
    (user.inventory / "09-choices.yml").write_text(CHOICES % timeout, encoding="utf-8")


class Kills:
    """A user whose playbooks are killed; each moment begins and ends with nothing."""

    def __init__(self, user: User, keep: Path) -> None:
        self.user = user
        self._keep = keep

    def run(self, kill: Kill) -> list[str]:
        """What was wrong; nothing when all was well."""
        control, began = self.user.sandbox, time.time()
        if kill.context == "delete":
            before = self._install()
            if before.code != 0:
                return [f"the install before it did not order its devices:\n{before.tail}"]
        fault = control.call("POST", "faults", json=kill.fault)["id"]
        moment = self._moment(kill, fault)
        killed = self._destroy(kill=moment) if kill.context == "delete" else self._install(kill=moment)
        self._note(kill, "killed", killed)
        wrong = [] if killed.cut else [f"it was not killed:\n{killed.tail}"]
        left = self._left()
        if kill.then == "destroy":
            run = self._destroy()
            self._note(kill, "destroy", run)
            wrong += [] if run.code == 0 else [f"destroy.yml failed:\n{run.tail}"]
            proved = time.time()
            # Nothing of the killed run may come later: neither from a module of it, nor from what it had sent.
            until(lambda: not left & self._left(), within=PAUSE + CALL, what="the end of the killed run's modules")
            late = [each for each in self._orders(began) if each["time"] > proved]
            wrong += [f"ordered after destroy.yml had ended: {late}"] if late else []
            wrong += [] if control.inventory_is_empty() else [f"left after destroy.yml: {control.inventory()}"]
        else:
            run = self._install()
            self._note(kill, "install", run)
            wrong += [] if run.code == 0 else [f"the install after it did not order its devices:\n{run.tail}"]
            until(lambda: not left & self._left(), within=PAUSE + CALL, what="the end of the killed run's modules")
            names = Counter(device["hostname"] for device in self.user.devices())
            wrong += [f"{name}: {count} devices" for name, count in names.items() if count > 1]
            wrong += [] if len(names) == 2 else [f"the devices are {sorted(names)}"]
            orders = len(self._orders(began))
            expected = 4 if kill.context == "delete" else 2
            # A deletion may have come before or after the kill: what was not deleted is not ordered again.
            wrong += [] if orders == expected or (kill.context == "delete" and 2 <= orders <= expected) else [f"{orders} orders"]
        control.call("DELETE", "faults")
        if not control.inventory_is_empty():
            run = self._destroy()
            wrong += [] if run.code == 0 else [f"destroy.yml failed at last:\n{run.tail}"]
        wrong += [] if control.inventory_is_empty() else [f"left at last: {control.inventory()}"]
        return wrong

    def _left(self) -> set[int]:
        """Workers and modules that run: of the latter, which are read from a pipe, only the interpreter is seen."""
        commands = self.user.processes().items()
        return {number for number, command in commands if "ansible-playbook" in command or command.endswith("/python")}

    def _moment(self, kill: Kill, fault: str) -> Moment:
        seen: list[float] = []

        def come(user: User) -> bool:
            (found,) = [each for each in user.sandbox.call("GET", "faults")["faults"] if each["id"] == fault]
            if found["hits"] > kill.skip and not seen:
                seen.append(time.monotonic())
            return bool(seen) and time.monotonic() - seen[0] >= kill.after

        role = ("destroy", 2) if kill.context == "delete" else ("provision", 1)
        return Moment(role[0], occurrence=role[1], end=kill.end, once=come)

    def _install(self, **arguments: Any) -> Run:
        return self.user.play(ORDER, timeout=PATIENCE, **arguments)

    def _destroy(self, **arguments: Any) -> Run:
        return self.user.play(DELETE, "-e", f"openshift_destroy_confirm={NAME}", timeout=PATIENCE, **arguments)

    def _orders(self, since: float) -> list[dict[str, Any]]:
        asked = {"service": "metal", "method": "POST", "path": "/devices$", "since": since}
        return [each for each in self.user.sandbox.call("GET", "journal", params=asked)["journal"] if each["status"] == 201]

    def _note(self, kill: Kill, name: str, run: Run) -> None:
        (self._keep / f"kill-{kill.number}-{name}.log").write_text(run.output, encoding="utf-8")


def tried(folder: Path, kills: list[Kill]) -> list[str]:
    """Try these moments beside one sandbox; returns what was wrong with which."""
    user = User(folder, speed=600)
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    with user.at_work():
        make_small(user, CALL)
        make_files(user)
        found = Kills(user, folder)
        for kill in kills:
            began = time.monotonic()
            problems = found.run(kill)
            print(f"{kill}: {'WRONG' if problems else 'well'} ({time.monotonic() - began:.0f} s)", flush=True)
            wrong += [f"{kill}: {problem}" for problem in problems]
        for number in user.processes():
            os.kill(number, signal.SIGKILL)
    return wrong
