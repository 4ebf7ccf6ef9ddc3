# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether BMCs answer: Redfish by its service root, IPMI by its presence ping."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from metal_api.ironic import reachability
from metal_api.ironic.reachability import unreachable
from metal_api.rack import Bmc
from tests.metal_api.rack.redfish import redfish
from tests.ports import free_ports

PONG = bytes.fromhex("0600ff06000011be40000010") + bytes(16)


@contextmanager
def answering(packet: bytes) -> Iterator[int]:
    """Answer one datagram while inside; yields the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bmc:
        bmc.bind(("127.0.0.1", 0))
        bmc.settimeout(20)

        def answer() -> None:
            _ping, client = bmc.recvfrom(1024)
            bmc.sendto(packet, client)

        thread = threading.Thread(target=answer)
        thread.start()
        yield bmc.getsockname()[1]
        thread.join()


def ipmi(port: int) -> Bmc:
    return Bmc("ipmi", f"127.0.0.1:{port}", "metal", "secret")


async def test_a_bmc_with_ipmi_answers() -> None:
    with answering(PONG) as port:
        assert await unreachable(ipmi(port)) == ""


async def test_what_is_no_bmc_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "TIMEOUT", 0.6)
    with answering(b"hello, world") as port:
        assert "does not answer by IPMI: check its address, its power and whether IPMI over LAN is enabled" in await unreachable(ipmi(port))


async def test_nothing_has_the_port() -> None:
    (port,) = free_ports(1)
    assert "Connection refused" in await unreachable(ipmi(port))


async def test_a_redfish_service() -> None:
    with redfish({}) as service:
        assert await unreachable(Bmc("redfish", service.url, "metal", "secret")) == ""
        assert service.requests == [("GET", "/redfish/v1/")]
        # HTTPS to a port without TLS.
        text = await unreachable(Bmc("redfish", service.url.replace("http:", "https:"), "metal", "secret"))
        assert "does not answer" in text


async def test_fake_hardware_has_no_bmc() -> None:
    assert await unreachable(Bmc("fake-hardware", "", "", "")) == ""
