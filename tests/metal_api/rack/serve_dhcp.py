"""Serves DHCP as the Metal API does, in the network namespace that it is started in: arguments FOLDER INTERFACE.

Each line of standard input is the hosts from then on, as ``MAC,ADDRESS,NAME`` separated by spaces; each is answered with a line: ``ready``
or the error.
"""

import asyncio
import sys
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from metal_api.network.dnsmasq import DhcpError, Dnsmasq, Host
from metal_api.rack import RackMetro

METRO = RackMetro(
    code="lab",
    name="Lab",
    country="DE",
    network=IPv4Network("10.20.0.0/24"),
    gateway=IPv4Address("10.20.0.1"),
    first=IPv4Address("10.20.0.50"),
    last=IPv4Address("10.20.0.99"),
    name_servers=(IPv4Address("10.20.0.2"),),
    time_servers=(IPv4Address("10.20.0.3"), IPv4Address("10.20.0.4")),
    dhcp_interface=sys.argv[2],
)


async def main() -> None:
    dnsmasq = Dnsmasq(Path(sys.argv[1]), [METRO], "http://10.20.0.1:8080")
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            hosts = [Host(*each.split(",")) for each in line.split()]
            try:
                await dnsmasq.update(hosts)
            except DhcpError as error:
                print(error, flush=True)
            else:
                print("ready", dnsmasq.pid, flush=True)
    finally:
        await dnsmasq.stop()


if __name__ == "__main__":
    asyncio.run(main())
