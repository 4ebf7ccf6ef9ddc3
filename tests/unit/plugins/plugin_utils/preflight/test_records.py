"""Sizes of the cluster's records against the limits of DNS providers."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight import names
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context


def context(count: int, **settings: Any) -> Context:
    found = Context.__new__(Context)
    found.settings = {"cluster_name": "demo", "base_domain": "metal.test", **settings}
    found.groups = {"workers": [{"hostname": f"worker-{number}"} for number in range(count)]}
    return found


@pytest.mark.parametrize(
    ("provider", "network", "count", "verdict"),
    [
        ("route53", "layer3", 200, "passed"),
        ("route53", "layer3", 201, "failed"),
        ("route53", "vlan", 133, "passed"),
        ("route53", "vlan", 134, "failed"),
        ("rfc2136", "layer3", 51, "warning"),
    ],
)
def test_a_record_with_more_values_than_the_provider_accepts_is_refused(provider: str, network: str, count: int, verdict: str) -> None:
    """Route 53, and BIND with its default, refused nodes.<cluster> after the machines were ordered."""
    finding = names.record_sizes(context(count, dns_provider=provider, machine_network=network))
    assert finding.verdict == verdict, finding
