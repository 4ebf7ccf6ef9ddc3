# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of install-config.yaml, and the decoder: what Go's encoding/json does with a document behind sigs.k8s.io/yaml.

Names are compared without regard to case. Numbers and booleans become strings where a string is expected. The first error ends it, and an
unknown field is an error of the strict pass only, after which the real one tries again without it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, Final


class Struct(dict[str, Any]):
    """A Go struct: its name, and a type by field.

    A type is the name of one of Go's, a struct, a list with the type of its items, or None for anything.
    """

    def __init__(self, go_type: str, /, **fields: Any) -> None:
        super().__init__(fields)
        self.name = go_type


CIDR: Final = "ipnet.IPNet"
PLATFORMS: Final = (
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

_POOL: Final = Struct(
    "types.MachinePool",
    name="string",
    replicas="int64",
    hyperthreading="types.HyperthreadingMode",
    architecture="types.Architecture",
    platform=Struct("types.MachinePoolPlatform", **dict.fromkeys(PLATFORMS)),
    fencing=None,
    osImageStream="string",
    diskSetup=None,
    management="string",
)
_CLUSTER_NETWORK: Final = Struct("types.ClusterNetworkEntry", cidr=CIDR, hostPrefix="int32", hostSubnetLength="int32")
FIELDS: Final = Struct(
    "types.InstallConfig",
    apiVersion="string",
    kind="string",
    metadata=Struct("v1.ObjectMeta", name="string", namespace="string", creationTimestamp=None, labels=None, annotations=None),
    additionalTrustBundle="string",
    additionalTrustBundlePolicy="types.PolicyType",
    sshKey="string",
    baseDomain="string",
    networking=Struct(
        "types.Networking",
        networkType="string",
        machineNetwork=[Struct("types.MachineNetworkEntry", cidr=CIDR)],
        clusterNetwork=[_CLUSTER_NETWORK],
        serviceNetwork=[CIDR],
        clusterNetworkMTU="uint32",
        ovnKubernetesConfig=Struct("types.OVNKubernetesConfig", ipv4=Struct("types.IPv4OVNKubernetesConfig", internalJoinSubnet=CIDR)),
        machineCIDR=CIDR,
        type="string",
        serviceCIDR=CIDR,
        clusterNetworks=[_CLUSTER_NETWORK],
    ),
    controlPlane=_POOL,
    arbiter=_POOL,
    compute=[_POOL],
    platform=Struct(
        "types.Platform",
        **dict.fromkeys(PLATFORMS)
        | {
            "none": Struct("none.Platform"),
            "external": Struct("external.Platform", platformName="string", cloudControllerManager="external.CloudControllerManager"),
        },
    ),
    pullSecret="string",
    proxy=Struct("types.Proxy", httpProxy="string", httpsProxy="string", noProxy="string"),
    imageContentSources=[Struct("types.ImageContentSource", source="string", mirrors=["string"])],
    imageDigestSources=[Struct("types.ImageDigestSource", source="string", mirrors=["string"], sourcePolicy="v1.MirrorSourcePolicy")],
    publish="types.PublishingStrategy",
    operatorPublishingStrategy=Struct("types.OperatorPublishingStrategy", ingress="string", apiserver="string"),
    fips="bool",
    cpuPartitioningMode="types.CPUPartitioningMode",
    credentialsMode="types.CredentialsMode",
    bootstrapInPlace=Struct("types.BootstrapInPlace", installationDisk="string"),
    capabilities=Struct(
        "types.Capabilities",
        baselineCapabilitySet="v1.ClusterVersionCapabilitySet",
        additionalEnabledCapabilities=["v1.ClusterVersionCapability"],
    ),
    featureSet="v1.FeatureSet",
    featureGates=["string"],
    osImageStream="string",
)
"""All fields of the newest installers."""

_NEWER: Final[Mapping[str, tuple[int, ...]]] = {
    "sourcePolicy": (4, 20),
    "arbiter": (4, 20),
    "fencing": (4, 20),
    "diskSetup": (4, 20),
    "osImageStream": (4, 22),
    "management": (4, 22),
}
"""The first release that is known to have the field. 4.19 was seen to have none of these."""


class DecodeError(Exception):
    """The document cannot be decoded; the message is that of Go's decoder."""


def unknown_field(value: Any, minor: str) -> str | None:
    """Return the first unknown field for an installer of this release, in the order of the decoder: JSON has its names sorted."""
    return next(_unknown(value, FIELDS, tuple(int(number) for number in minor.split("."))), None)


def _unknown(value: Any, known: Any, release: tuple[int, ...]) -> Iterator[str]:
    if isinstance(known, list) and isinstance(value, list):
        for item in value:
            yield from _unknown(item, known[0], release)
    elif isinstance(known, Struct) and isinstance(value, dict):
        for key in sorted(value, key=str):
            name = _field(known, key, release)
            if name is None:
                yield str(key)
            else:
                yield from _unknown(value[key], known[name], release)


def _field(known: Struct, key: Any, release: tuple[int, ...]) -> str | None:
    name = next((name for name in known if name == key), None) or next((name for name in known if name.lower() == str(key).lower()), None)
    return name if name is not None and release >= _NEWER.get(name, release) else None


def decoded(value: Any, minor: str) -> dict[str, Any]:
    """Return the document with its fields under their own names, without unknown ones. Raises :class:`DecodeError`."""
    if not isinstance(value, dict):
        raise DecodeError(f"json: cannot unmarshal {_json_kind(value)} into Go value of type types.InstallConfig")
    document: dict[str, Any] = _decoded(value, FIELDS, "", "", tuple(int(number) for number in minor.split(".")))
    return document


def _decoded(value: Any, known: Any, struct: str, path: str, release: tuple[int, ...]) -> Any:
    if value is None or known is None:
        return value
    if isinstance(known, Struct) and isinstance(value, dict):
        fields: dict[str, Any] = {}
        for key in sorted(value, key=str):
            name = _field(known, key, release)
            if name is not None:
                fields[name] = _decoded(value[key], known[name], known.name, f"{path}.{name}".lstrip("."), release)
        return fields
    if isinstance(known, list) and isinstance(value, list):
        # In a list null is an item, with nothing in it.
        return [_nothing(known[0]) if item is None else _decoded(item, known[0], struct, path, release) for item in value]
    if known == CIDR:
        return _cidr(value)
    if isinstance(known, str) and _fits(value, known):
        return value if known == "bool" or known in _NUMBERS else _text(value)
    raise DecodeError(
        f"json: cannot unmarshal {_json_kind(value)} into Go struct field {struct.rpartition('.')[2]}.{path} of type {_go_type(known)}"
    )


_NUMBERS: Final = {"int32": range(-(2**31), 2**31), "uint32": range(2**32), "int64": range(-(2**63), 2**63)}


def _nothing(known: Any) -> Any:
    return {} if isinstance(known, Struct) else [] if isinstance(known, list) else ""


def _fits(value: Any, known: str) -> bool:
    if known == "bool":
        return isinstance(value, bool)
    if known in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and value in _NUMBERS[known]
    return isinstance(value, str | int | float)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cidr(value: Any) -> str:
    """Return the text of a network as Go prints it, host bits and all."""
    address, _slash, bits = str(value).partition("/")
    try:
        return str(ipaddress.ip_interface(f"{address}/{int(bits) if bits.isdecimal() else 'none'}"))
    except ValueError:
        raise DecodeError(f"failed to Parse cidr string to net.IPNet: invalid CIDR address: {value}") from None


def _go_type(known: Any) -> str:
    if isinstance(known, list):
        return f"[]{_go_type(known[0])}"
    return str(known.name if isinstance(known, Struct) else known)


def _json_kind(value: Any) -> str:
    for kind, name in ((bool, "bool"), (dict, "object"), (list, "array"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "number" if isinstance(value, int) and value in _NUMBERS["int32"] else f"number {value}"
