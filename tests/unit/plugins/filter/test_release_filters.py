"""What the role ``ignition`` reads of releases, installers and boot images, as plays use it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.boot_images import boot_images
from ansible_collections.equinix_metal.openshift.plugins.filter.channel_release import channel_release
from ansible_collections.equinix_metal.openshift.plugins.filter.installer_log import installer_log
from ansible_collections.equinix_metal.openshift.plugins.filter.installer_version import installer_version
from ansible_collections.equinix_metal.openshift.plugins.filter.release_alternatives import release_alternatives
from ansible_collections.equinix_metal.openshift.plugins.filter.release_signature import release_signature

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
ODD: tuple[Any, ...] = (None, "", 0, [], {}, b"x", "\x1b[2J", "{}", "[]")


def release_text(**fields: str) -> str:
    return "Client tools\n---\n\n" + "".join(f"{name.capitalize()}:   {value}\n" for name, value in fields.items())


@pytest.mark.parametrize(
    ("text", "version", "problem"),
    [
        (release_text(name="4.20.33", digest=DIGEST), "4.20.33", ""),
        (release_text(name="4.20.33"), "4.20.33", "stable-4.20 shows 4.20.33 without the digest of its payload"),
        (release_text(name="4.19.42", digest=DIGEST), "4.19.42", "stable-4.20 shows 4.19.42, which is no release of 4.20"),
        (release_text(name="\x1b[2J", digest=DIGEST), "\x1b[2J", "stable-4.20 shows \\x1b[2J, which is no release"),
        ("<html>", "", "stable-4.20 shows nothing, which is no release"),
    ],
)
def test_the_release_of_a_channel(text: str, version: str, problem: str) -> None:
    assert channel_release(text, "stable-4.20") == {"version": version, "digest": DIGEST if DIGEST in text else "", "problem": problem}


def test_an_installer_of_a_path_with_blanks() -> None:
    output = (
        f"/my clusters/openshift-install 4.20.33\nbuilt from commit 1\nrelease image quay.io/ocp@{DIGEST}\nrelease architecture multi\n"
    )
    assert installer_version(output) == {"version": "4.20.33", "digest": DIGEST, "architecture": "multi"}


def test_a_signature() -> None:
    good = "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 0123456789ABCDEF A\n[GNUPG:] VALIDSIG 0123 2026-01-01 1 0 4 0 1 8 00 0123\n"
    assert release_signature(good) == {"good": True, "found": "good, by key 0123 on 2026-01-01"}
    assert release_signature(good.replace("GOODSIG", "REVKEYSIG"))["good"] is False


def test_a_mirror_that_lists_nothing() -> None:
    assert release_alternatives('<a href="4.20.33/">', "4.20.99") == "the newest of 4.20 there is 4.20.33"
    assert release_alternatives(None, "4.20.99") == "it does not list what it has"


def test_a_refusal() -> None:
    config = {"pullSecret": '{"auths": {"quay.io": {"auth": "cGxhbnRlZDpzZWNyZXQ="}}}'}
    stderr = 'level=warning msg=deprecated\nlevel=error msg=pullSecret: Invalid value: "cGxhbnRlZDpzZWNyZXQ=": refused\n'
    assert installer_log(stderr, config) == {"errors": 'pullSecret: Invalid value: "<redacted>": refused', "warnings": ["deprecated"]}


@pytest.mark.parametrize("odd", ODD)
def test_whatever_a_program_prints_there_is_an_answer(odd: Any) -> None:
    assert installer_version(odd) == {"version": "", "digest": "", "architecture": ""}
    assert release_signature(odd) == {"good": False, "found": "there is no signature"}
    assert channel_release(odd, "stable")["problem"]
    assert release_alternatives(odd, "4.20.99") == "it does not list what it has"
    assert installer_log(odd, {})["warnings"] == []
    with pytest.raises(AnsibleFilterError, match="this is no stream metadata"):
        boot_images(odd)


def test_an_install_config_that_is_none() -> None:
    with pytest.raises(AnsibleFilterError, match="install_config has to be a dictionary"):
        installer_log("", "text")


def stream(name: str, build: str, *without: str) -> str:
    pxe = {"release": build, "formats": {"pxe": {"kernel": {"location": "https://rhcos.mirror.openshift.com/kernel"}}}}
    architectures = {each: {"artifacts": {} if each in without else {"metal": pxe}} for each in ("x86_64", "aarch64")}
    architectures["s390x"] = {"artifacts": {"metal": {"release": build, "formats": {"iso": {}}}}}
    return json.dumps({"stream": name, "architectures": architectures})


@pytest.mark.parametrize(
    ("name", "build", "os_image_stream"),
    [
        # The names and builds of real installers.
        ("rhcos-4.11", "411.85.202203181612-0", "rhel-8"),
        ("4.18-9.4", "418.94.202501221327-0", "rhel-9"),
        ("rhcos-4.19", "9.6.20250523-0", "rhel-9"),
        ("rhcos-4.21", "9.8.20260428-0", "rhel-9"),
        ("rhcos-4.22", "10.2.20260715-0", "rhel-10"),
        ("c10s", "10.0.20250628-0", "rhel-10"),
    ],
)
def test_the_operating_system_of_boot_images(name: str, build: str, os_image_stream: str) -> None:
    expected = {"stream": name, "architectures": ["aarch64", "x86_64"], "builds": [build], "os_image_streams": [os_image_stream]}
    assert boot_images(stream(name, build)) == expected
    assert boot_images(stream(name, build, "aarch64"))["architectures"] == ["x86_64"]


def test_boot_images_whose_build_tells_nothing() -> None:
    assert boot_images(stream("rhcos-4.19", "latest"))["os_image_streams"] == []
