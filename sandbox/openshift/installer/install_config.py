# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading install-config.yaml: defaults, validation, and the values the other assets take from it.

Validation tells every problem at once, in the wording of Kubernetes' field errors, as the installer does. Only the platforms
``none`` and ``external`` exist in the sandbox.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from . import errors
from .catalogue import MULTI
from .log import Log

FILE: Final = "install-config.yaml"

_PLATFORMS: Final = (
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
_ARCHITECTURES: Final = ("amd64", "arm64", "ppc64le", "s390x")

_ANY: Final[dict[str, Any]] = {}
_POOL: Final[dict[str, Any]] = {
    "name": None,
    "replicas": None,
    "hyperthreading": None,
    "architecture": None,
    "platform": _ANY,
    "fencing": _ANY,
    "osImageStream": None,
    "diskSetup": _ANY,
    "management": None,
}
FIELDS: Final[dict[str, Any]] = {
    "apiVersion": None,
    "kind": None,
    "metadata": _ANY,
    "additionalTrustBundle": None,
    "additionalTrustBundlePolicy": None,
    "sshKey": None,
    "baseDomain": None,
    "networking": {
        "networkType": None,
        "machineNetwork": [{"cidr": None}],
        "clusterNetwork": [{"cidr": None, "hostPrefix": None, "hostSubnetLength": None}],
        "serviceNetwork": None,
        "clusterNetworkMTU": None,
        "ovnKubernetesConfig": _ANY,
        "machineCIDR": None,
        "type": None,
        "serviceCIDR": None,
        "clusterNetworks": [_ANY],
    },
    "controlPlane": _POOL,
    "arbiter": _POOL,
    "compute": [_POOL],
    "platform": dict.fromkeys(_PLATFORMS, _ANY) | {"external": {"platformName": None, "cloudControllerManager": None}},
    "pullSecret": None,
    "proxy": {"httpProxy": None, "httpsProxy": None, "noProxy": None},
    "imageContentSources": [{"source": None, "mirrors": None}],
    "imageDigestSources": [{"source": None, "mirrors": None, "sourcePolicy": None}],
    "publish": None,
    "operatorPublishingStrategy": _ANY,
    "fips": None,
    "cpuPartitioningMode": None,
    "credentialsMode": None,
    "bootstrapInPlace": {"installationDisk": None},
    "capabilities": {"baselineCapabilitySet": None, "additionalEnabledCapabilities": None},
    "featureSet": None,
    "featureGates": None,
    "osImageStream": None,
}
"""Known fields: None ends, an empty mapping allows anything below, a list describes its entries."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    f"with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_CLUSTER_NAME_MAX: Final = 63 - 9
"""``*.apps`` takes nine characters of a DNS label in zone files (``\\052.apps``)."""

_DEFAULT_NETWORKS: Final[dict[str, Any]] = {
    "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "machineNetwork": [{"cidr": "10.0.0.0/16"}],
    "networkType": "OVNKubernetes",
    "serviceNetwork": ["172.30.0.0/16"],
}

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class InstallConfig:
    """A valid install-config with all defaults filled in (``data``: the YAML document as Python values)."""

    data: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def cluster_domain(self) -> str:
        return f"{self.name}.{str(self.data['baseDomain']).rstrip('.')}"

    @property
    def platform(self) -> str:
        return str(next(iter(self.data["platform"])))

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


def read(text: bytes, release_architecture: str, log: Log, *, strict: bool = False) -> InstallConfig:
    """Parse, fill in defaults and validate.

    Unknown fields are warned about, or with ``strict`` (newer installers) refused. Raises ``InstallerError`` with code 3
    and every problem found.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise _failure(f"failed to unmarshal {FILE}: error converting YAML to JSON: yaml: {where}{_problem(error)}") from error
    if not isinstance(data, dict):
        kind = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}.get(type(data))
        if data is not None:
            raise _failure(
                f"failed to unmarshal {FILE}: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} "
                "into Go value of type types.InstallConfig"
            )
        data = {}
    unknown = next(_unknown(data, FIELDS), None)
    if unknown is not None:
        message = f'failed to unmarshal {FILE}: error unmarshaling JSON: while decoding JSON: json: unknown field "{unknown}"'
        if strict:
            raise _failure(message)
        log.warning(f"failed to parse first occurrence of unknown field: {message}")
        log.info("Attempting to unmarshal while ignoring unknown keys because strict unmarshaling failed")
        data = _without_unknown(data, FIELDS)
    mistyped = next(_mistyped(data), None)
    if mistyped is not None:
        raise _failure(f"failed to unmarshal {FILE}: error unmarshaling JSON: while decoding JSON: json: {mistyped}")
    config = _with_defaults(data, release_architecture)
    problems = list(_problems(config, release_architecture))
    if problems:
        listed = problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]"
        raise _failure(f'invalid "{FILE}" file: {listed}')
    return InstallConfig(config)


def _failure(message: str) -> errors.InstallerError:
    text = f'failed to load asset "Install Config": failed to create install config: {message}'
    return errors.InstallerError(text, errors.INSTALL_CONFIG)


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error).replace("\n", " ")


def _unknown(value: object, known: object) -> Iterator[str]:
    if isinstance(known, list) and isinstance(value, list):
        for entry in value:
            yield from _unknown(entry, known[0])
    elif isinstance(known, dict) and known and isinstance(value, dict):
        for name, below in value.items():
            if name not in known:
                yield str(name)
            else:
                yield from _unknown(below, known[name])


def _without_unknown(value: Any, known: object) -> Any:
    if isinstance(known, list) and isinstance(value, list):
        return [_without_unknown(entry, known[0]) for entry in value]
    if isinstance(known, dict) and known and isinstance(value, dict):
        return {name: _without_unknown(below, known[name]) for name, below in value.items() if name in known}
    return value


def _mistyped(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what Go's decoder says of values of the wrong kind, for the fields that are read here."""
    strings = ("apiVersion", "baseDomain", "pullSecret", "sshKey", "publish", "additionalTrustBundle")
    objects = ("metadata", "networking", "controlPlane", "platform", "proxy")
    for names, kind, go in ((strings, str, "string"), (objects, dict, "types.%s"), (("compute",), list, "[]types.MachinePool")):
        for name in names:
            value = data.get(name)
            if value is not None and not isinstance(value, kind):
                shown = go.replace("%s", name[0].upper() + name[1:])
                yield f"cannot unmarshal {_json_kind(value)} into Go struct field InstallConfig.{name} of type {shown}"
    for pool in [data.get("controlPlane"), *(data.get("compute") or [])]:
        replicas = pool.get("replicas") if isinstance(pool, dict) else None
        if replicas is not None and (isinstance(replicas, bool) or not isinstance(replicas, int)):
            yield f"cannot unmarshal {_json_kind(replicas)} into Go struct field MachinePool.replicas of type int64"
        if pool is not None and not isinstance(pool, dict):
            yield f"cannot unmarshal {_json_kind(pool)} into Go struct field InstallConfig.compute of type types.MachinePool"


def _json_kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    for kind, name in ((dict, "object"), (list, "array"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "number"


def _with_defaults(data: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    # A release for several says nothing: then it is that of the computer, which nobody should have to guess in a sandbox.
    pool = {"architecture": "amd64" if architecture == MULTI else architecture, "hyperthreading": "Enabled", "platform": {}, "replicas": 3}

    def filled(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        return dict(defaults) | {key: value for key, value in given.items() if value is not None}

    config = filled(data, {"publish": "External", "additionalTrustBundlePolicy": "Proxyonly", "baseDomain": "", "pullSecret": ""})
    config["metadata"] = dict(config.get("metadata") or {}) | {"creationTimestamp": None}
    config["networking"] = filled(config.get("networking") or {}, _DEFAULT_NETWORKS)
    config["controlPlane"] = filled(config.get("controlPlane") or {}, pool | {"name": "master"})
    config["compute"] = [filled(entry, pool) for entry in config.get("compute") or [{"name": "worker"}]]
    platform = config.get("platform") or {}
    config["platform"] = {name: value or {} for name, value in platform.items()}
    if "external" in config["platform"]:
        external = config["platform"]["external"]
        config["platform"]["external"] = filled(external, {"platformName": "Unknown", "cloudControllerManager": ""})
    return config


# --- validation ----------------------------------------------------------------------------------------------------------


def _invalid(path: str, value: object, detail: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value, ensure_ascii=False, default=str)}: {detail}"


def _required(path: str, detail: str) -> str:
    return f"{path}: Required value: {detail}"


def _unsupported(path: str, value: object, supported: Sequence[str]) -> str:
    return f"{path}: Unsupported value: {json.dumps(value)}: supported values: " + ", ".join(json.dumps(one) for one in supported)


def _problems(config: Mapping[str, Any], architecture: str) -> Iterator[str]:
    version = config.get("apiVersion")
    if not version:
        # Nothing else is looked at: another version would have other fields.
        yield _required("apiVersion", "install-config version required")
        return
    if version != "v1":
        yield _invalid("apiVersion", version, 'install-config version must be "v1"')
        return
    if config.get("sshKey"):
        yield from _ssh_key_problems(str(config["sshKey"]))
    if config.get("additionalTrustBundle"):
        yield from _trust_bundle_problems(str(config["additionalTrustBundle"]))
    yield from _name_problems(config["metadata"].get("name") or "", config["baseDomain"])
    yield from _network_problems(config["networking"])
    yield from _platform_problems(config["platform"])
    yield from _pool_problems(config, architecture)
    yield from _pull_secret_problems(config["pullSecret"])
    for name in ("httpProxy", "httpsProxy"):
        value = (config.get("proxy") or {}).get(name)
        if value and not re.match(r"https?://[^/\s]+", str(value)):
            yield _invalid(f"proxy.{name}", value, f'parse "{value}": invalid URI for request')
    if config["publish"] not in ("External", "Internal"):
        yield _unsupported("publish", config["publish"], ("External", "Internal"))


def _ssh_key_problems(text: str) -> Iterator[str]:
    for line in filter(None, (line.strip() for line in text.splitlines())):
        try:
            serialization.load_ssh_public_key(line.encode())
        except UnsupportedAlgorithm:
            continue  # hardware-backed kinds (sk-...) are good keys that this library does not read
        except ValueError:
            yield _invalid("sshKey", text, "ssh: no key found")
            return


def _trust_bundle_problems(text: str) -> Iterator[str]:
    try:
        x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        yield _invalid("additionalTrustBundle", text, "invalid block")


def _name_problems(name: object, base_domain: str) -> Iterator[str]:
    name = str(name)
    bad_name = _subdomain_problem(name)
    if not bad_name and len(name) > _CLUSTER_NAME_MAX:
        bad_name = f"must be no more than {_CLUSTER_NAME_MAX} characters"
    if bad_name:
        yield _invalid("metadata.name", name, bad_name)
    bad_domain = _subdomain_problem(base_domain.rstrip("."))
    if bad_domain:
        yield _invalid("baseDomain", base_domain, bad_domain)
    if not bad_name and not bad_domain:
        whole = f"{name}.{base_domain}"
        problem = _subdomain_problem(whole.rstrip("."))
        if problem:
            yield _invalid("baseDomain", whole, problem)


def _subdomain_problem(text: str) -> str:
    if len(text) > 253:
        return "must be no more than 253 characters"
    return "" if re.fullmatch(_SUBDOMAIN, text) else _SUBDOMAIN_TEXT


def _network_problems(networking: Mapping[str, Any]) -> Iterator[str]:
    if networking["networkType"] == "OpenShiftSDN":
        yield _invalid("networking.networkType", "OpenShiftSDN", "networkType OpenShiftSDN is not supported, please use OVNKubernetes")
    parsed: dict[str, list[tuple[str, str, _Network]]] = {"machineNetwork": [], "serviceNetwork": [], "clusterNetwork": []}
    for kind, found in parsed.items():
        entries = networking[kind] if isinstance(networking[kind], list) else []
        if not entries:
            required = {"machineNetwork": "at least one machine network is required", "serviceNetwork": "a service network is required"}
            yield _required(f"networking.{kind}", required.get(kind, "cluster network required"))
        for index, entry in enumerate(entries):
            path = f"networking.{kind}[{index}]" + ("" if kind == "serviceNetwork" else ".cidr")
            text = str(entry.get("cidr", "") if isinstance(entry, dict) else entry)
            try:
                network = ipaddress.ip_network(text, strict=False)
            except ValueError:
                yield _invalid(path, text, f"invalid CIDR address: {text}")
                continue
            if str(network) != text:
                yield _invalid(path, text, f"invalid network address. got {text}, expecting {network}")
            found.append((path, text, network))
            if kind == "clusterNetwork":
                yield from _host_prefix_problems(f"networking.{kind}[{index}].hostPrefix", entry, network)
    yield from _overlap_problems(parsed)
    yield from _stack_problems(parsed)


_Networks = Mapping[str, Sequence[tuple[str, str, _Network]]]  # kind -> (path, text, network) of each entry


def _overlap_problems(parsed: _Networks) -> Iterator[str]:
    words = {"machineNetwork": "machine", "serviceNetwork": "service", "clusterNetwork": "cluster"}
    order = list(parsed)
    for position, kind in enumerate(order):
        for index, (path, text, network) in enumerate(parsed[kind]):
            for earlier in order[:position]:
                for other_index, (_path, _text, other) in enumerate(parsed[earlier]):
                    if network.overlaps(other):
                        what = "any of the machine networks" if earlier == "machineNetwork" else f"{words[earlier]} network {other_index}"
                        yield _invalid(path, text, f"{words[kind]} network must not overlap with {what}")
            for other_index, (_path, _text, other) in enumerate(parsed[kind][:index]):
                if network.overlaps(other):
                    yield _invalid(path, text, f"{words[kind]} network must not overlap with {words[kind]} network {other_index}")


def _host_prefix_problems(path: str, entry: Mapping[str, Any], network: _Network) -> Iterator[str]:
    prefix = entry.get("hostPrefix", 64 if network.version == 6 else 23)
    if not isinstance(prefix, int) or prefix < 0:
        yield _invalid(path, prefix, "hostPrefix must be positive")
    elif prefix < network.prefixlen:
        yield _invalid(path, prefix, f"cluster network host subnetwork prefix must not be larger size than CIDR {network}")
    elif network.version == 6 and prefix != 64:
        yield _invalid(path, prefix, "cluster network host subnetwork prefix must be 64 for IPv6 networks")


def _stack_problems(parsed: _Networks) -> Iterator[str]:
    versions = {kind: {network.version for _path, _text, network in found} for kind, found in parsed.items()}
    services = ", ".join(text for _path, text, _network in parsed["serviceNetwork"])
    if versions["serviceNetwork"] == {4, 6}:
        if len(parsed["serviceNetwork"]) != 2:
            yield _invalid(
                "networking.serviceNetwork",
                services,
                "when installing dual-stack IPv4/IPv6 you must provide two service networks, one for each IP address type",
            )
        for kind, have in versions.items():
            if len(have) == 1:
                missing = "IPv6" if have == {4} else "IPv4"
                addresses = ", ".join(str(network.network_address) for _path, _text, network in parsed[kind])
                yield _invalid(f"networking.{kind}", addresses, f"dual-stack IPv4/IPv6 requires an {missing} address in this list")
    elif len(parsed["serviceNetwork"]) > 1:
        yield _invalid("networking.serviceNetwork", services, "only one service network can be specified")


def _platform_problems(platform: Mapping[str, Any]) -> Iterator[str]:
    names = sorted(platform)
    known = [name for name in names if name in _PLATFORMS]
    if not known:
        yield _invalid("platform", "", f"must specify one of the platforms ({', '.join(_PLATFORMS)})")
    elif len(known) > 1:
        yield _invalid(
            "platform",
            known[0],
            f'must only specify a single type of platform; cannot use both "{known[0]}" and "{known[1]}"',
        )
    elif known[0] not in ("none", "external"):
        yield _invalid("platform", known[0], "the sandbox's installer knows the platforms external and none only")
    elif known[0] == "external":
        manager = platform["external"]["cloudControllerManager"]
        if manager not in ("", "External"):
            yield _unsupported("platform.external.cloudControllerManager", manager, ("", "External"))


def _pool_problems(config: Mapping[str, Any], architecture: str) -> Iterator[str]:
    control_plane = config["controlPlane"]
    if control_plane["name"] != "master":
        yield _unsupported("controlPlane.name", control_plane["name"], ("master",))
    if control_plane["replicas"] == 0:
        yield _invalid("controlPlane.replicas", 0, "number of control plane replicas must be positive")
    yield from _one_pool_problems("controlPlane", "controlPlane", control_plane, architecture)
    seen: set[str] = set()
    for index, pool in enumerate(config["compute"]):
        path, name = f"compute[{index}]", str(pool.get("name") or "")
        if name != "worker":
            yield _unsupported(f"{path}.name", name, ("worker",))
        if name in seen:
            yield f"{path}.name: Duplicate value: {json.dumps(name)}"
        seen.add(name)
        # On platforms without machines of their own, whatever the release is for.
        if pool["architecture"] != control_plane["architecture"]:
            text = "heteregeneous multi-arch is not supported; compute pool architecture must match control plane"
            yield _invalid(f"{path}.architecture", pool["architecture"], text)
        yield from _one_pool_problems(path, "compute", pool, architecture)


def _one_pool_problems(path: str, kind: str, pool: Mapping[str, Any], architecture: str) -> Iterator[str]:
    if pool["replicas"] < 0:
        yield _invalid(f"{path}.replicas", pool["replicas"], "number of replicas must not be negative")
    if pool["hyperthreading"] not in ("Disabled", "Enabled"):
        yield _unsupported(f"{path}.hyperthreading", pool["hyperthreading"], ("Disabled", "Enabled"))
    if pool["architecture"] not in _ARCHITECTURES:
        yield _unsupported(f"{path}.architecture", pool["architecture"], _ARCHITECTURES)
    elif architecture not in {MULTI, pool["architecture"]}:
        yield _invalid(
            f"{path}.architecture",
            pool["architecture"],
            f"cannot create {pool['architecture']} {kind} node from a single architecture {architecture} release payload",
        )


def _pull_secret_problems(text: str) -> Iterator[str]:
    try:
        secret = json.loads(text)
    except json.JSONDecodeError as error:
        at = text[error.pos : error.pos + 1]
        detail = f"invalid character '{at}' looking for beginning of value" if at else "unexpected end of JSON input"
        # The whole value is told, as the real one does: callers have to hide this output.
        yield _invalid("pullSecret", text, detail)
        return
    auths = secret.get("auths") if isinstance(secret, dict) else None
    if not auths or not isinstance(auths, dict):
        yield _invalid("pullSecret", text, "auths required")
        return
    bad = [
        f"{json.dumps(host)} requires either auth or credsStore"
        for host, entry in sorted(auths.items())
        if not (isinstance(entry, dict) and (entry.get("auth") or entry.get("credsStore")))
    ]
    if bad:
        yield _invalid("pullSecret", text, bad[0] if len(bad) == 1 else "[" + ", ".join(bad) + "]")
