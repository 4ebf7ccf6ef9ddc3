"""The publishing methods, each with real services on loopback (a server process, sshd, S3 storage), and the role boot_files."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import ssl
import subprocess
import sys
import urllib.parse
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
import yaml

from tests import system_packages
from tests.eventually import until_listening
from tests.ports import free_port, free_ports
from tests.role_play import constants, played
from tests.ssh_keys import make_ssh_key
from tests.unit.test_publish import write_certificate

from .storage import ACCESS_KEY, SECRET_KEY

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CLUSTER = "methods.metal.test"
BOOTSTRAP = json.dumps({"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": "planted-9d41"}]}})
IMAGE = {"location": "http://127.0.0.1:9/image", "sha256": "0" * 64}
STREAM = {
    "architectures": {
        "x86_64": {"artifacts": {"metal": {"release": "9.6", "formats": {"pxe": dict.fromkeys(("kernel", "initramfs", "rootfs"), IMAGE)}}}}
    }
}


@contextlib.contextmanager
def started(*command: str, port: int, **options: Any) -> Iterator[None]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    try:
        until_listening(port, "127.0.0.1", process)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


@dataclass
class Method:
    """The role with the settings of one method: the collection's ``variables``, and those of the ``host`` that publishes, if one does.

    ``workspace`` is what its parts have on this computer.
    """

    name: str
    folder: Path
    variables: dict[str, Any] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    workspace: Path = Path()

    def run(
        self, tasks_from: str = "main", *arguments: str, environment: dict[str, str] | None = None, ends_well: bool = True, **variables: Any
    ) -> str:
        """What was printed. Fails when the play does, or when it does not though it should."""
        code, output = self.play(tasks_from, *arguments, environment=environment, **variables)
        assert (code == 0) == ends_well, output[-6000:]
        return output

    def play(self, tasks_from: str, *arguments: str, environment: dict[str, str] | None = None, **variables: Any) -> tuple[int, str]:
        """How the play ended, and what was printed."""
        play = {
            "name": "Publish",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {
                "boot_files_cluster": CLUSTER,
                "boot_files_directory": str(self.folder),
                "boot_files_architecture": "x86_64",
                "boot_files_image_verify": "none",
                # On the platform metal the list of addresses is read from a Metal API: see test_allow_list.py.
                "openshift_ignition_platform": "packet",
                "boot_files_allow_list": False,
                **self.variables,
                **variables,
            },
            "tasks": [
                {
                    "name": "Role",
                    "ansible.builtin.include_role": {"name": "equinix_metal.openshift.boot_files", "tasks_from": tasks_from},
                    "vars": constants(self.variables | variables),
                }
            ],
        }
        (self.folder.parent / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
        hosts = {"publisher": self.host} if self.host else {}
        (self.folder.parent / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}), encoding="utf-8")
        own = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
        given = {**os.environ, **own, **(environment or {})}
        return played(self.folder.parent / "play.yml", "-i", self.folder.parent / "inventory.yml", *arguments, environment=given)

    @property
    def script_url(self) -> str:
        """Where a machine finds its boot script: what the role provision orders it with."""
        if self.name == "object_storage":
            signed = json.loads((self.folder / "object-storage.json").read_text(encoding="utf-8"))
            return str(signed["x86_64.ipxe"]["url"])
        return f"http://127.0.0.1:{self.variables['openshift_publish_http_port']}/x86_64.ipxe"

    @property
    def objects(self) -> list[str]:
        """Names of what is in the bucket."""
        port = urllib.parse.urlsplit(self.variables["openshift_publish_open_endpoint"]).port
        assert port is not None
        return [entry["Key"] for entry in client(port).list_objects_v2(Bucket="boot").get("Contents", [])]

    @property
    def pointer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "publish" / "bootstrap-pointer.ign").read_text(encoding="utf-8"))["ignition"]
        return found


@dataclass
class Pointed:
    """A machine that has its pointer, and does with it what Ignition does."""

    url: str
    headers: dict[str, str]
    digest: str
    trust: ssl.SSLContext

    @classmethod
    def at(cls, pointer: dict[str, Any]) -> Pointed:
        (source,) = pointer["config"]["merge"]
        cas = [
            b64decode(entry["source"].partition("base64,")[2]).decode() for entry in pointer["security"]["tls"]["certificateAuthorities"]
        ]
        trust = ssl.create_default_context(cadata="".join(cas) or None)
        return cls(
            source["source"], {entry["name"]: entry["value"] for entry in source["httpHeaders"]}, source["verification"]["hash"], trust
        )

    def get(self, **changed: Any) -> httpx.Response:
        asked: dict[str, Any] = {"url": self.url, "headers": self.headers, "verify": self.trust, "trust_env": False}
        return httpx.get(**asked | changed)


def served(method: str, address: str = "127.0.0.1") -> dict[str, Any]:
    ports = free_ports(2, address)
    return {
        "openshift_publish": method,
        "openshift_publish_address": address,
        "openshift_publish_bind_address": address,
        "openshift_publish_http_port": ports[0],
        "openshift_publish_https_port": ports[1],
    }


@contextlib.contextmanager
def controller(folder: Path, workspace: Path, address: str = "127.0.0.1") -> Iterator[Method]:
    yield Method("controller", folder, served("controller", address), workspace=workspace)


@contextlib.contextmanager
def host(folder: Path, workspace: Path) -> Iterator[Method]:
    """This computer over SSH, with a real sshd of this user's own and a stand-in for systemctl."""
    sshd = system_packages.program("openssh-server")
    if sshd is None:
        pytest.skip("needs openssh-server from Debian: apt-get install openssh-server")
    if os.geteuid() == 0:
        # sshd wants it when it is root; Debian makes it when it starts the service.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    (workspace / "units").mkdir(parents=True)
    shim = workspace / "systemctl"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "systemctl.py"} {workspace / "units"} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    for name in ("host_key", "user_key"):
        make_ssh_key(workspace / name)
    port = free_port()
    (workspace / "known_hosts").write_text(
        f"[127.0.0.1]:{port} {(workspace / 'host_key.pub').read_text(encoding='utf-8')}", encoding="utf-8"
    )
    config = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": workspace / "host_key",
        "AuthorizedKeysFile": workspace / "user_key.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        # The tests' PYTHONPATH: modules start faster with it (tests/python).
        "SetEnv": f"PATH={workspace}:{os.environ['PATH']} PYTHONPATH={os.environ['PYTHONPATH']}",
        "Subsystem": "sftp internal-sftp",
    }
    (workspace / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in config.items()), encoding="utf-8")
    options = {"UserKnownHostsFile": workspace / "known_hosts", "IdentitiesOnly": "yes", "ControlMaster": "auto", "ControlPersist": "5s"}
    user = pwd.getpwuid(os.geteuid()).pw_name
    method = Method(
        "host",
        folder,
        {
            **served("host"),
            "openshift_publish_host": "publisher",
            "openshift_publish_host_user": user,
            "__boot_files_host_folder": str(workspace / "run"),
            "__boot_files_host_unit_folder": str(workspace / "units"),
        },
        {
            "ansible_host": "127.0.0.1",
            "ansible_port": port,
            "ansible_user": user,
            "ansible_ssh_private_key_file": str(workspace / "user_key"),
            "ansible_ssh_args": " ".join(f"-o {name}={value}" for name, value in options.items()),
            "ansible_python_interpreter": sys.executable,
        },
        workspace,
    )
    with started(sshd, "-D", "-e", "-f", str(workspace / "sshd_config"), port=port, stderr=(workspace / "sshd.log").open("wb")):
        yield method


@contextlib.contextmanager
def object_storage(folder: Path, workspace: Path) -> Iterator[Method]:
    """moto's S3, over TLS with a CA of its own for secret files, and over HTTP for public ones."""
    write_certificate(workspace)
    http, https = free_ports(2)
    command = (sys.executable, "-m", "tests.boot_files.storage", str(workspace), str(http), str(https))
    with started(*command, port=https, cwd=ROOT, stderr=(workspace / "log").open("wb")):
        bucket = client(http)
        bucket.create_bucket(Bucket="boot")
        yield Method(
            "object_storage",
            folder,
            {
                "openshift_publish": "object_storage",
                "openshift_publish_bucket": "boot",
                "openshift_publish_region": "us-east-1",
                "openshift_publish_endpoint": f"https://127.0.0.1:{https}",
                "openshift_publish_open_endpoint": f"http://127.0.0.1:{http}",
                "openshift_publish_ca": str(workspace / "server.crt"),
                "openshift_publish_access_key": ACCESS_KEY,
                "openshift_publish_secret_key": SECRET_KEY,
            },
            workspace=workspace,
        )


def client(port: int) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
    )


def ignition_files(parent: Path) -> Path:
    """A cluster's folder with what the role ignition leaves there, as far as it is read here."""
    folder = parent / "cluster"
    (folder / "ignition").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / "ignition" / "bootstrap.ign").write_text(BOOTSTRAP, encoding="utf-8")
    (folder / "ignition" / "stream.json").write_text(json.dumps(STREAM), encoding="utf-8")
    for pool in ("master", "worker"):
        pointer = {"version": "3.2.0", "config": {"merge": [{"source": f"https://api-int.{CLUSTER}:22623/config/{pool}"}]}}
        (folder / "ignition" / f"{pool}.ign").write_text(json.dumps({"ignition": pointer}), encoding="utf-8")
    return folder


# Each for the files of the cluster in one folder, with its parts in another.
METHODS: dict[str, Callable[[Path, Path], contextlib.AbstractContextManager[Method]]] = {
    "controller": controller,
    "host": host,
    "object_storage": object_storage,
}
