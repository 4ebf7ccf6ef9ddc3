# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading install-config.yaml: deprecated names, defaults, validation, and the values the other assets take from it.

Only the platforms ``none`` and ``external`` exist in the sandbox.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from . import errors
from .catalogue import MULTI, Release
from .fields import DecodeError, decoded, unknown_field
from .log import Log
from .validation import Validation

FILE: Final = "install-config.yaml"
_VERSIONS: Final = ("v1", "v1beta3", "v1beta4")

_DEFAULT_NETWORKS: Final[dict[str, Any]] = {
    "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "machineNetwork": [{"cidr": "10.0.0.0/16"}],
    "networkType": "OVNKubernetes",
    "serviceNetwork": ["172.30.0.0/16"],
}


@dataclass(frozen=True)
class InstallConfig:
    """A valid install-config with all defaults filled in (``data``: the YAML document as Python values)."""

    data: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def cluster_domain(self) -> str:
        return f"{self.name}.{str(self.data['baseDomain']).removesuffix('.')}"

    @property
    def platform(self) -> str:
        # With both, the first in the real one's order.
        return "none" if "none" in self.data["platform"] else str(next(iter(self.data["platform"])))

    @property
    def control_plane_replicas(self) -> int:
        return int(self.data["controlPlane"]["replicas"])

    @property
    def compute_replicas(self) -> int:
        return sum(int(pool["replicas"]) for pool in self.data["compute"])

    @property
    def service_address(self) -> str:
        """First address of the first service network: that of the service ``kubernetes``."""
        return str(ipaddress.ip_network(self.data["networking"]["serviceNetwork"][0])[1])

    def dump(self, *, secrets: bool = True) -> bytes:
        data = self.data if secrets else self.data | {"pullSecret": ""}
        return yaml.safe_dump(data, sort_keys=True, width=1 << 20).encode()


def read(text: bytes, release: Release, log: Log, *, strict: bool = False) -> InstallConfig:
    """Parse, fill in defaults and validate.

    Unknown fields are warned about, or with ``strict`` refused. Raises ``InstallerError`` with code 3 and every problem found, and
    ``PanicError`` where the real one ends with a stack trace.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f"line {mark.line + 1}: " if mark else ""
        raise _failure(f"failed to unmarshal {FILE}: error converting YAML to JSON: yaml: {position}{_problem(error)}") from error
    data = {} if data is None else data
    while_decoding = f"failed to unmarshal {FILE}: error unmarshaling JSON: while decoding JSON: "
    unknown = unknown_field(data, release.minor)
    if unknown is not None:
        message = f'{while_decoding}json: unknown field "{unknown}"'
        if strict:
            raise _failure(message)
        log.warning(f"failed to parse first occurrence of unknown field: {message}")
        log.info("Attempting to unmarshal while ignoring unknown keys because strict unmarshaling failed")
    try:
        known = decoded(data, release.minor)
    except DecodeError as error:
        raise _failure(f"{while_decoding}{error}") from error
    version = known.get("apiVersion")
    if not version:
        raise _failure("failed to upconvert install config: apiVersion: Required value: no version was provided")
    if version not in _VERSIONS:
        problem = f'apiVersion: Invalid value: "{version}": cannot upconvert from version {version}'
        raise _failure(f"failed to upconvert install config: {problem}")
    config = _with_defaults(_converted(known), release.release_architecture)
    validation = Validation(config, release)
    validation.run()
    for warning in validation.warnings:
        log.warning(warning)
    if validation.errors:
        listed = validation.errors[0] if len(validation.errors) == 1 else "[" + ", ".join(validation.errors) + "]"
        raise _failure(f'invalid "{FILE}" file: {listed}')
    return InstallConfig(config)


def _failure(message: str) -> errors.InstallerError:
    text = f'failed to load asset "Install Config": failed to create install config: {message}'
    return errors.InstallerError(text, errors.INSTALL_CONFIG)


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error).replace("\n", " ")


def _converted(data: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the values of deprecated names under the present ones."""
    networking = {name: value for name, value in (data.get("networking") or {}).items() if value is not None}
    kind = networking.pop("type", "")
    networking.setdefault("networkType", kind)
    for name in ("OpenShiftSDN", "OVNKubernetes"):
        if networking["networkType"].lower() == name.lower():
            networking["networkType"] = name
    machines, services, pods = (networking.pop(name, None) for name in ("machineCIDR", "serviceCIDR", "clusterNetworks"))
    if machines and not networking.get("machineNetwork"):
        networking["machineNetwork"] = [{"cidr": machines}]
    if services and not networking.get("serviceNetwork"):
        networking["serviceNetwork"] = [services]
    if pods and not networking.get("clusterNetwork"):
        networking["clusterNetwork"] = pods
    for entry in networking.get("clusterNetwork") or []:
        length = entry.pop("hostSubnetLength", None)
        if length and not entry.get("hostPrefix"):
            entry["hostPrefix"] = (128 if ":" in str(entry.get("cidr")) else 32) - length
    return {**data, "apiVersion": "v1", "networking": networking}


def _with_defaults(data: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    # A release for several architectures has none of its own. The real default, that of the computer, would differ between users.
    pool = {"architecture": "amd64" if architecture == MULTI else architecture, "hyperthreading": "Enabled", "platform": {}, "replicas": 3}

    def filled(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        return dict(defaults) | {key: value for key, value in values.items() if value is not None}

    config = filled(data, {"publish": "External", "additionalTrustBundlePolicy": "Proxyonly", "baseDomain": "", "pullSecret": ""})
    config["metadata"] = dict(config.get("metadata") or {}) | {"creationTimestamp": None}
    # Whatever is empty has its default, but in the list of cluster networks there is none for a host prefix.
    networking = {name: value for name, value in config["networking"].items() if value}
    config["networking"] = filled(networking, _DEFAULT_NETWORKS)
    config["controlPlane"] = filled(config.get("controlPlane") or {}, pool) | {"name": "master"}
    config["compute"] = [filled(entry or {}, pool) for entry in config.get("compute") or [{"name": "worker"}]]
    config["platform"] = {name: value for name, value in (config.get("platform") or {}).items() if value is not None}
    if "external" in config["platform"]:
        config["platform"]["external"] = filled(config["platform"]["external"], {"platformName": "Unknown", "cloudControllerManager": ""})
    return config
