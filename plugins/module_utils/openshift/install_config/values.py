# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the installer finds wrong with single values: names, certificates, networks, repositories of images.

Source: openshift/installer, pkg/validate; the grammar of references is that of distribution/reference.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
import re
import ssl

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import parse_network

SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an"
    f" alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)
PEM = re.compile(r"-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)\n?-----END \1-----[ \t\r]*(?:\n|\Z)", re.DOTALL)


def bundle_problem(text: str) -> str:
    """Return what the installer finds wrong with a bundle of certificates, or nothing. Nothing may follow the last one, not even a line."""
    while text:
        block = PEM.search(text)
        if block is None:
            return "invalid block"
        text = text[block.end() :]
        try:
            der = ssl.PEM_cert_to_DER_cert(f"-----BEGIN CERTIFICATE-----\n{block[2].strip()}\n-----END CERTIFICATE-----\n")
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
        except (ssl.SSLError, ValueError):
            return "x509: malformed certificate"
    return ""


def subdomain_problem(text: str) -> str:
    if len(text) > 253:
        return "must be no more than 253 characters"
    return "" if re.fullmatch(SUBDOMAIN, text) else SUBDOMAIN_TEXT


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_network(text: str) -> bool:
    # Go refuses a network mask in place of the prefix length, which netaddr accepts.
    return re.fullmatch(r"[0-9a-fA-F.:]+/[0-9]{1,3}", text) is not None and parse_network(text) is not None


_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?P<rest>(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?)",
    re.ASCII,
)


def repository_problem(text: str) -> str:
    """Return what the installer finds wrong with the name of a repository of images, or nothing."""
    reference = _REFERENCE.fullmatch(text)
    if reference is None or re.fullmatch(r"[0-9a-f]{64}", text):
        return "failed to parse: invalid reference format"
    domain, slash, _path = text.partition("/")
    is_whole = bool(slash) and ("." in domain or ":" in domain or domain == "localhost" or domain != domain.lower())
    if is_whole:
        return "must be repository--not reference" if reference["rest"] else ""
    # Without a registry before it, it may be the name of a registry alone.
    host = re.sub(r":[0-9]+\Z", "", text)
    problem = "" if is_address(host) else subdomain_problem(host)
    return f"the repository provided is invalid: {problem}" if problem else ""
