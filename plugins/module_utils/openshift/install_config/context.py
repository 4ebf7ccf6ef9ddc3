# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A decoded install-config as the rules read it.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.fields import PLATFORM_ORDER, Release
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import Problem
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import ip_network

if TYPE_CHECKING:
    from netaddr import IPNetwork

Config = Mapping[str, Any]

OVN = "OVNKubernetes"


class Context:
    """A decoded install-config with defaults, and the release it is for."""

    def __init__(self, config: Config, release: Release | None) -> None:
        self.config = config
        self.release = release
        self.networking: Config = config["networking"]
        self.platform = next((name for name in PLATFORM_ORDER if name in config["platform"]), "")
        self.ovn = self.networking["networkType"] == OVN

    def text(self, name: str) -> str:
        return str(self.config.get(name) or "")

    def cidrs(self, kind: str) -> list[str]:
        """The networks of ``machineNetwork``, ``serviceNetwork`` or ``clusterNetwork`` as they are written."""
        return [str((entry or {}).get("cidr") or "") if kind != "serviceNetwork" else str(entry or "") for entry in self.networking[kind]]

    def networks(self, kind: str) -> list[tuple[int, IPNetwork]]:
        """The networks that can be read, with their place in the list."""
        return [(index, ip_network(cidr).cidr) for index, cidr in enumerate(self.cidrs(kind)) if cidr]

    @property
    def join_subnet(self) -> str:
        """OVN-Kubernetes' join network of the user's own, or nothing."""
        config = self.networking.get("ovnKubernetesConfig") or {}
        return str((config.get("ipv4") or {}).get("internalJoinSubnet") or "")

    def before(self, *release: int) -> bool:
        """Whether the release is known and older."""
        return self.release is not None and self.release < release


Rule = Callable[[Context], Iterator[Problem]]
