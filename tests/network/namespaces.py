"""Network namespaces of one test, as machines on one link: addresses, programs, and TCP connections between them."""

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SERVE = """
import socket, sys, threading
def serve(host, port):
    server = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    def accept():
        while True:
            server.accept()[0].close()
    threading.Thread(target=accept, daemon=True).start()
for port in sys.argv[1:]:
    serve("0.0.0.0", int(port)), serve("::1", int(port))
print("ready", flush=True)
sys.stdin.read()
"""
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1, source_address=(sys.argv[3], 0)).close()
except TimeoutError:
    print("dropped")
except ConnectionRefusedError:
    print("refused")
else:
    print("accepted")
"""


@dataclass
class Namespace:
    """A network namespace, and files that its processes see in place of those of the computer."""

    name: str
    files: dict[Path, Path] = field(default_factory=dict)

    def run(self, *command: str, environment: Mapping[str, str] | None = None, text: str | None = None) -> str:
        """Return the output of a program. Raises ``AssertionError`` with the program's errors."""
        mounts = "".join(f"mount --bind {source} {target} && " for target, source in self.files.items())
        argv = ["ip", "netns", "exec", self.name, "unshare", "--mount", "sh", "-c", f'{mounts}exec "$@"', "sh", *command]
        done = subprocess.run(argv, env={**os.environ, **(environment or {})}, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    @contextlib.contextmanager
    def serving(self, *ports: int) -> Iterator[None]:
        """Accept connections on these ports of all addresses while inside."""
        argv = ["ip", "netns", "exec", self.name, sys.executable, "-c", SERVE, *map(str, ports)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                yield
            finally:
                process.terminate()

    def connect(self, address: str, port: int, source: str = "") -> str:
        """Return what becomes of a connection: accepted, refused or dropped."""
        return self.run(sys.executable, "-c", CONNECT, address, str(port), source).strip()


@contextlib.contextmanager
def namespaces(*labels: str) -> Iterator[list[Namespace]]:
    """Yield a namespace for each label, each with the device ``eth0`` on one bridge and without addresses."""
    end = uuid.uuid4().hex[:6]
    switch, made = f"sw-{end}", []
    names = [f"{label}-{end}" for label in labels]
    try:
        for name in [switch, *names]:
            _ip("netns", "add", name)
            made.append(name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        for number, name in enumerate(names):
            _ip("-n", switch, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", switch, "link", "set", f"port{number}", "master", "br0", "up")
            _ip("-n", name, "link", "set", "eth0", "up")
        yield [Namespace(name) for name in names]
    finally:
        for name in made:
            _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
