"""The mirror: what is served where, that it can be verified, and that the installer in it runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from sandbox.openshift import mirror
from sandbox.openshift.installer import catalogue
from sandbox.openshift.mirror import create_mirror_app

BASE = "http://mirror.metal.test:8080"
NEWEST = catalogue.VERSIONS[-1]
CLIENTS = "/pub/openshift-v4/x86_64/clients/ocp"


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture
async def client(state: Path) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_mirror_app(state, sys.executable, BASE))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as asking:
        yield asking


async def installer(client: httpx.AsyncClient, tmp_path: Path, version: str = "stable", architecture: str = "x86_64") -> Path:
    url = f"/pub/openshift-v4/{architecture}/clients/ocp/{version}/openshift-install-linux.tar.gz"
    content = (await client.get(url)).raise_for_status().content
    target = tmp_path / f"{version}-{architecture}"
    (tmp_path / "client.tar.gz").write_bytes(content)
    shutil.unpack_archive(tmp_path / "client.tar.gz", target)
    assert sorted(path.name for path in target.iterdir()) == ["README.md", "openshift-install"]
    return target / "openshift-install"


def output_of(executable: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        [str(executable), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=executable.parent,
        env=os.environ | (environment or {}),
    )
    return result.stdout


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        f"{CLIENTS}/%00",
        f"{CLIENTS}/stable/\N{SNOWMAN}",
        "/" + "a" * 300,
        f"{CLIENTS}/" + "a/" * 3000,
        "/%ff%fe",
        "/..%2f..%2fetc%2fpasswd",
        "/%2fetc",
    ],
    ids=["zero", "zero below", "snowman", "long", "deep", "not UTF-8", "above", "absolute"],
)
async def test_a_name_that_no_file_has_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404, answer.text


async def test_a_release_for_both_architectures_has_an_installer_for_computers_of_each(client: httpx.AsyncClient, tmp_path: Path) -> None:
    above = "/pub/openshift-v4/multi/clients/ocp/stable-4.20"
    sums = (await client.get(f"{above}/sha256sum.txt")).raise_for_status().text
    below = {name: hashlib.sha256((await client.get(f"{above}/{name}/sha256sum.txt")).content).hexdigest() for name in ("amd64", "arm64")}
    assert sums == "".join(f"{digest}  {name}/sha256sum.txt\n" for name, digest in below.items())
    assert (await client.get(f"{above}/sha256sum.txt.gpg")).is_success
    assert "OS/Arch:        linux/multi\n" in (await client.get(f"{above}/arm64/release.txt")).text
    executable = await installer(client, tmp_path, "stable-4.20/amd64", "multi")
    assert output_of(executable, "version").endswith("release architecture multi\ndefault architecture amd64\n")


async def test_okd_lies_as_on_github(client: httpx.AsyncClient, tmp_path: Path) -> None:
    (version,) = catalogue.OKD_VERSIONS
    above = f"{mirror.OKD_PATH}/{version}"
    content = (await client.get(f"{above}/openshift-install-linux-{version}.tar.gz")).raise_for_status().content
    assert (
        f"{hashlib.sha256(content).hexdigest()}  openshift-install-linux-{version}.tar.gz\n"
        in (await client.get(f"{above}/sha256sum.txt")).text
    )
    assert (await client.get(f"{above}/sha256sum.txt.asc")).content.startswith(b"-----BEGIN PGP SIGNATURE-----")
    assert (await client.get(f"{mirror.OKD_PATH}/latest/release.txt")).status_code == 404
    (tmp_path / "client.tar.gz").write_bytes(content)
    shutil.unpack_archive(tmp_path / "client.tar.gz", tmp_path)
    out = output_of(tmp_path / "openshift-install", "version")
    assert out.startswith(f"{tmp_path / 'openshift-install'} {version}\n") and "quay.io/okd/scos-release@sha256:" in out
    stream = json.loads(output_of(tmp_path / "openshift-install", "coreos", "print-stream-json"))
    kernel = stream["architectures"]["x86_64"]["artifacts"]["metal"]["formats"]["pxe"]["kernel"]["location"]
    assert stream["stream"] == "c10s" and "/scos-" in kernel
    assert (await client.get(kernel)).is_success


@pytest.mark.parametrize(
    "path",
    [
        f"{CLIENTS}/4.20.34/openshift-install-linux.tar.gz",
        f"{CLIENTS}/stable/openshift-client-linux.tar.gz",
        "/pub/openshift-v4/s390x/clients/ocp/stable/release.txt",
        "/pub/openshift-v4/x86_64/../../../mirror-signing-key.asc",
        "/pub/openshift-v4/%2e%2e/mirror-signing-key.asc",
        "/pub/openshift-v4/x86_64/%2e%2e/%2e%2e/mirror-signing-key.asc",
    ],
)
async def test_what_it_does_not_have(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert "<title>404 Not Found</title>" in answer.text or "mirror-signing" in path


@pytest.mark.debian("gpgv")
async def test_gpgv_accepts_the_signature_and_finds_tampering(client: httpx.AsyncClient, state: Path, tmp_path: Path) -> None:
    for name in ("sha256sum.txt", "sha256sum.txt.gpg"):
        (tmp_path / name).write_bytes((await client.get(f"{CLIENTS}/4.20.33/{name}")).content)

    def verified(keyring: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["gpgv", "--homedir", str(tmp_path), "--keyring", str(keyring), "sha256sum.txt.gpg", "sha256sum.txt"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    good = verified(mirror.keyring(state))
    assert good.returncode == 0, good.stderr
    assert "Good signature" in good.stderr
    assert verified(tmp_path / "none.gpg").returncode != 0
    sums = tmp_path / "sha256sum.txt"
    sums.write_text(sums.read_text(encoding="ascii").replace("0", "1", 1), encoding="ascii")
    bad = verified(mirror.keyring(state))
    assert bad.returncode == 1
    assert "BAD signature" in bad.stderr


async def test_a_damaged_download_is_seen(tmp_path: Path) -> None:
    app = create_mirror_app(tmp_path, sys.executable, BASE)
    path = tmp_path / "mirror" / "x86_64" / "clients" / "ocp" / NEWEST / "openshift-install-linux.tar.gz"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as asking:
        got = (await asking.get(f"{CLIENTS}/stable/openshift-install-linux.tar.gz")).content
        assert hashlib.sha256(got).hexdigest() not in (await asking.get(f"{CLIENTS}/stable/sha256sum.txt")).text
