# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the mirror and what it has.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import (
    MULTI,
    NOT_LISTED,
    UNKNOWN,
    Archive,
    archives_in,
    channel_problem,
    go_name,
    is_release,
    kernel_name,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

WRONG_CHANNEL_ADVICE = "do not use this mirror before you know why; or set openshift_version to a release"
UNSIGNED_ADVICE = "find out why; for a mirror without signatures that you trust all the same, leave openshift_release_keyring out"


def mirror(situation: Situation) -> Finding:
    if situation.text("installer"):
        return passed("not needed: openshift_installer is given")
    answer, version = situation.world.get("mirror") or {}, situation.text("version")
    archives = _archives(situation)
    if archives:
        return _shown(situation, archives)
    where = answer.get("url") or situation.mirror.checksums(version)
    if answer.get("content"):
        return failed(f"{where} lists no openshift-install of {version} for Linux")
    if answer.get("status") != 404:
        return failed(f"{where} for {version}: {answer.get('msg') or 'no answer'}")
    # It answers, and has no folder of that name.
    instead = printable(answer.get("instead") or NOT_LISTED)
    return failed(f"the mirror has no {version}: {where} does not exist; {instead}", "set openshift_version to one that the mirror has")


def _shown(situation: Situation, archives: list[Archive]) -> Finding:
    version = situation.text("version")
    problem = "" if is_release(version) else channel_problem(version, archives[0].version)
    return failed(f"{situation.mirror.release(version)}: {problem}", WRONG_CHANNEL_ADVICE) if problem else passed(archives[0].name)


def _archives(situation: Situation) -> list[Archive]:
    content = str((situation.world.get("mirror") or {}).get("content") or "")
    version = situation.text("version")
    return archives_in(content, version if is_release(version) else "")


def signature(situation: Situation) -> Finding:
    why_not = {
        "openshift_installer is taken as it is": situation.text("installer"),
        "openshift_release_keyring names no keyring to check it by": not situation.text("release_keyring"),
        "not asked: the installer is there already": situation.wanted.get("bootstrap_over"),
        "there are no checksums": not _archives(situation),
    }
    for reason, applies in why_not.items():
        if applies:
            return not_checkable(reason)
    answer = situation.world.get("signature") or {}
    if answer.get("status") == 404:
        return failed(f"the mirror has none: {answer.get('msg') or 'no answer'}", UNSIGNED_ADVICE)
    if answer.get("status") != 200:
        return not_checkable(f"it could not be read: {answer.get('msg') or 'no answer'}")
    return either(bool(answer.get("good")), printable(answer.get("found") or "gpgv did not run", 400))


def own_installer(situation: Situation) -> Finding:
    if not situation.text("installer"):
        return passed("none: it is fetched from the mirror")
    told = situation.world.get("installer") or {}
    if told.get("msg") or not told.get("version"):
        return failed(f"{situation.text('installer')}: {told.get('msg') or 'it does not tell its version'}")
    wanted = situation.text("version")
    found = f"{told['version']}, of a release for {told.get('architecture') or 'nobody knows what'}"
    # Which release a channel shows is not asked of a mirror that is not used.
    return either(wanted in {"", told["version"]} or not is_release(wanted), found)


def installer_architecture(situation: Situation) -> Finding:
    if situation.text("installer"):
        told = situation.world.get("installer") or {}
        return passed("openshift_installer runs here") if told.get("version") else not_checkable("openshift_installer did not run")
    here = str((situation.world.get("controller") or {}).get("architecture") or "")
    wanted = situation.release_architecture
    if not here:
        return not_checkable("this computer did not tell its architecture")
    here = kernel_name(here)
    own = any(archive.architecture == go_name(here) for archive in _archives(situation))
    # A release for several architectures has an installer for each; others may have one for other computers.
    if own or wanted in {here, MULTI} or (situation.okd and here == "x86_64"):
        return passed(here)
    return not_checkable(
        f"the mirror's folder is for {wanted}, this computer is {here}; whether its installer runs here is seen when it does",
        "run the playbook on a computer of that architecture if it does not",
    )


def release_architecture(situation: Situation) -> Finding:
    machines = situation.architectures
    first = {str(machine.get("architecture")) for group in ("bootstrap", "control_plane") for machine in situation.groups[group]}
    if len(first) > 1:
        return failed("the bootstrap machine and the control plane are of different ones", "have them of one architecture")
    told = situation.world.get("installer") or {}
    if told.get("architecture") == UNKNOWN:
        return not_checkable("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE is set: the installer does not know what that release is for")
    if told.get("architecture"):
        release, whose = kernel_name(str(told["architecture"])), "the installer's"
    elif situation.text("installer") or situation.okd:
        return not_checkable("it is seen when there is an installer that tells it")
    else:
        release, whose = situation.release_architecture, "the mirror's"
    lacking = sorted(machines - {release}) if release != MULTI else []
    return either(not lacking, f"{whose} release is for {release}" + (f", machines are of {listed(lacking)}" if lacking else ""))
