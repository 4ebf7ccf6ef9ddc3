"""Networks in CIDR notation."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.networks import (
    ip_network,
    overlap,
    url_of,
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.2.0.0/16", False),
        ("fd98::/64", "fd98::1/128", True),
        ("0.0.0.0/0", "::/0", False),
    ],
)
def test_networks_overlap_when_one_contains_the_other(one: str, other: str, expected: bool) -> None:
    assert overlap(ip_network(one), ip_network(other)) is expected


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (("192.0.2.1", 80), "http://192.0.2.1:80"),
        (("2001:db8::1", "6443", "https"), "https://[2001:db8::1]:6443"),
        (("boot.example.com", 8080), "http://boot.example.com:8080"),
    ],
)
def test_the_url_of_an_address_of_either_version(given: tuple[str, int], url: str) -> None:
    assert url_of(*given) == url
