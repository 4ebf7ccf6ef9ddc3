"""Which ports of a load balancer preflight connects to."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import load_balancer

SETTINGS = {
    "load_balancer": "external",
    "api_address": "192.0.2.9",
    "ingress_address": "192.0.2.10",
    "dns_provider": "rfc2136",
    "connect_timeout": 1,
}
DEVICE = {"tags": ["openshift-role=load-balancer"], "addresses": {"public_ipv4": "192.0.2.8"}, "ip_addresses": []}


@pytest.mark.parametrize(
    ("settings", "readings", "expected"),
    [
        # The device closes 22623 to the controller.
        ({}, {"devices": {"devices": [DEVICE]}}, {"192.0.2.8": [6443, 443, 80]}),
        ({}, {}, {"192.0.2.9": [6443, 22623], "192.0.2.10": [443, 80]}),
        ({"load_balancer": "kube_vip"}, {}, {"192.0.2.9": [6443], "192.0.2.10": [443]}),
        ({"load_balancer": "kube_vip", "ingress_address": ""}, {}, {"192.0.2.9": [6443]}),
        (
            {"load_balancer": "dns", "dns_provider": "none"},
            {"resolver": {"names": {"api.demo.metal.test": ["192.0.2.7"], "api-int.demo.metal.test": ["192.0.2.7"]}}},
            {"192.0.2.7": [6443, 22623]},
        ),
    ],
    ids=["own device", "external", "by ARP", "API by ARP", "records by hand"],
)
def test_ports_that_are_connected_to(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], readings: dict[str, Any], expected: dict[str, list[int]]
) -> None:
    monkeypatch.setattr(load_balancer, "_connect", lambda _endpoint, timeout: "open" if timeout else "silent")
    results = load_balancer.collect({**SETTINGS, **settings}, readings).get("load_balancer", {}).get("results", [])
    found: dict[str, list[int]] = {}
    for result in results:
        found.setdefault(result["address"], []).append(result["port"])
    assert found == expected
