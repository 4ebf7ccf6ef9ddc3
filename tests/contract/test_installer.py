"""openshift_installer with a faulty mirror: one clear error, and no file that is not verified."""

from __future__ import annotations

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


def test_without_an_installer_only_the_release_is_resolved(site: Site, tmp_path: Path) -> None:
    assert not called(site, tmp_path / "one", state="pinned")["changed"]
    assert called(site, tmp_path / "two", state="pinned", version="stable-4.20")["changed"]
    assert not called(site, tmp_path / "two", state="pinned", version="stable-4.20")["changed"]
    assert site.asked == ["release.txt"]
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["release.json"]
    assert not (tmp_path / "one").exists()


@pytest.mark.debian("gpgv")
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "multi"])
def test_the_signature_of_the_checksums_is_verified(site: Site, tmp_path: Path, architecture: str) -> None:
    made = called(site, tmp_path / "cluster", architecture=architecture, keyring=str(served.keyring(site.folder)))
    assert made["verified"]["signature"], made
    assert made["verified"]["details"].startswith("good, by key ")


@pytest.mark.debian("gpgv")
def test_checksums_that_differ_from_the_signed_ones_are_refused(site: Site, tmp_path: Path) -> None:
    replace(site, ARCHIVE, b"")
    message = refused(site, tmp_path / "cluster", keyring=str(served.keyring(site.folder)))
    assert "signed something else than these checksums" in message
    assert ARCHIVE not in site.asked


@pytest.mark.parametrize("answer", [status(503), status(403), cut])
@pytest.mark.parametrize("name", ["release.txt", "sha256sum.txt", "sha256sum.txt.gpg", ARCHIVE])
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


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("_", "-"))
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def script(version: str, architecture: str = "amd64") -> bytes:
    lines = f"$0 {version}\nbuilt from commit 1\nrelease architecture {architecture}\n"
    return f"#!/bin/sh\ncat <<END\n{lines}END\n".encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no archive", "Cannot unpack openshift-install from "),
        (archive(README=b""), "Cannot unpack openshift-install from "),
        (archive(openshift_install=script(VERSION))[:60], "Cannot unpack openshift-install from "),
        (archive(openshift_install=b"#!/bin/sh\nexit 3\n"), "it ended with 3"),
        (archive(openshift_install=script(OLDER)), f"should be {VERSION}, any and amd64 or multi, they are {OLDER}, unknown and amd64"),
        (archive(openshift_install=script(VERSION, "arm64")), f"they are {VERSION}, unknown and arm64"),
    ],
    ids=["no archive", "another file", "half an archive", "a program that fails", "another release", "another architecture"],
)
def test_an_archive_without_the_installer_of_the_release_is_refused(site: Site, tmp_path: Path, content: bytes, reason: str) -> None:
    replace(site, ARCHIVE, content)
    assert reason in refused(site, tmp_path)


def test_a_release_without_an_installer_is_refused(site: Site, tmp_path: Path) -> None:
    (site.folder / RELEASE / "sha256sum.txt").write_text("", encoding="ascii")
    assert f"{RELEASE}/sha256sum.txt has neither openshift-install-linux-" in refused(site, tmp_path)


def test_leftovers_of_an_interrupted_run_are_deleted(site: Site, tmp_path: Path) -> None:
    left = tmp_path / "bin" / f"{VERSION}-x86_64" / ".download-1234"
    left.mkdir(parents=True)
    (left / "archive").write_bytes(b"half")
    made = called(site, tmp_path)
    assert [path.name for path in Path(made["path"]).parent.iterdir()] == [NAME]


@pytest.mark.parametrize("text", ["{", "[]", '{"channel": "stable"}'])
def test_a_malformed_pin_is_refused(site: Site, tmp_path: Path, text: str) -> None:
    (tmp_path / "release.json").write_text(text, encoding="utf-8")
    assert "release.json: " in refused(site, tmp_path, version="stable-4.20")
    assert (tmp_path / "release.json").read_text(encoding="utf-8") == text


def test_a_pin_cannot_lead_to_another_folder(site: Site, tmp_path: Path) -> None:
    pin = {"channel": "stable-4.20", "architecture": "x86_64", "version": "../../4.20.33", "digest": ""}
    (tmp_path / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    assert "../../4.20.33 names no release" in refused(site, tmp_path, version="stable-4.20")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"version": "eus-4.20"}, "eus-4.20 names no release. Set version (openshift_version)"),
        ({"version": "stable", "distribution": "okd"}, "stable names no release"),
        ({"version": ""}, "An empty version names no release"),
        ({"version": "4.20.99"}, "sha256sum.txt does not exist; the newest of 4.20 there"),
        ({"version": "fast-4.99"}, "fast-4.99/release.txt does not exist; its channels are"),
        ({"path": "/nowhere/openshift-install"}, "Cannot run /nowhere/openshift-install version: No such file or directory"),
        ({"mirror_url": "no URL", "retries": 0}, "Cannot download no URL/"),
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


def test_a_cache_without_the_payload_of_the_channel_is_refused(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    called(site, tmp_path / "one", cache=str(cache))
    pin = {"channel": "stable-4.20", "architecture": "x86_64", "version": VERSION, "digest": "sha256:" + "0" * 64}
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "release.json").write_text(json.dumps(pin), encoding="utf-8")
    assert "cannot be used" in refused(site, tmp_path / "two", version="stable-4.20", cache=str(cache))
