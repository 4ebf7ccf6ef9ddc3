"""The sandbox, for every suite that needs one: a process of its own, started once, emptied for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.openshift.binaries import Binaries, BinariesError, cache_folder
from sandbox.testing.process import RunningSandbox

SPEED = 3600.0
"""An hour in a second: tests check the order of events, not their duration."""
TOGETHER = ("tests/cluster", "tests/ignition", "tests/metal_api/ironic", "tests/metal_api/rack", "tests/sandbox/openshift")
"""Folders whose tests share what takes long to start."""


BUFFERING = "PYTHONUNBUFFERED"
"""With it all output arrives at once, also what users without it would never see."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""With it each process compiles all that it imports (see Makefile)."""
CONNECTION = "TESTS_CONNECTION"
"""The folder of the connection plugin that runs modules in forks; empty: they run as users run them (tests/connection/local.py)."""
CALLBACK = "ANSIBLE_STDOUT_CALLBACK"
"""Many tests look for tasks in the output, which ansible.cfg's own callback does not print."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def pytest_configure() -> None:
    """Prepare the environment of all that the tests start: buffered, without a proxy, and with what makes modules faster.

    Every server of the tests is on this computer, and no proxy reaches it. Behind a proxy the control plane's programs are built before the
    tests (``python -m sandbox build``).
    """
    for name in PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    for name in (BUFFERING, NO_BYTECODE):
        os.environ.pop(name, None)
    here = Path(__file__).resolve().parent
    folder = str(here / "python")
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", folder)]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *others])
    os.environ.setdefault(CONNECTION, str(here / "connection"))
    os.environ.setdefault(CALLBACK, "ansible.builtin.default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a long suite be run in shares, one by one."""
    parser.addoption("--share", metavar="K/N", default="1/1", help="run the K-th of N shares of the tests")


def pytest_xdist_auto_num_workers() -> int:
    """For ``pytest -n auto``: often a test waits, for machines and for programs it has started; many more would keep each other waiting."""
    return (os.cpu_count() or 1) + 1


def nightly() -> list[str]:
    """Return what nightly.txt lists: the starts of node ids."""
    lines = Path(__file__).with_name("nightly.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def is_below(node: str, start: str) -> bool:
    """Whether a node id is that of a test in a folder, a file or a test with parameters, or one of a file with this parameter."""
    path, bracket, parameter = start.partition("[")
    if bracket and "::" not in path:
        return node.startswith(f"{path}::") and node.endswith(f"[{parameter}")
    return node == start or node.startswith((f"{start}/", f"{start}::", f"{start}["))


def share_of(items: list[pytest.Item], share: str) -> dict[pytest.Item, str]:
    """Return the K-th of N shares (``K/N``): every N-th group of tests that one process runs, or file, by item."""
    number, count = map(int, share.split("/"))
    groups = {item: str(group.args[0]) if (group := item.get_closest_marker("xdist_group")) else item.location[0] for item in items}
    chosen = set(list(dict.fromkeys(groups.values()))[number - 1 :: count])
    return {item: group for item, group in groups.items() if group in chosen}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What nightly.txt lists is long.

    With several workers (``-n``), the longest come first, and what shares an expensive fixture stays together: a file or a folder.
    """
    left = nightly()
    for item in items:
        if any(is_below(item.nodeid, start) for start in left):
            item.add_marker(pytest.mark.long)
    chosen = share_of(items, config.getoption("--share"))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = list(chosen)
    if not hasattr(config, "workerinput"):
        return
    items.sort(key=lambda item: not item.location[0].startswith("tests/e2e"))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            place = item.location[0]
            item.add_marker(pytest.mark.xdist_group(next((folder for folder in TOGETHER if place.startswith(folder)), place)))


def fresh_sandbox(folder: Path) -> RunningSandbox:
    """A sandbox with nothing in it, to be started. Its machines live an hour in a second.

    Skips where the control plane's programs are not built yet and this is not CI: building them takes minutes.
    """
    if os.environ.get("CI") != "true" and not os.environ.get("SANDBOX_CONTROLPLANE_BIN"):
        try:
            Binaries.in_folder(cache_folder())
        except BinariesError as problem:
            pytest.skip(f"the control plane's programs are not built yet (start the sandbox once): {problem}")
    return RunningSandbox(folder / "state", log=folder / "log", speed=SPEED)


@pytest.fixture(scope="session")
def sandbox_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """One for the whole session."""
    with fresh_sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture
def sandbox(sandbox_process: RunningSandbox) -> RunningSandbox:
    """The session's sandbox, with an empty journal and no faults. What a test creates it deletes again."""
    sandbox_process.call("DELETE", "faults")
    sandbox_process.forget()
    return sandbox_process


def user_environment(sandbox: RunningSandbox) -> dict[str, str]:
    """The environment of a user's shell beside the sandbox, and this checkout as the collection."""
    root = Path(__file__).resolve().parent.parent
    return {
        **os.environ,
        **sandbox.environment,
        "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
        "ANSIBLE_INVENTORY": "localhost,",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        # The sandbox's installers are not those of the user.
        "XDG_CACHE_HOME": str(sandbox.directory / "cache"),
    }


@pytest.fixture
def sandbox_environment(sandbox: RunningSandbox) -> dict[str, str]:
    """The same, as a fixture: with an empty journal and no faults."""
    return user_environment(sandbox)
