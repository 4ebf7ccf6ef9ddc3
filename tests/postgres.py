"""A real PostgreSQL of Debian's package, on loopback and a socket, and a proxy that loses its answers."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests.ports import free_port
from tests.system_packages import program

PACKAGE = "postgresql-15"
STARTS_WITHIN = 60
"""Seconds."""
PASSWORD = "correct-horse"

# The users: metal owns the databases, guest may create nothing, secured needs its password, encrypted needs TLS.
ACCESS = """\
local all all trust
hostnossl all encrypted 127.0.0.1/32 reject
host all secured 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


class Postgres:
    """A running one, with ``fsync`` off. Use :func:`postgres`, which ends it."""

    def __init__(self, folder: Path) -> None:
        found = program(PACKAGE)
        assert found is not None, f"{PACKAGE} is not installed"
        self._programs, self.folder, self.port = Path(found).parent, folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._user = ["setpriv", "--pdeathsig", "KILL"]
        if os.geteuid() == 0:
            self._user += ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
            os.chown(folder, 65534, 65534)
        options = ["--no-sync", "--no-instructions", "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]
        self._run("initdb", "--pgdata", str(folder / "data"), *options)
        (folder / "data" / "pg_hba.conf").write_text(ACCESS, encoding="ascii")
        self.start()
        with self.admin() as admin:
            admin.execute("CREATE ROLE metal LOGIN")
            admin.execute("CREATE ROLE guest LOGIN")
            admin.execute("CREATE ROLE encrypted LOGIN")
            admin.execute(f"CREATE ROLE secured LOGIN PASSWORD '{PASSWORD}'")

    def _run(self, name: str, *arguments: str) -> None:
        command = [*self._user, str(self._programs / name), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=STARTS_WITHIN)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        options = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-h", "127.0.0.1", "-p", str(self.port), "-F"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._user, str(self._programs / "postgres"), *options], cwd=self.folder, stdout=log, stderr=log
            )
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                self.admin().close()
            except psycopg.OperationalError:
                assert self._process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text(encoding="utf-8")
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT ends all sessions at once, SIGQUIT without a shutdown, as a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def admin(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True)

    def database(self, owner: str = "metal") -> str:
        """Return the name of a new, empty database."""
        name = f"t{uuid.uuid4().hex[:12]}"
        with self.admin() as admin:
            admin.execute(f"CREATE DATABASE {name} OWNER {owner}")
        return name

    def url(self, database: str, user: str = "metal", port: int | None = None) -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def sessions(self, database: str) -> list[int]:
        """Return the process ids of the sessions of servers."""
        with self.admin() as admin:
            query = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND application_name LIKE 'metal_api%%'"
            return [pid for (pid,) in admin.execute(query, (database,))]


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    # Not below pytest's folder: others may not enter that, and the path of a socket is limited to 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    running = None
    try:
        running = Postgres(folder)
        yield running
    finally:
        if running is not None:
            running.stop()
        shutil.rmtree(folder)


class Proxy:
    """Between a client and PostgreSQL. ``loses``: what happens to the next change: its "answer" is lost, or the "request" itself."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.loses = ""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except ConnectionRefusedError:
                    client.close()
                    continue
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                if self.loses == "request":
                    break
                server.sendall(data)
        _cut(client)
        _cut(server)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                if self.loses == "answer":
                    break
                client.sendall(data)
        _cut(client)

    def close(self) -> None:
        self._listener.close()


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
