# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the bootstrap machine by which it reaches registries: mirrors, proxy and CA certificates, and the same as manifests.

Paths, contents and merging are those of the installer (``data/data/bootstrap/files/etc``, ``pkg/asset/manifests``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .install_config import InstallConfig

REGISTRIES = "/etc/containers/registries.conf"
DEFAULT_ENVIRONMENT = "/etc/systemd/system.conf.d/10-default-env.conf"
ANCHOR = "/etc/pki/ca-trust/source/anchors/ca.crt"
TRUST_BUNDLE = "user-ca-bundle"


def host_files(config: InstallConfig) -> dict[str, bytes]:
    """Return path -> content of the files of the bootstrap machine; none for an install-config without such settings."""
    files: dict[str, str] = {}
    mirrors = merged_mirrors(config.data.get("imageDigestSources") or [])
    if mirrors:
        files[REGISTRIES] = "".join(_registry(source, group) for source, group in mirrors.items())
    status = proxy_status(config)
    if status:
        lines = [f'DefaultEnvironment={name}="{status[key].replace("%", "%%")}"\n' for name, key in _VARIABLES.items() if status.get(key)]
        files[DEFAULT_ENVIRONMENT] = "[Manager]\n" + "".join(lines)
        exports = [f'export {name}="{status[key]}"\n' for name, key in _VARIABLES.items() if status.get(key)]
        files["/etc/profile.d/proxy.sh"] = "".join(exports)
    if config.data.get("additionalTrustBundle"):
        files[ANCHOR] = str(config.data["additionalTrustBundle"])
    return {path: text.encode() for path, text in files.items()}


_VARIABLES = {"HTTP_PROXY": "httpProxy", "HTTPS_PROXY": "httpsProxy", "NO_PROXY": "noProxy"}


def merged_mirrors(sources: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the mirrors of each source, sorted by source; sources without mirrors are left out."""
    mirrors: dict[str, list[str]] = {}
    for entry in sources:
        mirrors.setdefault(str(entry["source"]), []).extend(str(mirror) for mirror in entry.get("mirrors") or [])
    return {source: list(dict.fromkeys(mirrors[source])) for source in sorted(mirrors) if mirrors[source]}


def _registry(source: str, mirrors: list[str]) -> str:
    text = f'[[registry]]\nlocation = "{source}"\ninsecure = false\nmirror-by-digest-only = true\n\n'
    return text + "".join(f'[[registry.mirror]]\nlocation = "{mirror}"\ninsecure = false\n\n' for mirror in mirrors)


def digest_mirror_set(config: InstallConfig) -> dict[str, Any] | None:
    """Return the ImageDigestMirrorSet of ``imageDigestSources``."""
    sources = config.data.get("imageDigestSources") or []
    if not sources:
        return None
    mirrors = [
        {
            "source": entry["source"],
            "mirrors": entry.get("mirrors") or [],
            **({"mirrorSourcePolicy": entry["sourcePolicy"]} if entry.get("sourcePolicy") else {}),
        }
        for entry in sources
    ]
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ImageDigestMirrorSet",
        "metadata": {"creationTimestamp": None, "name": "image-digest-mirror"},
        "spec": {"imageDigestMirrors": mirrors},
    }


def proxy_spec(config: InstallConfig) -> dict[str, Any]:
    """Return ``spec`` of the Proxy object. The trust bundle is for the proxy, or for everything by policy."""
    proxy = {key: value for key, value in (config.data.get("proxy") or {}).items() if value}
    always = config.data.get("additionalTrustBundlePolicy") == "Always"
    trusted = bool(config.data.get("additionalTrustBundle")) and (bool(proxy) or always)
    return {**proxy, "trustedCA": {"name": TRUST_BUNDLE if trusted else ""}}


def proxy_status(config: InstallConfig) -> dict[str, str]:
    """Return ``status`` of the Proxy object: with what is always direct (BuildNoProxySet of the installer); empty without a proxy."""
    proxy: Mapping[str, str] = config.data.get("proxy") or {}
    if not proxy.get("httpProxy") and not proxy.get("httpsProxy"):
        return {}
    status = {key: str(proxy[key]) for key in ("httpProxy", "httpsProxy") if proxy.get(key)}
    if proxy.get("noProxy") == "*":
        return {**status, "noProxy": "*"}
    networking = config.data["networking"]
    direct = {"127.0.0.1", "localhost", ".svc", ".cluster.local", f"api-int.{config.cluster_domain}"}
    direct |= set(networking.get("serviceNetwork") or [])
    direct |= {str(network["cidr"]) for name in ("machineNetwork", "clusterNetwork") for network in networking.get(name) or []}
    direct |= {part.strip() for part in str(proxy.get("noProxy") or "").split(",") if part.strip()}
    return {**status, "noProxy": ",".join(sorted(direct))}
