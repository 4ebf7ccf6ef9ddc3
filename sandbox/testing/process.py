"""A sandbox as a child process: for the demo, and for tests that need one they may stop, kill and start again.

``RunningSandbox`` starts ``python -m sandbox serve``, reads the exports it prints, and calls its control API (``/_sandbox/...``). It is the
same sandbox that ``make sandbox`` starts.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

REPOSITORY = Path(__file__).resolve().parents[2]


def write_ansible_config(folder: Path) -> Path:
    """Write the checkout's ansible.cfg to a folder, with absolute paths: the folder of clusters is beside the ansible.cfg in use."""
    config = folder / "ansible.cfg"
    text = (REPOSITORY / "ansible.cfg").read_text(encoding="utf-8")
    config.write_text(text.replace("collections_path = ", f"collections_path = {REPOSITORY}/"), encoding="utf-8")
    return config


# Calls of the vendor's API that are POST but change nothing: the check of capacity, and the validation of userdata.
QUESTIONS = ("/capacity", "/capacity/metros", "/userdata/validate")


def is_write(request: dict[str, Any]) -> bool:
    """Return whether an entry of the journal is a request that changes something if it succeeds."""
    return request["method"] not in {"GET", "HEAD", "OPTIONS"} and not request["path"].split("?")[0].endswith(QUESTIONS)


class SandboxStartError(Exception):
    """The process ended before it was ready; the message has its last output."""


class RunningSandbox:
    """``python -m sandbox serve`` on a free port, with ``directory`` for its state and ``log`` for what it writes to stderr.

    ``listen``: address and port of the first start; later ones keep these.
    ``started`` is called with each line of stderr until the sandbox is ready: the first start builds the control plane's
    programs, for minutes, and prints that there.
    """

    def __init__(  # noqa: PLR0913 - the options of a start
        self,
        directory: Path,
        *,
        log: Path,
        speed: float = 60.0,
        vendor_names: bool = False,
        listen: str = "127.0.0.1:0",
        machines: str = "simulated",
        started: Callable[[str], None] | None = None,
    ) -> None:
        self.directory = directory
        self.log = log
        self.environment: dict[str, str] = {}
        self._speed = speed
        self._vendor_names = vendor_names
        self._machines = machines
        self._started = started
        self._process: subprocess.Popen[str] | None = None
        self._address = listen
        # One for all calls: making one reads all certificates that this computer trusts, which is slower than a call.
        self._client = httpx.Client(timeout=30)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the sandbox is not running")
        return self._process.pid

    @property
    def url(self) -> str:
        return self.environment["SANDBOX_URL"]

    def start(self) -> None:
        """Start the sandbox, or start it again with the same address and state, and return when it is ready."""
        command = [sys.executable, "-m", "sandbox", "serve", "--state", str(self.directory), "--listen", self._address]
        command += ["--speed", f"{self._speed:g}", "--until-eof", "--machines", self._machines]
        if self._vendor_names:
            command.append("--vendor-names")
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,  # ours to hold: however we end, the sandbox and all it started end as well
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process, which stops the sandbox after its users
        )
        self._process = process
        threading.Thread(target=self._copy_log, args=(process,), daemon=True).start()
        self.environment = self._read_exports(process)
        # In a namespace it serves at an address of that, whatever it is to listen at.
        address = httpx.URL(self.url)
        self._address = address.netloc.decode() if self._machines == "simulated" else f"127.0.0.1:{address.port}"

    def _read_exports(self, process: subprocess.Popen[str]) -> dict[str, str]:
        exports: dict[str, str] = {}
        assert process.stdout is not None  # noqa: S101  (it is a pipe, three lines above; for the type checker)
        for line in process.stdout:
            if line.startswith("export "):
                name, value = shlex.split(line)[1].split("=", 1)
                exports[name] = value
            elif line.strip() == "# ready":
                threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
                return exports
        code = process.wait()
        last = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:] if self.log.exists() else []
        raise SandboxStartError(f"the sandbox ended with {code} before it was ready:\n" + "\n".join(last))

    def _copy_log(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None  # noqa: S101  (a pipe; for the type checker)
        with self.log.open("a", encoding="utf-8") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()
                if self._started is not None and not self.environment:
                    self._started(line.rstrip())

    def stop(self, patience: float = 30.0) -> None:
        """Stop the sandbox as Ctrl-C does, and wait; kill it after ``patience`` seconds."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        self._process = None

    def kill(self) -> None:
        """Kill the sandbox with ``kill -9``, as in a power failure."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    # --- the control API -----------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        """Send a request to ``/_sandbox/<path>`` and return the decoded answer, None for an empty one."""
        answer = self._client.request(method, f"{self.url}/_sandbox/{path}", **arguments)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def journal(self, earliest: float = 0) -> list[dict[str, Any]]:
        """Return the requests since the start, the last ``forget`` or that time: ``time``, ``method``, ``path``, ``status``, ``who``."""
        answer = self.call("GET", "journal", params={"since": earliest})
        requests: list[dict[str, Any]] = answer["journal"]
        return requests

    def forget(self) -> None:
        """Empty the journal."""
        self.call("DELETE", "journal")

    def inventory(self) -> dict[str, Any]:
        """Return all billed objects."""
        inventory: dict[str, Any] = self.call("GET", "inventory")
        return inventory

    def inventory_is_empty(self) -> bool:
        """Return whether there are no billed objects."""
        return not any(objects for objects in self.inventory().values() if isinstance(objects, list | dict))


def _drain(stream: Any) -> None:
    """Keep reading what is written after ``# ready``, so that a full pipe never stops the sandbox."""
    for _line in stream:
        pass
