# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units of OpenShift's machine config operator and of RHEL CoreOS around the kubelet, by their order: what starts after what.

Names and order are those of openshift/machine-config-operator, templates/common/_base/units and templates/*/01-*-kubelet, for the
platforms none and external with OVN-Kubernetes. crio-wipe.service and NetworkManager's are the image's. In the tree of a container their
programs are stand-ins, most of them do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from sandbox.openshift.assets import links_of

SYSTEM: Final = """
NetworkManager.service: {Wants: network.target, Before: network.target, WantedBy: multi-user.target}
NetworkManager-wait-online.service: {Requires: NetworkManager.service, After: NetworkManager.service, Before: network-online.target,
  WantedBy: network-online.target}
openvswitch.service: {Before: network.target}
crio-wipe.service: {Before: crio.service}
ignition-firstboot-complete.service: {WantedBy: multi-user.target}
"""
OF_ALL_RELEASES: Final = """
machine-config-daemon-pull.service: {Wants: crio-wipe.service NetworkManager-wait-online.service,
  After: crio-wipe.service NetworkManager-wait-online.service, RequiredBy: machine-config-daemon-firstboot.service}
machine-config-daemon-firstboot.service: {After: machine-config-daemon-pull.service,
  Before: firstboot-osupdate.target kubelet.service crio.service, RequiredBy: firstboot-osupdate.target}
firstboot-osupdate.target: {Requires: basic.target, WantedBy: multi-user.target}
nodeip-configuration.service: {Wants: NetworkManager-wait-online.service crio-wipe.service,
  After: NetworkManager-wait-online.service ignition-firstboot-complete.service crio-wipe.service,
  Before: kubelet-dependencies.target ovs-configuration.service, RequiredBy: kubelet-dependencies.target}
ovs-configuration.service: {Requires: openvswitch.service, Wants: NetworkManager-wait-online.service,
  After: firstboot-osupdate.target NetworkManager-wait-online.service openvswitch.service nodeip-configuration.service,
  Before: kubelet-dependencies.target node-valid-hostname.service, RequiredBy: kubelet-dependencies.target}
node-valid-hostname.service: {After: NetworkManager-wait-online.service, Before: kubelet-dependencies.target,
  RequiredBy: kubelet-dependencies.target}
kubelet-dependencies.target: {Requires: basic.target network-online.target, Wants: NetworkManager-wait-online.service crio-wipe.service}
kubelet-auto-node-size.service: {Wants: network-online.target, After: network-online.target, Before: crio.service kubelet.service}
crio.service: {Wants: network-online.target, After: network-online.target kubelet-dependencies.target}
kubelet.service: {Requires: crio.service kubelet-auto-node-size.service kubelet-dependencies.target,
  After: crio.service kubelet-auto-node-size.service kubelet-dependencies.target ostree-finalize-staged.service,
  WantedBy: multi-user.target}
"""
# Since September 2025 the z-streams of all releases have the same order (OCPBUGS-48566, OCPBUGS-61695).
NMSTATE: Final = """
nmstate-configuration.service: {Requires: openvswitch.service, Wants: NetworkManager-wait-online.service,
  After: NetworkManager-wait-online.service openvswitch.service nodeip-configuration.service,
  Before: nmstate.service kubelet-dependencies.target kubelet.service crio.service ovs-configuration.service node-valid-hostname.service,
  WantedBy: network-online.target}
nmstate.service: {Wants: NetworkManager-wait-online.service, Requires: NetworkManager.service,
  After: NetworkManager-wait-online.service, Before: network-online.target, WantedBy: NetworkManager.service}
wait-for-primary-ip.service: {Requires: nmstate.service, After: nmstate.service, Before: kubelet-dependencies.target,
  WantedBy: network-online.target}
"""

_REAL: Final = ("NetworkManager.service", "NetworkManager-wait-online.service", "kubelet.service")
"""Units that a container has of its own. The kubelet's is in the served config, as on a node."""
STAND_INS: Final = "/usr/libexec/stand-in"
_SERVICE: Final = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={program}\n"
_NOT_ON_BOOTSTRAP: Final = "[Unit]\nConditionPathExists=!/opt/openshift\n"
"""The operator's units are in the configs of pools, which the bootstrap machine has not."""


def text_of(entries: Mapping[str, str]) -> str:
    """Return a unit with this order: its sections Unit and Install."""
    order = "".join(f"{key}={value}\n" for key, value in entries.items() if not key.endswith("By"))
    return f"[Unit]\n{order}[Install]\n" + "".join(f"{key}={value}\n" for key, value in entries.items() if key.endswith("By"))


def write(tree: Path) -> None:
    """Write the units to a tree, enabled, and the order of those that it has of its own as drop-ins."""
    folder = tree / "usr/lib/systemd/system"
    ordering: dict[str, dict[str, str]] = yaml.safe_load(SYSTEM + OF_ALL_RELEASES + NMSTATE)
    for name, entries in ordering.items():
        text = text_of(entries)
        if name in _REAL:
            (folder / f"{name}.d").mkdir(exist_ok=True)
            (folder / f"{name}.d" / "50-order.conf").write_text(text.partition("[Install]")[0], encoding="utf-8")
            continue
        if name.endswith(".service"):
            stand_in = f"{STAND_INS}/{name.removesuffix('.service')}"
            text += _NOT_ON_BOOTSTRAP + _SERVICE.format(program=stand_in if (tree / stand_in[1:]).exists() else "/bin/true")
        (folder / name).write_text(text, encoding="utf-8")
        for kind, target in links_of(text):
            (folder / f"{target}.{kind}").mkdir(exist_ok=True)
            (folder / f"{target}.{kind}" / name).symlink_to(f"../{name}")
