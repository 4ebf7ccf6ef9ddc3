# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the mirror, the release on it, and openshift_installer."""

from __future__ import annotations

from ...module_utils.base.printable import printable
from ...module_utils.release.versions import (
    MULTI,
    NOT_LISTED,
    UNKNOWN,
    Archive,
    archives_in,
    channel_problem,
    is_release,
    kernel_name,
)
from .context import Context
from .findings import Finding, failed, listed, not_checkable, passed, passed_if

WRONG_CHANNEL_ADVICE = "do not use this mirror until the cause is known, or set openshift_version to a release"
UNSIGNED_ADVICE = "find the cause; for a trusted mirror without signatures, leave openshift_release_keyring unset"


def mirror(context: Context) -> Finding:
    if context.text("installer"):
        return passed("not needed: openshift_installer is set")
    answer, version = context.readings.get("mirror") or {}, context.text("version")
    archives = _archives(context)
    if archives:
        return _listed(context, archives)
    where = answer.get("url") or context.mirror.checksums(version)
    if answer.get("content"):
        return failed(f"{where} lists no openshift-install {version} for Linux")
    if answer.get("status") != 404:
        return failed(f"{version} cannot be read from {where}: {answer.get('msg') or 'no answer'}")
    instead = printable(answer.get("instead") or NOT_LISTED)
    return failed(
        f"the mirror has no {version}: {where} does not exist; {instead}", "set openshift_version to a release or channel of the mirror"
    )


def _listed(context: Context, archives: list[Archive]) -> Finding:
    version = context.text("version")
    problem = "" if is_release(version) else channel_problem(version, archives[0].version)
    return failed(f"{context.mirror.release(version)}: {problem}", WRONG_CHANNEL_ADVICE) if problem else passed(archives[0].name)


def _archives(context: Context) -> list[Archive]:
    content = str((context.readings.get("mirror") or {}).get("content") or "")
    version = context.text("version")
    return archives_in(content, version if is_release(version) else "")


def signature(context: Context) -> Finding:
    why_not = {
        "not checked: openshift_installer is used without a signature": context.text("installer"),
        "not checked: openshift_release_keyring is not set": not context.text("release_keyring"),
        "not checked: openshift-install was downloaded before": context.settings.get("bootstrap_over"),
        "not checked: no checksums": not _archives(context),
    }
    for reason, applies in why_not.items():
        if applies:
            return not_checkable(reason)
    answer = context.readings.get("signature") or {}
    if answer.get("status") == 404:
        return failed(f"the mirror has no signature: {answer.get('msg') or 'no answer'}", UNSIGNED_ADVICE)
    if answer.get("status") != 200:
        return not_checkable(f"the signature cannot be read: {answer.get('msg') or 'no answer'}")
    return passed_if(bool(answer.get("good")), printable(answer.get("found") or "gpgv did not run", 400))


def own_installer(context: Context) -> Finding:
    if not context.text("installer"):
        return passed("not set: openshift-install is downloaded from the mirror")
    installer = context.readings.get("installer") or {}
    if installer.get("msg") or not installer.get("version"):
        return failed(f"{context.text('installer')}: {installer.get('msg') or 'it does not report its version'}")
    version = context.text("version")
    observed = f"{installer['version']}, of a release for {installer.get('architecture') or 'an unknown architecture'}"
    # The release of a channel is unknown: the mirror is not read.
    return passed_if(version in {"", installer["version"]} or not is_release(version), observed)


def release_architecture(context: Context) -> Finding:
    machines = context.architectures
    first = {str(machine.get("architecture")) for group in ("bootstrap", "control_plane") for machine in context.groups[group]}
    if len(first) > 1:
        return failed("bootstrap machine and control plane have different architectures", "choose plans of one architecture for both")
    installer = context.readings.get("installer") or {}
    if installer.get("architecture") == UNKNOWN:
        return not_checkable(
            "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE is set: openshift-install does not report the architecture of that release"
        )
    if installer.get("architecture"):
        release, source = kernel_name(str(installer["architecture"])), "the installer's"
    elif context.text("installer") or context.is_okd:
        return not_checkable("unknown until openshift-install reports the architecture")
    else:
        release, source = context.release_architecture, "the mirror's"
    lacking = sorted(machines - {release}) if release != MULTI else []
    return passed_if(not lacking, f"{source} release is for {release}" + (f", machines are {listed(lacking)}" if lacking else ""))
