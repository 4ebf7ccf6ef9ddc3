"""A user with a sandbox, a copy of the example inventory and a shell: what the end-to-end tests do, they do through this."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone
import httpx

from sandbox.demo import processes_of
from sandbox.testing.foreign import UnauthorizedClient
from sandbox.testing.observer import Names, cluster_api
from sandbox.testing.process import REPOSITORY, RunningSandbox, is_write, write_ansible_config

NAME = "demo.metal.test"
QUICK = "all: {vars: {openshift_wait_interval: 1, cluster_stable_for: 5, openshift_progress_interval: 2}}\n"
"""Variables of a fast sandbox: most of the time would be spent between two polls."""
# In the environment of all that a user starts, and of what that starts: the folder, and the tests' own process.
MARK = "USER_AT_WORK_IN"
TESTED_BY = "USER_TESTED_BY"
HEADING = re.compile(r"^(?P<kind>PLAY|TASK|RUNNING HANDLER) \[(?:(?:equinix_metal\.openshift\.)?(?P<role>[a-z_]+) : )?(?P<name>.*)\] \**$")
"""A task as Ansible's default callback prints it, which the tests run with."""
RECAP = re.compile(r"^\S+ +: ok=\d+ +changed=(\d+) +unreachable=\d+ +failed=\d+", re.MULTILINE)


@dataclass(frozen=True)
class Heading:
    """A task that was heard of: in which role (empty between roles), its name, seconds after the start of the run."""

    role: str
    name: str
    after: float


@dataclass(frozen=True)
class Run:
    """One ``ansible-playbook`` that ended, or was killed."""

    code: int
    output: str
    seconds: float
    requests: list[dict[str, Any]]
    # Each task when it was first heard of: at its first result, where those that are skipped are not shown.
    headings: tuple[Heading, ...] = ()
    began: float = 0.0
    """Seconds since 1970."""
    cut: bool = False
    """Whether it was ended before its time."""
    plan: dict[str, Any] | None = None
    """What it was going to do; None for a playbook without a plan, and for a run in which a test had a hand."""

    @property
    def changed(self) -> int:
        rows = RECAP.findall(self.output)
        assert rows, f"no recap in:\n{self.tail}"
        return sum(map(int, rows))

    def phase(self, after: float | None = None) -> str:
        """The role that was at work so many seconds after the start, or in the end."""
        roles = [heading.role for heading in self.headings if heading.role and (after is None or heading.after <= after)]
        return roles[-1] if roles else "start"

    @property
    def writes(self) -> list[dict[str, Any]]:
        return [request for request in self.requests if is_write(request)]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The writes but those of the cluster lock, a virtual network: the first POST of one, one DELETE for it, one for a killed run's."""
        networks = [each for each in self.writes if "/virtual-networks" in each["path"]]
        created = [each for each in networks if each["method"] == "POST"][:1]
        deleted = [each for each in networks if each["method"] == "DELETE"][: len(created) + 1]
        return [each for each in self.writes if each not in created + deleted]

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-60:])

    @property
    def flat(self) -> str:
        """The output in one line: Ansible wraps texts anywhere."""
        return " ".join(self.output.split())

    def refused(self, *texts: str) -> None:
        """It failed with these words, and changed nothing at the Metal API."""
        assert self.code not in {0, -9}, self.tail
        assert "Traceback" not in self.output
        for text in texts:
            assert text in self.flat, f"{text!r} is not in:\n{self.tail}"
        assert self.writes == []

    @property
    def unplanned(self) -> list[str]:
        """What the run has ordered or deleted beyond its plan, kinds with numbers. The journal has no names."""
        if self.plan is None:
            return []
        found = []
        for method, verbs, places in (("POST", {"create", "replace"}, ORDERS), ("DELETE", {"remove", "replace"}, DELETIONS)):
            done = [each for each in self.writes if each["method"] == method and each["status"] < 300]
            for kind, place in places.items():
                # A deletion may be sent twice.
                number = len({each["path"] if method == "DELETE" else each["n"] for each in done if place.search(each["path"])})
                planned = len([step for step in self.plan["steps"] if step["kind"] == kind and step["verb"] in verbs])
                planned += self.plan["replaceable"] if kind == "device" else 0
                if number > planned:
                    found.append(f"{number} x {method} {kind}, {planned} in the plan")
        return found

    def ended_well(self) -> Run:
        assert self.code == 0, self.tail
        assert self.unplanned == [], self.plan["lines"] if self.plan else ""
        return self

    def changed_nothing(self) -> None:
        """It ended well, without a change and without a write to the Metal API."""
        self.ended_well()
        assert (self.changed, self.writes) == (0, [])


class End(StrEnum):
    """How a run is brought to its end before its time."""

    KILLED = "kill -9"
    """``ansible-playbook`` and its group. What has a session of its own does not notice: servers, jobs, and modules that are at work."""
    POWER_CUT = "power cut"
    """All that the user has on this computer ends at once, servers and jobs too."""
    INTERRUPTED = "Ctrl-C"
    ALONE = "kill -9 of ansible-playbook alone"
    """Its workers and modules do not notice by themselves, whatever the version of ansible-core."""


@dataclass(frozen=True)
class Moment:
    """When to end a run: ``delay`` seconds after the ``occurrence``-th time that it enters ``role``, and ``once`` this is so."""

    role: str
    delay: float = 0.0
    occurrence: int = 1
    end: End = End.KILLED
    once: Callable[[User], object] | None = None

    def __str__(self) -> str:
        return f"{self.role}-{self.occurrence}+{self.delay:g}s"


PLANNED = ("install.yml", "scale.yml", "replace.yml", "destroy.yml")
"""The playbooks that print a plan."""
ORDERS = {"device": re.compile(r"/projects/[^/]+/devices$"), "gateway": re.compile(r"/projects/[^/]+/metal-gateways$")}
DELETIONS = {"device": re.compile(r"/devices/[^/]+$"), "gateway": re.compile(r"/metal-gateways/[^/]+$")}
"""Requests of the Metal API by the kind of object that a plan has. The journal does not tell a VLAN from the cluster lock."""

KEPT = 15.0
"""Seconds in which what was used last ends by itself."""


class User:
    """``folder`` is where the user works; the sandbox has its state there too."""

    def __init__(
        self,
        folder: Path,
        speed: float,
        listen: str = "127.0.0.1:0",
        *,
        vendor_names: bool = False,
        machines: str = "simulated",
    ) -> None:
        self.folder = folder
        self.inventory = folder / "inventory"
        self.cluster = folder / "clusters" / NAME
        self.sandbox = RunningSandbox(
            folder / "sandbox",
            log=folder / "sandbox.log",
            speed=speed,
            vendor_names=vendor_names,
            listen=listen,
            machines=machines,
        )
        self.variables: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        """Constants of roles that the tests set."""

    @contextlib.contextmanager
    def at_work(self) -> Iterator[User]:
        end_orphans()
        shutil.copytree(REPOSITORY / "inventory" / "sandbox", self.inventory)
        self.write_configuration()
        with self.sandbox:
            yield self
        # Ansible keeps a connection to a host for some seconds after its last use.
        deadline = time.monotonic() + KEPT
        while (left := processes_of(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.2)
        for number, _command in left:
            os.kill(number, signal.SIGKILL)
        assert not left, f"still running after everything was stopped: {left}"

    def beside(self, folder: Path) -> User:
        """Another user of the same project, with a checkout, an inventory and a folder of clusters of his own."""
        other = copy.copy(self)
        other.folder, other.inventory, other.cluster = folder, folder / "inventory", folder / "clusters" / NAME
        shutil.copytree(self.inventory, other.inventory)
        other.write_configuration()
        # Users at one computer: the ports of a cluster are the same for all of them.
        ports = 30000 + zlib.crc32(str(folder).encode()) % 1000 * 2
        variables = {"openshift_publish_http_port": ports, "openshift_publish_https_port": ports + 1}
        (other.inventory / "03-ports.yml").write_text(json.dumps({"all": {"vars": variables}}), encoding="utf-8")
        return other

    @property
    def userdata(self) -> dict[str, Any]:
        """The variables of an install whose machines read userdata from the vendor's name, in a sandbox with ``vendor_names``."""
        names = {"openshift_resolver": "OPENSHIFT_DNS_SERVER", "openshift_resolver_port": "OPENSHIFT_DNS_PORT"}
        return {"openshift_ignition_platform": "packet", **{name: self.sandbox.environment[own] for name, own in names.items()}}

    def write_configuration(self) -> None:
        """Write an ansible.cfg: the folder of clusters is beside it."""
        write_ansible_config(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
            **self.sandbox.environment,
            # That of ansible.cfg prints no tasks, by which tests know where a run is.
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default",
            **self.variables,
            MARK: str(self.folder),
            TESTED_BY: process_name(os.getpid()),
            "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        }

    def play(
        self,
        playbook: str,
        *arguments: str,
        kill: Moment | None = None,
        after: dict[str, Callable[[], None]] | None = None,
        seen: dict[str, Callable[[], None]] | None = None,
        read: Callable[[str], None] | None = None,
        without: tuple[str, ...] = (),
        timeout: float = 1800,
        variables: dict[str, str] | None = None,
    ) -> Run:
        """Run a playbook to its end, or to ``kill``.

        ``after`` has what is done once a play has left a role, ``seen`` what is done when the output has a text for the first time;
        ``read`` gets each line of the output as it is printed; ``without`` unsets variables, ``variables`` sets them.
        """
        began = time.time()
        environment = {name: value for name, value in (self.environment | (variables or {})).items() if name not in without}
        arguments = (*self._writes_plan(playbook), *(("-e", json.dumps(self.constants)) if self.constants else ()), *arguments)
        # Where tests run in the background Ctrl-C is ignored, and would be by all they start.
        command = ["env", "--default-signal=INT", "ansible-playbook", "-i", str(self.inventory), str(REPOSITORY / playbook), *arguments]
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        timers = [threading.Timer(timeout, self._kill, [process])]
        timers[0].start()
        lines: list[str] = []
        pending = dict(after or {})
        unseen = dict(seen or {})
        entered: list[str] = []
        headings: list[Heading] = []
        cut = threading.Event()

        def end(moment: Moment) -> None:
            # However long: it has its own end.
            until(
                lambda: process.poll() is not None or not moment.once or moment.once(self), within=math.inf, every=0.05, what="the moment"
            )
            if process.poll() is None:
                cut.set()
                self._end(process, moment.end)

        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                if read is not None:
                    read(line.rstrip())
                for text in [text for text in unseen if text in line]:
                    unseen.pop(text)()
                heading = HEADING.match(line.rstrip())
                role = heading["role"] if heading else None
                if heading and heading["kind"] == "PLAY":
                    entered.append("")
                elif heading:
                    headings.append(Heading(role or "", heading["name"], time.monotonic() - started))
                if role is None or (entered and entered[-1] == role):
                    continue
                left = next((name for name in reversed(entered) if name), "")
                if left in pending:
                    pending.pop(left)()
                entered.append(role)
                if kill is not None and role == kill.role and entered.count(role) == kill.occurrence:
                    timers.append(threading.Timer(kill.delay, end, [kill]))
                    timers[-1].start()
            code = process.wait()
        finally:
            for timer in timers:
                timer.cancel()
            # A power cut is over before the next run begins, or it would be cut as well.
            for timer in timers:
                timer.join()
            self._kill(process)
        took = time.monotonic() - started
        planned = None if kill or after or seen or read else self._plan()
        return Run(code, "\n".join(lines), took, self.sandbox.journal(earliest=began), tuple(headings), began, cut.is_set(), planned)

    @property
    def _plan_file(self) -> Path:
        """Beside the user's folder, in which nothing is left that the user has not asked for."""
        return self.folder.with_name(f"{self.folder.name}-plan.json")

    def _writes_plan(self, playbook: str) -> tuple[str, ...]:
        """The arguments that let a playbook write its plan, where it has one."""
        self._plan_file.unlink(missing_ok=True)
        return ("-e", json.dumps({"openshift_plan_file": str(self._plan_file)})) if playbook in PLANNED else ()

    def _plan(self) -> dict[str, Any] | None:
        file = self._plan_file
        found: dict[str, Any] | None = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return found

    @staticmethod
    def _kill(process: subprocess.Popen[str]) -> None:
        """``kill -9``, also for its forks."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def _end(self, process: subprocess.Popen[str], end: End) -> None:
        if end is End.INTERRUPTED:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        elif end is End.ALONE:
            process.kill()
        else:
            self._kill(process)
        if end is End.POWER_CUT:
            # Killed one by one, a parent may have a child meanwhile.
            while left := self.processes():
                for number in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
                time.sleep(0.05)

    def processes(self) -> dict[int, str]:
        """Command lines of what the user's runs have left on this computer, by process number: servers, jobs, orphans."""
        return {number: command for number, (folder, command) in processes_with(MARK).items() if folder == str(self.folder)}

    def destroy(self, **arguments: Any) -> Run:
        return self.play("destroy.yml", "-e", f"openshift_destroy_confirm={NAME}", **arguments)

    def leaves_nothing(self, **arguments: Any) -> None:
        """Destroy the cluster, after which nothing is billed."""
        self.destroy(**arguments).ended_well()
        assert self.sandbox.inventory_is_empty()

    def edit_workers(self, last: int) -> None:
        desired = self.inventory / "01-cluster.yml"
        text, found = re.subn(r"worker-\[0:\d+\]", f"worker-[0:{last}]", desired.read_text(encoding="utf-8"))
        assert found == 1
        desired.write_text(text, encoding="utf-8")

    def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """One request to the Metal API as the user's project makes it; the decoded answer."""
        environment = self.sandbox.environment
        answer = httpx.request(
            method,
            f"{environment['METAL_API_URL']}/{path}",
            headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]},
            timeout=30,
            **arguments,
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def switch(self, action: str, *names: str) -> None:
        """``power_off``, ``power_on`` or ``reboot`` the machines of these short names, or all, and return when they are."""
        chosen = [device["id"] for device in self.devices() if not names or device["hostname"].removesuffix(f".{NAME}") in names]
        for device in chosen:
            self.ask("POST", f"devices/{device}/actions", json={"type": action})
        desired = "inactive" if action == "power_off" else "active"
        until(lambda: all(self.ask("GET", f"devices/{device}")["state"] == desired for device in chosen), what=f"{action} done")

    # --- what there is -------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> Names:
        environment = self.sandbox.environment
        return Names(environment["OPENSHIFT_DNS_SERVER"], int(environment["OPENSHIFT_DNS_PORT"]))

    @property
    def unauthorized_client(self) -> UnauthorizedClient:
        return UnauthorizedClient(NAME, self.cluster / "ignition" / "worker.ign", self.names)

    def names_in_zone(self) -> dict[str, list[str]]:
        """All records of the base domain but those of the zone itself, as `name type`."""
        environment = self.sandbox.environment
        key = {environment["OPENSHIFT_DNS_KEY_NAME"]: environment["OPENSHIFT_DNS_KEY_SECRET"]}
        messages = dns.query.xfr(
            environment["OPENSHIFT_DNS_SERVER"],
            environment["OPENSHIFT_BASE_DOMAIN"],
            port=int(environment["OPENSHIFT_DNS_PORT"]),
            keyring=dns.tsigkeyring.from_text(key),
            keyalgorithm=dns.tsig.HMAC_SHA256,
            relativize=False,
        )
        zone = dns.zone.from_xfr(messages, relativize=False)
        return {
            f"{name} {dns.rdatatype.to_text(records.rdtype)}": sorted(record.to_text() for record in records)
            for name, records in zone.iterate_rdatasets()
            if name != zone.origin
        }

    def change_zone(self, *records: tuple[str, str, str]) -> None:
        """Set records, each a name, a type and a text (empty: there is none), as somebody else does who has the key of the zone."""
        environment = self.sandbox.environment
        key = {environment["OPENSHIFT_DNS_KEY_NAME"]: environment["OPENSHIFT_DNS_KEY_SECRET"]}
        update = dns.update.UpdateMessage(
            environment["OPENSHIFT_BASE_DOMAIN"], keyring=dns.tsigkeyring.from_text(key), keyalgorithm=dns.tsig.HMAC_SHA256
        )
        for name, kind, text in records:
            update.delete(f"{name}.", kind)
            if text:
                update.add(f"{name}.", 60, kind, text)
        answer = dns.query.tcp(update, environment["OPENSHIFT_DNS_SERVER"], port=int(environment["OPENSHIFT_DNS_PORT"]), timeout=10)
        assert answer.rcode() == dns.rcode.NOERROR

    def devices(self) -> list[dict[str, Any]]:
        """All devices of the project, as the Metal API lists them."""
        environment = self.sandbox.environment
        answer = httpx.get(
            f"{environment['METAL_API_URL']}/projects/{environment['METAL_PROJECT_ID']}/devices",
            params={"per_page": 250},
            headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]},
            timeout=30,
        )
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["devices"]
        return found

    def hostnames(self) -> list[str]:
        return sorted(device["hostname"].removesuffix(f".{NAME}") for device in self.devices())

    def nodes(self, ready: str = "True") -> list[str]:
        """Short names of the Nodes whose Ready condition has this status, sorted."""
        found = []
        for node in self.kube("/api/v1/nodes")["items"]:
            states = [condition["status"] for condition in node["status"]["conditions"] if condition["type"] == "Ready"]
            if states == [ready]:
                found.append(node["metadata"]["name"].removesuffix(f".{NAME}"))
        return sorted(found)

    def kube(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """One call of the cluster's API, GET unless another method is given, with the kubeconfig that the install wrote."""
        return cluster_api(self.cluster / "kubeconfig", path, method, body)


def processes_with(variable: str) -> dict[int, tuple[str, str]]:
    """What this variable is in the environment of each process that has it, and the command line, by process number."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is a process of another user
            settings = (path / "environ").read_bytes().decode(errors="replace").split("\0")
            values = [value for name, _sign, value in (setting.partition("=") for setting in settings) if name == variable]
            if values and (command := (path / "cmdline").read_bytes()):
                found[int(path.name)] = (values[0], command.replace(b"\0", b" ").decode(errors="replace").strip())
    return found


def process_name(number: int) -> str:
    """A process for good: its number may be another's later, its start cannot. Empty when there is none."""
    try:
        return f"{number}@{Path(f'/proc/{number}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[19]}"
    except OSError:
        return ""


def end_orphans() -> None:
    """End what tests that were killed have left running: servers and jobs have sessions of their own."""
    for number, (tested_by, _command) in processes_with(TESTED_BY).items():
        if process_name(int(tested_by.partition("@")[0])) != tested_by:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def until(read: Callable[[], Any], *, within: float = 90.0, every: float = 0.5, what: str) -> Any:
    """Return the first true answer of ``read``, called ``every`` seconds for ``within`` seconds; a lost connection is a false one."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if answer := read():
                return answer
        time.sleep(every)
    raise AssertionError(f"not within {within} s: {what}")
