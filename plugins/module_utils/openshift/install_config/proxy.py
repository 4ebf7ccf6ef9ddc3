# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installer's rules for the proxy of an install-config. Nothing that may be a password is repeated.

Source: openshift/installer, pkg/types/validation; Go's net/url for what an address has to be.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult, urlsplit

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import (
    Problem,
    invalid,
    quoted,
    required,
    unsupported,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.values import (
    is_address,
    is_network,
    subdomain_problem,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import ip_network


def rule(context: Context) -> Iterator[Problem]:
    proxy = context.config.get("proxy")
    if proxy is None:
        return
    if not proxy.get("httpProxy") and not proxy.get("httpsProxy"):
        yield required("proxy", "must include httpProxy or httpsProxy")
    for name, schemes in (("httpProxy", ("http",)), ("httpsProxy", ("http", "https"))):
        if proxy.get(name):
            yield from _proxy_address(context, f"proxy.{name}", str(proxy[name]), schemes)
    no_proxy = str(proxy.get("noProxy") or "")
    if no_proxy in ("", "*"):
        return
    # Nobody's password belongs here; in a proxy's address by mistake it is not repeated all the same.
    shown = ",".join(map(without_credentials, no_proxy.split(",")))
    if " " in no_proxy:
        yield invalid("proxy.noProxy", shown, "noProxy must not have spaces")
    for index, element in enumerate(part.strip() for part in no_proxy.split(",")):
        if subdomain_problem(element.removeprefix(".").removesuffix(".")) and not is_address(element) and not is_network(element):
            text = "each element of noProxy must be a IP, CIDR or domain without wildcard characters, which is violated by element"
            yield invalid("proxy.noProxy", shown, f"{text} {index} {quoted(without_credentials(element))}")


def _proxy_address(context: Context, path: str, address: str, schemes: Sequence[str]) -> Iterator[Problem]:
    shown = without_credentials(address)
    try:
        parsed = _parsed(address)
    except ValueError as problem:
        yield invalid(path, shown, f"parse {quoted(shown)}: {problem}")
        return
    if parsed.scheme not in schemes:
        yield unsupported(path, parsed.scheme, schemes)
    yield from _proxy_in_networks(context, path, shown, parsed.hostname or "")


def _parsed(address: str) -> SplitResult:
    """Return the parts of an address. Raises ValueError with what Go says of one that it cannot read, without a part of it."""
    if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|/", address):
        raise ValueError("missing protocol scheme" if address.startswith(":") else "invalid URI for request")
    try:
        parsed = urlsplit(address)
    except ValueError:
        raise ValueError("missing ']' in host") from None
    credentials, _at, host = parsed.netloc.rpartition("@")
    if " " in host:
        raise ValueError('invalid character " " in host name')
    _host, colon, port = host.rpartition("]")[2].rpartition(":")
    if colon and port and not port.isdecimal():
        raise ValueError("invalid port after host")
    if not re.fullmatch(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", credentials):
        raise ValueError("net/url: invalid userinfo")
    if re.search(r"%(?![0-9a-fA-F]{2})", credentials):
        raise ValueError("invalid URL escape")
    return parsed


def _proxy_in_networks(context: Context, path: str, shown: str, host: str) -> Iterator[Problem]:
    if not is_address(host):
        return
    address = ip_network(host)
    for kind in ("cluster", "service"):
        if any(address in network for _index, network in context.networks(f"{kind}Network")):
            yield invalid(path, shown, f"proxy value is part of the {kind} networks")
    if context.join_subnet and address in ip_network(context.join_subnet):
        yield invalid(path, shown, "proxy value is part of the ovn-kubernetes IPv4 InternalJoinSubnet")


def without_credentials(address: str) -> str:
    """Return an address without user and password. Everything before the last @ may be part of them."""
    before, at, behind = address.rpartition("@")
    scheme, slashes, _credentials = before.partition("//")
    return f"{scheme if slashes else ''}{slashes}***@{behind}" if at else address
