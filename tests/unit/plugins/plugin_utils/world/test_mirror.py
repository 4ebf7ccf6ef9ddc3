"""What there is to install with: the sandbox's mirror as files on a web server, and installers of one's own."""

import platform
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.versions import go_name
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import mirror
from sandbox.openshift import mirror as served

VERSION = "4.20.33"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    served.create_mirror_app(folder, sys.executable, "http://127.0.0.1:1")
    return folder


@pytest.fixture(scope="module")
def url(state: Path) -> Iterator[str]:
    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(state))

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def collect(state: Path, **settings: Any) -> dict[str, Any]:
    nodes = [{"role": "control-plane", "architecture": "x86_64"}]
    desired = {
        "machines": {"control_plane": nodes, "workers": []},
        "directory": str(state / "cluster"),
        "bootstrap_over": False,
        "release_keyring": str(served.keyring(state)),
        "version": VERSION,
        "timeout": 10,
        "installer_timeout": 60,
        "signature_timeout": 30,
    }
    return mirror.collect({**desired, **settings})


@pytest.mark.debian("gpgv")
def test_a_release_for_both_architectures_and_its_checksums_of_checksums(state: Path, url: str) -> None:
    workers = [{"role": "worker", "architecture": "aarch64"}, {"role": "worker", "architecture": "x86_64"}]
    found = collect(state, mirror_url=f"{url}/mirror", machines={"control_plane": [], "workers": workers})
    assert found["mirror"]["url"] == f"{url}/mirror/multi/clients/ocp/{VERSION}/sha256sum.txt"
    assert f"openshift-install-linux-{VERSION}.tar.gz" in found["mirror"]["content"]
    assert found["signature"]["good"], found

    below = state / "mirror" / "multi" / "clients" / "ocp" / VERSION / go_name(platform.machine()) / "sha256sum.txt"
    good = below.read_bytes()
    below.write_bytes(good.replace(b"a", b"b", 1))
    try:
        found = collect(state, mirror_url=f"{url}/mirror", release_architecture="multi")
    finally:
        below.write_bytes(good)
    assert found["mirror"]["content"] == ""
    assert "does not have the checksum of sha256sum.txt above it" in found["mirror"]["msg"]


def test_an_installer_of_one_s_own_is_asked_and_no_mirror(state: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(state / "mirror" / "multi" / "clients" / "ocp" / VERSION / "amd64" / "openshift-install-linux.tar.gz", tmp_path)
    found = collect(state, installer=str(tmp_path / "openshift-install"), version="", mirror_url="http://127.0.0.1:9")
    assert found == {"installer": {"version": VERSION, "architecture": "multi"}}


def test_installers_that_are_none(state: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no libraries >&2\nexit 3\n", encoding="utf-8")
    assert collect(state, installer=str(broken)) == {"installer": {"msg": "Permission denied"}}
    broken.chmod(0o755)
    assert collect(state, installer=str(broken)) == {"installer": {"msg": "it ended with 3: no libraries"}}
    assert collect(state, installer=str(tmp_path / "none")) == {"installer": {"msg": "No such file or directory"}}
