"""Run the long tests in parts of at most an hour: ``python -m tools.nightly [PART] [-- PYTEST ARGUMENT ...]`` (``make nightly``).

A part is a command or several, one after another, each with the time that is left of the part's hour. Without the name of a part all are
run, and a table at the end has the result of each.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.matrix import read_table

ROOT: Final = Path(__file__).resolve().parent.parent
LIMIT: Final = 3600.0
"""Seconds of a part."""
TO_CLEAN_UP: Final = 60.0
"""Seconds in which an interrupted part ends what it started."""
E2E: Final = "tests/e2e/test_"


@dataclass(frozen=True)
class Part:
    """What is run: tests of these paths, or a share of them, then commands of Python, each also after a failure of the one before."""

    subject: str
    paths: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    share: str = "1/1"


def e2e(*names: str) -> tuple[str, ...]:
    """Return the paths of end-to-end tests."""
    return tuple(f"{E2E}{name}.py" for name in names)


EACH_WRITE: Final = f"{E2E}each_write.py::test_an_install_is"
PARTS: Final[dict[str, Part]] = {
    "install": Part("installs", e2e("install")),
    "variants": Part(
        "installs with other networks, architectures and publishing methods, and in an own project",
        e2e("disconnected", "networks", "publishing", "topologies", "own_project", "services"),
    ),
    "day2": Part(
        "scaling, replacement, adoption and deletion",
        e2e("reuse", "adopt", "control_plane_replacement", "destroy", "no_subject"),
    ),
    "pools": Part("machine pools, and removal of their nodes", e2e("pools", "pool_devices", "node_removal")),
    "repair": Part(
        "failed devices, killed runs, locks and lost folders",
        (*e2e("repair", "bad_machine", "killed_install", "resume", "cluster_lock", "elsewhere", "failure_bundle", "state_store"),),
    ),
    "destroyed": Part("an install that ends after each of its writes, and is destroyed", (f"{EACH_WRITE}_destroyed_after_each_write",)),
    "continued": Part(
        "the same, and is continued",
        (f"{EACH_WRITE}_continued_after_each_write", f"{E2E}each_write.py::test_the_first_object_is_continued_and_destroyed"),
    ),
    "load-balancing": Part("load balancers that lose machines", (*e2e("load_balancing"), "tests/load_balancer")),
    "jobs": Part("jobs of AWX, state stores, publishing methods", ("tests/awx", "tests/state_store", "tests/boot_files")),
    "roles": Part(
        "roles alone, the inventory, the artifact and the site",
        ("tests/ignition", "tests/dns", "tests/network", "tests/cluster", "tests/failure", "tests/inventory", "tests/docs"),
    ),
    **{
        f"reliability-{part}": Part("every fault for every module", ("tests/contract", "tests/validate"), share=f"{part}/2")
        for part in (1, 2)
    },
    "rack": Part("machines with real firmware", ("tests/rack", "tests/sandbox", *e2e("machines_that_boot"))),
    **{
        name: Part(f"{subject}, with machines that are containers", commands=(("-m", "tests.containers", "-k", expression),))
        for name, subject, expression in (
            ("containers", "the life of a cluster", "not load_balancers"),
            ("balanced-containers", "each kind of load balancing", "load_balancers"),
        )
    },
    "kernels": Part("networks and disks of nodes with a kernel of their own", commands=(("-m", "tests.kernels"),)),
    "server": Part("the Metal API server with Ironic", ("tests/metal_api",)),
    **{
        f"chaos-{part}": Part(
            "runs that end at any moment under faults",
            commands=(("-m", "tests.e2e.chaos", "--only", numbers),),
        )
        for part, numbers in ((1, "0-24"), (2, "25-49"))
    },
    "integration": Part("ansible-test integration: modules of the Metal API and the inventory", commands=(("-m", "tools.integration"),)),
    "bench": Part("performance: figures and their targets", commands=(("-m", "tests.bench"),)),
    **{
        f"matrix-{version.series}": Part(f"ansible-core {version.series}", commands=(("-m", "tools.matrix", version.series, "--"),))
        for version in read_table()
    },
}


def commands_of(part: Part, arguments: Sequence[str]) -> list[list[str]]:
    """Return the command lines of a part; ``arguments`` are for pytest."""
    own = [sys.executable, "-m", "pytest", "-m", "e2e or long", "--share", part.share, *part.paths, *arguments]
    rest = [[sys.executable, *command, *(arguments if command[-1] == "--" else ())] for command in part.commands]
    return [own, *rest] if part.paths else rest


def run(command: Sequence[str], seconds: float) -> str:
    """Run a command for at most ``seconds``; return why it failed, or an empty text."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    # What a shell starts in the background ignores SIGINT, and so would pytest, which lists the failures of an interrupted part.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(timeout=max(seconds, 1.0))
    except subprocess.TimeoutExpired:
        _end(process)
        return f"not finished within {seconds / 60:.0f} minutes"
    except KeyboardInterrupt:
        _end(process)
        raise
    return f"ended with {code}" if code else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a command as Ctrl-C does; kill what is left of its process group."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(timeout=TO_CLEAN_UP)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_part(part: Part, arguments: Sequence[str], limit: float = LIMIT) -> str:
    """Run a part; return why it failed, or an empty text."""
    deadline = time.monotonic() + limit
    failures = [run(command, deadline - time.monotonic()) for command in commands_of(part, arguments)]
    return "; ".join(filter(None, failures))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one part or all; the exit code is 1 if one failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    index = given.index("--") if "--" in given else len(given)
    parts = "\n".join(f"  {name:<16}{part.subject}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tools.nightly",
        description="Run the long tests in parts of at most an hour.",
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="?", choices=PARTS, metavar="PART", help="one of the parts below; without it all of them are run")
    chosen = parser.parse_args(given[:index]).part
    rows = []
    for name in [chosen] if chosen else PARTS:
        print(f"nightly: {name}: {PARTS[name].subject}", flush=True)
        began = time.monotonic()
        failure = run_part(PARTS[name], given[index + 1 :])
        rows.append((name, (time.monotonic() - began) / 60, failure))
    for name, minutes, failure in rows:
        print(f"nightly: {name:<16}{minutes:4.0f} min  {failure or 'passed'}")
    return int(any(failure for _name, _minutes, failure in rows))


if __name__ == "__main__":
    sys.exit(main())
