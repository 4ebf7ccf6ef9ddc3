"""A job of AWX without AWX: ansible-runner runs a playbook as AWX's execution node does.

The project is a private copy, the inventory a script with JSON, extra variables are a file in which answers of a survey are ``!unsafe``,
credentials are the environment of the container and files, as AWX injects them, HOME is an empty folder, there is a terminal at which
nobody types, and all processes end with the first one. The private folder is removed at the end. A container has namespaces of its own;
``unshare`` makes those that a job notices.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.testing.process import REPOSITORY, RunningSandbox, is_write
from tests.awx.objects import container_environment, credential_type, inject, launched, survey_of
from tools.awx_surveys import PREFIX

NUMBERS = itertools.count(1)
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "--kill-child")
"""Those of a container that a job notices: processes that outlive it end, and /proc has its own processes only."""

FIELD = re.compile(r"\{\{ (?:tower\.filename\.)?(?P<field>\w+)")
"""The field of a credential in an injector."""

SCRIPT = """\
#!/usr/bin/env python3
# -*- coding: utf-8 -*-
print('''{}''')
"""

Inventory = dict[str, Any]


class Unsafe(str):
    """An answer of a survey, or a variable that was given at the launch: AWX marks them, so that they are no templates."""

    __slots__ = ()


class Variables(yaml.SafeDumper):
    """Writes a file of extra variables as AWX does."""


Variables.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def unsafe(value: Any) -> Any:
    """Return the value with each text marked."""
    if isinstance(value, Mapping):
        return {Unsafe(key): unsafe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unsafe(item) for item in value]
    return Unsafe(value) if isinstance(value, str) else value


def has_namespaces() -> bool:
    """Return whether this computer allows the namespaces without privileges."""
    return shutil.which("unshare") is not None and subprocess.run([*NAMESPACES, "true"], check=False, capture_output=True).returncode == 0


def imported(source: Path, sandbox: RunningSandbox) -> Inventory:
    """Return what AWX's update of an inventory source reads: the output of ansible-inventory, with templates as text."""
    command = [str(Path(sys.executable).parent / "ansible-inventory"), "-i", str(source), "--list", "--export"]
    environment = {**_clean(), **sandbox.environment, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg")}
    done = subprocess.run(command, cwd=source.parent, env=environment, check=True, capture_output=True, text=True)
    found: Inventory = json.loads(done.stdout)
    for number, variables in enumerate(found["_meta"]["hostvars"].values(), start=1):
        variables |= {"remote_tower_enabled": "true", "remote_tower_id": number}
    for name in {host for group, entry in found.items() if group != "_meta" for host in entry.get("hosts", [])}:
        found["_meta"]["hostvars"].setdefault(name, {"remote_tower_enabled": "true", "remote_tower_id": 99})
    return found


def only(inventory: Inventory, hosts: Iterable[str]) -> Inventory:
    """Return the inventory of a job that gets some of the hosts."""
    chosen, part = set(hosts), copy.deepcopy(inventory)
    part["_meta"]["hostvars"] = {name: variables for name, variables in part["_meta"]["hostvars"].items() if name in chosen}
    for group, entry in part.items():
        if group != "_meta" and "hosts" in entry:
            entry["hosts"] = [name for name in entry["hosts"] if name in chosen]
    return part


def without(inventory: Inventory, *disabled: str) -> Inventory:
    """Return the inventory of a job with these hosts switched off in AWX."""
    return only(inventory, set(inventory["_meta"]["hostvars"]) - set(disabled))


def slice_of(inventory: Inventory, number: int, count: int) -> Inventory:
    """Return the inventory of one of the jobs that ``job_slice_count`` makes of a template."""
    return only(inventory, sorted(inventory["_meta"]["hostvars"])[number - 1 :: count])


@dataclass(frozen=True)
class Job:
    """A job that ended. ``artifacts``: what its tasks set with set_stats."""

    code: int
    output: str
    requests: list[dict[str, Any]]
    private: Path
    artifacts: dict[str, Any]

    @property
    def flat(self) -> str:
        return " ".join(self.output.split())

    @property
    def writes(self) -> list[dict[str, Any]]:
        return [request for request in self.requests if is_write(request)]

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-60:])

    def ended_well(self) -> Job:
        assert self.code == 0, self.tail
        return self

    def refused(self, *texts: str) -> Job:
        """It failed with these words, and changed nothing at the Metal API."""
        assert self.code not in {0, -9}, self.tail
        assert "Traceback" not in self.output, self.tail
        for text in texts:
            assert text in self.flat, f"{text!r} is not in:\n{self.tail}"
        assert self.writes == []
        return self


class Awx:
    """The execution node: launches jobs with the sandbox as service."""

    def __init__(self, folder: Path, sandbox: RunningSandbox) -> None:
        self.folder = folder
        self.sandbox = sandbox
        self.exposed = folder / "exposed"
        """In the settings of AWX one of the paths to expose to isolated jobs."""
        self.exposed.mkdir()
        self._project = folder / "projects" / "checkout"
        self._project.mkdir(parents=True)
        listed = _run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY)
        packed = _run("tar", "-c", "--null", "--no-recursion", "-T", "-", cwd=REPOSITORY, content=listed)
        _run("tar", "-x", cwd=self._project, content=packed)

    def start(
        self,
        playbook: str,
        inventory: Inventory,
        *,
        survey: Mapping[str, Any] | None = None,
        has_survey: bool = True,
        extra: Mapping[str, Any] | None = None,
        inputs: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> Running:
        """Launch a job of the template of a playbook.

        ``survey``: answers by the variable that they set; without ``has_survey`` the template is one that asks nothing; ``extra``:
        variables of the template; ``inputs``: fields of the credential OpenShift installer.
        """
        number = next(NUMBERS)
        private = self.folder / f"awx_{number}_{os.getpid()}"
        for name in ("env", "inventory", "home", "artifacts"):
            (private / name).mkdir(parents=True, mode=0o700)
        shutil.copytree(self._project, private / "project", symlinks=True)
        script = private / "inventory" / "hosts"
        script.write_text(SCRIPT.format(json.dumps(inventory).replace("\\", "\\\\").replace("'''", "\\'\\'\\'")), encoding="utf-8")
        script.chmod(0o700)
        own = {
            f"{prefix}_job_{name}": value for prefix in ("awx", "tower") for name, value in (("id", number), ("template_name", playbook))
        }
        questions = survey_of(playbook) if has_survey else []
        answers = {f"{PREFIX}{name}": answer for name, answer in (survey or {}).items()}
        assert set(answers) <= {question["variable"] for question in questions}, "AWX ignores variables that the survey does not ask for"
        given = launched(questions, extra or {}, answers)
        launch = {name: value for name, value in given.items() if name not in (extra or {})}
        written = yaml.dump({**(extra or {}), **own, **unsafe(launch)}, Dumper=Variables)
        (private / "env" / "extravars").write_text(written, encoding="utf-8")
        (private / "env" / "cmdline").write_text(" ".join(["-u", "root", *arguments]), encoding="utf-8")
        environment = {
            **_clean(),
            **_image(),
            **self._trusted(),
            **container_environment(self._credentials(private / "env", inputs or {})),
            "HOME": str(private / "home"),
            "AWX_PRIVATE_DATA_DIR": str(private),
            "JOB_ID": str(number),
            "ANSIBLE_FORCE_COLOR": "True",
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
            "PWD": str(private / "project"),
        }
        command = [*(NAMESPACES if has_namespaces() else ()), sys.executable, "-m", "ansible_runner", "run", str(private), "-p", playbook]
        began = time.time()
        process = subprocess.Popen(
            command,
            cwd=private / "project",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        return Running(process, private, began, self.sandbox)

    def _trusted(self) -> dict[str, str]:
        """Return what makes the CA of the sandbox's vendor names one that the image trusts, as AWX mounts the trust store of its host."""
        return {name: value for name, value in self.sandbox.environment.items() if name == "SSL_CERT_FILE"}

    def _credentials(self, folder: Path, inputs: Mapping[str, str]) -> dict[str, str]:
        """Return the environment that the credentials of the sandbox inject. The installer's texts have several lines."""
        own = self.sandbox.environment
        keyring = Path(own["OPENSHIFT_RELEASE_KEYRING"]).read_bytes()
        found: dict[str, str] = {}
        for name in ("Metal API", "DNS updates (RFC 2136)", "OpenShift installer"):
            kind = credential_type(name)
            variables = {
                match["field"]: variable for variable, text in kind["injectors"]["env"].items() for match in FIELD.finditer(str(text))
            }
            values = {field: own[variable] for field, variable in variables.items() if variable in own}
            if name == "OpenShift installer":
                pretty = json.dumps(json.loads(values["pull_secret"]), indent=2)
                values |= {"pull_secret": pretty, "release_keyring": _armored(keyring), **inputs}
            found |= inject(kind, values, folder).environment
        return found

    def run(self, playbook: str, inventory: Inventory, *, timeout: float = 1800, **launch: Any) -> Job:
        """Launch a job and wait for its end."""
        return self.start(playbook, inventory, **launch).wait(timeout)


@dataclass
class Running:
    """A job that was launched."""

    process: subprocess.Popen[str]
    private: Path
    began: float
    sandbox: RunningSandbox

    def wait(self, timeout: float) -> Job:
        """Wait for the job's end, and remove its private folder."""
        try:
            output, _nothing = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            output, _nothing = self.process.communicate()
            raise AssertionError(f"the job did not end within {timeout} s:\n{output[-3000:]}") from None
        else:
            artifacts = _artifacts(self.private)
        finally:
            shutil.rmtree(self.private, ignore_errors=True)
        requests = self.sandbox.journal(earliest=self.began)
        text = ESCAPES.sub("", output).replace("\r", "")
        return Job(self.process.returncode, text, requests, self.private, artifacts)


def _artifacts(private: Path) -> dict[str, Any]:
    """Return what AWX keeps of a job from ansible-runner's event at its end, for the next nodes of a workflow."""
    found: dict[str, Any] = {}
    for path in private.glob("artifacts/*/job_events/*.json"):
        event = json.loads(path.read_text(encoding="utf-8"))
        if event.get("event") == "playbook_on_stats":
            found |= event["event_data"].get("artifact_data") or {}
    return found


def _armored(keyring: bytes) -> str:
    """Return a binary keyring as the text that users paste, with lines and a checksum as gpg writes them."""
    data = base64.encodebytes(keyring).decode()
    return f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{data}=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n"


def _run(*command: str, cwd: Path, content: bytes = b"") -> bytes:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, input=content).stdout


def _image() -> dict[str, str]:
    """The variables that the image of the execution environment sets."""
    definition = yaml.safe_load((REPOSITORY / "requirements" / "execution-environment.yml").read_text(encoding="utf-8"))
    steps = definition["additional_build_steps"]["append_final"]
    settings = (step.removeprefix("ENV ").partition("=") for step in steps if step.startswith("ENV "))
    return {name: value for name, _equals, value in settings}


def _clean() -> dict[str, str]:
    """The environment of a container: of this computer only the path of programs and Python's own settings."""
    kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])}
