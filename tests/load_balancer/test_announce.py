"""The elastic address of two load balancers: announced to a real router, and withdrawn when HAProxy or the device is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.load_balancer.namespaces import ELASTIC, HOLD_TIME, Network

pytestmark = [
    pytest.mark.debian("bird2", "haproxy", "iproute2"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

VIA = ("10.0.0.1", "10.0.0.3")

CLIENT = """
import http.client, sys, time
began, failures = time.monotonic(), []
while (now := time.monotonic()) < began + float(sys.argv[2]):
    try:
        connection = http.client.HTTPConnection(sys.argv[1], 6443, timeout=0.5)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
    except OSError:
        failures.append(time.monotonic() - began)
    time.sleep(max(0, now + 0.02 - time.monotonic()))
print(len(failures), max(failures, default=0))
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


def requests(network: Network, seconds: float, during: Callable[[], object] = lambda: None) -> tuple[int, float]:
    """Send up to 50 requests a second to the elastic address; return how many failed, and until when, in seconds from ``during`` on."""
    command = ["ip", "netns", "exec", network.name("router"), sys.executable, "-c", CLIENT, ELASTIC, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        during()
        output, _unused = client.communicate()
    failed, last = output.split()
    return int(failed), float(last)


def test_both_load_balancers_carry_traffic(network: Network) -> None:
    assert requests(network, 2) == (0, 0)


def test_an_address_is_withdrawn_while_haproxy_does_not_answer(network: Network) -> None:
    failed, last = requests(network, 10, lambda: network.kill("lb0", "haproxy"))
    assert 0 < failed < 250
    assert last < 6, "failed health checks, a second apart"
    await_routes(network, VIA[1])
    assert requests(network, 2) == (0, 0)
    network.start_haproxy(0)
    await_routes(network, *VIA)
    assert requests(network, 2) == (0, 0)


def test_the_routes_of_a_dead_device_end_with_the_hold_time(network: Network) -> None:
    failed, last = requests(network, HOLD_TIME + 6, lambda: network.cut(0))
    assert failed > 0
    assert last < HOLD_TIME + 3
    await_routes(network, VIA[1])
    assert requests(network, 2) == (0, 0)
