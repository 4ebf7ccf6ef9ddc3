"""What an installer reports of itself, channels, and what a mirror lists. Downloads: tests/contract/test_installer.py."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.versions import (
    Installer,
    channel_problem,
    read_channel,
    read_version,
)

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
COMMIT = "built from commit 6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d1"
REST = f"{COMMIT}\nrelease image quay.io/openshift-release-dev/ocp-release@{DIGEST}\n"


@pytest.mark.parametrize(
    "called_by",
    [
        "/home/ada/my clusters/bin/4.20.33-x86_64/openshift-install",
        "/srv/4.19.1 old/openshift-install 4.18.2",
        "/srv/new\nline/openshift-install",
    ],
)
def test_the_version_does_not_depend_on_the_path_that_an_installer_was_called_by(called_by: str) -> None:
    output = f"{called_by} 4.20.33\n{REST}release architecture amd64\n"
    assert read_version(output) == Installer("4.20.33", DIGEST, "amd64")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
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
        ("git version 2.47.1\n", Installer("", "", "")),
    ],
)
def test_the_version_output_of_an_installer_is_parsed(output: str, expected: Installer) -> None:
    assert read_version(output) == expected


@pytest.mark.parametrize(
    ("channel", "version", "problem"),
    [
        ("stable-4.20", "4.20.33", ""),
        ("latest-4.20", "4.20.0-rc.2", ""),
        ("stable-4.2", "4.20.33", "stable-4.2 shows 4.20.33, which is no release of 4.2"),
        ("stable-4.20", "4.20.0-rc.2", "stable-4.20 shows 4.20.0-rc.2, which is not finished"),
        ("stable-4.20", "../../4.20.33", "stable-4.20 shows ../../4.20.33, which is no release"),
    ],
)
def test_a_channel_has_releases_of_its_own_only(channel: str, version: str, problem: str) -> None:
    assert channel_problem(channel, version) == problem


def release_text(**fields: str) -> str:
    return "Client tools\n---\n\n" + "".join(f"{name.capitalize()}:   {value}\n" for name, value in fields.items())


@pytest.mark.parametrize(
    ("text", "version", "problem"),
    [
        (release_text(name="4.20.33", digest=DIGEST), "4.20.33", ""),
        (release_text(name="4.20.33"), "4.20.33", "stable-4.20 shows 4.20.33 without the digest of its payload"),
        ("<html>", "", "stable-4.20 shows nothing, which is no release"),
    ],
)
def test_the_release_of_a_channel(text: str, version: str, problem: str) -> None:
    assert read_channel(text, "stable-4.20") == (version, DIGEST if DIGEST in text else "", problem)
