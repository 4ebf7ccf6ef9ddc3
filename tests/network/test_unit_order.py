"""The units of a machine beside those of its system: systemd finds no ordering cycle among all of them.

systemd breaks a cycle by deleting one job, another one at each boot. Units judged alone have none: OpenShift's own close it.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.files import final_config
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.cluster_manifests import cluster_manifests
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_network import NODE_ADDRESS, with_bootstrap_network
from sandbox.containers.operator_units import NMSTATE, OF_ALL_RELEASES, SYSTEM, text_of
from sandbox.openshift.assets import links_of

pytestmark = pytest.mark.debian("systemd")
ROLES = Path(__file__).resolve().parents[2] / "roles"
Units = dict[str, str]

NODES = {"4.16, before March 2025": SYSTEM + OF_ALL_RELEASES, "4.16 and newer": SYSTEM + OF_ALL_RELEASES + NMSTATE}

# openshift/installer, data/data/bootstrap: before 4.19 the boot image has all programs, since then they come with the node image.
BOOTSTRAP = {
    "4.18": """
release-image.service: {Wants: network-online.target, After: network-online.target}
crio.service: {Wants: network-online.target, After: network-online.target}
kubelet.service: {Wants: crio.service release-image.service, After: crio.service release-image.service, WantedBy: multi-user.target}
bootkube.service: {Requires: release-image.service, Wants: kubelet.service, After: kubelet.service release-image.service,
  WantedBy: multi-user.target}
""",
    "4.19": """
node-image-pull.service: {Wants: network-online.target, After: network-online.target, RequiredBy: node-image-overlay.target}
node-image-overlay.target: {Requires: basic.target, After: node-image-pull.service, Before: multi-user.target, WantedBy: multi-user.target}
release-image.service: {Wants: network-online.target, After: network-online.target node-image-overlay.target}
crio.service: {Wants: network-online.target, After: network-online.target}
kubelet.service: {Wants: crio.service release-image.service, After: crio.service release-image.service, WantedBy: multi-user.target}
bootkube.service: {Requires: release-image.service, Wants: kubelet.service, After: kubelet.service release-image.service,
  WantedBy: multi-user.target}
""",
}

# coreos/coreos-installer, systemd: the order after the network changed in 0.21.
LIVE = {
    version: f"""
coreos-installer-pre.target: {{WantedBy: multi-user.target, After: basic.target}}
coreos-installer.service: {{Wants: network-online.target, After: {network} coreos-installer-pre.target, Before: coreos-installer.target}}
coreos-installer.target: {{Requires: coreos-installer.service, Before: multi-user.target, WantedBy: multi-user.target}}
"""
    for version, network in (("0.20", "network-online.target"), ("0.21", "NetworkManager.service"))
}


def content(role: str, file: str) -> str:
    return (ROLES / role / "files" / file).read_text(encoding="utf-8")


def units_of(config: Mapping[str, Any]) -> Units:
    """The enabled units of an Ignition config."""
    return {unit["name"]: unit["contents"] for unit in (config.get("systemd") or {}).get("units") or () if unit["enabled"]}


def settings(network: str) -> dict[str, Any]:
    """Settings of a cluster that has every unit, as the role ``ignition`` gives them to ``cluster_manifests``."""
    files = {
        subject: {
            "script": "",
            **{path.suffix[1:]: path.read_text(encoding="utf-8") for path in (ROLES / "ignition/files").glob(f"{subject}.*")},
        }
        for subject in ("node-network", "kube-vip", "node-firewall")
    }
    common = {"metadata_url": "http://metadata.test/metadata"}
    return {
        "cluster": "demo.metal.test",
        "cluster_networks": [{"cidr": "10.128.0.0/14"}],
        "default_catalogs": True,
        "control_plane": [],
        "workers": [],
        "node_network": {"kind": network, "vlan_mode": "hybrid", "families": [4], **common, **files["node-network"]},
        "kube_vip": {
            "address": "198.51.100.1",
            "image": "kube-vip",
            **common,
            **files["kube-vip"],
            "address_service": content("ignition", "kube-vip-address.service"),
        },
        "node_firewall": {"enabled": True, "sources": [], **common, **files["node-firewall"]},
    }


def units_of_nodes(network: str, pool: str) -> Units:
    """The units of a node: those of its MachineConfigs, and of the config on its disk."""
    chosen = settings(network)
    units: Units = {}
    for manifest in (json.loads(each["content"]) for each in cluster_manifests(chosen)):
        if manifest["metadata"].get("labels", {}).get("machineconfiguration.openshift.io/role") == pool:
            units |= units_of(manifest["spec"]["config"])
    reporter = {"name": "report-first-boot", "script": "", "unit": content("boot_files", "report-first-boot.service")}
    on_disk = final_config({"ignition": {}}, "node.test", {"metadata_url": "http://metadata.test/metadata", "reporter": reporter})
    return units | units_of(on_disk)


def units_of_live_system() -> Units:
    units = {file.name: file.read_text(encoding="utf-8") for file in (ROLES / "boot_files/files").glob("*.service")}
    return {name: text for name, text in units.items() if "Before=coreos-installer.service" in text}


def write(folder: Path, own: Units, system: str) -> None:
    """Write all units with their links, as ``systemctl enable`` makes them."""
    ordering: dict[str, dict[str, str]] = yaml.safe_load(system)
    service = "[Service]\nType=oneshot\nExecStart=/bin/true\n"
    texts = {name: text_of(entries) + ("" if name.endswith(".target") else service) for name, entries in ordering.items()}
    for name, text in {**texts, **own}.items():
        # The programs are not on this computer.
        lines = (line for line in text.splitlines() if not line.startswith(("ExecStart", "EnvironmentFile")))
        (folder / name).write_text("\n".join(lines).replace("[Service]", "[Service]\nExecStart=/bin/true") + "\n", encoding="utf-8")
        for kind, target in links_of(text):
            (folder / f"{target}.{kind}").mkdir(exist_ok=True)
            (folder / f"{target}.{kind}" / name).symlink_to(folder / name)


def cycles(folder: Path) -> list[str]:
    """Have systemd order the start of multi-user.target, and return what it says of cycles."""
    path = os.pathsep.join((str(folder), "/usr/lib/systemd/system"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "multi-user.target"],
        env={**os.environ, "SYSTEMD_UNIT_PATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Failed to" not in done.stderr, done.stderr
    return [line for line in done.stderr.splitlines() if "cycle" in line or "deleted to break" in line]


def followers(own: Units, system: str, first: str) -> set[str]:
    """Return every unit that starts after one, directly or by others."""
    after: dict[str, set[str]] = {}
    for name, text in {**{name: text_of(entries) for name, entries in yaml.safe_load(system).items()}, **own}.items():
        for line in text.splitlines():
            key, _equals, others = line.partition("=")
            for other in others.split() if key in ("After", "Before") else ():
                earlier, later = (other, name) if key == "After" else (name, other)
                after.setdefault(earlier, set()).add(later)
    found: set[str] = set()
    queue = [first]
    while queue:
        new = after.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


@pytest.mark.parametrize("release", NODES)
@pytest.mark.parametrize(
    ("network", "pool"), [*((network, "master") for network in NODE_ADDRESS), ("vlan", "worker"), ("layer3", "master")]
)
def test_the_units_of_a_node_have_no_cycle_with_those_of_the_machine_config_operator(
    tmp_path: Path, release: str, network: str, pool: str
) -> None:
    own = units_of_nodes(network, pool)
    assert ("node-network.service" in own, "kube-vip.service" in own) == (network != "layer3", pool == "master")
    write(tmp_path, own, NODES[release])
    assert cycles(tmp_path) == []
    if network != "layer3":
        later = followers(own, NODES[release], "node-network.service")
        assert {
            "machine-config-daemon-pull.service",
            "nodeip-configuration.service",
            "ovs-configuration.service",
            "kubelet.service",
        } <= later
        assert "node-network.service" in followers(own, NODES[release], "NetworkManager-wait-online.service")


@pytest.mark.parametrize("release", BOOTSTRAP)
@pytest.mark.parametrize("network", ["private", "vlan"])
def test_the_units_of_the_bootstrap_device_have_no_cycle(tmp_path: Path, release: str, network: str) -> None:
    own = units_of(yaml.safe_load(with_bootstrap_network('{"ignition": {}}', settings(network))))
    write(tmp_path, own, SYSTEM + BOOTSTRAP[release])
    assert cycles(tmp_path) == []
    assert "bootkube.service" in followers(own, SYSTEM + BOOTSTRAP[release], "node-network.service")


@pytest.mark.parametrize("installer", LIVE)
def test_the_units_of_the_live_system_have_no_cycle(tmp_path: Path, installer: str) -> None:
    own = units_of_live_system()
    write(tmp_path, own, SYSTEM + LIVE[installer])
    assert cycles(tmp_path) == []
    for unit in own:
        assert "coreos-installer.service" in followers(own, SYSTEM + LIVE[installer], unit)


def test_every_unit_of_the_roles_is_judged() -> None:
    judged = {*units_of_nodes("bond", "master"), *units_of_live_system()}
    files = {path.name for role in ("ignition", "boot_files") for path in (ROLES / role / "files").iterdir()}
    assert {name for name in files if name.endswith((".service", ".timer"))} == judged
