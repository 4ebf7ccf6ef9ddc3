# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's settings."""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils.metal.catalogue import ARCHITECTURES
from ...module_utils.release.versions import is_channel, is_release
from .context import NAME, Context
from .findings import Finding, counted, failed, listed, passed, passed_if, warning
from .install_config import judged

NO_NAME = "is not a name of lower case letters, digits and hyphens, with dots between its labels"


def cluster_name(context: Context) -> Finding:
    name = context.text("cluster_name")
    # The installer accepts dots. With one, tags and records no longer show where the name ends and the domain begins.
    problem = f"'{name}' contains a dot" if "." in name else "" if NAME.fullmatch(name) else f"'{name}' {NO_NAME}"
    return failed(problem) if problem else passed(f"'{name}'")


def base_domain(context: Context) -> Finding:
    domain = context.text("base_domain")
    # The installer accepts most of these domains, but no record or device can have such a name.
    limits = {
        "a dot at its end": domain.endswith("."),
        "a label of more than 63 characters": any(len(label) > 63 for label in domain.split(".")),
        "more than 246 characters with the cluster's name before it": len(context.cluster) > 246,
    }
    problems = [f"'{domain}' has {what}" for what, applies in limits.items() if applies]
    if not NAME.fullmatch(domain.removesuffix(".")):
        problems.append(f"'{domain}' {NO_NAME}")
    return passed_if(not problems, "; ".join(problems) or f"'{domain}'")


def version(context: Context) -> Finding:
    version = context.text("version")
    if not version and context.text("installer"):
        return passed("the version of openshift_installer")
    return passed_if(is_release(version) or is_channel(version, context.text("distribution")), f"'{version}'")


def architecture(context: Context) -> Finding:
    unknown = sorted(context.architectures - set(ARCHITECTURES.values()))
    return passed_if(not unknown, listed(unknown or sorted(context.architectures)) or "no machines")


def manifests(context: Context) -> Finding:
    reading = context.readings.get("manifests") or {}
    if reading.get("problem"):
        return failed(reading["problem"])
    external = context.text("platform") == "external" and context.text("cloud_controller_manager") == "External"
    if external and not reading.get("cloud_controller"):
        return failed(
            "openshift_cloud_controller_manager is External, and no manifest has a cloud controller manager: no node would lose the taint"
            " node.cloudprovider.kubernetes.io/uninitialized, and the install would stall without an error",
            advice="add the manifests of a cloud controller manager to openshift_manifests, or leave"
            " openshift_cloud_controller_manager unset",
        )
    if not context.settings.get("manifests"):
        return passed("none")
    ignored = [str(name) for name in reading.get("ignored") or []]
    observed = counted(int(reading.get("objects") or 0), "object") + (" with a cloud controller manager" if external else "")
    observed += f"; ignored: {listed(ignored)}" if ignored else ""
    if any("Butane" in name for name in ignored):
        return warning(observed, "put the output of butane beside the file, or remove the file")
    return passed(observed)


def platform(context: Context) -> Finding:
    name = context.text("platform")
    foreign = foreign_platforms(context.settings.get("install_config"), name)
    if foreign:
        bare_metal = any(path.endswith(".baremetal") for path in foreign)
        return failed(
            f"{listed(foreign)} in openshift_install_config: not of the platform '{name}'; openshift-install refuses such fields, or"
            " prepares a cluster of their platform",
            advice="remove these fields" + (f"; {BARE_METAL_ADVICE}" if bare_metal else ", and set openshift_platform to none or external"),
        )
    known = name in ("none", "external")
    return judged(context, "platform", f"'{name}'", problems=[] if known else [f"'{name}' is neither none nor external"])


BARE_METAL_ADVICE = (
    "your own servers and their BMCs are entered in the rack file (docs/your-own-rack.md), the addresses of API and ingress with"
    " openshift_load_balancer external in openshift_api_address and openshift_ingress_address"
)


def foreign_platforms(further: object, chosen: str) -> list[str]:
    """Return the paths of fields in ``openshift_install_config`` that are for another platform, also those of machine pools.

    openshift-install reads field names in any case, and a field that is null as not given.
    """
    if not isinstance(further, Mapping):
        return []
    fields = {str(name).casefold(): (str(name), value) for name, value in further.items()}
    paths = [path for path, name in _platforms(*fields.get("platform", ("platform", None))) if name != chosen]
    pools = [fields[name] for name in ("controlplane", "arbiter") if name in fields]
    name, compute = fields.get("compute", ("compute", None))
    pools += [(f"{name}[{index}]", pool) for index, pool in enumerate(compute if isinstance(compute, list) else [])]
    for path, pool in pools:
        for name, value in pool.items() if isinstance(pool, Mapping) else ():
            if str(name).casefold() == "platform":
                paths += [entry for entry, _name in _platforms(f"{path}.{name}", value)]
    return paths


def _platforms(path: str, value: object) -> list[tuple[str, str]]:
    platforms = value if isinstance(value, Mapping) else {}
    return [(f"{path}.{name}", str(name).casefold()) for name, settings in platforms.items() if settings is not None]
