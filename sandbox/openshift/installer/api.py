# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A read-only client of a cluster's API, from nothing but a kubeconfig."""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import yaml

from .errors import InstallerError


class UnreachableError(Exception):
    """No answer, or none that can be used. The text reads like that of the real one's client."""


class Api:
    """Speaks as the current context of a kubeconfig says: embedded CA, client certificate, ``tls-server-name``."""

    def __init__(self, kubeconfig: Path) -> None:
        try:
            document = yaml.safe_load(kubeconfig.read_bytes())
        except FileNotFoundError as error:
            raise InstallerError(f"loading kubeconfig: stat {kubeconfig}: no such file or directory") from error
        except yaml.YAMLError as error:
            raise InstallerError(f"loading kubeconfig: {kubeconfig}: {error}") from error
        try:
            context = _named(document["contexts"], document["current-context"])["context"]
            cluster = _named(document["clusters"], context["cluster"])["cluster"]
            user = _named(document["users"], context["user"])["user"]
            self.server = str(cluster["server"]).rstrip("/")
            verify = _tls(cluster, user)
        except (KeyError, TypeError, ValueError, ssl.SSLError) as error:
            raise InstallerError(f"loading kubeconfig: invalid configuration in {kubeconfig}: {error!r}") from error
        server_name = cluster.get("tls-server-name")
        self._extensions = {"sni_hostname": str(server_name)} if server_name else {}
        # trust_env: the proxies of the shell are for the way out, and the sandbox is never outside.
        self._client = httpx.Client(verify=verify, timeout=10, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the JSON object at ``path``, or None for a 404. Raises `UnreachableError` for everything else."""
        url = self.server + path
        try:
            response = self._client.get(url, extensions=self._extensions)
        except httpx.HTTPError as error:
            raise UnreachableError(f'Get "{url}": {error}') from error
        if response.status_code == 404:
            return None
        if response.status_code != 200:
            raise UnreachableError(f'Get "{url}": the server answered {response.status_code} {response.reason_phrase}')
        try:
            return dict(response.json())
        except ValueError as error:
            raise UnreachableError(f'Get "{url}": no JSON object in the answer') from error


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(name)


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    if "client-certificate-data" in user:
        # OpenSSL loads key pairs from files only; TemporaryDirectory is readable by its owner alone.
        with tempfile.TemporaryDirectory() as name:
            pair = Path(name) / "client.pem"
            pair.touch(mode=0o600)
            pair.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            context.load_cert_chain(pair)
    return context
