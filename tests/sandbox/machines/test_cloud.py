# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines with the service's own images: installed, configured by cloud-config, and haproxy really running."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.ports import free_port

from .conftest import DataCentre, hardware


def ubuntu(number: int = 0) -> Any:
    return hardware(number, operating_system="ubuntu_24_04")


def cloud_config(**content: Any) -> bytes:
    return b"#cloud-config\n" + yaml.safe_dump(content).encode()


async def test_install_phone_home_and_files(centre: DataCentre) -> None:
    files = [
        {"path": "/etc/one", "content": "1\n", "permissions": "0600"},
        {"path": "/etc/two", "content": base64.b64encode(b"2\n").decode(), "encoding": "b64"},
        {"path": "/etc/one", "content": "more\n", "append": True},
        {"path": "/../../../../etc/three", "content": "3"},
    ]
    centre.userdata(cloud_config(write_files=files, runcmd=["touch /tmp/never"]))
    await centre.machines.install(ubuntu())
    await centre.until(lambda: "" in centre.phoned)
    assert [text for text in centre.phoned if text] == [
        f'{{"type": "provisioning.{number}", "body": "{body}"}}'
        for number, body in (
            (104, "Connected to magic install system"),
            (105, "Server partitions created"),
            (106, "Operating system packages installed"),
            (107, "Server networking interfaces configured"),
            (108, "Cloud-init packages installed and configured"),
            (109, "Installation finished, rebooting server"),
        )
    ]
    root = centre.folder / "machines/d0/system/root/etc"
    assert (root / "one").read_text() == "1\nmore\n"
    assert (root / "two").read_text() == "2\n"
    assert "outside the machine" in centre.events[0][1]
    assert "runcmd is not run" in centre.screen()
    assert "/auto.ipxe" not in centre.boot.paths()


@pytest.mark.parametrize("userdata", [None, b"#!/bin/sh\nexit 1\n", b"#cloud-config\n- a\n", b"#cloud-config\na: [\n"])
async def test_other_userdata_installs_all_the_same(centre: DataCentre, userdata: bytes | None) -> None:
    if userdata is not None:
        centre.userdata(userdata)
    await centre.machines.install(ubuntu())
    await centre.until(lambda: "" in centre.phoned)


def haproxy_config(port: int, backend: int) -> str:
    return f"""
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend in
  bind "${{LB_ADDRESS}}:{port}"
  default_backend out
backend out
  server one 127.0.0.1:{backend}
"""


def children() -> set[int]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return {int(word) for word in path.read_text().split()}


@pytest.mark.debian("haproxy")
async def test_haproxy_balances_on_the_machines_own_address(centre: DataCentre) -> None:
    port = free_port()
    centre.web.answers["/hello"] = b"from behind"
    centre.userdata(
        cloud_config(
            packages=["haproxy"], write_files=[{"path": "/etc/haproxy/haproxy.cfg", "content": haproxy_config(port, centre.web.port)}]
        )
    )
    before = children()
    await centre.machines.install(ubuntu())
    await centre.until(lambda: any("[haproxy] started" in message for _unused, message in centre.events))
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=8)) as client:
        assert (await client.get(f"http://127.64.9.1:{port}/hello")).text == "from behind"
        with pytest.raises(httpx.ConnectError):
            await httpx.AsyncClient().get(f"http://127.64.9.2:{port}/hello")
    (process,) = children() - before
    await centre.machines.power_off("d0")
    # Switching off waits for the process: it is gone, and its address free, when the call returns.
    assert process not in children()
    await centre.machines.power_on("d0", hw=ubuntu())
    await centre.until(lambda: sum("[haproxy] started" in message for _unused, message in centre.events) == 2)


@pytest.mark.debian("haproxy")
@pytest.mark.parametrize(("address", "event"), [("0.0.0.0", "[haproxy] started"), ("0.0.0.0n", "[haproxy] ended")])  # noqa: S104 - in a machine
async def test_haproxy_has_the_address_of_its_defaults(centre: DataCentre, address: str, event: str) -> None:
    """Every address is the machine's own; what is no address fails, as on metal."""
    config = haproxy_config(free_port(), centre.web.port)
    files = [
        {"path": "/etc/haproxy/haproxy.cfg", "content": config},
        {"path": "/etc/default/haproxy", "content": f"LB_ADDRESS={address}\n"},
    ]
    centre.userdata(cloud_config(packages=["haproxy"], write_files=files))
    await centre.machines.install(ubuntu())
    await centre.until(lambda: any(event in message for _unused, message in centre.events))
    if event == "[haproxy] started":
        assert not any("[haproxy] ended" in message for _unused, message in centre.events)


def haproxy_by_names(port: int, backend: int, name_server: int) -> str:
    """Membership by DNS, as the load_balancer role's configuration has it, only quicker."""
    return f"""
resolvers cluster
  nameserver dns 127.0.0.1:{name_server}
  accepted_payload_size 8192
  timeout resolve 100ms
  timeout retry 100ms
  hold valid 100ms
  hold nx 100ms
  hold obsolete 100ms
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend in
  bind "${{LB_ADDRESS}}:{port}"
  default_backend out
backend out
  default-server check inter 100ms fall 1 rise 1
  server-template api- 4 api-members.demo.metal.test:{backend} resolvers cluster resolve-prefer ipv4 init-addr none
"""


@pytest.mark.debian("haproxy")
async def test_haproxy_follows_names(centre: DataCentre) -> None:
    port = free_port()
    centre.web.answers["/hello"] = b"from behind"
    config = haproxy_by_names(port, centre.web.port, centre.dns.port)
    centre.userdata(cloud_config(packages=["haproxy"], write_files=[{"path": "/etc/haproxy/haproxy.cfg", "content": config}]))
    await centre.machines.install(ubuntu())
    await centre.until(lambda: any("[haproxy] started" in message for _unused, message in centre.events))
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=8)) as client, asyncio.timeout(10):
        for addresses, status in ((("127.0.0.1", "127.64.9.77"), 200), ((), 503), (("127.0.0.1",), 200)):
            centre.name("api-members.demo.metal.test", *addresses)
            while (await client.get(f"http://127.64.9.1:{port}/hello")).status_code != status:  # noqa: ASYNC110 - haproxy tells nobody
                await asyncio.sleep(0.05)


def connects(port: int, source: str) -> bool:
    try:
        socket.create_connection(("127.64.9.1", port), timeout=1, source_address=(source, 0)).close()
    except TimeoutError:
        return False
    return True


UNITS = ["node-firewall.service", "node-firewall.timer"]


@pytest.mark.debian("haproxy")
@pytest.mark.parametrize(
    ("packages", "units", "is_closed"), [(["nftables"], UNITS, True), ([], UNITS, False), (["nftables"], UNITS[:1], False)]
)
async def test_haproxy_behind_the_firewall_of_the_nodes(centre: DataCentre, packages: list[str], units: list[str], is_closed: bool) -> None:
    port, other = free_port(), free_port()
    centre.web.answers["/hello"] = b"from behind"
    listening = f'frontend other\n  bind "${{LB_ADDRESS}}:{other}"\n  default_backend out\n'
    settings = f'NODES_RECORD="nodes.demo.metal.test"\nSOURCES="127.64.9.96/27"\nTCP_PORTS="9, {port}-{port}"\nUDP_PORTS=""\n'
    files = {
        "/etc/haproxy/haproxy.cfg": haproxy_config(port, centre.web.port) + listening,
        "/etc/node-firewall.conf": settings,
        "/usr/local/bin/node-firewall": "#!/bin/sh\n",
    }
    written = [{"path": path, "content": content} for path, content in files.items()]
    runcmd = [["systemctl", "enable", "--now", *units]]
    centre.name("nodes.demo.metal.test", "127.64.9.1", "127.64.9.77")
    centre.userdata(cloud_config(packages=["haproxy", *packages], write_files=written, runcmd=runcmd))
    await centre.machines.install(ubuntu())
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=8, local_address="127.64.9.77")) as client:
        await centre.until(lambda: any("[haproxy] started" in message for _unused, message in centre.events))
        assert (await client.get(f"http://127.64.9.1:{port}/hello")).text == "from behind"
    reached = [await asyncio.to_thread(connects, port, source) for source in ("127.64.9.77", "127.64.9.100", "127.64.9.1", "127.0.0.1")]
    assert reached == [True, True, True, not is_closed]
    assert await asyncio.to_thread(connects, other, "127.0.0.1")


@pytest.mark.debian("haproxy")
async def test_an_invalid_configuration_is_reported(centre: DataCentre) -> None:
    centre.userdata(cloud_config(packages=["haproxy"], write_files=[{"path": "/etc/haproxy/haproxy.cfg", "content": "frobnicate\n"}]))
    await centre.machines.install(ubuntu())
    await centre.until(lambda: any("ended too often" in message for _unused, message in centre.events))
    assert any("unknown keyword 'frobnicate'" in message for _unused, message in centre.events)


async def test_no_haproxy_on_the_host(centre: DataCentre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.machines.cloud.shutil.which", lambda *_, **__: None)
    centre.userdata(cloud_config(packages=["haproxy"]))
    await centre.machines.install(ubuntu())
    await centre.until(lambda: bool(centre.events))
    assert centre.events == [("failed", "[haproxy] the sandbox's host has no haproxy installed, so this load balancer does not serve")]
