# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates an install-config: ValidateInstallConfig of the real one for the platforms none and external, with its texts.

A value is repeated as it is, secrets too, as the real one does: callers have to hide this output.
"""

from __future__ import annotations

import base64
import ipaddress
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from .catalogue import MULTI, Release
from .fields import PLATFORMS

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Values = Mapping[str, Any]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    f"with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_CLUSTER_NAME_MAX: Final = 63 - 9
"""``*.apps`` has nine characters of a DNS label in zone files (``\\052.apps``)."""

_ORDER: Final = ("aws", "azure", "baremetal", "gcp", "ibmcloud", "none", "external", "openstack", "vsphere", "ovirt", "powervs", "nutanix")
"""Which platform counts when there are several: the first."""

_ARCHITECTURES: Final = ("amd64", "arm64", "ppc64le", "s390x")
_PUBLISH: Final = ("External", "Internal", "Mixed")
_FEATURE_SETS: Final = ("", "CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade")

_ADDED: Final[Mapping[str, Sequence[str]]] = {
    "v4.11": ("baremetal", "marketplace", "openshift-samples", "MachineAPI"),
    "v4.12": ("Console", "Insights", "Storage", "CSISnapshot"),
    "v4.13": ("NodeTuning",),
    "v4.14": ("Build", "DeploymentConfig", "ImageRegistry"),
    "v4.15": ("OperatorLifecycleManager", "CloudCredential"),
    "v4.16": ("Ingress", "CloudControllerManager"),
    "v4.17": (),
    "v4.18": ("OperatorLifecycleManagerV1",),
}
"""What each capability set has more than the one before it."""
CAPABILITY_SETS: Final[Mapping[str, frozenset[str]]] = {
    "None": frozenset(),
    **{
        name: frozenset(itertools.chain.from_iterable(more))
        for name, more in zip(_ADDED, itertools.accumulate(([new] for new in _ADDED.values()), lambda a, b: a + b), strict=True)
    },
    "vCurrent": frozenset(itertools.chain.from_iterable(_ADDED.values())),
}

_OVN: Final = "OVNKubernetes"
_OVN_SUBNETS: Final[Mapping[int, Mapping[str, str]]] = {
    4: {"internal": "100.64.0.0/16", "transit": "100.88.0.0/16", "masquerade": "169.254.0.0/17"},
    6: {"internal": "fd98::/64", "transit": "fd97::/64", "masquerade": "fd69::/112"},
}
_DOCKER_BRIDGE: Final = ipaddress.ip_network("172.17.0.0/16")
_FIPS: Final = (
    "target cluster is in FIPS mode, use the FIPS-capable installer binary for RHEL 9 on a host with FIPS enabled.\n"
    "To obtain a suitable binary, download the openshift-install-rhel9 archive from the client mirror, or extract the "
    "openshift-install-fips command from the release payload."
)


class PanicError(Exception):
    """The real one ends with a stack trace here."""


def go_text(value: Any) -> str:
    """Return a value as Go prints it in a field error (%q, %v or %#v)."""
    return json.dumps(value, ensure_ascii=False, default=str)


class Validation:
    """One run over a decoded install-config with its defaults. ``errors`` and ``warnings`` are to be printed."""

    def __init__(self, config: Values, release: Release) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self._config = config
        self._release = release
        self._networking: Values = config["networking"]
        self._platform = next((name for name in _ORDER if name in config["platform"]), "")
        self._join = str(((self._networking.get("ovnKubernetesConfig") or {}).get("ipv4") or {}).get("internalJoinSubnet") or "")

    def run(self) -> None:
        """Fill ``errors``, each once, in the order of the real one. Raises :class:`PanicError`."""
        for step in (
            self._keys,
            self._names,
            self._networks,
            self._platforms,
            self._gates,
            self._pools,
            self._pull_secret,
            self._proxy,
            self._mirrors,
            self._publishing,
            self._capabilities,
            self._feature_set,
        ):
            step()
        self.errors = list(dict.fromkeys(self.errors))

    # --- field errors --------------------------------------------------------------------------------------------------

    def _invalid(self, path: str, value: Any, detail: str) -> None:
        self.errors.append(f"{path}: Invalid value: {go_text(value)}: {detail}")

    def _invalid_go(self, path: str, value: str, detail: str) -> None:
        """Add the error of a value that Go prints in its long form."""
        self.errors.append(f"{path}: Invalid value: {value}: {detail}")

    def _unsupported(self, path: str, value: Any, supported: Sequence[str]) -> None:
        self.errors.append(f"{path}: Unsupported value: {go_text(value)}: supported values: {', '.join(map(go_text, supported))}")

    # --- keys and names ------------------------------------------------------------------------------------------------

    def _keys(self) -> None:
        config = self._config
        keys = str(config.get("sshKey") or "")
        kind = _first_key(keys) if keys else None
        if config.get("fips"):
            if keys and kind is None:
                self._invalid("sshKey", keys, "Fatal error trying to parse configured public key: ssh: no key found")
            elif kind is not None and not re.fullmatch(r"ecdsa-sha2-nistp\d{3}|ssh-rsa", kind):
                self._invalid("sshKey", keys, f"SSH key type {kind} unavailable when FIPS is enabled. Please use rsa or ecdsa.")
            if os.environ.get("OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION"):
                self.warnings.append(_FIPS)
            else:
                self.errors.append(f"fips: Forbidden: {_FIPS}")
        elif keys and kind is None:
            self._invalid("sshKey", keys, "ssh: no key found")
        if config.get("additionalTrustBundle"):
            problem = _bundle_problem(str(config["additionalTrustBundle"]))
            if problem:
                self._invalid("additionalTrustBundle", config["additionalTrustBundle"], problem)
        if config["additionalTrustBundlePolicy"] not in ("Proxyonly", "Always"):
            self._invalid("additionalTrustBundlePolicy", config["additionalTrustBundlePolicy"], 'supported values "Proxyonly", "Always"')

    def _names(self) -> None:
        name, domain = str(self._config["metadata"].get("name") or ""), str(self._config["baseDomain"])
        too_long = f"must be no more than {_CLUSTER_NAME_MAX} characters" if len(name) > _CLUSTER_NAME_MAX else ""
        name_problem = too_long or _subdomain_problem(name)
        domain_problem = _subdomain_problem(domain.removesuffix("."))
        if name_problem:
            self._invalid("metadata.name", name, name_problem)
        if domain_problem:
            self._invalid("baseDomain", domain, domain_problem)
        cluster = f"{name}.{domain.removesuffix('.')}"
        if not name_problem and not domain_problem and _subdomain_problem(cluster):
            self._invalid("baseDomain", cluster, _subdomain_problem(cluster))

    # --- networks ------------------------------------------------------------------------------------------------------

    def _networks(self) -> None:
        kind = self._networking["networkType"]
        if kind.lower() == "kuryr":
            self._invalid("networking.networkType", kind, "networkType Kuryr is not supported on OpenShift later than 4.14")
        if kind.lower() == "openshiftsdn":
            self._invalid("networking.networkType", kind, f"networkType OpenShiftSDN is not supported, please use {_OVN}")
        machines = [_cidr(entry) for entry in self._networking["machineNetwork"]]
        services = [_cidr(entry) for entry in self._networking["serviceNetwork"]]
        pods = [_cidr(entry) for entry in self._networking["clusterNetwork"]]
        for index, text in enumerate(machines):
            path = f"networking.machineNetwork[{index}]"
            if self._is_subnet(path, path, text):
                self._apart(path, text, machines[:index], "machine network must not overlap with machine network {index}")
        for index, text in enumerate(services):
            path = f"networking.serviceNetwork[{index}]"
            if self._is_subnet(path, path, text, _service_problem):
                self._apart(path, text, machines, "service network must not overlap with any of the machine networks")
                self._apart(path, text, services[:index], "service network must not overlap with service network {index}")
        for index, text in enumerate(pods):
            path = f"networking.clusterNetwork[{index}]"
            if self._is_subnet(f"{path}.cidr", f"{path}[{index}]", text):
                self._apart(f"{path}.cidr", text, machines, "cluster network must not overlap with any of the machine networks")
                self._apart(f"{path}.cidr", text, services, "cluster network must not overlap with service network {index}")
                self._apart(f"{path}.cidr", text, pods[:index], "cluster network must not overlap with cluster network {index}")
                self._host_prefix(f"{path}.hostPrefix", index, ipaddress.ip_network(text))
        self._stacks({"machineNetwork": machines, "serviceNetwork": services, "clusterNetwork": pods})
        mtu = self._networking.get("clusterNetworkMTU")
        if mtu:
            self._invalid("networking.clusterNetworkMTU", mtu, "cluster network MTU is allowed only in AWS deployments")
        if self._networking.get("ovnKubernetesConfig") is not None and kind != _OVN:
            self._invalid("networking.networkType", kind, "ovnKubernetesConfig may only be specified with the OVNKubernetes networkType")
        if self._join:
            self._join_subnet({"clusterNetwork": pods, "machineNetwork": machines, "serviceNetwork": services})

    def _is_subnet(self, path: str, shown: str, text: str, further: Callable[[Network], str] = lambda _network: "") -> bool:
        """Return whether a text is a subnet; only then it is compared with others."""
        problem = _subnet_problem(text) or further(ipaddress.ip_network(text))
        if problem:
            self._invalid(path, text, problem)
            return False
        network = ipaddress.ip_network(text)
        if _overlap(network, _DOCKER_BRIDGE):
            self.warnings.append(f"{shown}: {text} overlaps with default Docker Bridge subnet")
        if self._networking["networkType"] == _OVN:
            for name, subnet in _OVN_SUBNETS[network.version].items():
                own = name == "internal" and network.version == 4 and self._join
                if not own and _overlap(network, ipaddress.ip_network(subnet)):
                    self._invalid(path, text, f"must not overlap with OVNKubernetes default {name} subnet {subnet}")
        return True

    def _apart(self, path: str, text: str, others: Sequence[str], detail: str) -> None:
        for index, other in enumerate(others):
            if other and _overlap(ipaddress.ip_network(text), ipaddress.ip_network(other, strict=False)):
                self._invalid(path, text, detail.format(index=index, other=other))

    def _host_prefix(self, path: str, index: int, network: Network) -> None:
        entries = self._networking["clusterNetwork"]
        prefix = entries[index].get("hostPrefix") or 0
        if not prefix and self._networking["networkType"] != _OVN:
            return
        before = [entry.get("hostPrefix") or 0 for entry in entries[:index] if ":" not in _cidr(entry)]
        if prefix < 0:
            self._invalid(path, prefix, "hostPrefix must be positive")
        elif prefix < network.prefixlen:
            self._invalid(path, prefix, f"cluster network host subnetwork prefix must not be larger size than CIDR {network}")
        elif network.version == 4 and any(other != prefix for other in before):
            self._invalid(path, prefix, "cluster network host subnetwork prefix must be the same value for IPv4 networks")
        elif network.version == 6 and prefix != 64:
            self._invalid(path, prefix, "cluster network host subnetwork prefix must be 64 for IPv6 networks")

    def _stacks(self, networks: Mapping[str, Sequence[str]]) -> None:
        families = {kind: ["IPv6" if ":" in text else "IPv4" for text in texts if text] for kind, texts in networks.items()}
        services = ", ".join(networks["serviceNetwork"])
        dual = set(families["serviceNetwork"]) == {"IPv4", "IPv6"}
        if dual and len(networks["serviceNetwork"]) != 2:
            text = "when installing dual-stack IPv4/IPv6 you must provide two service networks, one for each IP address type"
            self._invalid("networking.serviceNetwork", services, text)
        if set(families["serviceNetwork"]) == {"IPv4"} and len(networks["serviceNetwork"]) > 1:
            self._invalid("networking.serviceNetwork", services, "only one service network can be specified")
        for kind, versions in families.items() if dual else ():
            shown = ", ".join(networks[kind])
            for missing in {"IPv4", "IPv6"} - set(versions):
                self._invalid(f"networking.{kind}", shown, f"dual-stack IPv4/IPv6 requires an {missing} network in this list")
            if set(versions) == {"IPv4", "IPv6"} and versions[0] == "IPv6":
                self._invalid(f"networking.{kind}", shown, "IPv4 addresses must be listed before IPv6 addresses")

    def _join_subnet(self, networks: Mapping[str, Sequence[str]]) -> None:
        path, text = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet", self._join
        problem = _subnet_problem(text)
        if problem:
            self._invalid(path, text, problem)
            return
        subnet = ipaddress.ip_network(text)
        for kind, others in networks.items():
            self._apart(path, text, others, f"must not overlap with {kind} {{other}}")
        nodes = 0
        for entry in self._networking["clusterNetwork"]:
            bits = ipaddress.ip_network(_cidr(entry), strict=False).prefixlen
            if ":" not in _cidr(entry):
                shift = max(0, (entry.get("hostPrefix") or 0) - bits)
                # As with Go's integers, nothing is left of what is shifted further than they are long.
                nodes += 1 << shift if shift < 63 else 0
        if nodes >= (1 << (subnet.max_prefixlen - subnet.prefixlen)) - 3:
            detail = "ipv4InternalJoinSubnet is not large enough for the maximum number of nodes which can be supported by ClusterNetwork"
            self._invalid(path, text, detail)

    # --- platform and machines -----------------------------------------------------------------------------------------

    def _platforms(self) -> None:
        platforms = self._config["platform"]
        if not self._platform:
            self._invalid("platform", "", f"must specify one of the platforms ({', '.join(PLATFORMS)})")
        elif self._platform not in ("none", "external"):
            # The real one continues with the rules of that platform, and with its cloud.
            self._invalid("platform", self._platform, "the sandbox's installer knows the platforms external and none only")
        # The fields of none and external are not checked, so both may be present.
        for name in sorted(platforms):
            if name not in ("none", "external", self._platform):
                detail = f'must only specify a single type of platform; cannot use both "{self._platform}" and "{name}"'
                self._invalid("platform", self._platform, detail)

    def _gates(self) -> None:
        if str(self._config.get("featureSet") or "") not in _FEATURE_SETS:
            raise PanicError
        if self._config.get("arbiter") is not None:
            detail = "HighlyAvailableArbiter feature must be enabled in order to use arbiter cluster deployment"
            if self._release.minor == "4.19":
                self.errors.append(f"arbiter: Forbidden: {detail}")
            else:
                self._unsupported("arbiter.platform", self._platform, ("baremetal",))

    def _pools(self) -> None:
        control_plane, compute = self._config["controlPlane"], self._config["compute"]
        if control_plane["replicas"] == 0:
            self._invalid("controlPlane.replicas", 0, "number of control plane replicas must be positive")
        self._pool("controlPlane", control_plane)
        names = []
        for index, pool in enumerate(compute):
            path, name = f"compute[{index}]", pool.get("name") or ""
            if name != "worker":
                self._unsupported(f"{path}.name", name, ("worker",) if name == "edge" else ("worker", "edge"))
            if name in names:
                self.errors.append(f"{path}.name: Duplicate value: {go_text(name)}")
            names.append(name)
            if pool["architecture"] != control_plane["architecture"]:
                detail = "heteregeneous multi-arch is not supported; compute pool architecture must match control plane"
                self._invalid(f"{path}.architecture", pool["architecture"], detail)
            self._pool(path, pool)
        payload = self._release.release_architecture
        for path, kind, pool in [
            ("controlPlane", "controlPlane", control_plane),
            *((f"compute[{i}]", "compute", p) for i, p in enumerate(compute)),
        ]:
            if payload not in (MULTI, pool["architecture"]):
                detail = f"cannot create {pool['architecture']} {kind} node from a single architecture {payload} release payload"
                self._invalid(f"{path}.architecture", pool["architecture"], detail)

    def _pool(self, path: str, pool: Values) -> None:
        if pool["replicas"] < 0:
            self._invalid(f"{path}.replicas", pool["replicas"], "number of replicas must not be negative")
        if pool["hyperthreading"] not in ("Disabled", "Enabled"):
            self._unsupported(f"{path}.hyperthreading", pool["hyperthreading"], ("Disabled", "Enabled"))
        if pool["architecture"] not in _ARCHITECTURES:
            self._unsupported(f"{path}.architecture", pool["architecture"], _ARCHITECTURES)
        for name, value in sorted(pool["platform"].items()):
            self._invalid(
                f"{path}.platform.{name}", value, f'cannot specify "{name}" for machine pool when cluster is using "{self._platform}"'
            )

    # --- what is pulled, and how -----------------------------------------------------------------------------------------

    def _pull_secret(self) -> None:
        text = str(self._config["pullSecret"])
        try:
            secret = json.loads(text)
        except json.JSONDecodeError as error:
            self._invalid("pullSecret", text, _json_problem(error))
            return
        problems = _pull_secret_problems(secret)
        if problems:
            self._invalid("pullSecret", text, problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _proxy(self) -> None:
        proxy = self._config.get("proxy")
        if proxy is None:
            return
        if not proxy.get("httpProxy") and not proxy.get("httpsProxy"):
            self.errors.append("proxy: Required value: must include httpProxy or httpsProxy")
        for name, schemes in {"httpProxy": ("http",), "httpsProxy": ("http", "https")}.items():
            if proxy.get(name):
                self._proxy_address(f"proxy.{name}", str(proxy[name]), schemes)
        without = str(proxy.get("noProxy") or "")
        if without in ("", "*"):
            return
        if " " in without:
            self._invalid("proxy.noProxy", without, "noProxy must not have spaces")
        for index, element in enumerate(without.split(",")):
            trimmed = element.strip()
            if _subdomain_problem(trimmed.removeprefix(".").removesuffix(".")) and not _is_ip_or_cidr(trimmed):
                detail = "each element of noProxy must be a IP, CIDR or domain without wildcard characters, which is violated by element"
                self._invalid("proxy.noProxy", without, f"{detail} {index} {go_text(trimmed)}")

    def _proxy_address(self, path: str, text: str, schemes: Sequence[str]) -> None:
        try:
            scheme, host = _scheme_and_host(text)
        except ValueError as error:
            self._invalid(path, text, f"parse {go_text(text)}: {error}")
            return
        if scheme not in schemes:
            self._unsupported(path, scheme, schemes)
        for kind in ("cluster", "service"):
            if any(_contains(_cidr(entry), host) for entry in self._networking[f"{kind}Network"]):
                self._invalid(path, text, f"proxy value is part of the {kind} networks")
        if _contains(self._join, host):
            self._invalid(path, text, "proxy value is part of the ovn-kubernetes IPv4 InternalJoinSubnet")

    def _mirrors(self) -> None:
        for kind in ("imageContentSources", "imageDigestSources"):
            for index, group in enumerate(self._config.get(kind) or []):
                problem = _repository_problem(group.get("source") or "")
                if problem:
                    self._invalid(f"{kind}[{index}].source", group.get("source") or "", problem)
                for place, mirror in enumerate(group.get("mirrors") or []):
                    problem = _repository_problem(mirror)
                    if problem:
                        self._invalid(f"{kind}[{index}].mirrors[{place}]", mirror, problem)
        if self._config.get("imageContentSources"):
            if self._config.get("imageDigestSources"):
                detail = "cannot set imageContentSources and imageDigestSources at the same time"
                self._invalid("imageContentSources", self._config["publish"], detail)
            self.warnings.append("imageContentSources is deprecated, please use ImageDigestSources")

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _publishing(self) -> None:
        publish, strategy = self._config["publish"], self._config.get("operatorPublishingStrategy")
        if publish not in _PUBLISH:
            self._unsupported("publish", publish, _PUBLISH)
        if self._config.get("credentialsMode"):
            self._invalid("credentialsMode", self._config["credentialsMode"], f'cannot be set when using the "{self._platform}" platform')
        if publish == "Internal":
            self._invalid("publish", publish, f'Internal publish strategy is not supported on "{self._platform}" platform')
        if publish == "Mixed":
            self._invalid("publish", publish, f'mixed publish strategy is not supported on "{self._platform}" platform')
            if strategy is None:
                self._invalid("publish", publish, "please specify the operator publishing strategy for mixed publish strategy")
        elif strategy is not None:
            detail = "operator publishing strategy is only allowed with mixed publishing strategy installs"
            self._invalid("operatorPublishingStrategy", publish, detail)

    def _capabilities(self) -> None:
        capabilities = self._config.get("capabilities")
        if capabilities is None:
            return
        base, additional = capabilities.get("baselineCapabilitySet") or "", capabilities.get("additionalEnabledCapabilities")
        if base not in CAPABILITY_SETS:
            self._unsupported("capabilities.baselineCapabilitySet", base, sorted(CAPABILITY_SETS))
        for index, name in enumerate(additional or []):
            if name not in CAPABILITY_SETS["vCurrent"]:
                path = f"capabilities.additionalEnabledCapabilities[{index}]"
                self._unsupported(path, name, sorted(CAPABILITY_SETS["vCurrent"]))
        enabled = CAPABILITY_SETS.get(base or "vCurrent", frozenset()) | set(additional or [])
        shown = "[]v1.ClusterVersionCapability" + ("(nil)" if additional is None else "{" + ", ".join(map(go_text, additional)) + "}")
        go_value = f"types.Capabilities{{BaselineCapabilitySet:{go_text(base)}, AdditionalEnabledCapabilities:{shown}}}"
        if "marketplace" in enabled and "OperatorLifecycleManager" not in enabled:
            detail = "the marketplace capability requires the OperatorLifecycleManager capability"
            self._invalid_go("additionalEnabledCapabilities", shown, detail)
        external = self._config["platform"].get("external") if self._platform == "external" else None
        if "CloudCredential" not in enabled and external is not None:
            self._invalid_go("capabilities", go_value, "disabling CloudCredential capability available only for baremetal platforms")
        if "CloudControllerManager" not in enabled and external is not None and external.get("cloudControllerManager") == "External":
            detail = "disabling CloudControllerManager on External platform supported only with cloudControllerManager value none"
            self._invalid_go("capabilities", go_value, detail)
        if "Ingress" not in enabled:
            self._invalid_go("capabilities", go_value, "the Ingress capability is required")

    def _feature_set(self) -> None:
        gates = self._config.get("featureGates") or []
        if gates and self._config.get("featureSet") != "CustomNoUpgrade":
            self.errors.append("featureGates: Forbidden: featureGates can only be used with the CustomNoUpgrade feature set")
        for index, gate in enumerate(gates):
            if gate.count("=") != 1:
                self._invalid(f"featureGates[{index}]", gate, "must match the format <feature-name>=<bool>")
            elif not re.fullmatch(r"[01tfTF]|TRUE|true|True|FALSE|false|False", gate.partition("=")[2]):
                detail = "must match the format <feature-name>=<bool>, could not parse boolean value"
                self._invalid(f"featureGates[{index}]", gate, detail)


# --- single values -----------------------------------------------------------------------------------------------------------


def _first_key(text: str) -> str | None:
    """Return the kind of the first public key that can be read; lines without one are passed over, as options before one are."""
    for line in text.splitlines():
        words = [] if line.strip().startswith("#") else re.findall(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+', line)
        for encoded in words[1:3]:
            kind = _kind_of_key(encoded)
            if kind:
                return kind
    return None


def _kind_of_key(encoded: str) -> str | None:
    try:
        length = int.from_bytes(base64.b64decode(encoded, validate=True)[:4])
        kind = base64.b64decode(encoded)[4 : 4 + length].decode("ascii")
        serialization.load_ssh_public_key(f"{kind} {encoded}".encode())
    except UnsupportedAlgorithm:
        return kind if kind.startswith("sk-") or "-cert-" in kind else None  # good keys that this library does not read
    except ValueError:
        return None
    return kind


def _bundle_problem(text: str) -> str:
    remaining = text
    while remaining:
        block = re.search(r"-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)-----END \1-----[ \t\r]*(?:\n|\Z)", remaining, re.DOTALL)
        if block is None:
            return "invalid block"
        remaining = remaining[block.end() :]
        try:
            x509.load_der_x509_certificate(base64.b64decode(block[2]))
        except ValueError:
            return "x509: malformed certificate"
    return ""


def _subdomain_problem(text: str) -> str:
    if len(text) > 253:
        return "must be no more than 253 characters"
    return "" if re.fullmatch(_SUBDOMAIN, text) else _SUBDOMAIN_TEXT


def _cidr(entry: Any) -> str:
    return str((entry.get("cidr") if isinstance(entry, Mapping) else entry) or "")


def _subnet_problem(text: str) -> str:
    if not text:
        return "invalid network address. got <nil>, expecting <nil>"
    interface = ipaddress.ip_interface(text)
    if interface.ip.is_unspecified:
        return "address must be specified"
    if interface.network.network_address != interface.ip:
        return f"invalid network address. got {text}, expecting {interface.network}"
    return ""


def _service_problem(network: Network) -> str:
    if network.version == 4 and network.prefixlen < 12:
        return "subnet size for IPv4 service network must be /12 or greater (/16 is recommended)"
    if network.version == 6 and network.prefixlen < 108:
        return "subnet size for IPv6 service network should be /112"
    return ""


def _overlap(network: Network, other: Network) -> bool:
    return network.version == other.version and network.overlaps(other)


def _is_ip_or_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return not slash or (bool(address) and bits.isdecimal())


def _contains(cidr: str, host: str) -> bool:
    try:
        return bool(cidr) and ipaddress.ip_address(host) in ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False


def _scheme_and_host(url: str) -> tuple[str, str]:
    """Return scheme and host of a URL. Raises ValueError with the message of Go's net/url."""
    if not re.match("[A-Za-z][A-Za-z0-9+.-]*:|/", url):
        raise ValueError("missing protocol scheme" if url.startswith(":") else "invalid URI for request")
    try:
        parsed = urlsplit(url)
    except ValueError:
        raise ValueError("missing ']' in host") from None
    user, _at, host_port = parsed.netloc.rpartition("@")
    if " " in host_port:
        raise ValueError('invalid character " " in host name')
    colon = host_port.rpartition("]")[2].rfind(":")
    port = host_port.rpartition("]")[2][colon + 1 :] if colon >= 0 else ""
    if port and not port.isdecimal():
        raise ValueError(f"invalid port {go_text(':' + port)} after host")
    if not re.fullmatch(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", user):
        raise ValueError("net/url: invalid userinfo")
    if escape := re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", user):
        raise ValueError(f"invalid URL escape {go_text(escape[0])}")
    return parsed.scheme, parsed.hostname or ""


_NAME_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST_PART: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_NAME: Final = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*(?::\d+)?/)?{_NAME_PART}(?:/{_NAME_PART})*"
_TAG: Final = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
_DIGEST: Final = r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"


def _repository_problem(text: str) -> str:
    match = re.fullmatch(f"({_NAME})({_TAG}{_DIGEST})", text)
    if match is None or re.fullmatch("[a-f0-9]{64}", text):
        return "failed to parse: invalid reference format"
    registry, slash, _path = text.partition("/")
    if slash and (registry == "localhost" or re.search("[.:A-Z]", registry)):
        return "must be repository--not reference" if match[2] else ""
    # Not canonical: it would be completed with docker.io. A registry alone is let through.
    host = text.rpartition(":")[0] if re.search(r":\d+$", text) else text
    problem = "" if _is_ip_or_cidr(host) and "/" not in host else _subdomain_problem(host)
    return f"the repository provided is invalid: {problem}" if problem else ""


def _json_problem(error: json.JSONDecodeError) -> str:
    at = error.doc[error.pos : error.pos + 1]
    if not at or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    phrases = {
        "Expecting property name": "looking for beginning of object key string",
        "Expecting ':'": "after object key",
        "Expecting ','": "after object key:value pair",
        "Extra data": "after top-level value",
    }
    return f"invalid character '{at}' " + next(
        (text for prefix, text in phrases.items() if error.msg.startswith(prefix)), "looking for beginning of value"
    )


def _pull_secret_problems(secret: Any) -> list[str]:
    kinds = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    if secret is not None and not isinstance(secret, dict):
        return [f"json: cannot unmarshal {kinds[type(secret)]} into Go value of type validate.imagePullSecret"]
    auths = (secret or {}).get("auths")
    if auths is not None and not isinstance(auths, dict):
        place = "Go struct field imagePullSecret.auths of type map[string]map[string]interface {}"
        return [f"json: cannot unmarshal {kinds[type(auths)]} into {place}"]
    if not auths:
        return ["auths required"]
    for entry in auths.values():
        if entry is not None and not isinstance(entry, dict):
            return [
                f"json: cannot unmarshal {kinds[type(entry)]} into Go struct field imagePullSecret.auths of type map[string]interface {{}}"
            ]
    return [
        f"{go_text(host)} requires either auth or credsStore"
        for host, entry in sorted(auths.items())
        if not {"auth", "credsStore"} & set(entry or {})
    ]
