"""Releases, channels, what a mirror lists, and what an installer says of itself."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.versions import (
    Installer,
    Mirror,
    Pin,
    alternatives,
    archives_in,
    channel_problem,
    go_name,
    is_channel,
    is_release,
    kernel_name,
    machine_architectures,
    newest,
    read_channel,
    read_checksums,
    read_pin,
    read_version,
)

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
COMMIT = "built from commit 6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d1"
REST = f"{COMMIT}\nrelease image quay.io/openshift-release-dev/ocp-release@{DIGEST}\n"


@pytest.mark.parametrize(
    "called_by",
    [
        "openshift-install",
        "./openshift-install",
        "/home/ada/my clusters/bin/4.20.33-x86_64/openshift-install",
        '/srv/it\'s "here"/openshift-install',
        "/srv/Größe/🚀/openshift-install",
        "/srv/4.19.1 old/openshift-install 4.18.2",
        "/srv/new\nline/openshift-install",
        "/srv/built from commit 1/openshift-install",
        f"/srv/{'long/' * 700}openshift-install",
    ],
)
def test_the_version_does_not_depend_on_the_path_that_an_installer_was_called_by(called_by: str) -> None:
    output = f"{called_by} 4.20.33\n{REST}release architecture amd64\n"
    assert read_version(output) == Installer("4.20.33", DIGEST, "amd64")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (f"openshift-install v4.20.33\n{REST}release architecture arm64\n", Installer("4.20.33", DIGEST, "arm64")),
        (
            f"openshift-install 4.20.33\n{REST}release architecture multi\ndefault architecture amd64\n",
            Installer("4.20.33", DIGEST, "multi"),
        ),
        (f"openshift-install 4.20.0-okd-scos.9\n{COMMIT}\n", Installer("4.20.0-okd-scos.9", "", "")),
        (
            "WARNING Found override for release image (registry.example/ocp:1). Please be warned, this is not advised\n"
            f"openshift-install 4.20.33\n{COMMIT}\nrelease image registry.example/ocp:1\nrelease architecture unknown\n"
            "default architecture amd64\n",
            Installer("4.20.33", "", "unknown"),
        ),
        (f"openshift-install unreleased-master-1\n{COMMIT}\n", Installer("", "", "")),
        ("", Installer("", "", "")),
        ("git version 2.47.1\n", Installer("", "", "")),
    ],
)
def test_the_version_output_of_an_installer_is_parsed(output: str, expected: Installer) -> None:
    assert read_version(output) == expected


@pytest.mark.parametrize(
    ("channel", "version", "problem"),
    [
        ("stable-4.20", "4.20.33", ""),
        ("stable", "4.20.33", ""),
        ("fast-4.20", "4.20.33", ""),
        ("latest-4.20", "4.20.0-rc.2", ""),
        ("candidate-4.20", "4.20.0-ec.1", ""),
        ("latest", "4.21.0-ec.1", ""),
        ("stable-4.2", "4.20.33", "stable-4.2 shows 4.20.33, which is no release of 4.2"),
        ("stable-4.20", "4.19.42", "stable-4.20 shows 4.19.42, which is no release of 4.20"),
        ("candidate-4.20", "4.2.20", "candidate-4.20 shows 4.2.20, which is no release of 4.20"),
        ("stable-4.20", "4.20.0-rc.2", "stable-4.20 shows 4.20.0-rc.2, which is not finished"),
        ("stable", "4.20.0-rc.2", "stable shows 4.20.0-rc.2, which is not finished"),
        ("stable-4.20", "", "stable-4.20 shows nothing, which is no release"),
        ("stable-4.20", "4.20", "stable-4.20 shows 4.20, which is no release"),
        ("stable-4.20", "../../4.20.33", "stable-4.20 shows ../../4.20.33, which is no release"),
    ],
)
def test_a_channel_has_releases_of_its_own_only(channel: str, version: str, problem: str) -> None:
    assert channel_problem(channel, version) == problem


NAMES = [
    "4.18.30",
    "4.19.42",
    "4.20.9",
    "4.20.10",
    "4.20.10-rc.1",
    "4.20.11-rc.0",
    "4.20.2",
    "latest-4.20",
    "stable",
    "stable-4.20",
    "fast",
]
RELATIVE = "".join(f'<tr><td class="name"><a href="{name}/">{name}</a></td></tr>' for name in ["..", *NAMES])
ABSOLUTE = "".join(f"<a href='/pub/openshift-v4/x86_64/clients/ocp/{name}/?C=N'>{name}</a>" for name in NAMES)
WHOLE = "".join(f'<a href="https://mirror.example/clients/ocp/{name}">{name}</a>' for name in NAMES)


@pytest.mark.parametrize("page", [RELATIVE, ABSOLUTE, WHOLE])
@pytest.mark.parametrize(
    ("desired", "expected"),
    [
        ("4.20.99", "the newest of 4.20 there are 4.20.10, 4.20.9, 4.20.2"),
        ("4.20.11-rc.9", "the newest of 4.20 there are 4.20.11-rc.0, 4.20.10, 4.20.10-rc.1"),
        ("4.19.99", "the newest of 4.19 there is 4.19.42"),
        ("4.1.99", "it has none of 4.1, the newest there are 4.20.10, 4.20.9, 4.20.2"),
        ("stable-4.19", "its channels are fast, stable, latest-4.20, stable-4.20"),
    ],
)
def test_what_a_mirror_has_instead(page: str, desired: str, expected: str) -> None:
    assert alternatives(desired, page) == expected


@pytest.mark.parametrize("page", ["", "<html>", "<p>Not listed</p>", '<a href="readme/">', "\0", '<a href="">'])
@pytest.mark.parametrize("desired", ["4.20.99", "stable-4.20", "", "4"])
def test_a_page_that_lists_no_release(page: str, desired: str) -> None:
    assert alternatives(desired, page) == ""


def test_the_newest_by_number_not_by_letter() -> None:
    assert newest(["4.9.1", "4.10.1", "4.10.0-rc.10", "4.10.0-rc.9", "4.10.0"], 5) == [
        "4.10.1",
        "4.10.0",
        "4.10.0-rc.10",
        "4.10.0-rc.9",
        "4.9.1",
    ]


@pytest.mark.parametrize(
    ("name", "release", "channel"),
    [
        ("4.20.33", True, False),
        ("4.20.0-rc.2", True, False),
        ("4.20.0-okd-scos.9", True, False),
        ("4.20", False, False),
        ("4.20.33\n", False, False),
        ("../4.20.33", False, False),
        ("stable", False, True),
        ("stable-4.20", False, True),
        ("candidate-4.20", False, True),
        # A channel of updates: the mirror has no such folder.
        ("eus-4.20", False, False),
        ("stable-4.20.33", False, False),
        ("", False, False),
    ],
)
def test_names_of_releases_and_channels(name: str, release: bool, channel: bool) -> None:
    assert is_release(name) is release
    assert is_channel(name, "ocp") is channel
    assert not is_channel(name, "okd")


def test_names_of_architectures() -> None:
    assert [go_name(name) for name in ("x86_64", "aarch64", "arm64", "multi", "s390x")] == ["amd64", "arm64", "arm64", "multi", "s390x"]
    assert [kernel_name(name) for name in ("amd64", "arm64", "aarch64", "multi")] == ["x86_64", "aarch64", "aarch64", "multi"]
    assert machine_architectures("amd64") == ["x86_64"]
    assert machine_architectures("multi") == machine_architectures("unknown") == ["aarch64", "x86_64"]


def test_folders_of_a_mirror() -> None:
    one = Mirror("https://mirror.example/ocp/", "ocp", "aarch64", "x86_64")
    assert one.releases == "https://mirror.example/ocp/aarch64/clients/ocp"
    assert one.channel("stable-4.20") == f"{one.releases}/stable-4.20/release.txt"
    assert one.signature("4.20.33") == f"{one.releases}/4.20.33/sha256sum.txt.gpg"
    assert one.archives("4.20.33") == ["openshift-install-linux-amd64-4.20.33.tar.gz", "openshift-install-linux-4.20.33.tar.gz"]
    assert not one.is_nested

    several = replace(one, architecture="multi")
    assert several.is_nested
    assert several.checksums("4.20.33") == "https://mirror.example/ocp/multi/clients/ocp/4.20.33/sha256sum.txt"
    assert several.clients("4.20.33") == "https://mirror.example/ocp/multi/clients/ocp/4.20.33/amd64"
    assert several.channel("stable") == "https://mirror.example/ocp/multi/clients/ocp/stable/amd64/release.txt"
    assert several.nested_checksums == "amd64/sha256sum.txt"

    okd = replace(several, distribution="okd")
    assert not okd.is_nested
    assert okd.clients("4.20.0-okd-scos.9") == "https://mirror.example/ocp/4.20.0-okd-scos.9"
    assert okd.signature("4.20.0-okd-scos.9") == "https://mirror.example/ocp/4.20.0-okd-scos.9/sha256sum.txt.asc"


def test_checksums() -> None:
    first, second = "0123456789abcdef" * 4, "f" * 64
    assert read_checksums(f"{first}  a.tar.gz\n{second} *amd64/sha256sum.txt\nno checksum\n") == {
        "a.tar.gz": first,
        "amd64/sha256sum.txt": second,
    }


def test_archives_of_a_release() -> None:
    names = ["-4.20.0-rc.2", "-arm64-4.20.33", "", "-4.20.33"]
    text = (
        "".join(f"{'0' * 64}  openshift-install-linux{name}.tar.gz\n" for name in names)
        + f"{'0' * 64}  openshift-client-linux-4.20.33.tar.gz\n"
    )
    assert [(archive.version, archive.architecture) for archive in archives_in(text)] == [
        ("4.20.0-rc.2", ""),
        ("4.20.33", "arm64"),
        ("4.20.33", ""),
    ]
    assert [archive.name for archive in archives_in(text, "4.20.0-rc.2")] == ["openshift-install-linux-4.20.0-rc.2.tar.gz"]


def test_a_pin_is_read_as_it_was_written() -> None:
    pin = Pin("stable-4.20", "x86_64", "4.20.33", DIGEST)
    assert read_pin(pin.text()) == pin
    assert read_pin(json.dumps({"channel": "stable", "architecture": "multi", "version": "4.20.33"})) == Pin(
        "stable", "multi", "4.20.33", ""
    )
    assert read_pin("") is read_pin("\n") is None


@pytest.mark.parametrize("text", ["[]", "{}", "1", '"text"', "{", '{"channel": "stable"}', "null"])
def test_a_file_that_is_no_pin(text: str) -> None:
    with pytest.raises(ValueError):
        read_pin(text)


def release_text(**fields: str) -> str:
    return "Client tools\n---\n\n" + "".join(f"{name.capitalize()}:   {value}\n" for name, value in fields.items())


@pytest.mark.parametrize(
    ("text", "version", "problem"),
    [
        (release_text(name="4.20.33", digest=DIGEST), "4.20.33", ""),
        (release_text(name="4.20.33"), "4.20.33", "stable-4.20 shows 4.20.33 without the digest of its payload"),
        (release_text(name="4.19.42", digest=DIGEST), "4.19.42", "stable-4.20 shows 4.19.42, which is no release of 4.20"),
        ("<html>", "", "stable-4.20 shows nothing, which is no release"),
        ("\x1b[2J", "", "stable-4.20 shows nothing, which is no release"),
    ],
)
def test_the_release_of_a_channel(text: str, version: str, problem: str) -> None:
    assert read_channel(text, "stable-4.20") == (version, DIGEST if DIGEST in text else "", problem)
