# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfig files as the installer writes them."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from .certificates import KeyPair


def admin(cluster_name: str, server: str, authorities: bytes, client: KeyPair) -> bytes:
    """Return the administrator's kubeconfig; ``authorities`` is a PEM bundle."""
    return _dump(
        cluster_name,
        server,
        authorities,
        "admin",
        {"client-certificate-data": _base64(client.certificate), "client-key-data": _base64(client.key)},
    )


def kubelet_bootstrap(cluster_name: str, server: str, authorities: bytes, token: str) -> bytes:
    """Return the kubeconfig with which a kubelet asks for its first certificate."""
    return _dump(cluster_name, server, authorities, "kubelet", {"token": token})


def with_authorities(kubeconfig: bytes, additional: bytes) -> bytes:
    """Return the kubeconfig with one more PEM certificate (or bundle) among each cluster's authorities, once."""
    document = yaml.safe_load(kubeconfig)
    for entry in document["clusters"]:
        have = base64.b64decode(entry["cluster"].get("certificate-authority-data", ""))
        if additional.strip() not in have:
            entry["cluster"]["certificate-authority-data"] = _base64(have.rstrip() + b"\n" + additional.strip() + b"\n")
    return yaml.safe_dump(document, sort_keys=True, width=1 << 20).encode()


def _dump(cluster_name: str, server: str, authorities: bytes, user: str, credentials: dict[str, str]) -> bytes:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster_name, "cluster": {"certificate-authority-data": _base64(authorities), "server": server}}],
        "contexts": [{"name": user, "context": {"cluster": cluster_name, "user": user}}],
        "current-context": user,
        "preferences": {},
        "users": [{"name": user, "user": credentials}],
    }
    return yaml.safe_dump(document, sort_keys=True, width=1 << 20).encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
