# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files by which nodes reach registries, as the machine config operator renders them from the manifests of a new cluster.

Mirrors are of ImageDigestMirrorSets (``99-<pool>-generated-registries``), the proxy is the status of the Proxy object, and further CAs
are of ConfigMap ``user-ca-bundle``. Objects that change later are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sandbox.openshift.api import Object
from sandbox.openshift.assets import Assets
from sandbox.openshift.machine_config_server import file_of

REGISTRIES: Final = "/etc/containers/registries.conf"
PROXY_ENVIRONMENT: Final = "/etc/mco/proxy.env"
ANCHOR: Final = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"


def machine_configs(assets: Assets) -> Iterator[Object]:
    """Yield the MachineConfigs of the pools master and worker."""
    registries = registries_conf(assets.manifests)
    runtime = {PROXY_ENVIRONMENT: _proxy_environment(assets.manifests), ANCHOR: _trust_bundle(assets.manifests)}
    for pool in ("master", "worker"):
        if registries:
            yield _machine_config(f"99-{pool}-generated-registries", pool, {REGISTRIES: registries})
        yield _machine_config(f"01-{pool}-container-runtime", pool, runtime)


def registries_conf(manifests: list[Object]) -> str:
    """Return registries.conf of all ImageDigestMirrorSets; empty without one: the file of the image is kept then."""
    groups: dict[str, list[str]] = {}
    blocked: set[str] = set()
    for manifest in manifests:
        if manifest.get("kind") != "ImageDigestMirrorSet":
            continue
        for entry in (manifest.get("spec") or {}).get("imageDigestMirrors") or []:
            groups.setdefault(entry["source"], []).extend(entry.get("mirrors") or [])
            if entry.get("mirrorSourcePolicy") == "NeverContactSource":
                blocked.add(entry["source"])
    lines = ['unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]', 'short-name-mode = ""', ""]
    for source in sorted(source for source, mirrors in groups.items() if mirrors or source in blocked):
        lines += ["[[registry]]", '  prefix = ""', f'  location = "{source}"', *(["  blocked = true"] if source in blocked else []), ""]
        for mirror in dict.fromkeys(groups[source]):
            lines += ["  [[registry.mirror]]", f'    location = "{mirror}"', '    pull-from-mirror = "digest-only"', ""]
    return "\n".join(lines) if groups else ""


def _proxy_environment(manifests: list[Object]) -> str:
    status: dict[str, Any] = next((manifest.get("status") or {} for manifest in manifests if manifest.get("kind") == "Proxy"), {})
    names = {"HTTP_PROXY": "httpProxy", "HTTPS_PROXY": "httpsProxy", "NO_PROXY": "noProxy"}
    head = "# Proxy environment variables will be populated in this file.\n"
    return head + "".join(f"{name}={status[key]}\n" for name, key in names.items() if status.get(key))


def _trust_bundle(manifests: list[Object]) -> str:
    for manifest in manifests:
        metadata = manifest.get("metadata") or {}
        place = (manifest.get("kind"), metadata.get("namespace"), metadata.get("name"))
        if place == ("ConfigMap", "openshift-config", "user-ca-bundle"):
            return str((manifest.get("data") or {}).get("ca-bundle.crt", ""))
    return ""


def _machine_config(name: str, pool: str, files: dict[str, str]) -> Object:
    entries = [file_of(path, content, mode=0o600 if path == ANCHOR else 0o644) for path, content in files.items()]
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": pool}},
        "spec": {"config": {"ignition": {"version": "3.5.0"}, "storage": {"files": entries}}},
    }
