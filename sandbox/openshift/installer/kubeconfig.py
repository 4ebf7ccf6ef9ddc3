# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfig files as the installer writes them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import yaml

from .certificates import KeyPair


@dataclass(frozen=True)
class Kubeconfig:
    """A user's kubeconfig for a cluster; ``ca_bundle`` is PEM. ``server_name``: in the certificate of the server, if not its host."""

    cluster_name: str
    server: str
    ca_bundle: bytes
    user: str
    client: KeyPair
    server_name: str = ""

    def dump(self) -> bytes:
        cluster = {"certificate-authority-data": _base64(self.ca_bundle), "server": self.server}
        if self.server_name:
            cluster["tls-server-name"] = self.server_name
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.cluster_name, "cluster": cluster}],
            "contexts": [{"name": self.user, "context": {"cluster": self.cluster_name, "user": self.user}}],
            "current-context": self.user,
            "preferences": {},
            "users": [
                {
                    "name": self.user,
                    "user": {"client-certificate-data": _base64(self.client.certificate), "client-key-data": _base64(self.client.key)},
                }
            ],
        }
        return yaml.safe_dump(document, sort_keys=True, width=1 << 20).encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
