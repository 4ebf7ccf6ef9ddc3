# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is built once and kept in the user's cache folder: a lock, so that two processes do not build it twice, and the progress."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

SHOW_EVERY: Final = 30.0
"""Seconds between two progress lines of a step, where the output is no terminal."""


class BuildError(Exception):
    """A step failed; the message has its command and the end of its output."""


def cache_root() -> Path:
    """Return the user's cache folder for everything of this project."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equinix_metal.openshift"


@contextlib.contextmanager
def locked(path: Path, console: Console, waiting: str) -> Iterator[None]:
    """Hold the lock file. ``waiting``: what is printed while another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print(waiting)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_environment(name: str, requirements: Path, *, title: str, takes: str, progress: Console | None = None) -> Path:
    """Return the folder of the programs of a virtual environment, making it first if need be: once for each content of its requirements.

    ``name``: of its folder in the cache, with a hash. ``requirements``: a file with every distribution at its version. ``title``: what is
    installed, ``takes``: how long that takes, for the progress. Blocks: call it before the event loop or in a thread. Raises
    :class:`BuildError`.
    """
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_root() / f"{name}-{digest}"
    programs, mark = folder / "bin", folder / "complete"
    if mark.exists():
        return programs
    console = progress or Console(stderr=True)
    with locked(folder.with_suffix(".lock"), console, f"Another process is installing {title}; waiting for it."):
        if mark.exists():
            return programs
        console.print(f"Installing {title}, {takes} the first time, then never again.")
        shutil.rmtree(folder, ignore_errors=True)
        pip = [
            str(programs / "python"),
            "-m",
            "pip",
            "install",
            "--no-compile",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "--no-deps",
        ]
        try:
            run_step(console, "[1/2] making the virtual environment", [sys.executable, "-m", "venv", str(folder)], folder=folder.parent)
            run_step(console, f"[2/2] installing {title}", [*pip, "--requirement", str(requirements)], folder=folder)
        except BuildError as error:
            raise BuildError(f"{error}\nIs the package index reachable (PIP_INDEX_URL, HTTPS_PROXY)?") from None
        mark.touch()
    return programs


def run_step(console: Console, title: str, command: Sequence[str], *, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run one step in ``folder`` and show how long it takes. Raises :class:`BuildError` with the end of its output."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        # In a session of its own, so that its children end with it.
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            with _shown(console, title):
                while process.poll() is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(SHOW_EVERY)
                    if process.poll() is None and not console.is_terminal:
                        console.print(f"  {title}: {_elapsed(started)} so far", markup=False)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode:
        last = "\n".join(text.strip().splitlines()[-15:])
        raise BuildError(f"{title} failed after {_elapsed(started)} ({' '.join(command)}, code {process.returncode}):\n{last}")
    console.print(f"  {title}: {_elapsed(started)}", markup=False)


@contextlib.contextmanager
def _shown(console: Console, title: str) -> Iterator[None]:
    """Show the title: on a terminal with the elapsed time, and removed at the end; elsewhere as one line."""
    if not console.is_terminal:
        console.print(f"  {title} ...", markup=False)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as live:
        live.add_task(title, total=None)
        yield


def _elapsed(started: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
