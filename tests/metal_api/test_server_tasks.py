# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a running server: DHCP, enrolment and the certificate go on after an error, which the log has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metal_api import serve
from metal_api.certificate import Certificate
from metal_api.network.dnsmasq import DhcpError, Host
from metal_api.rack import RackError, load
from metal_api.serve import MetalServer, Options
from metal_api.servers import Server
from metal_api.tls import new_context

RACK = """\
metros:
  - code: lab
    country: DE
    network: 127.96.0.0/24
    gateway: 127.96.0.1
    addresses: 127.96.0.10-127.96.0.20
    dhcp_interface: eno2
"""


@pytest.fixture
def server(tmp_path: Path) -> MetalServer:
    path = tmp_path / "rack.yml"
    path.write_text(RACK, encoding="utf-8")
    options = Options(tmp_path, path, ("127.0.0.1", 1), ("127.0.0.1", 2))
    return MetalServer(options, load(path), None, asyncio.Event())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the server sends no events
            await asyncio.sleep(0.005)


class Polls:
    """Of Ironic, in quick succession."""

    @staticmethod
    async def next_poll() -> None:
        await asyncio.sleep(0.001)


def dnsmasq(outcomes: list[Exception | None]) -> type[Any]:
    """Return a class like :class:`metal_api.network.dnsmasq.Dnsmasq`. ``outcomes``: of each attempt to serve hosts."""

    class Scripted:
        def __init__(self, *_arguments: object) -> None:
            pass

        async def start(self, hosts: Iterable[Host]) -> None:
            await self.update(hosts)

        async def update(self, _hosts: Iterable[Host]) -> None:
            if outcomes and (error := outcomes.pop(0)) is not None:
                raise error

        async def stop(self) -> None:
            pass

    return Scripted


@pytest.fixture
def start_dhcp(server: MetalServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Exception | None]], Awaitable[None]]:
    async def start(outcomes: list[Exception | None]) -> None:
        monkeypatch.setattr(serve, "Dnsmasq", dnsmasq(outcomes))
        world: Any = SimpleNamespace(store={Server: []})
        polls: Any = Polls()
        await server._start_dhcp(world, polls)

    return start


Start = Callable[[list[Exception | None]], Awaitable[None]]


async def test_dhcp_goes_on_after_any_error(server: MetalServer, start_dhcp: Start, caplog: pytest.LogCaptureFixture) -> None:
    """The task ended without a line in the log: no server that was enrolled later got an address."""
    outcomes: list[Exception | None] = [None, OSError(28, "No space left on device"), ProcessLookupError(), DhcpError("taken"), None]
    await start_dhcp(outcomes)
    await until(lambda: not outcomes)
    await server.stop()
    texts = [each.getMessage() + str(each.exc_info or "") for each in caplog.records]
    assert [word in text for word, text in zip(("No space left", "ProcessLookupError", "taken"), texts, strict=True)] == [True] * 3


async def test_dhcp_that_cannot_be_served_stops_no_start(server: MetalServer, start_dhcp: Start, caplog: pytest.LogCaptureFixture) -> None:
    """As after an edit of ``dhcp_interface``: the API and the boot service of running devices were gone, too."""
    outcomes: list[Exception | None] = [*[DhcpError("no interface eno3")] * 3, DhcpError("another DHCP server"), None]
    await start_dhcp(outcomes)
    await until(lambda: not outcomes)
    await server.stop()
    assert caplog.messages == [
        f"DHCP does not serve all servers, trying again at each poll of Ironic: {each}"
        for each in ("no interface eno3", "another DHCP server")
    ]


async def test_a_rack_file_is_used_after_any_error_of_the_one_before(server: MetalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that enrols servers ended, so that no later reload (SIGHUP) had an effect."""
    racks: list[Any] = [MemoryError("an error of the server"), RackError(Path("rack.yml"), ["x"]), load(server._options.rack)]

    def scripted(_path: Path) -> Any:
        if isinstance(found := racks.pop(0), Exception):
            raise found
        return found

    monkeypatch.setattr(serve, "load", scripted)
    task = asyncio.create_task(server._keep_enrolled())
    for left in (2, 1, 0):
        await asyncio.sleep(0)
        server.reload()
        await until(lambda left=left: len(racks) == left)  # type: ignore[misc] # its default
        assert not task.done()
    task.cancel()


async def test_a_certificate_is_renewed_after_any_error_of_the_attempt_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that renews it ended, and the API with the certificate."""
    later = datetime(2099, 1, 1, tzinfo=UTC)
    issued: list[Any] = [(new_context(), datetime.now(UTC)), RuntimeError("an error of the server"), (new_context(), later)]

    def source() -> Any:
        if isinstance(found := issued.pop(0), Exception):
            raise found
        return found

    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda _seconds: sleep(0.001))
    shown = Certificate(source)
    task = asyncio.create_task(shown.keep_valid())
    while issued:
        assert not task.done()
        await sleep(0.001)
    task.cancel()
    assert shown.expires == later
