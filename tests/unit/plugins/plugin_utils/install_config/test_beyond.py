"""Values that the installer accepts and that make no cluster; the cases themselves are in tests/install_configs.yml."""

import copy
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.install_config import beyond

GOOD: dict[str, Any] = {
    "networking": {
        "networkType": "OVNKubernetes",
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
        "serviceNetwork": ["172.30.0.0/16", "fd02::/112"],
        "machineNetwork": [{"cidr": "10.0.0.0/16"}, {"cidr": "fd03::/64"}],
        "ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}},
    },
}


def with_machine_network(cidr: str) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    config["networking"]["machineNetwork"][0]["cidr"] = cidr
    return config


def test_the_valid_install_config_has_no_problems() -> None:
    for release in (None, (4, 17), (4, 22)):
        assert beyond.problems(GOOD, release) == beyond.warnings(GOOD) == []


@pytest.mark.parametrize(
    ("release", "subnet", "refused"),
    [
        ((4, 17), "169.254.64.0/20", False),
        ((4, 17), "169.254.169.0/28", True),
        ((4, 17), "100.88.1.0/24", True),
        # The installer compares from 4.18 on.
        ((4, 18), "169.254.169.0/28", False),
        (None, "169.254.169.0/28", False),
    ],
)
def test_the_networks_of_ovn_kubernetes_before_the_installer_compares(release: tuple[int, int] | None, subnet: str, refused: bool) -> None:
    config = with_machine_network(subnet)
    assert bool(beyond.problems(config, release)) is refused


def test_the_join_subnet_may_be_one_of_the_users_own() -> None:
    config = with_machine_network("100.64.8.0/24")
    assert not beyond.problems(config, (4, 17))
    del config["networking"]["ovnKubernetesConfig"]
    (problem,) = beyond.problems(config, (4, 17))
    assert "machineNetwork[0]: 100.64.8.0/24 must not overlap with 100.64.0.0/16" in problem.text
