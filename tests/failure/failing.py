"""A play that fails as a playbook of this collection does: its block, rescue and last task, with what a test puts into the block."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sandbox.testing.process import RunningSandbox
from tests import kubeconfigs
from tests.role_play import constants

ROOT = Path(__file__).resolve().parents[2]
NAME = "failing.metal.test"
(INSTALL,) = yaml.safe_load((ROOT / "playbooks" / "install.yml").read_text(encoding="utf-8"))
BANNER = re.compile(r"^(?:TASK|PLAY|RUNNING HANDLER) .*\*+$", re.MULTILINE)
REASON = "There is not enough of it"
REFUSED = {"name": "Fail for a reason", "ansible.builtin.command": {"argv": ["sh", "-c", f"echo '{REASON}' >&2; exit 3"]}}


@dataclass(frozen=True)
class Failed:
    """How the play ended."""

    code: int
    output: str
    """Both streams, in the order in which they were written."""
    seconds: float = 0.0

    @property
    def last_screen(self) -> str:
        """What the last task has printed, and what came after it."""
        banners = [match for match in BANNER.finditer(self.output) if not match[0].startswith("PLAY RECAP")]
        return self.output[banners[-1].start() :]

    @property
    def bundle(self) -> Path:
        """The path that the report names."""
        found = re.search(r"^  Bundle: +(/.*\.tar\.gz)$", self.last_screen, re.MULTILINE)
        assert found, self.last_screen
        return Path(found[1])

    @property
    def entries(self) -> dict[str, str]:
        with tarfile.open(self.bundle) as archive:
            return {member.name.partition("/")[2]: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]


@dataclass
class FailingPlay:
    """``folder`` is where the cluster's folder lies; ``variables`` are those of the play."""

    folder: Path
    environment: Mapping[str, str]
    variables: dict[str, Any] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        return self.folder / "clusters" / NAME

    def run(self, *tasks: dict[str, Any], arguments: tuple[str, ...] = (), **variables: Any) -> Failed:
        given = {**self.variables, **variables}
        play = {
            "name": "Install",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {
                "ansible_python_interpreter": sys.executable,
                "openshift_cluster_name": NAME.partition(".")[0],
                "openshift_base_domain": NAME.partition(".")[2],
                "openshift_directory": str(self.directory),
                "play_phases": ["Run preflight checks", "Create devices"],
                **{name: value for name, value in given.items() if name not in constants(given)},
            },
            "vars_files": [str(ROOT / "playbooks/vars/connections.yml")],
            "module_defaults": INSTALL["module_defaults"],
            "tasks": [
                *(
                    {"name": title, "equinix_metal.openshift.phase": {}, "register": "play_phase"}
                    for title in ("Run preflight checks", "Create devices")
                ),
                {
                    "name": "Do it",
                    "block": [*(tasks or (REFUSED,))],
                    "rescue": [{"name": "Report the failure", "ansible.builtin.import_tasks": str(ROOT / "playbooks/tasks/failure.yml")}],
                },
                {"name": "End with the failure report", "ansible.builtin.import_tasks": str(ROOT / "playbooks/tasks/fail.yml")},
            ],
        }
        path = self.folder / "install.yml"
        path.write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
        words = ["-i", "localhost,", path.name, "-e", json.dumps(constants(given)), *arguments]
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", *words],
            cwd=self.folder,
            env=dict(self.environment),
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return Failed(done.returncode, done.stdout)


def environment_of(base: Mapping[str, str], **more: str) -> dict[str, str]:
    """The environment of a user who has none of this checkout's settings, but the collection."""
    kept = {name: value for name, value in base.items() if not name.startswith("ANSIBLE_")}
    return {
        **kept,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        **more,
    }


def seed(sandbox: RunningSandbox, role: str) -> dict[str, Any]:
    """An active device of the cluster, without a machine behind it, as the sandbox lists it."""
    tags = [f"openshift-cluster={NAME}", f"openshift-role={role}"]
    (identity,) = sandbox.call("POST", "devices", json={"count": 1, "hostname": f"{role}-0.{NAME}", "tags": tags})["ids"]
    device: dict[str, Any] = next(each for each in sandbox.inventory()["devices"] if each["id"] == identity)
    return device


@contextlib.contextmanager
def silent_server(address: str, port: int) -> Iterator[None]:
    """A server that takes every connection and never says a word."""
    with socket.create_server((address, port)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for connection in taken:
                connection.close()


def write_kubeconfig(directory: Path) -> None:
    """What the installer leaves: with it the cluster's API is asked at the addresses of its control plane."""
    path = directory / "ignition" / "auth" / "kubeconfig"
    path.parent.mkdir(parents=True)
    kubeconfigs.write_kubeconfig(path, {"server": f"https://api.{NAME}:6443", "insecure-skip-tls-verify": True}, {"token": "pl4nted-token"})
