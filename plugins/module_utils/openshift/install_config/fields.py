# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of install-config.yaml with their Go types, and what the installer's decoder makes of a document.

The decoder is that of Go's encoding/json behind sigs.k8s.io/yaml: names match whatever their case, null counts as not given, a number or a
boolean becomes text where a text is expected, and everything else of a wrong type ends the installer. Of an unknown field it only warns.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.values import is_network

Release = tuple[int, int]
"""Major and minor number of an OpenShift release: ``(4, 19)``."""


@dataclass(frozen=True)
class Type:
    """A Go type: how errors call it, and for structs and lists their fields. With ``fields`` None the content is not checked."""

    go: str
    kind: Literal["text", "number", "bool", "network", "list", "struct"]
    fields: Mapping[str, Type] | None = None
    item: Type | None = None


NUMBERS = {"int32": range(-(2**31), 2**31), "uint32": range(2**32), "int64": range(-(2**63), 2**63)}


def _text(go: str = "string") -> Type:
    return Type(go, "text")


def _number(go: str) -> Type:
    return Type(go, "number")


def _list(item: Type) -> Type:
    return Type(f"[]{item.go}", "list", item=item)


def _struct(go: str, fields: Mapping[str, Type] | None = None) -> Type:
    return Type(go, "struct", fields)


BOOL = Type("bool", "bool")
NETWORK = Type("ipnet.IPNet", "network")

PLATFORMS = (
    "aws",
    "azure",
    "baremetal",
    "external",
    "gcp",
    "ibmcloud",
    "none",
    "nutanix",
    "openstack",
    "ovirt",
    "powervs",
    "vsphere",
)
"""All platforms the installer knows, in the order of its messages."""

PLATFORM_ORDER = ("aws", "azure", "baremetal", "gcp", "ibmcloud", "none", "external", "openstack", "vsphere", "ovirt", "powervs", "nutanix")
"""Which of several platforms the installer takes: the first in this order."""

_POOL = _struct(
    "types.MachinePool",
    {
        "name": _text(),
        "replicas": _number("int64"),
        "hyperthreading": _text("types.HyperthreadingMode"),
        "architecture": _text("types.Architecture"),
        "platform": _struct("types.MachinePoolPlatform", {name: _struct(f"{name}.MachinePool") for name in PLATFORMS}),
        "fencing": _struct("types.Fencing"),
        "osImageStream": _text(),
        "diskSetup": _list(_struct("types.Disk")),
        "management": _text(),
    },
)
_CLUSTER_NETWORK = _struct(
    "types.ClusterNetworkEntry", {"cidr": NETWORK, "hostPrefix": _number("int32"), "hostSubnetLength": _number("int32")}
)
_MIRRORED = {"source": _text(), "mirrors": _list(_text())}

INSTALL_CONFIG = _struct(
    "types.InstallConfig",
    {
        "apiVersion": _text(),
        "kind": _text(),
        "metadata": _struct(
            "v1.ObjectMeta",
            {"name": _text(), "namespace": _text(), "creationTimestamp": _text(), "labels": _struct("map"), "annotations": _struct("map")},
        ),
        "additionalTrustBundle": _text(),
        "additionalTrustBundlePolicy": _text("types.PolicyType"),
        "sshKey": _text(),
        "baseDomain": _text(),
        "networking": _struct(
            "types.Networking",
            {
                "networkType": _text(),
                "machineNetwork": _list(_struct("types.MachineNetworkEntry", {"cidr": NETWORK})),
                "clusterNetwork": _list(_CLUSTER_NETWORK),
                "serviceNetwork": _list(NETWORK),
                "clusterNetworkMTU": _number("uint32"),
                "ovnKubernetesConfig": _struct(
                    "types.OVNKubernetesConfig", {"ipv4": _struct("types.IPv4OVNKubernetesConfig", {"internalJoinSubnet": NETWORK})}
                ),
                "machineCIDR": NETWORK,
                "type": _text(),
                "serviceCIDR": NETWORK,
                "clusterNetworks": _list(_CLUSTER_NETWORK),
            },
        ),
        "controlPlane": _POOL,
        "arbiter": _POOL,
        "compute": _list(_POOL),
        "platform": _struct(
            "types.Platform",
            {name: _struct(f"{name}.Platform") for name in PLATFORMS}
            | {
                "none": _struct("none.Platform", {}),
                "external": _struct(
                    "external.Platform", {"platformName": _text(), "cloudControllerManager": _text("external.CloudControllerManager")}
                ),
            },
        ),
        "pullSecret": _text(),
        "proxy": _struct("types.Proxy", {"httpProxy": _text(), "httpsProxy": _text(), "noProxy": _text()}),
        "imageContentSources": _list(_struct("types.ImageContentSource", _MIRRORED)),
        "imageDigestSources": _list(_struct("types.ImageDigestSource", {**_MIRRORED, "sourcePolicy": _text("v1.MirrorSourcePolicy")})),
        "publish": _text("types.PublishingStrategy"),
        "operatorPublishingStrategy": _struct("types.OperatorPublishingStrategy", {"ingress": _text(), "apiserver": _text()}),
        "fips": BOOL,
        "cpuPartitioningMode": _text("types.CPUPartitioningMode"),
        "credentialsMode": _text("types.CredentialsMode"),
        "bootstrapInPlace": _struct("types.BootstrapInPlace", {"installationDisk": _text()}),
        "capabilities": _struct(
            "types.Capabilities",
            {
                "baselineCapabilitySet": _text("v1.ClusterVersionCapabilitySet"),
                "additionalEnabledCapabilities": _list(_text("v1.ClusterVersionCapability")),
            },
        ),
        "featureSet": _text("v1.FeatureSet"),
        "featureGates": _list(_text()),
        "osImageStream": _text(),
    },
)

SINCE: Mapping[str, Release] = {
    "arbiter": (4, 20),
    "diskSetup": (4, 20),
    "fencing": (4, 20),
    "management": (4, 22),
    "osImageStream": (4, 22),
    "sourcePolicy": (4, 20),
}
"""Fields with the first release whose installer is known to have them. That of 4.19 was seen to have none of them."""


@dataclass
class Decoded:
    """A document as the installer reads it: paths of ``unknown`` fields, and the decoder's errors (``problems``) with their paths."""

    config: dict[str, Any] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def decode(config: Mapping[str, Any], release: Release | None) -> Decoded:
    """Return the document with its fields as the decoder of this release's installer understands them."""
    found = Decoded()
    found.config = _decoded(config, INSTALL_CONFIG, ("types.InstallConfig", ""), release, found)
    return found


def _decoded(value: Any, kind: Type, where: tuple[str, str], release: Release | None, found: Decoded) -> Any:
    """Return one value; ``where`` is the struct that it is in and its path, as errors name them."""
    struct, path = where
    if value is None:
        return None
    if kind.kind == "struct" and isinstance(value, Mapping):
        return value if kind.fields is None else _decoded_struct(value, kind, path, release, found)
    if kind.item is not None and isinstance(value, list):
        return [_decoded(item, kind.item, where, release, found) for item in value]
    decoded = _scalar(value, kind)
    if decoded is None and kind.kind == "network":
        found.problems.append((path, f"failed to Parse cidr string to net.IPNet: invalid CIDR address: {value}"))
    elif decoded is None:
        name = struct.partition(".")[2]
        found.problems.append((path, f"json: cannot unmarshal {_json_kind(value)} into Go struct field {name}.{path} of type {kind.go}"))
    return decoded


def _scalar(value: Any, kind: Type) -> Any:
    """Return the value in its Go type, None when it cannot be."""
    if kind.kind == "text" and isinstance(value, bool):
        return str(value).lower()
    if kind.kind == "text" and isinstance(value, (str, int, float)):
        return str(value)
    fits = {
        # As a plain int: Python searches a range one by one for an int of a subclass, such as those of Ansible.
        "number": isinstance(value, int) and not isinstance(value, bool) and int(value) in NUMBERS.get(kind.go, ()),
        "bool": isinstance(value, bool),
        "network": isinstance(value, str) and is_network(value),
    }
    return value if fits.get(kind.kind) else None


def _decoded_struct(value: Mapping[str, Any], kind: Type, path: str, release: Release | None, found: Decoded) -> dict[str, Any]:
    fields = kind.fields or {}
    by_case = {name.casefold(): name for name in fields}
    decoded = {}
    for given, item in value.items():
        name = given if given in fields else by_case.get(str(given).casefold())
        below = f"{path}.{given}".lstrip(".")
        if name is None or (release is not None and release < SINCE.get(name, release)):
            found.unknown.append(below)
        else:
            decoded[name] = _decoded(item, fields[name], (kind.go, f"{path}.{name}".lstrip(".")), release, found)
    return {name: item for name, item in decoded.items() if item is not None}


def _json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float) or (isinstance(value, int) and int(value) not in NUMBERS["int32"]):
        return f"number {value}"
    for kind, name in ((Mapping, "object"), (list, "array"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "number"
