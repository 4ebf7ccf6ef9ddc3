# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests that the settings of the inventory ask for, beside those of ``openshift_manifests``. One file for each subject.

The installer reads them from its folder ``openshift/``. To add a manifest, write a file with a function from settings to objects, and add
the function to ``SOURCES``. The settings are ``__ignition_manifest_settings`` of the role ``ignition``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...module_utils.base.errors import CollectionError, together
from . import chrony, pools
from .ingress_controller import ingress_controller
from .kube_vip import kube_vip
from .node_firewall import node_firewall
from .node_network import node_network

Settings = Mapping[str, Any]
Manifest = dict[str, Any]


def operator_hub(settings: Settings) -> Iterator[Manifest]:
    """Yield the OperatorHub that disables the default catalogues, unless the cluster has them. Settings: ``default_catalogs``."""
    if not settings.get("default_catalogs", True):
        yield {
            "apiVersion": "config.openshift.io/v1",
            "kind": "OperatorHub",
            "metadata": {"name": "cluster"},
            "spec": {"disableAllDefaultSources": True},
        }


SOURCES: tuple[Callable[[Settings], Iterable[Manifest]], ...] = (
    node_firewall,
    node_network,
    kube_vip,
    ingress_controller,
    operator_hub,
    pools.pool_manifests,
    chrony.chrony_manifests,
)
"""Functions that return the objects that some settings ask for; none if the settings ask for nothing."""


class ManifestError(CollectionError):
    """Two manifests of one file name."""


def cluster_manifests(settings: Settings) -> list[dict[str, str]]:
    """Return ``name`` and ``content`` of the file of each manifest, as JSON, which is YAML. Raises ManifestError for two of one name."""
    files: dict[str, str] = {}
    twice: list[str] = []
    for source in SOURCES:
        for manifest in source(settings):
            name = file_name(manifest)
            if name in files:
                twice.append(name)
            files[name] = json.dumps(manifest, indent=2) + "\n"
    if twice:
        raise ManifestError(together("The settings ask for different manifests of one name", twice))
    return [{"name": name, "content": content} for name, content in files.items()]


def file_name(manifest: Mapping[str, Any]) -> str:
    """Return the name of a manifest's file: its kind, namespace and name. Names of Kubernetes objects may have colons, files should not."""
    metadata = manifest["metadata"]
    parts = [str(manifest["kind"]).lower(), metadata.get("namespace", ""), metadata["name"]]
    return "-".join(part for part in parts if part).replace(":", "-") + ".yaml"
