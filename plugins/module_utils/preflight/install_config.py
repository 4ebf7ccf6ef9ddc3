# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the install-config: by the installer's rules, and by an installer that is at hand.

The rules are applied once, to what the role ``ignition`` will write. Each refusal is reported by the check that knows what to do about its
field; what belongs to no other check is reported by the one of this file.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    failed,
    not_checkable,
    passed,
    warning,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

ELSEWHERE = ("metadata", "baseDomain", "networking", "platform", "pullSecret", "sshKey")
"""Fields whose refusals other checks report."""

FILES_FIX = ("networking", "platform", "pullSecret", "sshKey")
"""Fields that nothing reads any more once machines were made from the Ignition files. The names are part of every request."""
FILES_IN_USE = "machines were made from the Ignition files that are there, which are not made anew"

FIPS = "fips: Forbidden: target cluster is in FIPS mode, use the FIPS-capable installer binary for RHEL 9 on a host with FIPS enabled"


def judged(situation: Situation, field: str, found: str, *, problems: Sequence[str] = (), warnings: Sequence[str] = ()) -> Finding:
    """Return the finding of a check that is for one field of the install-config; ``problems`` and ``warnings`` are what it adds itself."""
    if situation.made_from_files and field in FILES_FIX:
        return not_checkable(FILES_IN_USE)
    judgement = situation.install_config
    refused = [*problems, *(problem.text for problem in judgement.problems if problem.top == field)]
    warned = [*warnings, *(problem.text for problem in judgement.warnings if problem.top == field)]
    if refused:
        return failed("; ".join(refused))
    return warning("; ".join(warned)) if warned else passed(found)


def rules(situation: Situation) -> Finding:
    if situation.made_from_files:
        return not_checkable(FILES_IN_USE)
    judgement = situation.install_config
    refused = [problem.text for problem in judgement.problems if problem.top not in ELSEWHERE]
    # Whether the host is in FIPS mode is for the installer to say that is at hand; the one of the mirror never can.
    if judgement.config.get("fips") and not situation.text("installer"):
        refused.append(FIPS)
    if refused:
        return failed("; ".join(refused))
    warned = [problem.text for problem in judgement.warnings if problem.top not in ELSEWHERE]
    if warned:
        return warning("; ".join(warned))
    release = situation.release
    return passed(f"by the rules of openshift-install{f' {release[0]}.{release[1]}' if release else ''}")


def answer(situation: Situation) -> Finding:
    told = situation.world.get("installer_answer") or {}
    if not told:
        return not_checkable(_why_not_asked(situation))
    version = told.get("version") or "of an unknown version"
    if told.get("refused"):
        return failed(f"openshift-install {version}: {told['refused']}")
    if told.get("msg"):
        return not_checkable(f"openshift-install {version} did not answer: {told['msg']}")
    if told.get("warnings"):
        return warning(f"openshift-install {version}: {'; '.join(told['warnings'])}")
    return passed(f"accepted by openshift-install {version}")


def _why_not_asked(situation: Situation) -> str:
    if situation.wanted.get("folder_exists"):
        return "not asked: the Ignition files are there already"
    if situation.text("installer"):
        return "openshift_installer did not run"
    return "no installer of this release is here yet: the one that is downloaded is asked before the first order"
