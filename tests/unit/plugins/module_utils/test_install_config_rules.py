"""The rules have an answer to every install-config, in which no secret stands; the cases themselves are in tests/install_configs.yml."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config import authorized_keys
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rules import Judgement, judge

PASSWORD = "planted-password"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKjUXG9UCv2NJ0NB4fGX0B3iFCcBNoX5V8w+TzYQXH3H"
GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "baseDomain": "metal.test",
    "metadata": {"name": "demo"},
    "controlPlane": {"name": "master", "replicas": 3, "architecture": "amd64", "platform": {}},
    "compute": [{"name": "worker", "replicas": 0, "architecture": "amd64", "platform": {}}],
    "networking": {
        "networkType": "OVNKubernetes",
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
        "serviceNetwork": ["172.30.0.0/16", "fd02::/112"],
        "machineNetwork": [{"cidr": "10.0.0.0/16"}, {"cidr": "fd03::/64"}],
        "ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}},
    },
    "platform": {"external": {"platformName": "equinix-metal", "cloudControllerManager": "External"}},
    "pullSecret": json.dumps({"auths": {"quay.io": {"auth": "cGxhbnRlZDpwYXNzd29yZA=="}}}),
    "sshKey": KEY,
    "proxy": {"httpProxy": f"http://ada:{PASSWORD}@192.0.2.9:3128", "noProxy": "metal.test"},
    "imageDigestSources": [{"source": "quay.io/a/b", "mirrors": ["registry.example/a/b"]}],
    "capabilities": {"baselineCapabilitySet": "vCurrent", "additionalEnabledCapabilities": ["baremetal"]},
    "featureSet": "CustomNoUpgrade",
    "featureGates": ["GatewayAPI=true"],
    "cpuPartitioningMode": "None",
}
MALFORMED: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    True,
    "",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    "\u00e4",
    "\0",
    "1/2/3",
    "::/200",
    "x" * 5000,
    10**30,
)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document."""
    if above:
        yield above
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*above, key))


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    holder: Any = config
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return config


def texts(judgement: Judgement) -> str:
    return "\n".join(problem.text for problem in (*judgement.problems, *judgement.beyond, *judgement.warnings))


def test_the_valid_install_config_has_no_problems() -> None:
    assert texts(judge(GOOD, (4, 19))) == ""


@pytest.mark.parametrize("path", list(places(GOOD)), ids=lambda path: ".".join(map(str, path)))
def test_any_value_anywhere_gives_a_result_without_secrets(path: tuple[Any, ...]) -> None:
    for malformed in MALFORMED:
        for release in (None, (4, 17), (4, 19), (4, 22)):
            result = texts(judge(changed(path, malformed), release))
            assert PASSWORD not in result
            assert "cGxhbnRlZDpwYXNzd29yZA" not in result


@pytest.mark.parametrize(
    "value",
    [
        f"http://ada:{PASSWORD}@10.128.0.5:3128",
        f"https://ada:{PASSWORD}@192.0.2.9:3128",
        f"ada:{PASSWORD}@192.0.2.9",
        f"http://{PASSWORD}@10.128.0.5:3128",
        f"http://ada:{PASSWORD} x@10.128.0.5",
        f"http://ada:{PASSWORD}@[::1",
        f"http://ada:%zz{PASSWORD}@192.0.2.9:3128",
    ],
)
@pytest.mark.parametrize("name", ["httpProxy", "httpsProxy", "noProxy"])
def test_no_password_of_a_proxy_is_repeated(name: str, value: str) -> None:
    judgement = judge(changed(("proxy", name), value), (4, 19))
    # For HTTPS an address of that scheme is right.
    assert judgement.problems or (name == "httpsProxy" and value.startswith("https:"))
    assert PASSWORD not in texts(judgement)


def test_numbers_that_are_too_large_for_their_type() -> None:
    for path, number in ((("networking", "clusterNetwork", 0, "hostPrefix"), 2**31), (("controlPlane", "replicas"), 2**63)):
        (problem,) = judge(changed(path, number), (4, 19)).problems
        assert f"cannot unmarshal number {number} into Go struct field" in problem.text
    assert judge(changed(("networking", "clusterNetwork", 0, "hostPrefix"), 2**31 - 1), (4, 19)).beyond


def test_numbers_of_ansible_are_compared_without_a_loop() -> None:
    class TaggedNumber(int):
        """A number of the inventory since ansible-core 2.19. A range finds only plain integers without comparing each of its numbers."""

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = int.__hash__

    assert not judge(changed(("networking", "clusterNetwork", 0, "hostPrefix"), TaggedNumber(23)), (4, 19)).problems


def test_no_config_at_all() -> None:
    for config in ({}, {"apiVersion": "v1"}, {"apiVersion": "v2"}):
        assert judge(config).problems


@pytest.mark.parametrize(
    ("release", "subnet", "refused"),
    [
        # The masquerade subnet grew with 4.18 (openshift/installer, pkg/types/validation).
        ((4, 17), "169.254.64.0/20", False),
        ((4, 17), "169.254.169.0/28", True),
        ((4, 18), "169.254.64.0/20", True),
        ((4, 22), "169.254.64.0/20", True),
        (None, "169.254.64.0/20", True),
        (None, "100.64.8.0/24", True),
    ],
)
def test_the_networks_of_ovn_kubernetes_by_release(release: tuple[int, int] | None, subnet: str, refused: bool) -> None:
    config = changed(("networking", "machineNetwork", 0, "cidr"), subnet)
    config["networking"].pop("ovnKubernetesConfig")
    judgement = judge(config, release)
    assert any("must not overlap with OVNKubernetes" in problem.text for problem in judgement.problems) is refused, texts(judgement)


@pytest.mark.parametrize(
    ("line", "kind", "problem"),
    [
        (KEY, "ssh-ed25519", ""),
        (f"{KEY} ada@example.com", "ssh-ed25519", ""),
        (f'command="echo \\"a b\\"",no-pty {KEY}', "ssh-ed25519", ""),
        (f"restrict {KEY}", "ssh-ed25519", ""),
        (f"  {KEY}\r", "ssh-ed25519", ""),
        (KEY.replace("ssh-ed25519 ", "ssh-rsa "), "ssh-ed25519", "its key is ssh-ed25519, it says ssh-rsa"),
        (KEY[:-8], "", "no whole public key"),
        (KEY[:-1], "", "no whole public key"),
        ("ssh-ed25519", "", "no whole public key"),
        ("ssh-ed25519 AAAA", "", "no whole public key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "", "no whole public key"),
        ('"' * 500, "", "no whole public key"),
    ],
)
def test_a_line_of_authorized_keys(line: str, kind: str, problem: str) -> None:
    (read,) = authorized_keys.read(f"# comment\n\n{line}\n")
    assert (read.number, read.kind, read.problem) == (3, kind, problem)


def test_a_text_without_any_line() -> None:
    for text in ("", "\n\n", "# nothing\n", "\r\n"):
        assert authorized_keys.read(text) == []
