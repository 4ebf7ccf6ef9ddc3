# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files of an Ignition config, as its machine finds them on its disk."""

from __future__ import annotations

import base64
import gzip
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import yaml

from sandbox.machines.ignition import IgnitionError, decode_data_url
from sandbox.openshift.installer import catalogue
from sandbox.openshift.installer.documents import documents, first_document

INSTALL_FOLDER: Final = "/opt/openshift"
SERVERS: Final = {
    "kube-apiserver-lb-server": "kube-apiserver-lb-signer",
    "kube-apiserver-internal-lb-server": "kube-apiserver-lb-signer",
    "kube-apiserver-service-network-server": "kube-apiserver-service-network-signer",
    "kube-apiserver-localhost-server": "kube-apiserver-localhost-signer",
}
"""Serving certificates of the API, each with its signer. The first is for clients that name no server."""
_TOKEN: Final = "auth/node-bootstrapper-token"  # noqa: S105 - the name of a file
_RELEASE_SCRIPT: Final = "/usr/local/bin/release-image-download.sh"
_RELEASE_IMAGE: Final = "release-image"
"""Where the text of this script's ``RELEASE_IMAGE`` is kept."""


class AssetError(Exception):
    """Something a cluster cannot be made without is missing or unreadable; the text names it."""


def files_of(config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return path -> content of ``storage.files`` of an Ignition config (spec 3; contents as data URLs only).

    Raises :class:`AssetError` for a content that cannot be decoded.
    """
    files: dict[str, bytes] = {}
    for entry in (config.get("storage") or {}).get("files") or []:
        contents = entry.get("contents") or {}
        source = contents.get("source")
        if source is None:
            continue
        try:
            content = decode_data_url(source)
            if contents.get("compression") == "gzip":
                content = gzip.decompress(content)
        except (IgnitionError, OSError, EOFError) as error:
            raise AssetError(f"content of {entry.get('path')} cannot be read: {error}") from error
        files[entry["path"]] = content
    return files


def units_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return name -> contents of ``systemd.units``."""
    return {unit["name"]: unit.get("contents") or "" for unit in (config.get("systemd") or {}).get("units") or []}


def links_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the links of an enabled unit: (wants or requires, the unit that does)."""
    for line in text.splitlines():
        key, _equals, targets = line.partition("=")
        if key in ("WantedBy", "RequiredBy"):
            yield from (({"WantedBy": "wants", "RequiredBy": "requires"}[key], target) for target in targets.split())


@dataclass(frozen=True)
class Assets:
    """The part of bootstrap.ign a cluster is made from: path below ``/opt/openshift`` -> content."""

    files: Mapping[str, bytes]

    @classmethod
    def from_ignition(cls, config: Mapping[str, Any]) -> Assets:
        """Read a merged bootstrap config. Raises :class:`AssetError` when a needed file is not in it."""
        prefix = INSTALL_FOLDER + "/"
        files = files_of(config)
        image = re.search(rb"^RELEASE_IMAGE=(\S+)$", files.get(_RELEASE_SCRIPT, b""), re.MULTILINE)
        own = {path.removeprefix(prefix): body for path, body in files.items() if path.startswith(prefix)}
        missing = [f"{prefix}{name}" for name in _NEEDED if name not in own]
        if image is None:
            missing.append(f"RELEASE_IMAGE in {_RELEASE_SCRIPT}")
        if missing or image is None:
            raise AssetError(f"bootstrap config lacks {', '.join(missing)}")
        return cls({**own, _RELEASE_IMAGE: image[1]})

    @classmethod
    def from_json(cls, text: str) -> Assets:
        """Read what :meth:`to_json` wrote."""
        return cls({name: base64.b64decode(body) for name, body in json.loads(text).items()})

    def to_json(self) -> str:
        """Keep it across a restart. Holds all keys of the cluster: for files with mode 0600 only."""
        return json.dumps({name: base64.b64encode(body).decode() for name, body in self.files.items()})

    def certificate(self, name: str) -> bytes:
        """PEM of ``tls/<name>.crt``."""
        return self._file(f"tls/{name}.crt")

    def key(self, name: str) -> bytes:
        """PEM of ``tls/<name>.key``."""
        return self._file(f"tls/{name}.key")

    @cached_property
    def cluster_id(self) -> str:
        """``spec.clusterID`` of ClusterVersion."""
        return str(self._cluster_version["clusterID"])

    @cached_property
    def domain(self) -> str:
        """``<cluster>.<base domain>``, lower case."""
        config = self.install_config
        try:
            return f"{config['metadata']['name']}.{config['baseDomain']}".lower()
        except (KeyError, TypeError) as error:
            raise AssetError("the install-config in ConfigMap kube-system/cluster-config-v1 has no name or no base domain") from error

    @cached_property
    def release_image(self) -> str:
        """The release image that the services of the bootstrap machine pull."""
        return self._file(_RELEASE_IMAGE).decode()

    @cached_property
    def release(self) -> catalogue.Release:
        """The mirror's release with the digest of the release image.

        An installer that is not of the mirror names an image that no mirror of the sandbox has. The newest release of its minor version,
        which is that of ClusterVersion's channel, replaces it.
        """
        release = catalogue.of_image(self.release_image.rpartition("@")[2])
        if release is not None:
            return release
        channel = str(self._cluster_version.get("channel") or "")
        version = catalogue.newest(channel.rpartition("-")[2])
        if not version:
            known = ", ".join(catalogue.VERSIONS)
            raise AssetError(
                f"the mirror has neither the release image {self.release_image} nor a release of ClusterVersion's channel {channel!r};"
                f" its releases are {known}"
            )
        pool = self.install_config.get("controlPlane") or {}
        return catalogue.release(version, {"arm64": "aarch64"}.get(pool.get("architecture", ""), "x86_64"))

    @cached_property
    def version(self) -> str:
        """Version of :attr:`release`, ``4.20.33``."""
        return self.release.version

    @cached_property
    def release_architecture(self) -> str:
        """Architecture of :attr:`release`, in RHCOS spelling or ``multi``."""
        return self.release.architecture

    @cached_property
    def available_image(self) -> str:
        """The image that is pulled as release image: :attr:`release_image`, or that of the release which replaces it."""
        return self.release_image if self.release_image.endswith(f"@{self.release.digest}") else self.release.image

    @cached_property
    def original_overrides(self) -> dict[str, Any]:
        """The patch that ends the overrides of ClusterVersion which the installer wrote."""
        return dict(json.loads(self._file("original_cvo_overrides.patch")))

    @cached_property
    def _cluster_version(self) -> dict[str, Any]:
        for manifest in self.manifests:
            if manifest.get("kind") == "ClusterVersion" and (manifest.get("spec") or {}).get("clusterID"):
                return dict(manifest["spec"])
        raise AssetError("bootstrap config has no manifest of ClusterVersion with a clusterID")

    def os_image(self, version: str) -> str:
        """Return the image of the nodes' operating system in a release: that of the installer, or one that the cluster was upgraded to."""
        try:
            return catalogue.release(version, self.release_architecture).os_image
        except KeyError:
            raise AssetError(f"the mirror has no release {version} for {self.release_architecture}") from None

    @cached_property
    def servers(self) -> dict[str, str]:
        """Serving certificates of the API, each with its signer; of a cluster that an older sandbox made, one for all names."""
        return {server: signer for server, signer in SERVERS.items() if f"tls/{server}.crt" in self.files}

    @cached_property
    def kubelet_ca_bundle(self) -> bytes:
        """PEM bundle a node trusts for the API server."""
        return b"".join(self.certificate(signer) for signer in dict.fromkeys(self.servers.values())) + self.certificate("root-ca")

    @cached_property
    def control_plane_replicas(self) -> int:
        return int((self.install_config.get("controlPlane") or {}).get("replicas", 3))

    @cached_property
    def token(self) -> str:
        """Bearer token of the service account ``node-bootstrapper``, see :meth:`with_token`."""
        return self._file(_TOKEN).decode().strip()

    def with_token(self) -> Assets:
        """Return these assets with a new token of ``node-bootstrapper``, as the machine config operator makes one in a new cluster."""
        return Assets({**self.files, _TOKEN: secrets.token_urlsafe(48).encode()})

    @cached_property
    def install_config(self) -> dict[str, Any]:
        """The install-config as the installer leaves it in ConfigMap ``kube-system/cluster-config-v1``."""
        for manifest in self.manifests:
            if _is(manifest, "ConfigMap", "kube-system", "cluster-config-v1"):
                return dict(first_document(manifest["data"]["install-config"]))
        raise AssetError("bootstrap config has no manifest of ConfigMap kube-system/cluster-config-v1")

    @property
    def service_networks(self) -> list[str]:
        """The networks of Services: in a dual stack cluster one of each IP version."""
        networking = self.install_config.get("networking") or {}
        return list(networking.get("serviceNetwork") or ["172.30.0.0/16"])

    @cached_property
    def pull_secret(self) -> str:
        """The global pull secret, JSON text."""
        for manifest in self.manifests:
            if _is(manifest, "Secret", "openshift-config", "pull-secret"):
                text = (manifest.get("stringData") or {}).get(".dockerconfigjson")
                if text is None:
                    text = base64.b64decode(manifest["data"][".dockerconfigjson"]).decode()
                return str(text)
        return str(self.install_config.get("pullSecret") or '{"auths":{}}')

    @cached_property
    def manifests(self) -> list[dict[str, Any]]:
        """All objects of the manifest folders, in the order of their file names."""
        return [document for _unused, document in self.manifest_documents()]

    def manifest_documents(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (file name, object) of each manifest; JSON is YAML too. Unreadable ones raise :class:`AssetError`."""
        for name in sorted(self.files):
            if not (name.startswith(("manifests/", "openshift/")) and name.endswith((".yaml", ".yml", ".json"))):
                continue
            try:
                manifests = documents(self.files[name].decode())
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise AssetError(f"manifest {name} cannot be read: {error}") from error
            for document in manifests:
                items = document.get("items") if str(document.get("kind", "")).endswith("List") else None
                yield from ((name, item) for item in (items if items is not None else [document]))

    def _file(self, name: str) -> bytes:
        try:
            return self.files[name]
        except KeyError:
            raise AssetError(f"bootstrap config lacks {INSTALL_FOLDER}/{name}") from None


def _is(manifest: Mapping[str, Any], kind: str, namespace: str, name: str) -> bool:
    metadata = manifest.get("metadata") or {}
    return manifest.get("kind") == kind and metadata.get("name") == name and metadata.get("namespace") == namespace


_NEEDED: Final = (
    "original_cvo_overrides.patch",
    *(
        f"tls/{name}"
        for name in (
            "root-ca.crt",
            "machine-config-server.crt",
            "machine-config-server.key",
            "kube-apiserver-lb-signer.crt",
            "kube-apiserver-lb-signer.key",
            *(f"{server}.{kind}" for server in SERVERS for kind in ("crt", "key")),
            *(f"{signer}.{kind}" for signer in set(SERVERS.values()) - {"kube-apiserver-lb-signer"} for kind in ("crt", "key")),
            "admin-kubeconfig-ca-bundle.crt",
            "kubelet-signer.crt",
            "kubelet-signer.key",
            "service-account.key",
        )
    ),
)
