# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's settings.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import ARCHITECTURES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import is_channel, is_release
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    failed,
    listed,
    passed,
    passed_if,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged


def cluster_name(context: Context) -> Finding:
    name = context.text("cluster_name")
    # The installer accepts dots. With one, tags and records no longer show where the name ends and the domain begins.
    return judged(context, "metadata", f"'{name}'", problems=[f"'{name}' contains a dot"] if "." in name else [])


def base_domain(context: Context) -> Finding:
    domain = context.text("base_domain")
    # The installer accepts these domains, but no record or device can have such a name.
    limits = {
        "a dot at its end": domain.endswith("."),
        "a label of more than 63 characters": any(len(label) > 63 for label in domain.split(".")),
        "more than 246 characters with the cluster's name before it": len(context.cluster) > 246,
    }
    problems = [f"'{domain}' has {what}" for what, applies in limits.items() if applies]
    return judged(context, "baseDomain", f"'{domain}'", problems=problems)


def version(context: Context) -> Finding:
    version = context.text("version")
    if not version and context.text("installer"):
        return passed("the version of openshift_installer")
    return passed_if(is_release(version) or is_channel(version, context.text("distribution")), f"'{version}'")


def architecture(context: Context) -> Finding:
    unknown = sorted(context.architectures - set(ARCHITECTURES.values()))
    return passed_if(not unknown, listed(unknown or sorted(context.architectures)) or "no machines")


def manifests(context: Context) -> Finding:
    reading = context.readings.get("manifests") or {}
    if reading.get("problem"):
        return failed(reading["problem"])
    external = context.text("platform") == "external" and context.text("cloud_controller_manager") == "External"
    if external and not reading.get("cloud_controller"):
        return failed(
            "openshift_cloud_controller_manager is External, and no manifest has a cloud controller manager: no node would lose the taint"
            " node.cloudprovider.kubernetes.io/uninitialized, and the install would stall without an error",
            advice="add the manifests of a cloud controller manager to openshift_manifests, or leave"
            " openshift_cloud_controller_manager unset",
        )
    return passed("with a cloud controller manager" if external else "can be read" if context.settings.get("manifests") else "none")


def platform(context: Context) -> Finding:
    name = context.text("platform")
    known = name in ("none", "external")
    return judged(context, "platform", f"'{name}'", problems=[] if known else [f"'{name}' is neither none nor external"])
