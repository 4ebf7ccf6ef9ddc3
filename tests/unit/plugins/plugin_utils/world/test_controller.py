"""This computer: who has the ports to publish at, and what no folder and no address can be."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import controller, mirror
from tests.eventually import until_listening

SERVER = Path(__file__).resolve().parents[5] / "roles" / "boot_files" / "files" / "publish.py"
IDENTITY = "5c5ae3a1-ours"


def wanted(directory: Path | str, port: int = 1, **settings: Any) -> dict[str, Any]:
    ports = {"publish_http_port": port, "publish_https_port": port}
    return {"directory": str(directory), "publish_bind_address": "127.0.0.1", "timeout": 20, **ports, **settings}


def settings_of(folder: Path, port: int, identity: str) -> Path:
    """A cluster's folder as the role boot_files leaves it."""
    (folder / "publish" / "open").mkdir(parents=True)
    settings = {"id": identity, "bind_address": "127.0.0.1", "http_port": port, "https_port": port}
    (folder / "publish" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The folder of a cluster whose own server runs, and the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    folder = settings_of(tmp_path_factory.mktemp("ours") / "cluster", port, IDENTITY)
    process = subprocess.Popen([sys.executable, str(SERVER), str(folder / "publish")], stderr=subprocess.DEVNULL)
    until_listening(port, "127.0.0.1", process)
    yield folder, port
    process.terminate()
    process.wait()


def test_the_cluster_s_own_server_is_recognized_by_its_id(serving: tuple[Path, int], tmp_path: Path) -> None:
    folder, port = serving
    assert controller.collect(wanted(folder, port))["publish"] == {"ports": {str(port): "taken"}, "own": True}
    other = settings_of(tmp_path / "other", port, "another cluster's")
    assert controller.collect(wanted(other, port))["publish"]["own"] is False
    assert controller.collect(wanted(tmp_path / "new", port))["publish"]["own"] is False


@pytest.mark.parametrize("folder", ["~somebody-who-is-not-there/cluster", "/tmp/" + "a" * 300])
def test_a_path_that_cannot_be_a_folder_is_reported(folder: str) -> None:
    found = controller.collect(wanted(folder))["controller"]
    assert folder in found["msg"]
    assert mirror.collect({"installer": folder, "installer_timeout": 5})["installer"]["msg"]


def test_the_libraries_are_those_of_the_python_that_runs_modules(tmp_path: Path) -> None:
    assert controller.read_python(sys.executable) == {"interpreter": sys.executable, "missing": []}
    bare = tmp_path / "python"
    # As a Python of the system: without what is installed beside the one that runs the playbook.
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    assert {"kubernetes", "packet", "yaml"} <= set(controller.read_python(str(bare))["missing"])


def test_all_libraries_that_every_cluster_needs_are_checked() -> None:
    """Those of single DNS providers and publishing methods are not: a cluster may do without."""
    lines = (SERVER.parents[3] / "requirements" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    needed = {re.split(r"[<>=]", line)[0] for line in lines if line and not line.startswith("#")} - {"octodns", "boto3", "botocore"}
    distributions = packages_distributions()
    assert needed <= {name for library in controller.LIBRARIES for name in distributions[library]}


def test_an_interpreter_that_cannot_be_run_says_so(tmp_path: Path) -> None:
    assert controller.read_python("/no/such/python") == {"interpreter": "/no/such/python", "msg": "it cannot be run"}
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho pyenv: no such version >&2\nexit 127\n")
    broken.chmod(0o755)
    assert controller.read_python(str(broken))["msg"] == "pyenv: no such version"
