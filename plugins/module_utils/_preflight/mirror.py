# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the mirror and what it has.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import (
    Finding,
    either,
    failed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.settings import RELEASE
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation


def mirror(situation: Situation) -> Finding:
    answer = situation.world.get("mirror") or {}
    archives = _archives(situation)
    if not archives:
        return failed(
            f"{answer.get('url') or situation.text('mirror_url')} for {situation.text('version')}: {answer.get('msg') or 'no answer'}"
        )
    return passed(archives[0])


def _archives(situation: Situation) -> list[str]:
    content = str((situation.world.get("mirror") or {}).get("content") or "")
    version = situation.text("version")
    which = re.escape(version) if RELEASE.fullmatch(version) else RELEASE.pattern
    return [match[0] for match in re.finditer(rf"\bopenshift-install-linux-{which}\.tar\.gz\b", content)]


def signature(situation: Situation) -> Finding:
    answer = situation.world.get("signature") or {}
    if not situation.text("release_keyring"):
        return not_checkable("openshift_release_keyring names no keyring to check it by")
    if not _archives(situation):
        return not_checkable("there are no checksums")
    if answer.get("status") != 200:
        return not_checkable(f"the mirror has none: {answer.get('msg') or 'no answer'}")
    return either(
        answer.get("rc") == 0, "good" if answer.get("rc") == 0 else f"gpgv: {str(answer.get('stderr') or 'it could not be run').strip()}"
    )


def installer_architecture(situation: Situation) -> Finding:
    here = str((situation.world.get("controller") or {}).get("architecture") or "")
    wanted = situation.release_architecture
    if not here:
        return not_checkable("this computer did not tell its architecture")
    here = {"arm64": "aarch64", "amd64": "x86_64"}.get(here, here)
    # A release for several architectures has an installer for each.
    if wanted in {here, "multi"}:
        return passed(here)
    return not_checkable(
        f"the mirror's folder is for {wanted}, this computer is {here}; whether its installer runs here is seen when it does",
        "run the playbook on a computer of that architecture if it does not",
    )
