"""One role alone beside the session's sandbox: a play, a cluster's folder, and an installer's files of any age."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sandbox.openshift.installer import certificates
from sandbox.testing.process import RunningSandbox
from tests.conftest import user_environment
from tests.role_play import constants

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8o3Zr3gGqFX0uPHj5OE+7ZzZLhZ0b7mQF4Ee4Vv1mB core@metal.test"
TLS = "/opt/openshift/tls/"
NAME, DOMAIN = "birthday", "metal.test"


@dataclass
class Role:
    """Runs the role with a user's variables, as a play does; what it left is below ``folder``."""

    sandbox: RunningSandbox
    environment: dict[str, str]
    folder: Path
    name: str = "ignition"

    @property
    def files(self) -> Path:
        return self.folder / "ignition"

    def run(self, *, tasks_from: str = "main", check: bool = False, **variables: Any) -> subprocess.CompletedProcess[str]:
        play = {
            "name": "Ignition",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {
                "ansible_python_interpreter": sys.executable,
                "openshift_cluster_name": NAME,
                "openshift_base_domain": DOMAIN,
                "openshift_version": "4.20.33",
                "openshift_pull_secret": {"auths": {"quay.io": {"auth": "c2FuZGJveDpzYW5kYm94"}}},
                "openshift_ssh_public_key": SSH_KEY,
                "openshift_mirror_url": self.sandbox.environment["OPENSHIFT_MIRROR_URL"],
                "openshift_directory": str(self.folder),
                "ignition_control_plane": [{"hostname": f"control-plane-{number}.{NAME}.{DOMAIN}"} for number in range(3)],
                **variables,
            },
            "tasks": [
                {
                    "name": "Include the role",
                    "ansible.builtin.include_role": {"name": f"equinix_metal.openshift.{self.name}", "tasks_from": tasks_from},
                    "vars": constants(variables),
                }
            ],
        }
        path = self.folder.with_suffix(".yml")
        path.write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
        return subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", str(path), *(["--check"] if check else [])],
            env=self.environment | {"ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default", "COLUMNS": "500"},
            cwd=path.parent,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def well(self, **variables: Any) -> str:
        done = self.run(**variables)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        return " ".join(done.stdout.split())

    def refused(self, **variables: Any) -> str:
        done = self.run(**variables)
        assert done.returncode == 2, done.stdout[-5000:] + done.stderr[-2000:]
        return " ".join(done.stdout.replace("\\n", " ").split())

    def set_issue_time(self, born: datetime) -> None:
        """Have the files as an installer would have made them at another time. Their times in the file system stay new."""
        path = self.files / "bootstrap.ign"
        config = json.loads(path.read_bytes())
        domain = f"{NAME}.{DOMAIN}"
        desired = certificates.specs_for_manifests(domain) | certificates.specs_for_bootstrap(domain, "172.30.0.1")
        pairs = certificates.generate(desired, {}, now=born)
        # Bundles have nothing that the certificates beside them have not.
        config["storage"]["files"] = [entry for entry in config["storage"]["files"] if not entry["path"].endswith("-ca-bundle.crt")]
        for entry in config["storage"]["files"]:
            name = entry["path"].removeprefix(TLS).removesuffix(".crt")
            if entry["path"] == f"{TLS}{name}.crt" and name in pairs:
                entry["contents"]["source"] = "data:;base64," + base64.b64encode(pairs[name].certificate).decode()
        path.write_text(json.dumps(config), encoding="utf-8")


@dataclass
class Mirror:
    """A site's copy of images or releases: a folder, and a web server that writes down what it is asked for."""

    folder: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def fill(self, stream: dict[str, Any], architecture: str) -> list[str]:
        images = stream["architectures"][architecture]["artifacts"]["metal"]["formats"]["pxe"].values()
        for image in images:
            (self.folder / Path(image["location"]).name).write_bytes(httpx.get(image["location"]).raise_for_status().content)
        return sorted(Path(image["location"]).name for image in images)


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    site = Mirror(tmp_path / "site")
    site.folder.mkdir()

    class Answer(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(site.folder))

        def log_message(self, *_arguments: object) -> None:
            site.asked.append(f"{self.command} {self.path}")

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def made(sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Role:
    """A cluster's folder as the role's first run left it. Only read it; ``role`` may be changed."""
    folder = tmp_path_factory.mktemp("ignition") / "cluster"
    first = Role(sandbox_process, user_environment(sandbox_process), folder)
    first.well()
    return first


@pytest.fixture
def role(made: Role, sandbox: RunningSandbox, tmp_path: Path) -> Role:
    """The same, to be changed."""
    shutil.copytree(made.folder, tmp_path / "cluster", symlinks=True)
    return Role(sandbox, made.environment, tmp_path / "cluster")


@pytest.fixture
def machine(role: Role) -> Iterator[None]:
    """The cluster has its bootstrap machine."""
    environment = role.environment
    desired = {
        "hostname": f"bootstrap.{NAME}.{DOMAIN}",
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "ubuntu_24_04",
        "tags": [f"openshift-cluster={NAME}.{DOMAIN}", "openshift-role=bootstrap"],
    }
    with httpx.Client(base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}) as api:
        answer = api.post(f"/projects/{environment['METAL_PROJECT_ID']}/devices", json=desired).raise_for_status()
        yield
        api.delete(f"/devices/{answer.json()['id']}", params={"force_delete": "true"}).raise_for_status()
