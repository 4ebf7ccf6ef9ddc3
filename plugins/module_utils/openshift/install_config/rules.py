# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules openshift-install applies to an install-config for the platforms none and external, with its own texts.

Source: openshift/installer, pkg/types/validation and pkg/validate, as of 4.19; what differs between the releases from 4.17 on is said where
it applies. In addition there are a few rules for values that the installer accepts but that lead to no cluster, each with its reason.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config import (
    authorized_keys,
    capabilities,
    networks,
    proxy,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.context import OVN, Config, Context, Rule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.fields import PLATFORMS, Release, decode
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import (
    Problem,
    forbidden,
    hidden,
    invalid,
    quoted,
    required,
    unsupported,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.values import (
    bundle_problem,
    repository_problem,
    subdomain_problem,
)

CLUSTER_NAME_MAX = 54
"""``*.apps`` takes nine of the 63 characters of a DNS label."""

ARCHITECTURES = ("amd64", "arm64", "ppc64le", "s390x")
PUBLISH = ("External", "Internal", "Mixed")
FEATURE_SETS = ("", "CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade")
CPU_PARTITIONING = ("None", "AllNodes")
SOURCE_POLICIES = ("", "AllowContactingSource", "NeverContactSource")
BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")
"""What Go takes for a boolean."""

IGNORED = ": the installer ignores it"
"""How the warning of an unknown field ends. The installer of the release has a warning of its own."""

DEFAULTS: Mapping[str, Any] = {
    "networkType": OVN,
    "machineNetwork": [{"cidr": "10.0.0.0/16"}],
    "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "serviceNetwork": ["172.30.0.0/16"],
}


@dataclass
class Judgement:
    """What the installer makes of an install-config: ``config`` has its defaults. It refuses when there are ``problems``.

    ``beyond`` has the problems of an install-config that the installer accepts.
    """

    config: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)
    beyond: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def without_rules_of_the_installer(self) -> Judgement:
        """Return what is left where the installer itself has judged the install-config."""
        return Judgement(self.config, [], self.beyond, [each for each in self.warnings if not each.text.endswith(IGNORED)])


def judge(config: Config, release: Release | None = None) -> Judgement:
    """Return what the installer of a release says of an install-config; of an unknown release, what any of them says.

    Whether the release is one for the architecture of the machines is not judged here.
    """
    decoded = decode(config, release)
    judgement = Judgement(decoded.config)
    judgement.warnings += [Problem(path, f'{path}: unknown field "{path.rpartition(".")[2]}"{IGNORED}') for path in decoded.unknown]
    if decoded.problems:
        judgement.problems = [Problem(path, f"{path}: {text}") for path, text in decoded.problems]
        return judgement
    judgement.config = _with_defaults(decoded.config)
    if judgement.config.get("apiVersion") != "v1":
        judgement.problems = [_api_version(judgement.config)]
        return judgement
    context = Context(judgement.config, release)
    # The installer reports a problem once, however many of its rules find it.
    judgement.problems = list(dict.fromkeys(problem for rule in RULES for problem in rule(context)))
    judgement.beyond = list(dict.fromkeys(problem for rule in BEYOND for problem in rule(context)))
    judgement.warnings += dict.fromkeys(problem for rule in WARNINGS for problem in rule(context))
    return judgement


def _api_version(config: Config) -> Problem:
    version = config.get("apiVersion")
    if not version:
        return required("apiVersion", "no version was provided")
    return invalid("apiVersion", version, f"cannot upconvert from version {version}")


def _with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    networking = dict(config.get("networking") or {})
    networking["networkType"] = networking.get("networkType") or networking.get("type") or OVN
    if networking["networkType"].casefold() == OVN.casefold():
        networking["networkType"] = OVN
    # Deprecated names of the same.
    if networking.get("machineCIDR"):
        networking["machineNetwork"] = networking.get("machineNetwork") or [{"cidr": networking["machineCIDR"]}]
    if networking.get("serviceCIDR"):
        networking["serviceNetwork"] = networking.get("serviceNetwork") or [networking["serviceCIDR"]]
    networking["clusterNetwork"] = networking.get("clusterNetwork") or networking.get("clusterNetworks")
    networking |= {name: value for name, value in DEFAULTS.items() if not networking.get(name)}
    pool = {"replicas": 3, "hyperthreading": "Enabled", "architecture": "amd64", "platform": {}}
    control_plane = {**pool, **(config.get("controlPlane") or {}), "name": "master"}
    compute = [{**pool, **(entry or {})} for entry in config.get("compute") or [{"name": "worker"}]]
    return {
        **config,
        "metadata": dict(config.get("metadata") or {}),
        "baseDomain": config.get("baseDomain") or "",
        "pullSecret": config.get("pullSecret") or "",
        "platform": dict(config.get("platform") or {}),
        "publish": config.get("publish") or "External",
        "additionalTrustBundlePolicy": config.get("additionalTrustBundlePolicy") or "Proxyonly",
        "featureSet": config.get("featureSet") or "",
        "networking": networking,
        "controlPlane": control_plane,
        "compute": compute,
    }


# --- rules of the installer ---------------------------------------------------------------------------------------------------------------


def _ssh_key(context: Context) -> Iterator[Problem]:
    text = context.text("sshKey")
    if not text:
        return
    found = [line.kind for line in authorized_keys.read(text) if line.kind]
    if context.config.get("fips"):
        if not found:
            yield hidden("sshKey", "Fatal error trying to parse configured public key: ssh: no key found")
        elif not re.fullmatch(r"ssh-rsa|ecdsa-sha2-nistp\d{3}", found[0]):
            yield hidden("sshKey", f"SSH key type {found[0]} unavailable when FIPS is enabled. Please use rsa or ecdsa.")
    elif not found:
        yield hidden("sshKey", "ssh: no key found")


def _trust_bundle(context: Context) -> Iterator[Problem]:
    text = context.text("additionalTrustBundle")
    problem = bundle_problem(text) if text else ""
    if problem:
        yield hidden("additionalTrustBundle", problem)
    policy = context.text("additionalTrustBundlePolicy")
    if policy not in ("Proxyonly", "Always"):
        yield invalid("additionalTrustBundlePolicy", policy, 'supported values "Proxyonly", "Always"')


def _names(context: Context) -> Iterator[Problem]:
    name, domain = str(context.config["metadata"].get("name") or ""), context.text("baseDomain")
    bad_name = f"must be no more than {CLUSTER_NAME_MAX} characters" if len(name) > CLUSTER_NAME_MAX else subdomain_problem(name)
    bad_domain = subdomain_problem(domain.removesuffix("."))
    if bad_name:
        yield invalid("metadata.name", name, bad_name)
    if bad_domain:
        yield invalid("baseDomain", domain, bad_domain)
    cluster = f"{name}.{domain.removesuffix('.')}"
    if not bad_name and not bad_domain and subdomain_problem(cluster):
        yield invalid("baseDomain", cluster, subdomain_problem(cluster))


def _platform(context: Context) -> Iterator[Problem]:
    if not context.platform:
        yield invalid("platform", "", f"must specify one of the platforms ({', '.join(PLATFORMS)})")
    for name in context.config["platform"]:
        # Of the two platforms without machines the installer validates nothing.
        if name not in ("none", "external", context.platform):
            text = f'must only specify a single type of platform; cannot use both "{context.platform}" and "{name}"'
            yield invalid("platform", context.platform, text)


def _pools(context: Context) -> Iterator[Problem]:
    control_plane, compute = context.config["controlPlane"], context.config["compute"]
    if control_plane["replicas"] == 0:
        yield invalid("controlPlane.replicas", 0, "number of control plane replicas must be positive")
    yield from _pool(context, "controlPlane", control_plane)
    names: list[str] = []
    for index, pool in enumerate(compute):
        path, name = f"compute[{index}]", str(pool.get("name") or "")
        if name == "edge":
            yield unsupported(f"{path}.name", name, ("worker",))
        elif name != "worker":
            yield unsupported(f"{path}.name", name, ("worker", "edge"))
        if name in names:
            yield Problem(f"{path}.name", f"{path}.name: Duplicate value: {quoted(name)}")
        names.append(name)
        if pool["architecture"] != control_plane["architecture"]:
            text = "heteregeneous multi-arch is not supported; compute pool architecture must match control plane"
            yield invalid(f"{path}.architecture", pool["architecture"], text)
        yield from _pool(context, path, pool)


def _pool(context: Context, path: str, pool: Config) -> Iterator[Problem]:
    if pool["replicas"] < 0:
        yield invalid(f"{path}.replicas", pool["replicas"], "number of replicas must not be negative")
    if pool["hyperthreading"] not in ("Disabled", "Enabled"):
        yield unsupported(f"{path}.hyperthreading", pool["hyperthreading"], ("Disabled", "Enabled"))
    if pool["architecture"] not in ARCHITECTURES:
        yield unsupported(f"{path}.architecture", pool["architecture"], ARCHITECTURES)
    for name, value in (pool.get("platform") or {}).items():
        text = f'cannot specify "{name}" for machine pool when cluster is using "{context.platform}"'
        yield invalid(f"{path}.platform.{name}", value, text)


def _pull_secret(context: Context) -> Iterator[Problem]:
    try:
        secret = json.loads(context.text("pullSecret"))
    except ValueError:
        # Python names another character than Go does, and nothing of a secret is to be shown.
        empty = not context.text("pullSecret").strip()
        yield hidden("pullSecret", "unexpected end of JSON input" if empty else "invalid character: it is not JSON")
        return
    auths = secret.get("auths") if isinstance(secret, Mapping) else None
    if not isinstance(secret, Mapping) or not isinstance(auths, (Mapping, type(None))):
        yield hidden("pullSecret", "json: cannot unmarshal it into Go value of type validate.imagePullSecret")
        return
    entries = auths or {}
    if not entries:
        yield hidden("pullSecret", "auths required")
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or not {"auth", "credsStore"} & set(entry):
            yield hidden("pullSecret", f"{quoted(name)} requires either auth or credsStore")


def _mirrors(context: Context) -> Iterator[Problem]:
    for kind in ("imageContentSources", "imageDigestSources"):
        for index, entry in enumerate(context.config.get(kind) or []):
            given = [("source", (entry or {}).get("source") or "")]
            given += [(f"mirrors[{place}]", mirror or "") for place, mirror in enumerate((entry or {}).get("mirrors") or [])]
            for name, text in given:
                problem = repository_problem(text)
                if problem:
                    yield invalid(f"{kind}[{index}].{name}", text, problem)
    if context.config.get("imageContentSources") and context.config.get("imageDigestSources"):
        text = "cannot set imageContentSources and imageDigestSources at the same time"
        yield invalid("imageContentSources", context.text("publish"), text)


def _publish(context: Context) -> Iterator[Problem]:
    publish, operators = context.text("publish"), context.config.get("operatorPublishingStrategy")
    if publish not in PUBLISH:
        yield unsupported("publish", publish, PUBLISH)
    if publish == "Internal":
        yield invalid("publish", publish, f'Internal publish strategy is not supported on "{context.platform}" platform')
    if publish == "Mixed":
        yield invalid("publish", publish, f'mixed publish strategy is not supported on "{context.platform}" platform')
        if operators is None:
            yield invalid("publish", publish, "please specify the operator publishing strategy for mixed publish strategy")
    elif operators is not None:
        text = "operator publishing strategy is only allowed with mixed publishing strategy installs"
        yield invalid("operatorPublishingStrategy", publish, text)
    mode = context.text("credentialsMode")
    if mode:
        yield invalid("credentialsMode", mode, f'cannot be set when using the "{context.platform}" platform')


def _features(context: Context) -> Iterator[Problem]:
    chosen, gates = context.text("featureSet"), list(context.config.get("featureGates") or [])
    if chosen not in FEATURE_SETS:
        # The installer itself ends with a Go stack trace.
        yield unsupported("featureSet", chosen, FEATURE_SETS)
    if gates and chosen != "CustomNoUpgrade":
        yield forbidden("featureGates", "featureGates can only be used with the CustomNoUpgrade feature set")
    for index, gate in enumerate(map(str, gates)):
        _name, *values = gate.split("=")
        if len(values) != 1:
            yield invalid(f"featureGates[{index}]", gate, "must match the format <feature-name>=<bool>")
        elif values[0] not in BOOLEANS:
            yield invalid(f"featureGates[{index}]", gate, "must match the format <feature-name>=<bool>, could not parse boolean value")


# --- accepted by the installer, but without a cluster -----------------------------------------------------------------------------------


def _ignored_values(context: Context) -> Iterator[Problem]:
    """Yield values that the installer takes although it does not know them: for its default, or down to a cluster that refuses them."""
    manager = str((context.config["platform"].get("external") or {}).get("cloudControllerManager") or "")
    if manager not in ("", "External"):
        yield unsupported("platform.external.cloudControllerManager", manager, ("", "External"))
    mode = context.text("cpuPartitioningMode")
    if mode and mode not in CPU_PARTITIONING:
        yield unsupported("cpuPartitioningMode", mode, CPU_PARTITIONING)
    for index, entry in enumerate(context.config.get("imageDigestSources") or []):
        policy = str((entry or {}).get("sourcePolicy") or "")
        if policy not in SOURCE_POLICIES:
            yield unsupported(f"imageDigestSources[{index}].sourcePolicy", policy, SOURCE_POLICIES)
    if context.config.get("arbiter") is not None:
        yield Problem("arbiter", "arbiter: no arbiter is made on this platform: releases before 4.20 ignore it, newer ones refuse it")


RULES: tuple[Rule, ...] = (
    _ssh_key,
    _trust_bundle,
    _names,
    *networks.RULES,
    _platform,
    _pools,
    _pull_secret,
    proxy.rule,
    _mirrors,
    _publish,
    capabilities.rule,
    _features,
)
BEYOND: tuple[Rule, ...] = (_ignored_values, *networks.BEYOND)


# --- warnings -----------------------------------------------------------------------------------------------------------------------------


def _deprecated(context: Context) -> Iterator[Problem]:
    if context.config.get("imageContentSources"):
        yield Problem("imageContentSources", "imageContentSources is deprecated, please use ImageDigestSources")


WARNINGS: tuple[Rule, ...] = (*networks.WARNINGS, _deprecated)
