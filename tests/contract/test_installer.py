"""openshift_installer with a faulty mirror: one clear error, and no file that is not verified."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from sandbox.openshift import mirror as served
from tests.contract.environment import run
from tests.mirror_site import Answer, Site, mirror_site

VERSION, OLDER = "4.20.33", "4.19.42"
RELEASE = f"mirror/x86_64/clients/ocp/{VERSION}"
ARCHIVE = f"openshift-install-linux-{VERSION}.tar.gz"
NAME = "openshift-install"


def replace(site: Site, name: str, content: bytes) -> None:
    """Replace a file in the release's folder, with its checksum."""
    folder = site.folder / RELEASE
    (folder / name).write_bytes(content)
    sums = (folder / "sha256sum.txt").read_text(encoding="ascii").splitlines()
    kept = [line for line in sums if not line.endswith(f"  {name}")]
    (folder / "sha256sum.txt").write_text("\n".join([*kept, f"{hashlib.sha256(content).hexdigest()}  {name}\n"]), encoding="ascii")


def status(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


def cut(handler: SimpleHTTPRequestHandler) -> None:
    """The connection ends before the file does."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


def other(handler: SimpleHTTPRequestHandler) -> None:
    """Another file than the one that is signed."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"something else")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with mirror_site(tmp_path / "site") as found:
        yield found


def called(site: Site, folder: Path, **options: Any) -> dict[str, Any]:
    given = {"version": VERSION, "directory": str(folder), "mirror_url": site.url, "delay": 0.01, **options}
    return run("openshift_installer", given, os.environ, without_pauses=True)


def refused(site: Site, folder: Path, **options: Any) -> str:
    result = called(site, folder, **options)
    assert result.get("failed"), result
    assert "exception" not in result
    message = str(result["msg"])
    assert message.isprintable()
    assert not list(folder.glob("bin/*/*"))
    assert not list(folder.glob("bin/*/.*"))
    return message


def test_check_mode_reads_the_mirror_and_writes_no_file(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    predicted = called(site, folder, version="stable-4.20", _ansible_check_mode=True)
    assert predicted["changed"]
    assert not folder.exists()
    assert ARCHIVE not in site.asked
    made = called(site, folder, version="stable-4.20")
    assert [predicted[name] for name in ("version", "digest", "path", "diff", "verified")] == [
        made[name] for name in ("version", "digest", "path", "diff", "verified")
    ]
    assert (made["version"], made["release_architecture"], made["machine_architectures"]) == (VERSION, "amd64", ["x86_64"])
    assert Path(made["path"]).stat().st_mode & 0o777 == 0o755
    assert (folder / "bin").stat().st_mode & 0o777 == folder.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in folder.rglob("*")} == {"bin", f"{VERSION}-x86_64", NAME, "release.json"}


def test_an_existing_installer_is_not_downloaded_again(site: Site, tmp_path: Path) -> None:
    made = called(site, tmp_path, version="stable-4.20")
    site.asked.clear()
    again = called(site, tmp_path, version="stable-4.20")
    assert (again["changed"], again["path"], site.asked) == (False, made["path"], [])


@pytest.mark.debian("gpgv")
def test_the_signature_of_the_checksums_is_verified(site: Site, tmp_path: Path) -> None:
    made = called(site, tmp_path / "cluster", architecture="multi", keyring=str(served.keyring(site.folder)))
    assert made["verified"]["signature"], made
    assert made["verified"]["details"].startswith("good, by key ")


@pytest.mark.debian("gpgv")
def test_checksums_that_differ_from_the_signed_ones_are_refused(site: Site, tmp_path: Path) -> None:
    replace(site, ARCHIVE, b"")
    message = refused(site, tmp_path / "cluster", keyring=str(served.keyring(site.folder)))
    assert "signed something else than these checksums" in message
    assert ARCHIVE not in site.asked


@pytest.mark.parametrize("answer", [status(503), cut])
@pytest.mark.parametrize("name", ["release.txt", ARCHIVE])
def test_a_download_is_retried_after_a_network_error(site: Site, tmp_path: Path, name: str, answer: Answer) -> None:
    site.instead[name] = [answer, answer]
    assert not called(site, tmp_path, version="stable-4.20").get("failed")
    assert site.asked.count(name) == 3


@pytest.mark.parametrize(("answer", "reason"), [(status(503), "the mirror answered 503"), (cut, "the connection ended after 4 of 1000000")])
def test_a_download_that_always_fails_is_one_error(site: Site, tmp_path: Path, answer: Answer, reason: str) -> None:
    site.instead[ARCHIVE] = [answer] * 9
    message = refused(site, tmp_path, retries=2)
    assert f"Cannot download {site.url.removesuffix('/mirror')}/{RELEASE}/{ARCHIVE}: {reason}" in message
    assert "(tries: 3)" in message
    assert site.asked.count(ARCHIVE) == 3
    del site.instead[ARCHIVE]
    assert called(site, tmp_path)["changed"]


def test_a_wrong_checksum_is_not_retried(site: Site, tmp_path: Path) -> None:
    site.instead[ARCHIVE] = [other]
    assert (
        f"The checksum of {site.url.removesuffix('/mirror')}/{RELEASE}/{ARCHIVE} is {hashlib.sha256(b'something else').hexdigest()}"
        in refused(site, tmp_path)
    )
    assert site.asked.count(ARCHIVE) == 1


def test_nested_checksums_that_differ_from_the_signed_ones_are_refused(site: Site, tmp_path: Path) -> None:
    for nested in (site.folder / "mirror" / "multi" / "clients" / "ocp" / VERSION).glob("*/sha256sum.txt"):
        nested.write_bytes(nested.read_bytes() + b"\n")
    assert "64/sha256sum.txt is " in refused(site, tmp_path, architecture="multi")


def archive(installer: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        entry = tarfile.TarInfo(NAME)
        entry.size = len(installer)
        packed.addfile(entry, io.BytesIO(installer))
    return buffer.getvalue()


def script(version: str) -> bytes:
    lines = f"$0 {version}\nbuilt from commit 1\nrelease architecture amd64\n"
    return f"#!/bin/sh\ncat <<END\n{lines}END\n".encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no archive", "Cannot unpack openshift-install from "),
        (archive(b"#!/bin/sh\nexit 3\n"), "it ended with 3"),
        (archive(script(OLDER)), f"should be {VERSION}, any and amd64 or multi, they are {OLDER}, unknown and amd64"),
    ],
    ids=["no archive", "a program that fails", "another release"],
)
def test_an_archive_without_the_installer_of_the_release_is_refused(site: Site, tmp_path: Path, content: bytes, reason: str) -> None:
    replace(site, ARCHIVE, content)
    assert reason in refused(site, tmp_path)


def test_leftovers_of_an_interrupted_run_are_deleted(site: Site, tmp_path: Path) -> None:
    left = tmp_path / "bin" / f"{VERSION}-x86_64" / ".download-1234"
    left.mkdir(parents=True)
    (left / "archive").write_bytes(b"half")
    made = called(site, tmp_path)
    assert [path.name for path in Path(made["path"]).parent.iterdir()] == [NAME]


def test_a_malformed_pin_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text("{", encoding="utf-8")
    assert "release.json: " in refused(site, tmp_path, version="stable-4.20")
    assert (tmp_path / "release.json").read_text(encoding="utf-8") == "{"


def test_a_pin_cannot_lead_to_another_folder(site: Site, tmp_path: Path) -> None:
    pin = {"channel": "stable-4.20", "architecture": "x86_64", "version": "../../4.20.33", "digest": ""}
    (tmp_path / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    assert "../../4.20.33 names no release" in refused(site, tmp_path, version="stable-4.20")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"version": "eus-4.20"}, "eus-4.20 names no release. Set version (openshift_version)"),
        ({"version": "4.20.99"}, "sha256sum.txt does not exist; the newest of 4.20 there"),
        ({"path": "/nowhere/openshift-install"}, "Cannot run /nowhere/openshift-install version: No such file or directory"),
        ({"directory": "/dev/null/cluster"}, "Cannot use /dev/null/cluster"),
    ],
)
def test_unusable_options_are_refused(site: Site, tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    assert reason in refused(site, tmp_path, **options)


def test_a_cache_is_filled_once_for_all_folders(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = called(site, tmp_path / "one", cache=str(cache))
    assert first["changed"]
    assert ARCHIVE in site.asked
    site.asked.clear()
    second = called(site, tmp_path / "two", cache=str(cache))
    assert second["changed"]
    assert set(site.asked) == {"sha256sum.txt", "sha256sum.txt.gpg"}
    assert second["verified"] == first["verified"]
    assert Path(second["path"]).is_relative_to(tmp_path / "two")
    assert Path(second["path"]).stat().st_mode & 0o777 == 0o755
    assert (second["version"], second["release_architecture"], second["url"]) == (VERSION, "amd64", first["url"])
    assert not called(site, tmp_path / "two", cache=str(cache))["changed"]


def test_a_cache_does_not_replace_another_archive_of_the_same_release(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    called(site, tmp_path / "one", cache=str(cache))
    replace(site, ARCHIVE, b"not an archive")
    assert "Cannot unpack" in refused(site, tmp_path / "two", cache=str(cache))
