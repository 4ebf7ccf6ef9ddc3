# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Announce the elastic address of the load balancers by BGP while HAProxy answers on this device.

Runs on each load balancer device, as a systemd unit. The neighbors come from the metadata service, which identifies the device by its
source address: no API token is on the device. BIRD keeps the sessions; this program writes its configuration and enables or disables the
route.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

HOLD_TIME = 9
"""Seconds after which a router withdraws the routes of a device that is gone."""

FAILURES = 2
"""Failed health checks in a row after which the address is withdrawn."""


def bgp_neighbors(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return the device's IPv4 neighbors; None until it has a session."""
    return next((each for each in metadata.get("bgp_neighbors") or [] if each["address_family"] == 4 and each["customer_ip"]), None)


def private_gateway(metadata: dict[str, Any], address: str) -> str:
    """Return the gateway of the device's private address, through which the neighbors are reached."""
    return str(next(each["gateway"] for each in metadata["network"]["addresses"] if each["address"] == address))


def bird_configuration(neighbors: dict[str, Any], address: str) -> str:
    """Return bird.conf. The route is disabled until the health check succeeds."""
    sessions = [_session(number, peer, neighbors) for number, peer in enumerate(neighbors["peer_ips"])]
    route = f"protocol static elastic {{\n  disabled;\n  ipv4;\n  route {address}/32 blackhole;\n}}\n"
    return "\n".join([f"router id {neighbors['customer_ip']};\n\nprotocol device {{ }}\n", route, *sessions])


def _session(number: int, peer: str, neighbors: dict[str, Any]) -> str:
    lines = [
        f"local {neighbors['customer_ip']} as {neighbors['customer_as']};",
        f"neighbor {peer} as {neighbors['peer_as']};",
        *(["multihop 5;"] if neighbors["multihop"] else []),
        *([f'password "{neighbors["md5_password"]}";'] if neighbors["md5_enabled"] else []),
        f"hold time {HOLD_TIME};",
        f"keepalive time {HOLD_TIME // 3};",
        "connect retry time 5;",
        "error wait time 1, 10;",
        'ipv4 { import none; export where proto = "elastic"; next hop self; };',
    ]
    return f"protocol bgp peer{number} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def is_healthy(url: str) -> bool:
    """Return whether HAProxy answers."""
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:  # noqa: S310 - the unit's own option
            return bool(answer.status == 200)
    except OSError:
        return False


def read_neighbors(url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metadata and neighbors, as soon as the device has a session."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - as above
                metadata = json.load(answer)
        except (OSError, ValueError) as problem:
            print(f"Cannot read {url}: {problem}", flush=True)
        else:
            if found := bgp_neighbors(metadata):
                return metadata, found
        time.sleep(2)


def main(arguments: list[str]) -> None:
    """Configure address, routes and BIRD, then follow the health of HAProxy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="elastic address")
    parser.add_argument("--metadata", required=True, help="URL of the metadata service")
    parser.add_argument("--health", default="http://127.0.0.1:8404/healthz")
    parser.add_argument("--configuration", type=Path, default=Path("/etc/bird/bird.conf"))
    parser.add_argument("--socket", default="/run/bird/bird.ctl")
    chosen = parser.parse_args(arguments)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    run("ip", "address", "replace", f"{chosen.address}/32", "dev", "lo")
    metadata, neighbors = read_neighbors(chosen.metadata)
    gateway = private_gateway(metadata, neighbors["customer_ip"])
    for peer in neighbors["peer_ips"]:
        run("ip", "route", "replace", f"{peer}/32", "via", gateway, "src", neighbors["customer_ip"])
    chosen.configuration.write_text(bird_configuration(neighbors, chosen.address), encoding="utf-8")
    run("birdc", "-s", chosen.socket, "configure")
    announced, failed = False, 0
    while True:
        failed = 0 if is_healthy(chosen.health) else failed + 1
        desired = failed == 0 or (announced and failed < FAILURES)
        if desired != announced:
            run("birdc", "-s", chosen.socket, "enable" if desired else "disable", "elastic")
            announced = desired
            print(f"{chosen.address} is {'announced' if announced else 'withdrawn'}", flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1:])
