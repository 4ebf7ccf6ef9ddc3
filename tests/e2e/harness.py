"""A user with a sandbox, a copy of the example inventory and a shell: what the end-to-end tests do, they do through this."""

from __future__ import annotations

import contextlib
import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sandbox.demo import HEADING, processes_of
from sandbox.onlooker import Names, cluster_api
from sandbox.running import REPOSITORY, RunningSandbox, is_write
from sandbox.stranger import Stranger

NAME = "demo.metal.test"
RECAP = re.compile(r"^\S+ +: ok=\d+ +changed=(\d+) +unreachable=\d+ +failed=\d+", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One ``ansible-playbook`` that ended, or was killed."""

    code: int
    output: str
    seconds: float
    requests: list[dict[str, Any]]

    @property
    def changed(self) -> int:
        rows = RECAP.findall(self.output)
        assert rows, f"no recap in:\n{self.tail}"
        return sum(map(int, rows))

    @property
    def writes(self) -> list[dict[str, Any]]:
        return [request for request in self.requests if is_write(request)]

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-60:])

    def ended_well(self) -> Run:
        assert self.code == 0, self.tail
        return self


@dataclass(frozen=True)
class Moment:
    """When to kill: ``delay`` seconds after the ``occurrence``-th time that a play enters ``role``."""

    role: str
    delay: float = 0.0
    occurrence: int = 1

    def __str__(self) -> str:
        return f"{self.role}-{self.occurrence}+{self.delay:g}s"


class User:
    """``folder`` is where the user works; the sandbox has its state there too."""

    def __init__(self, folder: Path, speed: float) -> None:
        self.folder = folder
        self.inventory = folder / "inventory"
        self.cluster = folder / "clusters" / NAME
        self.sandbox = RunningSandbox(folder / "sandbox", log=folder / "sandbox.log", speed=speed)
        self.variables: dict[str, str] = {}

    @contextlib.contextmanager
    def at_work(self) -> Iterator[User]:
        shutil.copytree(REPOSITORY / "inventory", self.inventory)
        with self.sandbox:
            yield self
        left = processes_of(self.folder)
        for number, _command in left:
            os.kill(number, signal.SIGKILL)
        assert not left, f"still running after everything was stopped: {left}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
            **self.sandbox.environment,
            **self.variables,
            "PWD": str(self.folder),
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        }

    def play(
        self,
        playbook: str,
        *arguments: str,
        kill: Moment | None = None,
        after: dict[str, Callable[[], None]] | None = None,
        without: tuple[str, ...] = (),
        timeout: float = 600,
        variables: dict[str, str] | None = None,
    ) -> Run:
        """Run a playbook to its end, or to ``kill``.

        ``after`` has what is done once a play has left a role; ``without`` unsets variables, ``variables`` sets them.
        """
        self.sandbox.forget()
        environment = {name: value for name, value in (self.environment | (variables or {})).items() if name not in without}
        command = ["ansible-playbook", "-i", str(self.inventory), str(REPOSITORY / playbook), *arguments]
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
        entered: list[str] = []
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                heading = HEADING.match(line.rstrip())
                role = heading["role"] if heading else None
                if heading and heading["kind"] == "PLAY":
                    entered.append("")
                if role is None or (entered and entered[-1] == role):
                    continue
                left = next((name for name in reversed(entered) if name), "")
                if left in pending:
                    pending.pop(left)()
                entered.append(role)
                if kill is not None and role == kill.role and entered.count(role) == kill.occurrence:
                    timers.append(threading.Timer(kill.delay, self._kill, [process]))
                    timers[-1].start()
            code = process.wait()
        finally:
            for timer in timers:
                timer.cancel()
            self._kill(process)
        return Run(code, "\n".join(lines), time.monotonic() - started, self.sandbox.journal())

    @staticmethod
    def _kill(process: subprocess.Popen[str]) -> None:
        """``kill -9``, also for its forks."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def destroy(self) -> Run:
        return self.play("destroy.yml", "-e", f"openshift_destroy_confirm={NAME}").ended_well()

    def edit_workers(self, last: int) -> None:
        wanted = self.inventory / "01-cluster.yml"
        text, found = re.subn(r"worker-\[0:\d+\]", f"worker-[0:{last}]", wanted.read_text(encoding="utf-8"))
        assert found == 1
        wanted.write_text(text, encoding="utf-8")

    # --- what there is -------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> Names:
        environment = self.sandbox.environment
        return Names(environment["OPENSHIFT_DNS_SERVER"], int(environment["OPENSHIFT_DNS_PORT"]))

    @property
    def stranger(self) -> Stranger:
        return Stranger(NAME, self.cluster / "ignition" / "worker.ign", self.names)

    def devices(self) -> list[dict[str, Any]]:
        """All devices of the project, as the Metal API lists them."""
        environment = self.sandbox.environment
        answer = httpx.get(
            f"{environment['METAL_API_URL']}/projects/{environment['METAL_PROJECT_ID']}/devices",
            params={"per_page": 250},
            headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]},
        )
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["devices"]
        return found

    def hostnames(self) -> list[str]:
        return sorted(device["hostname"].removesuffix(f".{NAME}") for device in self.devices())

    def kube(self, path: str) -> Any:
        """GET of the cluster's API with the kubeconfig that the install wrote."""
        return cluster_api(self.cluster / "kubeconfig", path)


class TamperedMirror:
    """The sandbox's mirror, but the installer's archive is not what its checksum says."""

    def __init__(self, mirror: str) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = httpx.get(mirror + self.path)
                content = answer.content
                if "openshift-install" in self.path and self.path.endswith(".tar.gz"):
                    content = content[:-1] + bytes([content[-1] ^ 1])
                self.send_response(answer.status_code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_HEAD(self) -> None:
                answer = httpx.head(mirror + self.path)
                self.send_response(answer.status_code)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the tests' output is theirs."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> TamperedMirror:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
