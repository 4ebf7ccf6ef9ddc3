# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what the cluster is to be.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re

from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_catalogue import ARCHITECTURES
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import Finding, either, listed, passed
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import LABEL, NAME, Situation

RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")

CHANNEL = re.compile(r"(stable|fast|candidate|latest|eus)(-[0-9]+\.[0-9]+)?")


def cluster_name(situation: Situation) -> Finding:
    name = situation.text("cluster_name")
    return either(bool(re.fullmatch(LABEL, name)) and len(name) <= 54, f"'{name}'")


def base_domain(situation: Situation) -> Finding:
    domain = situation.text("base_domain")
    labels = domain.split(".")
    good = NAME.fullmatch(domain) and len(labels) > 1 and all(len(label) <= 63 for label in labels) and len(situation.cluster) <= 246
    return either(bool(good), f"'{domain}'")


def version(situation: Situation) -> Finding:
    version = situation.text("version")
    if not version and situation.text("installer"):
        return passed("that of openshift_installer")
    return either(bool(RELEASE.fullmatch(version) or (CHANNEL.fullmatch(version) and not situation.okd)), f"'{version}'")


def architecture(situation: Situation) -> Finding:
    odd = sorted(situation.architectures - set(ARCHITECTURES.values()))
    return either(not odd, listed(odd or sorted(situation.architectures)) or "no machines")


def platform(situation: Situation) -> Finding:
    return either(situation.text("platform") in ("none", "external"), f"'{situation.text('platform')}'")
