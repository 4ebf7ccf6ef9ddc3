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
import yaml

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


@pytest.mark.parametrize("version", catalogue.VERSIONS)
async def test_checksums_of_everything_served(client: httpx.AsyncClient, version: str) -> None:
    sums = (await client.get(f"{CLIENTS}/{version}/sha256sum.txt")).raise_for_status().text
    names = [line.split("  ")[1] for line in sums.splitlines()]
    assert names == [
        f"openshift-install-linux-{version}.tar.gz",
        f"openshift-install-linux-arm64-{version}.tar.gz",
        "openshift-install-linux.tar.gz",
        "release.txt",
    ]
    for line in sums.splitlines():
        digest, _unused, name = line.partition("  ")
        content = (await client.get(f"{CLIENTS}/{version}/{name}")).raise_for_status().content
        assert hashlib.sha256(content).hexdigest() == digest
    listing = (await client.get(f"{CLIENTS}/{version}/")).text
    assert all(f'href="{name}"' in listing for name in [*names, "sha256sum.txt", "sha256sum.txt.gpg"])


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


async def test_release_text(client: httpx.AsyncClient) -> None:
    lines = (await client.get(f"{CLIENTS}/4.20.33/release.txt")).text.splitlines()
    fields = {name: value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon and name and name[0] != " "}
    assert fields["Name"] == "4.20.33"
    assert fields["Digest"].startswith("sha256:")
    assert fields["Pull From"] == f"quay.io/openshift-release-dev/ocp-release@{fields['Digest']}"


@pytest.mark.parametrize(
    ("alias", "version"),
    [("stable", NEWEST), ("latest", NEWEST), ("stable-4.20", "4.20.33"), ("stable-4.19", "4.19.42"), ("candidate-4.18", "4.18.30")],
)
async def test_aliases(client: httpx.AsyncClient, alias: str, version: str) -> None:
    assert f"Name:           {version}\n" in (await client.get(f"{CLIENTS}/{alias}/release.txt")).text
    same = [(await client.get(f"{CLIENTS}/{name}/openshift-install-linux-{version}.tar.gz")).content for name in (alias, version)]
    assert same[0] == same[1]


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


async def test_a_directory_without_its_slash(client: httpx.AsyncClient) -> None:
    answer = await client.get(CLIENTS)
    assert (answer.status_code, answer.headers["location"]) == (301, CLIENTS + "/")
    assert 'href="stable-4.20/"' in (await client.get(CLIENTS + "/")).text


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


async def test_another_sandbox_has_another_key(client: httpx.AsyncClient, state: Path, tmp_path: Path) -> None:
    create_mirror_app(tmp_path, sys.executable, BASE)
    assert mirror.keyring(tmp_path).read_bytes() != mirror.keyring(state).read_bytes()
    assert (tmp_path / "mirror-signing-key.asc").stat().st_mode & 0o077 == 0
    assert b"PRIVATE" not in mirror.keyring(tmp_path).read_bytes()


async def test_a_restart_serves_the_same_bytes(client: httpx.AsyncClient, state: Path) -> None:
    path = f"{CLIENTS}/stable/sha256sum.txt"
    before, keyring = (await client.get(path)).content, mirror.keyring(state).read_bytes()
    again = httpx.ASGITransport(create_mirror_app(state, sys.executable, BASE))
    async with httpx.AsyncClient(transport=again, base_url=BASE) as asking:
        assert (await asking.get(path)).content == before
    assert mirror.keyring(state).read_bytes() == keyring


async def test_a_damaged_download_is_seen(tmp_path: Path) -> None:
    app = create_mirror_app(tmp_path, sys.executable, BASE)
    path = tmp_path / "mirror" / "x86_64" / "clients" / "ocp" / NEWEST / "openshift-install-linux.tar.gz"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as asking:
        got = (await asking.get(f"{CLIENTS}/stable/openshift-install-linux.tar.gz")).content
        assert hashlib.sha256(got).hexdigest() not in (await asking.get(f"{CLIENTS}/stable/sha256sum.txt")).text


# --- boot images -----------------------------------------------------------------------------------------------------------


async def test_stream_data_points_at_what_is_served(client: httpx.AsyncClient, tmp_path: Path) -> None:
    streams = {
        version: json.loads(output_of(await installer(client, tmp_path, version), "coreos", "print-stream-json"))
        for version in catalogue.VERSIONS
    }
    seen = set()
    for stream in streams.values():
        for architecture in ("x86_64", "aarch64"):
            metal = stream["architectures"][architecture]["artifacts"]["metal"]
            seen.add(metal["release"])
            artefacts = metal["formats"]["pxe"] | {name: metal["formats"][name]["disk"] for name in ("iso", "raw.gz", "4k.raw.gz")}
            lines = {}
            for kind, where in artefacts.items():
                assert where["location"].startswith(BASE + "/")
                content = (await client.get(where["location"])).raise_for_status().content
                assert hashlib.sha256(content).hexdigest() == where["sha256"]
                lines[kind] = content.split(b"\n")
            for kind in ("kernel", "initramfs", "rootfs"):
                assert lines[kind][0].decode() == f"sandbox-rhcos {kind} {metal['release']} {architecture}"
            assert lines["initramfs"][1].decode() == f"rootfs-sha256 {metal['formats']['pxe']['rootfs']['sha256']}"
    assert len(seen) == len(catalogue.VERSIONS)
    pxe = {version: stream["architectures"]["x86_64"]["artifacts"]["metal"]["formats"]["pxe"] for version, stream in streams.items()}
    assert pxe["4.18.30"]["kernel"]["location"].endswith("-live-kernel-x86_64")
    assert pxe["4.20.33"]["kernel"]["location"].endswith("-live-kernel.x86_64")
    assert pxe["4.20.33"]["rootfs"]["location"].endswith("-live-rootfs.x86_64.img")


async def test_head_and_range(client: httpx.AsyncClient) -> None:
    build = catalogue.release("4.20.33", "x86_64").rhcos
    name = catalogue.artefact_names(build, "x86_64")["rootfs"]
    path = f"/pub/openshift-v4/{catalogue.artefact_directory(build, 'x86_64')}/{name}"
    whole = (await client.get(path)).content
    head = await client.head(path)
    assert (head.status_code, head.content, int(head.headers["content-length"])) == (200, b"", len(whole))
    part = await client.get(path, headers={"Range": "bytes=8-12"})
    assert (part.status_code, part.content) == (206, whole[8:13])
    assert part.headers["content-range"] == f"bytes 8-12/{len(whole)}"
    assert (await client.get(path, headers={"Range": "bytes=99999999-"})).status_code == 416
    assert (await client.post(path)).status_code == 405


# --- the installer in it -----------------------------------------------------------------------------------------------------


async def test_each_installer_prints_its_release(client: httpx.AsyncClient, tmp_path: Path) -> None:
    text = (await client.get(f"{CLIENTS}/4.19.42/release.txt")).text
    executable = await installer(client, tmp_path, "4.19.42")
    out = output_of(executable, "version")
    assert out.startswith(f"{executable} 4.19.42\nbuilt from commit ")
    assert next(line for line in text.splitlines() if line.startswith("Pull From")).split()[-1] in out
    assert out.endswith("release architecture amd64\n")
    assert output_of(await installer(client, tmp_path, "stable", "arm64"), "version").endswith("release architecture arm64\n")


async def test_the_installer_of_the_mirror_makes_a_cluster(client: httpx.AsyncClient, tmp_path: Path) -> None:
    executable = await installer(client, tmp_path)
    directory = tmp_path / "cluster"
    directory.mkdir()
    config = {
        "apiVersion": "v1",
        "baseDomain": "metal.test",
        "metadata": {"name": "demo"},
        "platform": {"none": {}},
        "pullSecret": '{"auths":{"quay.io":{"auth":"eDp5"}}}',
    }
    (directory / "install-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    # What the caller's shell says of Python must not matter.
    output_of(
        executable, "create", "ignition-configs", "--dir", str(directory), environment={"PYTHONPATH": "/nowhere", "PYTHONSAFEPATH": "1"}
    )
    assert json.loads((directory / "worker.ign").read_bytes())["ignition"]["version"] == "3.2.0"
    assert (directory / "bootstrap.ign").stat().st_size > 200_000


def test_an_interpreter_whose_path_has_spaces(tmp_path: Path) -> None:
    python = tmp_path / "it's a path" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    create_mirror_app(tmp_path / "state", str(python), BASE)
    archive = tmp_path / "state" / "mirror" / "x86_64" / "clients" / "ocp" / "latest" / "openshift-install-linux.tar.gz"
    shutil.unpack_archive(archive, tmp_path)
    assert output_of(tmp_path / "openshift-install", "version").startswith(f"{tmp_path / 'openshift-install'} {NEWEST}\n")
