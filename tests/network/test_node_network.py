"""The script that configures the bond of a node, with metadata of the sandbox. NetworkManager itself reads the profiles."""

import configparser
import json
import os
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_network import node_network, with_bootstrap_network
from tests.metal_api.conftest import Sandbox, sandbox_in

pytestmark = pytest.mark.debian("network-manager", "jq", "curl")
FILES = Path(__file__).resolve().parents[2] / "roles/ignition/files"
# Stands for the running NetworkManager: it lists the DNS servers that DHCP has set, and notes what is activated.
NMCLI = """#!/bin/sh
case "$*" in
*IP4.DNS*) printf '147.75.207.208 | 147.75.207.207\\n\\n147.75.207.207\\n' ;;
*) echo "$*" >> "$CALLS" ;;
esac
"""


@dataclass
class Node:
    """The files of a node: those of its MachineConfig, and what the script writes."""

    folder: Path

    def answer(self, metadata: dict[str, Any] | None) -> Path:
        """Set the answer of the metadata service; None is no answer."""
        document = self.folder / "metadata.json"
        document.unlink(missing_ok=True)
        if metadata is not None:
            (self.folder / "metadata.new").write_text(json.dumps(metadata), encoding="utf-8")
            (self.folder / "metadata.new").replace(document)
        return document

    def run(self, network: str, metadata: dict[str, Any] | None) -> subprocess.CompletedProcess[str]:
        """Run the script as its unit does, with this answer of the metadata service."""
        environment = self.environment(network, self.answer(metadata))
        return subprocess.run(["node-network"], env=environment, capture_output=True, text=True, check=False, timeout=30)

    def run_until(self, network: str, answers: list[dict[str, Any] | None]) -> tuple[list[str], int]:
        """Start the script and change the answer whenever it tries again. Return what it said each time, and its exit code."""
        said = []
        environment = self.environment(network, self.answer(answers[0]))
        with subprocess.Popen(["node-network"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            for answer in answers[1:]:
                said.append(process.stdout.readline())
                assert not (self.folder / "hint").exists(), "the kubelet would register with another address"
                self.answer(answer)
            process.stdout.read()
        return said, process.returncode

    def environment(self, network: str, document: Path) -> dict[str, str]:
        """Write the files of the MachineConfig, and return the environment of its unit."""
        master, _worker = node_network(
            {
                "node_network": {
                    "kind": network,
                    "metadata_url": document.as_uri(),
                    "families": (4,),
                    "script": (FILES / "node-network.sh").read_text(encoding="utf-8"),
                    "service": "",
                }
            }
        )
        contents = {
            Path(file["path"]).name: b64decode(file["contents"]["source"].partition("base64,")[2]).decode()
            for file in master["spec"]["config"]["storage"]["files"]
        }
        lines = [line.split("=", 1) for line in contents["node-network.conf"].splitlines()]
        for name, content in (("nmcli", NMCLI), ("sleep", "#!/bin/sh\n"), ("node-network", contents["node-network"])):
            path = self.folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755)
        return {
            **os.environ,
            **{name: value.strip('"') for name, value in lines},
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PROFILES": str(self.folder / "profiles"),
            "HINT": str(self.folder / "hint"),
            "CALLS": str(self.folder / "calls"),
        }

    @property
    def hint(self) -> str:
        """Return the address in whose subnet nodeip-configuration.service searches for the node address (tests/kernels has it do so)."""
        return (self.folder / "hint").read_text(encoding="utf-8").strip().removeprefix("KUBELET_NODEIP_HINT=")

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def profile(self, name: str) -> configparser.ConfigParser:
        """Return a profile as NetworkManager reads it."""
        path = self.folder / "profiles" / f"{name}.nmconnection"
        assert path.stat().st_mode & 0o777 == 0o600, "NetworkManager ignores profiles that others can read"
        command = ["nmcli", "--offline", "connection", "modify", "connection.autoconnect", "yes"]
        done = subprocess.run(command, input=path.read_text(encoding="utf-8"), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        parser = configparser.ConfigParser()
        parser.read_string(done.stdout)
        return parser


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with sandbox_in(tmp_path / "state") as running:
        yield running


async def metadata_of(sandbox: Sandbox, **body: Any) -> dict[str, Any]:
    device = await sandbox.active(hostname="worker-0.demo.metal.test", **body)
    answer = await sandbox.api.get(f"/devices/{device['id']}/metadata")
    document: dict[str, Any] = answer.json()
    return document


def addresses(metadata: dict[str, Any]) -> dict[tuple[int, bool], dict[str, Any]]:
    return {(each["address_family"], each["public"]): each for each in metadata["network"]["addresses"]}


@pytest.mark.parametrize("network", ["bond", "private"])
async def test_all_addresses_are_on_the_bond(sandbox: Sandbox, node: Node, network: str) -> None:
    metadata = await metadata_of(sandbox)
    found = addresses(metadata)
    public, private, v6 = found[4, True], found[4, False], found[6, True]
    done = node.run(network, metadata)
    assert (done.returncode, done.stderr) == (0, "")
    bond = node.profile("bond0")
    ports = metadata["network"]["interfaces"]
    assert bond["ethernet"]["cloned-mac-address"].lower() == ports[0]["mac"]
    assert dict(bond["bond"]) == {
        "mode": "802.3ad",
        "miimon": "100",
        "downdelay": "200",
        "updelay": "200",
        "xmit_hash_policy": "layer3+4",
        "lacp_rate": "fast",
    }
    assert bond["ipv4"]["address1"] == f"{public['address']}/31,{public['gateway']}"
    assert bond["ipv4"]["address2"] == f"{private['address']}/31"
    assert bond["ipv4"]["route1"] == f"{metadata['private_subnets'][0]},{private['gateway']}"
    assert bond["ipv4"]["route2"] == f"169.254.255.0/24,{private['gateway']}", "the BGP peers accept the private address alone"
    assert bond["ipv4"]["dns"] == "147.75.207.207;147.75.207.208;"
    assert (bond["ipv6"]["method"], bond["ipv6"]["address1"]) == ("manual", f"{v6['address']}/127,{v6['gateway']}")
    for port in ports:
        profile = node.profile(f"bond0-{port['name']}")
        assert profile["ethernet"]["mac-address"].lower() == port["mac"]
        assert profile["connection"]["master"] == "bond0"
    assert node.hint == (public if network == "bond" else private)["gateway"]
    assert node.calls == ["connection reload", "--wait 60 connection up bond0"]


async def test_a_later_boot_changes_nothing(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox)
    node.run("bond", metadata)
    before = node.calls
    done = node.run("bond", metadata)
    assert (done.returncode, done.stdout, node.calls) == (0, "", before)
    # The profiles of the first boot are used without the metadata service.
    done = node.run("bond", None)
    assert (done.returncode, node.calls) == (0, before)
    assert "the profiles stay as they are" in done.stdout


async def test_the_first_boot_waits_for_the_metadata_service(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox)
    # An answer without network is none either.
    said, code = node.run_until("bond", [None, {"network": {"interfaces": []}}, metadata])
    assert all("has no metadata of this device yet: trying again in 5 s" in line for line in said)
    assert code == 0
    assert node.hint == addresses(metadata)[4, True]["gateway"]


async def test_addresses_that_changed_are_configured(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox)
    node.run("bond", metadata)
    for entry in metadata["network"]["addresses"]:
        entry.update({"address": "192.0.2.3", "gateway": "192.0.2.2"} if entry["public"] and entry["address_family"] == 4 else {})
    node.run("bond", metadata)
    assert node.profile("bond0")["ipv4"]["address1"] == "192.0.2.3/31,192.0.2.2"
    assert len(node.calls) == 4


async def test_the_route_to_private_addresses_is_that_of_the_metadata(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox)
    gateway = addresses(metadata)[4, False]["gateway"]
    for subnets, expected in ((["10.0.0.0/8"], "10.0.0.0/8"), (["10.0.0.0/9", "172.16.0.0/12"], "10.0.0.0/9"), (None, "10.0.0.0/8")):
        node.run("private", {**metadata, "private_subnets": subnets})
        assert node.profile("bond0")["ipv4"]["route1"] == f"{expected},{gateway}"


async def test_a_device_without_public_addresses_uses_the_private_gateway(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox, ip_addresses=[{"address_family": 4, "public": False}])
    node.run("private", metadata)
    bond, private = node.profile("bond0"), addresses(metadata)[4, False]
    assert bond["ipv4"]["address1"] == f"{private['address']}/31,{private['gateway']}"
    assert "route1" not in bond["ipv4"]
    assert node.hint == private["gateway"]
    assert bond["ipv6"]["method"] == "link-local"
    done = node.run("bond", metadata)
    assert done.returncode == 1
    assert done.stderr == "The metadata has no public IPv4 address of this device: order it with one (metal_ip_addresses)\n"


@pytest.mark.parametrize(
    ("subnet", "hint"), [("192.168.40.21/24", "192.168.40.0"), ("172.31.255.254/12", "172.16.0.0"), ("10.1.2.7/30", "10.1.2.4")]
)
async def test_the_hint_in_a_vlan_is_the_first_address_of_its_subnet(sandbox: Sandbox, node: Node, subnet: str, hint: str) -> None:
    node.run("vlan", await metadata_of(sandbox, tags=["openshift-vlan=1000", f"openshift-vlan-address={subnet}"]))
    assert node.hint == hint


VLAN_TAGS = ["openshift-role=worker", "openshift-vlan=1000", "openshift-vlan-address=192.168.40.21/24"]


async def test_the_vlan_and_the_node_address_are_those_of_the_tags(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox, tags=VLAN_TAGS)
    done = node.run("vlan", metadata)
    assert (done.returncode, done.stderr) == (0, "")
    profile = node.profile("bond0.1000")
    assert dict(profile["vlan"]) == {"id": "1000", "parent": "bond0", "flags": "1"}
    assert profile["connection"]["interface-name"] == "bond0.1000"
    assert (profile["ipv4"]["method"], profile["ipv4"]["address1"]) == ("manual", "192.168.40.21/24")
    assert profile["ipv4"]["never-default"] == "true"
    # The public address stays on the bond, untagged.
    assert node.profile("bond0")["ipv4"]["address1"].startswith(f"{addresses(metadata)[4, True]['address']}/31,")
    assert node.calls == ["connection reload", "--wait 60 connection up bond0", "--wait 60 connection up bond0.1000"]
    again = node.run("vlan", metadata)
    assert (again.returncode, again.stdout, len(node.calls)) == (0, "", 3)


async def test_in_layer_2_only_the_vlan_has_an_address_and_a_gateway(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox, tags=[*VLAN_TAGS, "openshift-vlan-gateway=192.168.40.1"])
    done = node.run("vlan", metadata)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "configured bond0.1000 with 192.168.40.21/24 and the gateway 192.168.40.1\n"
    bond, vlan = node.profile("bond0"), node.profile("bond0.1000")
    assert (bond["ipv4"]["method"], bond["ipv6"]["method"]) == ("disabled", "disabled")
    assert not [name for section in ("ipv4", "ipv6") for name in bond[section] if name.startswith(("address", "route", "dns"))]
    assert vlan["ipv4"]["address1"] == "192.168.40.21/24,192.168.40.1"
    assert vlan["ipv4"]["dns"] == "147.75.207.207;147.75.207.208;"
    assert "never-default" not in vlan["ipv4"]
    assert node.hint == "192.168.40.0"
    # No metadata service can be reached from layer 2: a later boot does not wait for one.
    before = node.calls
    later = node.run("vlan", None)
    assert (later.returncode, later.stdout) == (0, "the bond is in layer 2: the profiles stay as they are\n")
    assert node.calls == before


def test_br_ex_is_on_the_bond_only_where_that_has_the_default_gateway() -> None:
    network = {"kind": "vlan", "metadata_url": "http://metadata.test/metadata", "families": [4], "script": "#!/bin/sh\n", "service": ""}
    for mode, expected in (("hybrid", True), ("layer2", False)):
        for config in node_network({"node_network": {**network, "vlan_mode": mode}}):
            paths = [file["path"] for file in config["spec"]["config"]["storage"]["files"]]
            assert ("/etc/ovnk/default_bridge" in paths) is expected


async def test_a_node_waits_for_the_tags_of_its_vlan(sandbox: Sandbox, node: Node) -> None:
    metadata = await metadata_of(sandbox, tags=VLAN_TAGS)
    # A bootstrap device that becomes a worker gets its tags while it is installed.
    said, code = node.run_until("vlan", [{**metadata, "tags": []}, metadata])
    assert (len(said), code, node.hint) == (1, 0, "192.168.40.0")


@pytest.mark.parametrize(("kind", "bridge"), [("vlan", ["/etc/ovnk/default_bridge"]), ("private", [])])
def test_the_bootstrap_device_is_in_the_network_of_the_nodes(kind: str, bridge: list[str]) -> None:
    network = {"metadata_url": "http://metadata.test/metadata", "families": [4], "script": "#!/bin/sh\n", "service": "[Unit]\n"}
    installer = {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/opt/openshift/manifests/one"}]}}
    made = json.loads(with_bootstrap_network(json.dumps(installer), {"node_network": {**network, "kind": kind}}))
    paths = ["/opt/openshift/manifests/one", "/etc/node-network.conf", "/usr/local/bin/node-network", *bridge]
    assert [file["path"] for file in made["storage"]["files"]] == paths
    assert made["systemd"]["units"] == [{"name": "node-network.service", "enabled": True, "contents": "[Unit]\n"}]
    assert made["ignition"] == installer["ignition"]
