"""A real API server for the tests of this folder, started once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.openshift.binaries import Binaries, BinariesError, cache_folder, ensure_binaries
from tests.cluster.control_plane import ControlPlane, environment
from tests.contract.environment import run as run_alone

ROOT = Path(__file__).resolve().parents[2]
Play = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    if os.environ.get("CI") == "true" or os.environ.get("SANDBOX_CONTROLPLANE_BIN"):
        binaries = ensure_binaries()
    else:
        try:
            binaries = Binaries.in_folder(cache_folder())
        except BinariesError as problem:
            pytest.skip(f"the control plane's programs are not built yet (start the sandbox once): {problem}")
    with ControlPlane(tmp_path_factory.mktemp("cluster"), binaries, audited=True).running() as cluster:
        yield cluster


@pytest.fixture
def cluster(started: ControlPlane) -> ControlPlane:
    started.clear()
    return started


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Callable[[], dict[str, Any]]]]:
    """Start a module through ansible-playbook; what comes back waits for its end and returns the registered result."""
    running: list[subprocess.Popen[str]] = []

    def start_module(module: str, *arguments: str, **options: Any) -> Callable[[], dict[str, Any]]:
        folder = tmp_path / str(len(running))
        folder.mkdir()
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {"ansible_python_interpreter": sys.executable},
            "tasks": [
                {f"equinix_metal.openshift.{module}": options, "register": "outcome", "ignore_errors": True},
                {
                    "ansible.builtin.copy": {"dest": str(folder / "outcome.json"), "content": "{{ outcome | to_json }}", "mode": "0600"},
                    "check_mode": False,
                    "diff": False,
                },
            ],
        }
        (folder / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
        process = subprocess.Popen(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                "-i",
                "localhost,",
                "-c",
                "local",
                str(folder / "play.yml"),
                *arguments,
            ],
            cwd=folder,
            env={**environment(), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_LOCAL_TEMP": str(folder / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(process)

        def outcome() -> dict[str, Any]:
            output, _nothing = process.communicate(timeout=120)
            assert (folder / "outcome.json").exists(), output
            result: dict[str, Any] = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
            return {**result, "output": output}

        return outcome

    yield start_module
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def play(start: Callable[..., Callable[[], dict[str, Any]]]) -> Play:
    """Run a module through ansible-playbook and return the registered result, with what was shown as `output`."""

    def play_module(module: str, *arguments: str, **options: Any) -> dict[str, Any]:
        return start(module, *arguments, **options)()

    return play_module


@pytest.fixture
def run() -> Play:
    """Run a module in a process of its own and return its result: a tenth of the time of ``play``."""

    def run_module(module: str, *arguments: str, **options: Any) -> dict[str, Any]:
        assert set(arguments) <= {"--check", "--diff"}, "only ansible-playbook has other arguments"
        mode = {"_ansible_check_mode": "--check" in arguments, "_ansible_diff": "--diff" in arguments}
        return {"failed": False, **run_alone(module, {**options, **mode}, environment())}

    return run_module
