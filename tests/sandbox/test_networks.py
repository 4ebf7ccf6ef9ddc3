"""Which network the machines of a sandbox have, and that it stays theirs."""

import ipaddress
import json
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.networks import IDENTITY, Held, NetworkError, Networks


class Folders:
    """State folders with the networks they take; what is held stands for running sandboxes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Networks that no sandbox has: what is held is seen by all sandboxes of this computer.
        start = int(ipaddress.IPv4Address("127.128.0.0")) + secrets.randbelow(1 << 14) * 512
        self.networks = [ipaddress.IPv4Network((start + number * 128, 25)) for number in range(3)]
        self.file = folder / "cache" / "machine-networks.json"
        self.held: dict[str, Held] = {}

    def start(self, name: str) -> str:
        """As a sandbox does with its state folder; returns the network."""
        state, networks = self.folder / name, Networks(self.file, self.networks)
        state.mkdir(exist_ok=True)
        identity = state / IDENTITY
        kept = json.loads(identity.read_text())["machine_network"] if identity.exists() else None
        self.held[name] = held = networks.take(state, kept)
        text = json.dumps({"machine_network": held.network})
        networks.reserve(state, held.network, lambda: identity.write_text(text))
        return held.network

    def kill(self, *names: str) -> None:
        for name in names or tuple(self.held):
            self.held.pop(name).lock.close()


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    made = Folders(tmp_path)
    yield made
    made.kill()


def test_a_network_is_kept_for_a_sandbox_that_was_killed(folders: Folders) -> None:
    first = folders.start("first")
    folders.kill("first")
    second = folders.start("second")
    assert second != first
    folders.kill("second")
    third = folders.start("third")
    assert third not in {first, second}
    assert [folders.start(name) for name in ("first", "second")] == [first, second]


def test_two_with_one_network_cannot_run_at_once(folders: Folders) -> None:
    folders.start("first")
    (folders.folder / "first" / "lock").write_text("4711\n")
    shutil.copytree(folders.folder / "first", folders.folder / "copy")
    with pytest.raises(NetworkError, match=r"in use by the sandbox of .*first \(process 4711\): stop that one first"):
        folders.start("copy")
    folders.kill()
    folders.start("copy")


def test_many_that_start_at_once(folders: Folders) -> None:
    names = ("first", "second", "third")
    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(folders.start, names))) == 3
    assert len(json.loads(folders.file.read_text())) == 3
