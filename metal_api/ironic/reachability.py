# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a BMC answers, without its credentials and without an effect on its server."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

import httpx

from metal_api.rack import REDFISH, Bmc

TIMEOUT: Final = 10.0
"""Seconds for the answer of a BMC."""

_IPMI_PORT: Final = 623
# RMCP header (version 6, no acknowledgement, class ASF) and the ASF message "presence ping" (DSP0136, section 3.2.4.2).
_PING: Final = bytes.fromhex("0600ff06000011be80000000")
_PONG: Final = 0x40
_ATTEMPTS: Final = 3


async def unreachable(bmc: Bmc) -> str:
    """Return why a BMC cannot be reached and what to do; empty if it answers."""
    if bmc.driver in REDFISH:
        return await _redfish(bmc)
    if bmc.driver == "ipmi":
        return await _ipmi(bmc)
    return ""


async def _redfish(bmc: Bmc) -> str:
    """Read the service root, which needs no credentials (DSP0266, section 13.2)."""
    url = f"{bmc.address}/redfish/v1/"
    try:
        verify = ssl.create_default_context(cafile=bmc.verify_ca) if isinstance(bmc.verify_ca, str) else bmc.verify_ca
        # BMCs are not behind the proxy of the environment.
        async with httpx.AsyncClient(verify=verify, timeout=TIMEOUT, trust_env=False) as client:
            answer = await client.get(url)
    except (OSError, httpx.HTTPError) as error:
        reason = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            return f"the certificate of the BMC {bmc.address} is not trusted: set verify_ca of bmc to its CA bundle, or to false ({reason})"
        return f"the BMC {bmc.address} does not answer: check its address, its power and the network ({reason})"
    try:
        is_redfish = answer.status_code == 200 and "RedfishVersion" in answer.json()
    except ValueError:
        is_redfish = False
    return "" if is_redfish else f"{url} is no Redfish service (HTTP {answer.status_code}): correct address of bmc"


class _Pong(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, _address: object) -> None:
        if len(data) > 8 and data[0] == 6 and data[8] == _PONG and not self.answered.done():
            self.answered.set_result(None)

    def error_received(self, exc: Exception) -> None:
        # An ICMP message, such as "port unreachable".
        if not self.answered.done():
            self.answered.set_exception(exc)


async def _ipmi(bmc: Bmc) -> str:
    """Send presence pings by UDP, which BMCs with IPMI over LAN answer without a session."""
    host, port = bmc.host_and_port
    reason = f"no answer to {_ATTEMPTS} presence pings in {TIMEOUT:g} s"
    try:
        address = (host, int(port or _IPMI_PORT))
        transport, pong = await asyncio.get_running_loop().create_datagram_endpoint(_Pong, remote_addr=address)
    except OSError as error:
        return f"the BMC {bmc.address} cannot be reached: correct address of bmc ({error})"
    try:
        for _unused_attempt in range(_ATTEMPTS):
            transport.sendto(_PING)
            done, _pending = await asyncio.wait([pong.answered], timeout=TIMEOUT / _ATTEMPTS)
            if done:
                pong.answered.result()
                return ""
    except OSError as error:
        reason = str(error)
    finally:
        pong.answered.cancel()
        transport.close()
    return f"the BMC {bmc.address} does not answer by IPMI: check its address, its power and whether IPMI over LAN is enabled ({reason})"
