# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``explain installconfig[.field...]``: what each field means and which fields are below it."""

from __future__ import annotations

from typing import Any, Final

from .errors import InstallerError
from .fields import FIELDS

_TEXTS: Final[dict[str, tuple[str, str]]] = {
    # path below installconfig: (type, description); -required- as the real one marks it
    "": ("object", "InstallConfig is the configuration for an OpenShift install."),
    "apiVersion": (
        "string",
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
        "schemas to the latest internal value, and may reject unrecognized values.",
    ),
    "additionalTrustBundle": (
        "string",
        "PEM-encoded X.509 certificate bundle that will be added to the nodes' trusted certificate store.",
    ),
    "additionalTrustBundlePolicy": (
        "string",
        'Valid Values: "","Proxyonly","Always". When to add the AdditionalTrustBundle to the nodes\' trusted certificate store.',
    ),
    "baseDomain": ("string -required-", "BaseDomain is the base domain to which the cluster should belong."),
    "capabilities": ("object", "Capabilities configures the installation of optional core cluster components."),
    "compute": ("[]object", "Compute is the configuration for the machines that comprise the compute nodes."),
    "controlPlane": ("object", "ControlPlane is the configuration for the machines that comprise the control plane."),
    "fips": ("boolean", "Default: false. FIPS configures https://www.nist.gov/itl/fips-general-information"),
    "imageDigestSources": ("[]object", "ImageDigestSources lists sources/repositories for the release-image content."),
    "metadata": ("object -required-", "metadata.name is the name of the cluster."),
    "networking": ("object", "Networking is the configuration for the pod network provider in the cluster."),
    "networking.clusterNetwork": (
        "[]object",
        "ClusterNetwork is the list of IP address pools for pods. Default is 10.128.0.0/14 and a host prefix of /23.",
    ),
    "networking.machineNetwork": (
        "[]object",
        "MachineNetwork is the list of IP address pools for machines. Default is 10.0.0.0/16 for all platforms.",
    ),
    "networking.networkType": ("string", "Default: OVNKubernetes. NetworkType is the type of network to install."),
    "networking.serviceNetwork": (
        "[]string",
        "ServiceNetwork is the list of IP address pools for services. Default is 172.30.0.0/16.",
    ),
    "platform": ("object -required-", "Platform is the configuration for the specific platform upon which to perform the installation."),
    "platform.external": ("object", "External is the configuration used when installing on an external cloud provider."),
    "platform.external.cloudControllerManager": (
        "string",
        'Valid Values: "","External". CloudControllerManager when set to External, this property will enable an external cloud provider.',
    ),
    "platform.external.platformName": (
        "string",
        "Default: Unknown. PlatformName holds the arbitrary string representing the infrastructure provider name.",
    ),
    "platform.none": ("object", "None is the empty configuration used when installing on an unsupported platform."),
    "proxy": ("object", "Proxy defines the proxy settings for the cluster."),
    "publish": (
        "string",
        'Valid Values: "","External","Internal". Default: External. Publish controls how the user facing endpoints of the '
        "cluster like the Kubernetes API, OpenShift routes etc. are exposed.",
    ),
    "pullSecret": ("string -required-", "PullSecret is the secret to use when pulling images."),
    "sshKey": ("string", "SSHKey is the public Secure Shell (SSH) key to provide access to instances."),
}
_POOL_TEXTS: Final[dict[str, tuple[str, str]]] = {
    "architecture": ("string", "Default: the release's. Architecture is the instruction set architecture of the machine pool."),
    "hyperthreading": ("string", 'Default: "Enabled". Valid Values: "Enabled","Disabled". Determines the mode of hyperthreading.'),
    "name": ("string -required-", 'Name is the name of the machine pool. "master" for the control plane, "worker" for compute.'),
    "platform": ("object", "Platform is configuration for machine pool specific to the platform."),
    "replicas": ("integer", "Replicas is the machine count for the machine pool."),
}


def text(path: str) -> str:
    """Return the page of a field. Raises `InstallerError` for one that does not exist."""
    kind, *names = path.split(".")
    if kind.lower() != "installconfig":
        raise InstallerError(f"failed to load schema for the resource {kind}: only installconfig is known")
    known: Any = FIELDS
    for depth, name in enumerate(names):
        known = known[0] if isinstance(known, list) else known
        if not isinstance(known, dict) or name not in known:
            raise InstallerError(f"failed to load schema for the field .{'.'.join(names[: depth + 1])}: no such field {name}")
        known = known[name]
    known = known[0] if isinstance(known, list) else known
    field = ".".join(names)
    type_name, description = _described(field)
    lines = ["KIND:     InstallConfig", "VERSION:  v1", ""]
    if field:
        lines += [f"RESOURCE: <{type_name.removesuffix(' -required-')}>"]
    lines += ["  " + description, ""]
    if isinstance(known, dict) and known:
        lines += ["FIELDS:"]
        for name in sorted(known):
            type_name, description = _described(f"{field}.{name}".lstrip("."))
            required = type_name.endswith(" -required-")
            lines += [f"    {name} <{type_name.removesuffix(' -required-')}>" + (" -required-" if required else "")]
            lines += [f"      {description}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(field: str) -> tuple[str, str]:
    pool, _unused, name = field.partition(".")
    if pool in ("compute", "controlPlane", "arbiter") and name in _POOL_TEXTS:
        return _POOL_TEXTS[name]
    return _TEXTS.get(field, ("any", "(no description in the sandbox)"))
