# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of credentials: pull secret, SSH key."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ...module_utils.base.errors import CollectionError
from ..settings.file_text import file_text, is_path
from .context import Context
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if
from .install_config import judged

REGISTRIES = ("cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io")
"""Registries for which the pull secret needs credentials when the release comes from OpenShift's own mirror."""


def _unreadable(context: Context, setting: str) -> str:
    """Return why the file that a setting names cannot be read; an empty text for the text of a file, and for any other value."""
    value = context.settings.get(setting)
    if not isinstance(value, str) or not is_path(value):
        return ""
    try:
        file_text(value, f"openshift_{setting}")
    except CollectionError as problem:
        return str(problem)
    return ""


def pull_secret(context: Context) -> Finding:
    secret = context.settings.get("pull_secret")
    if problem := _unreadable(context, "pull_secret"):
        return failed(problem)
    if context.is_okd and not secret:
        return passed("not set: the images of OKD are public")
    if not secret and not context.is_ignition_in_use:
        return failed("not set")
    auths, unusable = _auths(context), _unusable(context)
    warnings = [f"no user and password in base64 for {listed(unusable)}: nodes cannot pull images from there"] if unusable else []
    problems = [] if auths else ["not JSON with credentials by registry (auths)"]
    return judged(context, "pullSecret", f"for {listed(sorted(auths))}", problems=problems, warnings=warnings)


def _unusable(context: Context) -> list[str]:
    """Return the registries whose entry has no usable credentials. The installer does not check the entries."""
    return [registry for registry, entry in _auths(context).items() if not _has_credentials(entry)]


def _auths(context: Context) -> Mapping[str, Any]:
    secret = context.settings.get("pull_secret")
    try:
        read = json.loads(secret) if isinstance(secret, str) else secret
    except ValueError:
        return {}
    auths = read.get("auths") if isinstance(read, Mapping) else None
    return auths if isinstance(auths, Mapping) else {}


def _has_credentials(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("auth"), str):
        return False
    try:
        return b":" in base64.b64decode(entry["auth"], validate=True)
    except ValueError:
        return False


def registries(context: Context) -> Finding:
    if context.is_okd:
        return passed("not needed: the images of OKD are public")
    auths = _auths(context)
    if not auths:
        return not_checkable("the pull secret is malformed")
    if not context.uses_public_mirror:
        return not_checkable(f"which registries this mirror needs is unknown; the pull secret has {listed(sorted(auths))}")
    unusable = _unusable(context)
    lacking = [registry for registry in REGISTRIES if registry not in auths or registry in unusable]
    return passed_if(not lacking, f"missing, or without user and password in base64: {listed(lacking)}" if lacking else "complete")


def ssh_key(context: Context) -> Finding:
    text = context.text("ssh_public_key")
    if problem := _unreadable(context, "ssh_public_key"):
        return failed(problem)
    if not text.strip():
        return passed("not set: nobody will be able to log in to the nodes by SSH")
    if "PRIVATE KEY" in text and not context.is_ignition_in_use:
        return failed("a private key instead of a public key")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return judged(context, "sshKey", counted(len(lines), "key"))
