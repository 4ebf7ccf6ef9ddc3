# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""install-config.yaml as data, rendered from settings: for the role ``ignition``, which writes it, and for preflight, which judges it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.base.errors import CollectionError, together
from ...module_utils.release.versions import go_name

SECRET = ("pullSecret", "proxy")
"""Fields whose values are never shown: the address of a proxy may hold a password."""

OKD_PULL_SECRET = '{"auths": {"fake": {"auth": "aWQ6cGFzcwo="}}}'  # noqa: S105 - it opens nothing
"""The images of OKD are public, but its installer requires a text in the form of a pull secret."""

OPTIONAL = {
    "proxy": "proxy",
    "trust_bundle": "additionalTrustBundle",
    "image_digest_sources": "imageDigestSources",
}
"""Field by setting. An empty value leaves the field out, which leaves it to the installer."""


SETTINGS = (
    "cluster_name",
    "base_domain",
    "distribution",
    "architecture",
    "control_plane_replicas",
    "platform",
    "cloud_controller_manager",
    "cluster_networks",
    "service_networks",
    "machine_networks",
    "pull_secret",
    "ssh_public_key",
    *OPTIONAL,
)
"""``architecture`` is that of the control plane, as the mirror spells it; the pull secret is JSON text, or what it stands for."""


VARIABLES = {
    "metadata.name": "openshift_cluster_name",
    "baseDomain": "openshift_base_domain",
    "controlPlane.replicas": "the hosts of the group control_plane",
    "controlPlane.architecture": "openshift_architecture",
    "compute[0].architecture": "openshift_architecture",
    "compute.worker.architecture": "openshift_architecture",
    "networking.clusterNetwork": "openshift_cluster_networks",
    "networking.serviceNetwork": "openshift_service_networks",
    "networking.machineNetwork": "openshift_machine_networks",
    "platform.external.cloudControllerManager": "openshift_cloud_controller_manager",
    "platform": "openshift_platform",
    "pullSecret": "openshift_pull_secret",
    "sshKey": "openshift_ssh_public_key",
    **{field: f"openshift_{name}" for name, field in OPTIONAL.items()},
}
"""The variable of each field; other fields are fixed, or of ``openshift_install_config``."""


class InstallConfigError(CollectionError):
    """The settings cannot be rendered: two of them contradict each other."""


def render(settings: Mapping[str, Any], further: Any = None) -> dict[str, Any]:
    """Return the install-config of these settings, merged with ``further`` fields of the user's.

    ``settings`` are those of ``SETTINGS``. Values of a wrong type are returned unchanged: the check of the install-config reports them.

    Raises :class:`InstallConfigError` with every field that both have with different values, since the rest of the collection reads the
    setting alone.
    """
    further = {} if further is None else _plain(further)
    if not isinstance(further, Mapping):
        raise InstallConfigError(f"openshift_install_config has to be a mapping of fields, it is of type {type(further).__name__}")
    problems: list[str] = []
    further = _with_defaults(further, str(settings.get("platform")))
    merged: dict[str, Any] = _merged(dict(_given(_fields({name: _plain(settings.get(name)) for name in SETTINGS}))), further, "", problems)
    if problems:
        raise InstallConfigError(together("The install-config contradicts itself", problems))
    return merged


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    architecture, networks = go_name(str(settings["architecture"])), settings["machine_networks"]
    return {
        "apiVersion": "v1",
        "metadata": {"name": settings["cluster_name"]},
        "baseDomain": settings["base_domain"],
        "controlPlane": {"name": "master", "architecture": architecture, "replicas": settings["control_plane_replicas"], "platform": {}},
        # Neither number nor architecture of the workers: the cluster makes no machine of ours, and on platforms without machines the
        # installer refuses another architecture than the control plane's. Workers of another architecture join all the same.
        "compute": [{"name": "worker", "architecture": architecture, "replicas": 0, "platform": {}}],
        "networking": {
            "clusterNetwork": settings["cluster_networks"],
            "serviceNetwork": settings["service_networks"],
            "machineNetwork": [{"cidr": cidr} for cidr in networks] if isinstance(networks, list) else networks,
        },
        "platform": _platform(settings),
        "pullSecret": _pull_secret(settings),
        "sshKey": settings["ssh_public_key"],
        **{field: settings[name] for name, field in OPTIONAL.items()},
    }


def _with_defaults(further: Mapping[str, Any], platform: str) -> dict[str, Any]:
    """Return the user's fields, with the defaults of those that they may set to something else."""
    defaults: dict[str, Any] = {"networking": {"networkType": "OVNKubernetes"}}
    if platform == "external":
        defaults["platform"] = {"external": {"platformName": "equinix-metal"}}
    return _over(defaults, further)


def _over(defaults: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, merged; what is given is kept."""
    both = {name: defaults[name] for name in fields if isinstance(defaults.get(name), Mapping) and isinstance(fields[name], Mapping)}
    return {**defaults, **fields, **{name: _over(default, fields[name]) for name, default in both.items()}}


def _platform(settings: Mapping[str, Any]) -> dict[str, Any]:
    if settings["platform"] != "external":
        return {"none": {}}
    manager = settings["cloud_controller_manager"]
    return {"external": {"cloudControllerManager": manager} if manager else {}}


def _pull_secret(settings: Mapping[str, Any]) -> str:
    pull_secret = settings["pull_secret"]
    if not pull_secret:
        return OKD_PULL_SECRET if settings["distribution"] == "okd" else ""
    # Ansible reads a JSON text that comes from a template as what it stands for.
    return pull_secret.strip() if isinstance(pull_secret, str) else json.dumps(pull_secret)


def _given(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if value is not None and value is not False and value not in ("", [], {}):
            yield name, value


def _merged(ours: Any, theirs: Any, path: str, problems: list[str]) -> Any:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        both = {key: _merged(ours[key], theirs[key], f"{path}.{key}".lstrip("."), problems) for key in ours if key in theirs}
        return {**ours, **theirs, **both}
    our_pools, their_pools = _pools(ours), _pools(theirs)
    if our_pools is not None and their_pools is not None:
        return list(_merged(our_pools, their_pools, path, problems).values())
    if ours != theirs:
        problems.append(_contradiction(path, ours, theirs))
    return ours


def _contradiction(path: str, ours: Any, theirs: Any) -> str:
    if path.partition(".")[0] in SECRET:
        return f"{path} has one value by {variable_of(path)} and another in openshift_install_config: set it in one place"
    variable = variable_of(path)
    if not variable:
        return f"{path} is always {ours!r} and cannot be {theirs!r}: remove it from openshift_install_config"
    return f"{path} is {ours!r} by {variable} and {theirs!r} in openshift_install_config: set it in one place"


def variable_of(path: str) -> str:
    """Return the variable, or the group of the inventory, that sets a field, or the field that it is below; empty if there is none."""
    while path:
        if path in VARIABLES:
            return VARIABLES[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return ""


_PROBLEM = re.compile(
    r"(?<![\w.\"])([a-z][A-Za-z]*(?:\.[A-Za-z0-9]+|\[\d+\])*): (?:Invalid value|Required value|Forbidden|Unsupported value|Duplicate value)"
)
_DECODING = re.compile(r"Go struct field \w+\.([A-Za-z.]+) of type")


def paths_in(text: str) -> list[str]:
    """Return the fields that messages of openshift-install name: those of Kubernetes' field errors, and those that Go could not decode."""
    return list(dict.fromkeys([*_PROBLEM.findall(text), *_DECODING.findall(text)]))


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each field below a value."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def has_field(fields: Any, path: str) -> bool:
    """Return whether a document has a field, such as ``networking.clusterNetwork[0].cidr``; indices of its lists may be left out.

    As for the installer, names match whatever their case.
    """
    names = re.findall(r"[^.\[\]]+", path.casefold())
    value = fields
    for name in names:
        if isinstance(value, list):
            if name.isdecimal():
                value = value[int(name)] if int(name) < len(value) else None
                continue
            value = next((item for item in value if _field(item, name) is not None), None)
        value = _field(value, name)
    return bool(names) and value is not None


def _field(value: Any, name: str) -> Any:
    """Return a field of a mapping by its name in lower case; None if there is none."""
    fields = value.items() if isinstance(value, Mapping) else ()
    return next((item for key, item in fields if str(key).casefold() == name), None)


def _pools(value: Any) -> dict[str, Any] | None:
    """Return the entries of a list by name, if it has entries and each has a name: machine pools are merged by their names."""
    if not isinstance(value, list) or not value:
        return None
    named = {str(entry["name"]): entry for entry in value if isinstance(entry, Mapping) and "name" in entry}
    return named if len(named) == len(value) else None


def _plain(value: Any) -> Any:
    """Return the value with dictionaries and lists of Python's own in it: Ansible's evaluate their templates when they are read."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    return value
