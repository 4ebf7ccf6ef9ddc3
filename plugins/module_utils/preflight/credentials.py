# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what opens something: pull secret, SSH key.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config import authorized_keys
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

REGISTRIES = ("cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io")
"""What the pull secret has to open when the release comes from OpenShift's own mirror."""


def pull_secret(situation: Situation) -> Finding:
    secret = situation.wanted.get("pull_secret")
    if situation.okd and not secret:
        return passed("none: everybody may have the images of OKD")
    if not secret and not situation.made_from_files:
        return failed("missing")
    unusable = _unusable(situation)
    warnings = [f"no user and password in base64 for {listed(unusable)}: nothing can be pulled from there"] if unusable else []
    return judged(situation, "pullSecret", f"for {len(_auths(situation))} registries", warnings=warnings)


def _unusable(situation: Situation) -> list[str]:
    """Registries whose entry opens nothing on a node. The installer does not look into them."""
    return [registry for registry, entry in _auths(situation).items() if not _credentials(entry)]


def _auths(situation: Situation) -> Mapping[str, Any]:
    """The entries by registry; nothing of a pull secret that cannot be read."""
    secret = situation.wanted.get("pull_secret")
    try:
        read = json.loads(secret) if isinstance(secret, str) else secret
    except ValueError:
        return {}
    auths = read.get("auths") if isinstance(read, Mapping) else None
    return auths if isinstance(auths, Mapping) else {}


def _credentials(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("auth"), str):
        return False
    try:
        return b":" in base64.b64decode(entry["auth"], validate=True)
    except ValueError:
        return False


def registries(situation: Situation) -> Finding:
    if situation.okd:
        return passed("OKD's images need none")
    auths = _auths(situation)
    if not auths:
        return not_checkable("the pull secret cannot be read")
    if not situation.public_mirror:
        return not_checkable(f"which ones a mirror of one's own needs is not known; there are {listed(sorted(auths))}")
    unusable = _unusable(situation)
    lacking = [registry for registry in REGISTRIES if registry not in auths or registry in unusable]
    return either(not lacking, f"missing, or without user and password in base64: {listed(lacking)}" if lacking else "all there")


def ssh_key(situation: Situation) -> Finding:
    text = situation.text("ssh_public_key")
    if not text.strip():
        return passed("none: nobody will be able to log in to the nodes")
    if "PRIVATE KEY" in text and not situation.made_from_files:
        return failed("the private half of a key")
    lines = authorized_keys.read(text)
    ignored = [f"line {line.number} is ignored by sshd: {line.problem}" for line in lines if line.problem]
    # The installer wants one key that it can read; sshd takes each line for itself, and by its kind.
    useless = ignored if len(ignored) == len(lines) and any(line.kind for line in lines) else []
    return judged(situation, "sshKey", f"{len(lines)} given", problems=useless, warnings=ignored)
