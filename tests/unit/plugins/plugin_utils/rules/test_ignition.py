"""What the role ``ignition`` reads of the installer's output, as plays use it."""

import json

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.ignition import boot_images, installer_log, mirror_url


def test_a_refusal() -> None:
    config = {"pullSecret": '{"auths": {"quay.io": {"auth": "cGxhbnRlZDpzZWNyZXQ="}}}'}
    stderr = 'level=warning msg=deprecated\nlevel=error msg=pullSecret: Invalid value: "cGxhbnRlZDpzZWNyZXQ=": refused\n'
    assert installer_log(stderr, config) == {"errors": 'pullSecret: Invalid value: "<redacted>": refused', "warnings": ["deprecated"]}


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


@pytest.mark.parametrize(
    ("given", "distribution", "expected"),
    [
        ("https://mirror.test", "okd", "https://mirror.test"),
        ("", "ocp", "https://mirror.openshift.com/pub/openshift-v4"),
        ("", "okd", "https://github.com/okd-project/okd/releases/download"),
        # Preflight refuses the distribution.
        ("", "other", "https://mirror.openshift.com/pub/openshift-v4"),
    ],
)
def test_the_mirror_is_the_public_one_of_the_distribution(given: str, distribution: str, expected: str) -> None:
    assert mirror_url(given, distribution) == expected
