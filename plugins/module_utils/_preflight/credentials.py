# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what opens something: pull secret, SSH key.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import (
    Finding,
    UnreadableError,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation

SSH_KEY = re.compile(r"(?P<kind>ssh-[a-z0-9-]+|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9-]+@openssh\.com) (?P<key>[A-Za-z0-9+/]+=*)( .*)?")

REGISTRIES = ("cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io")
"""What the pull secret has to open when the release comes from OpenShift's own mirror."""


def pull_secret(situation: Situation) -> Finding:
    if situation.okd and not situation.wanted.get("pull_secret"):
        return passed("none: everybody may have the images of OKD")
    auths = _auths(situation)
    odd = [registry for registry, entry in auths.items() if not _credentials(entry)]
    return either(bool(auths) and not odd, f"no user and password for {listed(odd)}" if odd else f"for {len(auths)} registries")


def _auths(situation: Situation) -> Mapping[str, Any]:
    """Raises :class:`UnreadableError`, without a word of what it says: it is a secret."""
    secret = situation.wanted.get("pull_secret")
    if not secret:
        raise UnreadableError("missing", failed=True)
    try:
        read = json.loads(secret) if isinstance(secret, str) else secret
    except ValueError:
        raise UnreadableError("given, but no JSON", failed=True) from None
    auths = read.get("auths") if isinstance(read, Mapping) else None
    if not isinstance(auths, Mapping):
        raise UnreadableError('given, but without "auths"', failed=True)
    return auths


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
    try:
        auths = _auths(situation)
    except UnreadableError:
        return not_checkable("the pull secret cannot be read")
    if not situation.public_mirror:
        return not_checkable(f"which ones a mirror of one's own needs is not known; there are {listed(sorted(auths))}")
    lacking = [registry for registry in REGISTRIES if registry not in auths]
    return either(not lacking, f"missing: {listed(lacking)}" if lacking else "all there")


def ssh_key(situation: Situation) -> Finding:
    keys = [line.strip() for line in situation.text("ssh_public_key").splitlines() if line.strip()]
    if not keys:
        return passed("none: nobody will be able to log in to the nodes")
    if "PRIVATE KEY" in situation.text("ssh_public_key"):
        return failed("the private half of a key")
    odd = [number for number, key in enumerate(keys, 1) if not _is_ssh_key(key)]
    return either(not odd, f"line {listed(odd)} is none" if odd else f"{len(keys)} given")


def _is_ssh_key(text: str) -> bool:
    match = SSH_KEY.fullmatch(text)
    if match is None:
        return False
    try:
        blob = base64.b64decode(match["key"], validate=True)
    except binascii.Error:
        return False
    # RFC 4253, 6.6: the key begins with the length and the text of its kind.
    return blob[4 : 4 + int.from_bytes(blob[:4], "big")] == match["kind"].encode()
