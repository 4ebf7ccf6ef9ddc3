# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The optional components of a cluster, which sets of them there are, and what the installer wants of a choice.

Source: openshift/api, config/v1; openshift/installer, pkg/types/validation.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import Problem, quoted, unsupported

_SET_4_11 = ("MachineAPI", "baremetal", "marketplace", "openshift-samples")
_SET_4_12 = (*_SET_4_11, "CSISnapshot", "Console", "Insights", "Storage")
_SET_4_13 = (*_SET_4_12, "NodeTuning")
_SET_4_14 = (*_SET_4_13, "Build", "DeploymentConfig", "ImageRegistry")
_SET_4_15 = (*_SET_4_14, "CloudCredential", "OperatorLifecycleManager")
_SET_4_16 = (*_SET_4_15, "CloudControllerManager", "Ingress")
_SET_4_18 = (*_SET_4_16, "OperatorLifecycleManagerV1")
CAPABILITIES = tuple(sorted(_SET_4_18))
CAPABILITY_SETS: Mapping[str, Sequence[str]] = {
    "None": (),
    "v4.11": _SET_4_11,
    "v4.12": _SET_4_12,
    "v4.13": _SET_4_13,
    "v4.14": _SET_4_14,
    "v4.15": _SET_4_15,
    "v4.16": _SET_4_16,
    "v4.17": _SET_4_16,
    "v4.18": _SET_4_18,
    "vCurrent": _SET_4_18,
}
"""openshift/api, config/v1. Sets of newer releases are read as that of 4.18: nothing that the rules ask for was taken out since."""


def rule(context: Context) -> Iterator[Problem]:
    capabilities = context.config.get("capabilities")
    if capabilities is None:
        return
    base, additional = str(capabilities.get("baselineCapabilitySet") or ""), list(capabilities.get("additionalEnabledCapabilities") or [])
    is_set = _is_set(base, context)
    if not is_set:
        yield unsupported("capabilities.baselineCapabilitySet", base, [name for name in CAPABILITY_SETS if _is_set(name, context)])
    known = [name for name in CAPABILITIES if name != "OperatorLifecycleManagerV1" or not context.before(4, 18)]
    for index, name in enumerate(additional):
        if name not in known:
            yield unsupported(f"capabilities.additionalEnabledCapabilities[{index}]", str(name or ""), known)
    yield from _missing(context, base, {*CAPABILITY_SETS.get(base or "vCurrent", _SET_4_18 if is_set else ()), *additional})


def _is_set(name: str, context: Context) -> bool:
    """Whether the installer of the release knows a set; of an unknown release, whether any may know it."""
    minor = re.fullmatch(r"v4\.([0-9]+)", name)
    if minor is None:
        return name in CAPABILITY_SETS
    return int(minor[1]) >= 11 and not context.before(4, int(minor[1]))


def _missing(context: Context, base: str, enabled: set[str]) -> Iterator[Problem]:
    """Yield what the choice leaves out and may not."""
    additional = context.config["capabilities"].get("additionalEnabledCapabilities")
    shown_additional = "[]v1.ClusterVersionCapability" + ("(nil)" if additional is None else f"{{{', '.join(map(quoted, additional))}}}")
    shown = f"types.Capabilities{{BaselineCapabilitySet:{quoted(base)}, AdditionalEnabledCapabilities:{shown_additional}}}"
    if "marketplace" in enabled and "OperatorLifecycleManager" not in enabled:
        text = "the marketplace capability requires the OperatorLifecycleManager capability"
        # The path in the installer's text lacks its beginning.
        yield Problem(
            "capabilities.additionalEnabledCapabilities", f"additionalEnabledCapabilities: Invalid value: {shown_additional}: {text}"
        )
    external = context.config["platform"].get("external") if context.platform == "external" else None
    needed = {"Ingress": "the Ingress capability is required"}
    if external is not None:
        needed["CloudCredential"] = "disabling CloudCredential capability available only for baremetal platforms"
    if external is not None and external.get("cloudControllerManager") == "External":
        text = "disabling CloudControllerManager on External platform supported only with cloudControllerManager value none"
        needed["CloudControllerManager"] = text
    for name, text in sorted(needed.items()):
        if name not in enabled:
            yield Problem("capabilities", f"capabilities: Invalid value: {shown}: {text}")
