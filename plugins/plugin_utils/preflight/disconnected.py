# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the proxy, the mirrors of container images, and the catalogues of clusters without the internet."""

from __future__ import annotations

from ...module_utils.base.json_objects import mapping, mappings
from ...module_utils.base.printable import printable
from ...module_utils.release.images import is_mirrored, uses_proxy
from .context import Context
from .findings import Finding, failed, listed, not_checkable, passed, warning

REPOSITORIES = {
    "ocp": ("quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev"),
    "okd": ("quay.io/okd/scos-release", "quay.io/okd/scos-content"),
}
"""Where a distribution publishes release images, and the images of their components."""

MARKETPLACE = "marketplace"
DEFAULT_CATALOGS = ("redhat-operators", "certified-operators", "community-operators", "redhat-marketplace")
"""CatalogSources that the marketplace operator creates."""
NO_CONFIG = "not checked: the install-config cannot be created"


def proxy(context: Context) -> Finding:
    if not context.install_config:
        return not_checkable(NO_CONFIG)
    fields = mapping(context.install_config.get("proxy"))
    if not fields:
        return passed("not set")
    if not fields.get("httpsProxy"):
        return warning(
            "httpsProxy is not set, so nodes ask container registries directly, whatever httpProxy is",
            "set httpsProxy in openshift_proxy, or leave openshift_proxy unset",
        )
    no_proxy = str(fields.get("noProxy") or "")
    through = [name for name in (f"api.{context.cluster}", f"console.apps.{context.cluster}") if uses_proxy(name, no_proxy)]
    if through:
        return warning(
            f"names of the cluster itself are reached through the proxy: {', '.join(map(printable, through))}",
            f"add .{context.cluster} to noProxy in openshift_proxy, unless the proxy reaches the cluster's load balancer",
        )
    return passed("the cluster's own names are reached without the proxy")


def image_mirrors(context: Context) -> Finding:
    if not context.install_config:
        return not_checkable(NO_CONFIG)
    sources = mappings(context.install_config.get("imageDigestSources"))
    release, components = REPOSITORIES["okd" if context.is_okd else "ocp"]
    has_release, has_components = (is_mirrored(name, sources) for name in (release, components))
    if has_release != has_components:
        lacking, having = (components, release) if has_release else (release, components)
        return failed(
            f"openshift_image_digest_sources has mirrors of {having}, but none of {lacking}",
            "add a mirror of both: release images and the images of their components are in different repositories",
        )
    return _release_image(context) if has_release else passed("no mirror of the release: nodes pull from quay.io")


def _release_image(context: Context) -> Finding:
    answer = mapping(context.readings.get("release_image"))
    if not answer:
        return not_checkable("not checked: the release image is unknown until openshift-install is there")
    if answer.get("msg"):
        return not_checkable(f"the release image cannot be checked: {printable(answer['msg'])}")
    messages = [printable(message) for message in answer.get("messages") or []]
    if messages:
        return failed("; ".join(messages), "run playbooks/mirror.yml, which names all that is missing and the commands that mirror it")
    return passed(f"all mirrors have {printable(answer.get('image') or 'the release image')}")


def default_catalogs(context: Context) -> Finding:
    if context.settings.get("default_catalogs", True) is not False:
        return passed("enabled")
    capabilities = mapping(context.install_config.get("capabilities"))
    enabled = capabilities.get("additionalEnabledCapabilities") or []
    if capabilities.get("baselineCapabilitySet") == "None" and MARKETPLACE not in enabled:
        return failed(
            "openshift_default_catalogs is false, but the cluster is installed without the capability marketplace, which has OperatorHub",
            "leave openshift_default_catalogs unset: without marketplace there are no catalogues",
        )
    return passed("disabled")


def catalogs(context: Context) -> Finding:
    """Check the images of CatalogSources, and that the catalogue of the services' operators will exist."""
    reading = mapping(context.readings.get("catalogs"))
    if not reading:
        return not_checkable("not checked: the cluster is installed, or its install-config or manifests cannot be read")
    names = [printable(name) for name in reading.get("names") or []]
    needed = context.text("operator_catalog")
    services = [name for name in ("local_storage", "metallb") if context.settings.get(name)]
    has_default = context.settings.get("default_catalogs", True) is not False and needed in DEFAULT_CATALOGS
    if services and needed not in names and not has_default:
        return failed(
            f"{listed(f'openshift_{name}' for name in services)} {'needs' if len(services) == 1 else 'need'} the CatalogSource"
            f" {printable(needed)}, which the cluster will not have",
            f"set openshift_operator_catalog to the name of a CatalogSource in openshift_manifests: {listed(names) or 'there is none'}",
        )
    if reading.get("msg"):
        return failed(printable(reading["msg"]), "correct the CatalogSource in openshift_manifests")
    if messages := [printable(message) for message in reading.get("messages") or []]:
        return failed("; ".join(messages), "mirror the catalogue with oc mirror, or remove its CatalogSource from openshift_manifests")
    return passed(f"registries serve {listed(names)}" if names else "no CatalogSource in openshift_manifests")
