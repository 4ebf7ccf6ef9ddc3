"""Three nodes and a client outside of the cluster, each a network namespace with one interface on a bridge."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sandbox.testing.process import REPOSITORY
from tests.load_balancer.namespaces import run

NODES = tuple(f"192.0.2.1{number}" for number in range(3))
OUTSIDE = "192.0.2.100"

CLIENT = """
import json, ssl, sys
from tests.e2e.requests_per_second import Loop
with Loop(lambda: [sys.argv[1]], sys.argv[2], ssl.create_default_context(cafile=sys.argv[3]), int(sys.argv[4])).running() as loop:
    print("running", flush=True)
    sys.stdin.read()
print(json.dumps({"sent": loop.sent, "failed": loop.failed, "gap": loop.longest_gap()}))
"""


class Bridge:
    """The namespaces, and what runs in them. A subclass starts the programs of a node (:meth:`boot`).

    ``address`` and ``port``: what a client reaches at one of the nodes, by TLS with the certificate of ``name``, whose CA is ``ca.crt``.
    """

    address: str
    port: int
    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prefix = f"{type(self).__name__.lower()[:4]}{os.getpid()}"
        self._processes: dict[str, list[subprocess.Popen[bytes]]] = {}

    def inside(self, part: str, *command: str) -> str:
        return run(*self.words(part, *command))

    def words(self, part: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", f"{self._prefix}-{part}", *command]

    def start(self, part: str, name: str, *command: str) -> None:
        with (self.folder / f"{part}-{name}.log").open("ab") as log:
            process = subprocess.Popen(self.words(part, *command), cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        self._processes.setdefault(part, []).append(process)

    @contextmanager
    def running(self) -> Iterator[Self]:
        parts = ("switch", "outside", *(f"node{number}" for number in range(len(NODES))))
        try:
            for part in parts:
                run("ip", "netns", "add", f"{self._prefix}-{part}")
                self.inside(part, "ip", "link", "set", "lo", "up")
            self.inside("switch", "ip", "link", "add", "bridge", "type", "bridge")
            self.inside("switch", "ip", "link", "set", "bridge", "up")
            for part, address in zip(parts[1:], (OUTSIDE, *NODES), strict=True):
                self.inside("switch", "ip", "link", "add", part, "type", "veth", "peer", "name", "eno1", "netns", f"{self._prefix}-{part}")
                self.inside("switch", "ip", "link", "set", part, "master", "bridge", "up")
                self.inside(part, "ip", "address", "add", f"{address}/24", "dev", "eno1")
                self.inside(part, "ip", "link", "set", "eno1", "up")
            for number in range(len(NODES)):
                self.boot(number)
            yield self
        finally:
            for part in list(self._processes):
                self.kill(part)
            for part in parts:
                subprocess.run(["ip", "netns", "delete", f"{self._prefix}-{part}"], check=False, capture_output=True)

    def boot(self, number: int) -> None:
        raise NotImplementedError

    def on(self) -> set[str]:
        """Return the names of the nodes that have power."""
        return {part for part in self._processes if part.startswith("node")}

    def is_ready(self) -> bool:
        """Return whether a node answers the client outside at the address."""
        host = f"{self.name}:{self.port}"
        command = f"curl --silent --max-time 2 --cacert {self.folder}/ca.crt --resolve {host}:{self.address} https://{host}/readyz"
        words = self.words("outside", *command.split())
        return subprocess.run(words, check=False, capture_output=True, text=True).stdout == "ok"

    @contextmanager
    def requests(self) -> Iterator[dict[str, Any]]:
        """Send 200 requests a second from outside to the address, each connection kept until it fails; the result is there afterwards."""
        arguments = (self.address, self.name, str(self.folder / "ca.crt"), str(self.port))
        words = self.words("outside", sys.executable, "-c", CLIENT, *arguments)
        result: dict[str, Any] = {}
        with subprocess.Popen(words, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "running\n"
            yield result
            result |= json.loads(client.communicate()[0])

    def cut(self, number: int) -> float:
        """Take the power of a node: its link goes, and its processes end without a word. Return when."""
        self.inside("switch", "ip", "link", "set", f"node{number}", "down")
        self.kill(f"node{number}")
        return time.monotonic()

    def power_on(self, number: int) -> None:
        """Start a node again. Its memory is lost, also the address that it had."""
        part = f"node{number}"
        self.inside(part, "ip", "address", "flush", "dev", "eno1")
        self.inside(part, "ip", "address", "add", f"{NODES[number]}/24", "dev", "eno1")
        self.inside("switch", "ip", "link", "set", part, "up")
        self.boot(number)

    def end(self, part: str, program: str) -> None:
        """Kill the program of a node that has this text in its command; the node goes on without it."""
        (process,) = [one for one in self._processes[part] if program in " ".join(map(str, one.args))]  # type: ignore[arg-type]
        self._processes[part].remove(process)
        os.killpg(process.pid, 9)
        process.wait()

    def kill(self, part: str) -> None:
        for process in self._processes.pop(part):
            os.killpg(process.pid, 9)
            process.wait()

    def until(self, is_so: Callable[[], bool], limit: float) -> None:
        deadline = time.monotonic() + limit
        while not is_so():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.2)

    def log(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.folder.glob("node*.log")))

    def fail_over(self, holder: int, moved: Callable[[], bool], limit: float) -> None:
        """Take the power of the node with the address while a client sends requests, and check that only the takeover fails some."""
        with self.requests() as result:
            time.sleep(3)
            off = self.cut(holder)
            self.until(moved, limit)
            taken = time.monotonic() - off
            self.until(self.is_ready, limit)
            time.sleep(3)
        counts = f"{len(result['failed'])} of {len(result['sent'])} requests failed"
        print(f"another node after {taken:.1f} s; {counts}, longest gap {result['gap']:.1f} s")
        assert not [when for when in result["failed"] if when < off - 1]
        assert result["gap"] < limit
        assert len([when for when in result["sent"] if when not in set(result["failed"])]) > 1000
