# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the install-config that the role ``ignition`` will write: by the openshift-install of the release, which is the judge.

In addition there are values that it accepts and that make no cluster (``install_config.beyond``). Each is reported by the check whose
advice is for its field, and by ``consistent`` if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..install_config import beyond
from ..install_config.rendering import InstallConfigError, paths_in
from .context import Context
from .findings import Finding, failed, not_checkable, passed, warning

OTHER_CHECKS = ("networking", "platform")
"""Fields whose values other checks report."""

FILES_IN_USE = "not checked: devices were ordered with the existing Ignition files, which are not created again"


def judged(context: Context, field: str, observed: str, *, problems: Sequence[str] = (), warnings: Sequence[str] = ()) -> Finding:
    """Return the finding of a check of one field of the install-config; ``problems`` and ``warnings`` are the check's own."""
    if context.is_ignition_in_use:
        return not_checkable(FILES_IN_USE)
    refused = [*problems, *(problem.text for problem in context.unusable if problem.top == field)]
    warned = [*warnings, *(problem.text for problem in beyond.warnings(context.install_config) if problem.top == field)]
    if refused:
        return failed("; ".join(refused))
    return warning("; ".join(warned)) if warned else passed(observed)


def consistent(context: Context) -> Finding:
    if context.is_ignition_in_use:
        return not_checkable(FILES_IN_USE)
    try:
        context.rendered_install_config()
    except InstallConfigError as problem:
        return failed(str(problem))
    refused = [problem.text for problem in context.unusable if problem.top not in OTHER_CHECKS]
    return failed("; ".join(refused)) if refused else passed("consistent; its rules are those of openshift-install (installer validation)")


def validation(context: Context) -> Finding:
    answer = context.readings.get("installer_answer") or {}
    if not answer:
        return not_checkable(f"not verified: {_why_not_run(context)}")
    if answer.get("unavailable"):
        return not_checkable(f"not verified: openshift-install of this release is not available: {answer['unavailable']}")
    version = answer.get("version") or "(unknown version)"
    if answer.get("refused"):
        return failed(f"openshift-install {version}: {answer['refused']}{_set_by(context, answer['refused'])}")
    if answer.get("msg"):
        return not_checkable(f"not verified: openshift-install {version} did not run: {answer['msg']}")
    if answer.get("warnings"):
        text = "; ".join(answer["warnings"])
        return warning(f"openshift-install {version}: {text}{_set_by(context, text)}")
    return passed(f"valid by openshift-install {version}")


def _set_by(context: Context, text: str) -> str:
    names = dict.fromkeys(filter(None, (context.source_of(path) for path in paths_in(text))))
    names |= dict.fromkeys(filter(None, (context.source_of_value(value) for value in _NOT_A_NETWORK.findall(text))))
    return f" (set by {', '.join(names)})" if names else ""


_NOT_A_NETWORK = re.compile(r"invalid CIDR address: ([^\s;]+)")
"""The installer names the value alone, not its field."""


def _why_not_run(context: Context) -> str:
    if context.is_ignition_in_use:
        return "devices have been ordered with the Ignition files"
    if context.text("installer"):
        return "openshift_installer did not run"
    if not context.has_names:
        return "the cluster's name or base domain is none"
    return "the settings cannot be rendered to an install-config"
