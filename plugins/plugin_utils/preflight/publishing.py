# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the address and ports at which boot files are published."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from ..boot.files import METADATA_HOST, PACKET
from .context import NAME, Context
from .controller import NO_JOB
from .findings import Finding, failed, listed, not_checkable, passed, passed_if, warning

PRIVATE = [ipaddress.ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")]
"""RFC 1918, RFC 6598, RFC 4193."""

NO = ("false", "no", "off", "n", "f", "0")
"""What Ansible reads as false."""

NO_VENDOR = (
    "leave openshift_ignition_platform unset, which needs no metadata service; or set openshift_resolver to the resolver of the machines"
)


def address(context: Context) -> Finding:
    method = context.text("publish")
    if method == "object_storage":
        bucket = context.text("publish_bucket")
        return (
            passed(f"bucket {bucket}")
            if bucket
            else failed("openshift_publish_bucket is not set", "set openshift_publish_bucket to the name of a bucket")
        )
    if method == "host" and not context.text("publish_host"):
        return failed("openshift_publish_host is not set", "set openshift_publish_host to a host of the inventory")
    return _address(context)


def _address(context: Context) -> Finding:
    address = context.text("publish_address")
    if not re.fullmatch(r"[0-9A-Za-z.:-]+", address) or "//" in address:
        return failed(f"'{address}'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        if re.fullmatch(r"[0-9.]+", address) or not NAME.fullmatch(address.lower()):
            return failed(f"'{address}' is neither an IP address nor a host name")
        return not_checkable(f"{address} is a host name: whether the machines can resolve it is unknown until they boot")
    if parsed.is_unspecified:
        return failed(f"{address} means all addresses of the controller, and machines cannot connect to it")
    if parsed.is_loopback:
        local = re.search(r"//(127\.|\[::1\]|localhost)", context.text("metal_api_url"))
        return passed_if(
            bool(local), f"{address} is a loopback address" + (", like the Metal API's" if local else ", which only the controller reaches")
        )
    private = any(parsed in network for network in PRIVATE if network.version == parsed.version)
    return not_checkable(
        f"whether the machines reach {address} is unknown until they boot"
        + (": it is a private address, which needs a route from their network" if private else "")
    )


def ignition_platform(context: Context) -> Finding:
    if context.text("ignition_platform") == PACKET:
        return _packet(context)
    if context.is_bootstrapped:
        return passed("metal; the Ignition pointers of a running cluster are public")
    if context.text("publish") == "object_storage":
        return failed(
            "metal and openshift_publish=object_storage: the signed address of bootstrap.ign, which has all keys of the cluster, would"
            " travel over plain HTTP",
            "install with openshift_publish controller or host; machines that are added later may boot from object storage",
        )
    if context.text("publish_allow_list").lower() in NO:
        return failed(
            "metal and openshift_publish_allow_list=false: the list of addresses is all that protects bootstrap.ign, since its pointer is"
            " public",
            "set openshift_publish_allow_list to true, and openshift_publish_address to an address without translation between it and the"
            " devices",
        )
    return passed("metal: each machine gets its Ignition config at the installation, and only the bootstrap device bootstrap.ign")


def _packet(context: Context) -> Finding:
    if context.is_bootstrapped and not context.machines_to_order:
        return not_checkable("not checked: no machines to order, so none reads userdata")
    reading = context.readings.get("metadata") or {}
    resolver = f"the resolver {reading['resolver']}" if reading.get("resolver") else "the controller's resolver"
    addresses: list[str] = list(reading.get("addresses") or [])
    if not addresses:
        return failed(
            f"packet: {resolver} has no address of {METADATA_HOST}, so the installed machines would wait for their userdata for ever",
            NO_VENDOR,
        )
    if problems := reading.get("problems") or {}:
        text = "; ".join(f"{address}: {problem}" for address, problem in sorted(problems.items()))
        return failed(
            f"packet: https://{METADATA_HOST} does not answer with a certificate of a public CA ({text}), so the installed machines would"
            " wait for their userdata for ever",
            NO_VENDOR,
        )
    return passed(f"packet: {METADATA_HOST} is {listed(addresses)} by {resolver}, with a certificate of a public CA")


def ports(context: Context) -> Finding:
    if context.is_bootstrapped and not context.machines_to_order:
        return not_checkable("not checked: no machines to order, so nothing is published")
    if context.text("publish") in ("host", "object_storage"):
        return not_checkable("not checked: the controller does not publish (openshift_publish)")
    reading = context.readings.get("publish") or {}
    ports: Mapping[str, str] = reading.get("ports") or {}
    where = context.text("publish_bind_address") or context.text("publish_address")
    if not ports:
        return not_checkable("not checked: publishing address or ports are malformed")
    unusable = {port: state for port, state in ports.items() if state not in ("free", "taken")}
    if unusable:
        return failed(
            f"no program can listen at {where}: " + "; ".join(f"{port}: {state}" for port, state in unusable.items()),
            "set openshift_publish_bind_address to an address of this computer, and ports above 1023",
        )
    # The boot file server of an earlier run listens on both; it reports the id in its settings.
    taken = [port for port, state in ports.items() if state == "taken"]
    if taken and not reading.get("own"):
        return failed(f"another program listens on {listed(taken)} at {where}")
    return passed(f"{listed(ports)}: used by the boot file server of this cluster" if taken else f"{listed(ports)}: free")


def job(context: Context) -> Finding:
    """Return whether the boot files are published by a server that machines reach and that outlives the job."""
    if not context.in_job:
        return passed(NO_JOB)
    method = context.text("publish")
    if method != "controller":
        return passed(f"published by {method}")
    if context.is_bootstrapped and not context.machines_to_order:
        return passed("no machines to order, so nothing is published")
    return warning(
        f"the boot files are published by a server in the container of job {context.text('job')}: machines reach its ports only if the "
        "container has the network of its node, and the server ends with the job"
    )
