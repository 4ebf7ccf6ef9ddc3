# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what the cluster is to be.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import ARCHITECTURES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import is_channel, is_release
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding, either, listed, passed
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation


def cluster_name(situation: Situation) -> Finding:
    name = situation.text("cluster_name")
    # The installer takes dots in it. Then nothing tells any more where the name ends and the domain begins, in tags as in records.
    return judged(situation, "metadata", f"'{name}'", problems=[f"'{name}' has a dot"] if "." in name else [])


def base_domain(situation: Situation) -> Finding:
    domain = situation.text("base_domain")
    # The installer takes all of these, and no record or device can be named by them.
    odd = {
        "a dot at its end": domain.endswith("."),
        "a label of more than 63 characters": any(len(label) > 63 for label in domain.split(".")),
        "more than 246 characters with the cluster's name before it": len(situation.cluster) > 246,
    }
    problems = [f"'{domain}' has {what}" for what, applies in odd.items() if applies]
    return judged(situation, "baseDomain", f"'{domain}'", problems=problems)


def version(situation: Situation) -> Finding:
    version = situation.text("version")
    if not version and situation.text("installer"):
        return passed("that of openshift_installer")
    return either(is_release(version) or is_channel(version, situation.text("distribution")), f"'{version}'")


def architecture(situation: Situation) -> Finding:
    odd = sorted(situation.architectures - set(ARCHITECTURES.values()))
    return either(not odd, listed(odd or sorted(situation.architectures)) or "no machines")


def platform(situation: Situation) -> Finding:
    name = situation.text("platform")
    known = name in ("none", "external")
    return judged(situation, "platform", f"'{name}'", problems=[] if known else [f"'{name}' is neither none nor external"])
