"""Machines with the service's own images: installed, configured by cloud-config, and haproxy really running."""

import asyncio
import socket
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


@pytest.mark.parametrize("userdata", [None, b"#!/bin/sh\nexit 1\n", b"#cloud-config\n- a\n", b"#cloud-config\na: [\n"])
async def test_other_userdata_installs_all_the_same(centre: DataCentre, userdata: bytes | None) -> None:
    centre.metadata.answers["/userdata"] = 404
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
