# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the install-config: by the rules of openshift-install, and by an openshift-install on the controller.

The rules are applied once, to the install-config that the role ``ignition`` will write. Each error is reported by the check whose advice is
for its field, and by ``rules`` if there is none.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    failed,
    not_checkable,
    passed,
    warning,
)

OTHER_CHECKS = ("metadata", "baseDomain", "networking", "platform", "pullSecret", "sshKey")
"""Fields whose errors other checks report."""

FIELDS_IN_FILES = ("networking", "platform", "pullSecret", "sshKey")
"""Fields that are not used again once devices were ordered with the Ignition files. The names are: they are part of every request."""
FILES_IN_USE = "not checked: devices were ordered with the existing Ignition files, which are not created again"

FIPS = "fips: Forbidden: target cluster is in FIPS mode, use the FIPS-capable installer binary for RHEL 9 on a host with FIPS enabled"


def judged(context: Context, field: str, found: str, *, problems: Sequence[str] = (), warnings: Sequence[str] = ()) -> Finding:
    """Return the finding of a check of one field of the install-config; ``problems`` and ``warnings`` are added to those of the rules."""
    if context.is_ignition_in_use and field in FIELDS_IN_FILES:
        return not_checkable(FILES_IN_USE)
    judgement = context.install_config
    refused = [*problems, *(problem.text for problem in judgement.problems if problem.top == field)]
    warned = [*warnings, *(problem.text for problem in judgement.warnings if problem.top == field)]
    if refused:
        return failed("; ".join(refused))
    return warning("; ".join(warned)) if warned else passed(found)


def rules(context: Context) -> Finding:
    if context.is_ignition_in_use:
        return not_checkable(FILES_IN_USE)
    judgement = context.install_config
    refused = [problem.text for problem in judgement.problems if problem.top not in OTHER_CHECKS]
    # Only the user's own openshift-install may be FIPS-capable; the mirror's never is.
    if judgement.config.get("fips") and not context.text("installer"):
        refused.append(FIPS)
    if refused:
        return failed("; ".join(refused))
    warned = [problem.text for problem in judgement.warnings if problem.top not in OTHER_CHECKS]
    if warned:
        return warning("; ".join(warned))
    release = context.release
    return passed(f"valid by the rules of openshift-install{f' {release[0]}.{release[1]}' if release else ''}")


def validation(context: Context) -> Finding:
    answer = context.readings.get("installer_answer") or {}
    if not answer:
        return not_checkable(_why_not_run(context))
    version = answer.get("version") or "(unknown version)"
    if answer.get("refused"):
        return failed(f"openshift-install {version}: {answer['refused']}")
    if answer.get("msg"):
        return not_checkable(f"openshift-install {version} did not run: {answer['msg']}")
    if answer.get("warnings"):
        return warning(f"openshift-install {version}: {'; '.join(answer['warnings'])}")
    return passed(f"valid by openshift-install {version}")


def _why_not_run(context: Context) -> str:
    if context.settings.get("folder_exists"):
        return "not checked: the Ignition files exist already"
    if context.text("installer"):
        return "not checked: openshift_installer did not run"
    return "openshift-install of this release is not downloaded yet; it validates the install-config before the first device is created"
