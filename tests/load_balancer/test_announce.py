"""The elastic address of two load balancers: announced to a real router, and withdrawn when HAProxy or the device is gone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

from tests.load_balancer.namespaces import ELASTIC, HOLD_TIME, Network

pytestmark = [
    pytest.mark.debian("bird2", "haproxy", "iproute2"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

VIA = ("10.0.0.1", "10.0.0.3")

CLIENT = """
import http.client, sys, time
failed = 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection(sys.argv[1], 6443, timeout=2)
        connection.request("GET", "/readyz")
        failed += connection.getresponse().status != 200
        connection.close()
    except OSError as problem:
        failed += 1
        print(f"{time.monotonic():.3f} {problem!r}", flush=True)
    time.sleep(max(0, 0.02 - (time.monotonic() - began)))
print("failed", failed, flush=True)
"""


@pytest.fixture
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with Network(tmp_path_factory.mktemp("bgp")).running() as made:
        await_routes(made, *VIA)
        yield made


def await_routes(network: Network, *via: str, within: float = 40) -> float:
    """Return how long it took until the elastic address leads to these next hops and no others."""
    began = time.monotonic()
    while time.monotonic() < began + within:
        routes = network.routes()
        if all((address in routes) == (address in via) for address in VIA):
            return time.monotonic() - began
        time.sleep(0.1)
    raise AssertionError(f"routes after {within} s: {network.routes()!r}\n{network.log()}")


def requests(network: Network, seconds: float) -> int:
    """Send 50 requests a second to the elastic address from the router's side, and return how many failed."""
    output = network.inside("router", sys.executable, "-c", CLIENT, ELASTIC, str(seconds))
    return int(output.split()[-1])


def test_both_load_balancers_carry_traffic(network: Network) -> None:
    assert requests(network, 2) == 0


def test_an_address_is_withdrawn_while_haproxy_does_not_answer(network: Network) -> None:
    network.kill("lb0", "haproxy")
    assert await_routes(network, VIA[1]) < 10
    assert requests(network, 2) == 0
    network.start_haproxy(0)
    await_routes(network, *VIA)
    assert requests(network, 2) == 0


def test_the_routes_of_a_dead_device_end_with_the_hold_time(network: Network) -> None:
    network.cut(0)
    assert await_routes(network, VIA[1]) < HOLD_TIME + 3
    assert requests(network, 2) == 0
