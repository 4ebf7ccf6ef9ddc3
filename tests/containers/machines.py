"""Nodes that are containers, seen from their rack and from the networks around them: what tests of several clusters share."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_firewall import TCP_PORTS, UDP_PORTS
from sandbox import namespace
from sandbox.openshift.static_pods import INSECURE_READYZ
from sandbox.testing.process import REPOSITORY
from tests.containers import port_scan
from tests.e2e.harness import NAME, User
from tests.ssh_keys import make_ssh_key

MARKS = [pytest.mark.e2e, pytest.mark.long, pytest.mark.skipif(not os.environ.get("SANDBOX_NAMESPACE"), reason="run by tests.containers")]
NODES = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
MASTERS = NODES[:3]
MACHINE_CONFIGS = "/apis/machineconfiguration.openshift.io/v1/machineconfigs"
KUBELET, CONFIG_SERVER, API = 10250, 22623, 6443


@contextlib.contextmanager
def user_of_containers(folder: Path, variables: dict[str, Any], **own: Any) -> Iterator[User]:
    """Yield the user of a sandbox whose nodes are containers. ``variables``: of all machines; ``own``: further parts of the inventory."""
    user = User(folder, speed=240, machines="container")
    key = make_ssh_key(user.folder / "key").with_suffix(".pub").read_text(encoding="ascii").strip()
    user.variables["OPENSHIFT_SSH_PUBLIC_KEY"] = key
    with user.at_work():
        namespace.use_name_server(user.folder)
        user.ask("POST", "ssh-keys", json={"label": "user", "key": key})
        inventory = {"all": {"vars": {**variables, "metal_console_key": str(user.folder / "key")}}, **own}
        (user.inventory / "02-own.yml").write_text(json.dumps(inventory), encoding="utf-8")
        yield user


def address_of(device: dict[str, Any], *, public: bool) -> str:
    return next(str(entry["address"]) for entry in device["ip_addresses"] if (entry["public"], entry["address_family"]) == (public, 4))


class Machine:
    """The container of a device, as one sees it from its rack."""

    def __init__(self, user: User, name: str) -> None:
        (device,) = [device for device in user.devices() if device["hostname"] == f"{name}.{NAME}"]
        self.id = str(device["id"])
        public = {entry["address_family"]: str(entry["address"]) for entry in device["ip_addresses"] if entry["public"]}
        self.address, self.address6 = public[4], public[6]
        self.folder = user.folder / "sandbox" / "machines" / self.id

    @property
    def network(self) -> str:
        """The name of its network namespace."""
        return f"m{self.id.replace('-', '')[:13]}"

    @property
    def disk(self) -> Path:
        return self.folder / "system/container/upper"

    def console(self) -> str:
        # Without colours.
        return re.sub(r"\x1b\[[0-9;]*m", "", (self.folder / "screen.log").read_text(encoding="utf-8", errors="replace"))

    def first_boots(self) -> int:
        """Return how often Ignition has written the disk."""
        return self.console().count("ignition: Ignition finished successfully")

    def journal(self) -> list[str]:
        """Return the messages of all boots."""
        return [str(entry.get("MESSAGE")) for entry in self.entries()]

    def started(self) -> set[str]:
        """Return the units that systemd has started in any boot."""
        jobs = ((entry.get("UNIT"), entry.get("JOB_TYPE"), entry.get("JOB_RESULT")) for entry in self.entries())
        return {str(unit) for unit, kind, result in jobs if unit and (kind, result) == ("start", "done")}

    def boots(self) -> int:
        """Return how often the installed system has booted."""
        return len({entry.get("_BOOT_ID") for entry in self.entries()})

    def entries(self) -> list[dict[str, Any]]:
        (folder,) = (self.disk / "var/log/journal").iterdir()
        command = ["journalctl", f"--directory={folder}", "--output=json", "--no-pager"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this computer in the machine's network, or one of the machine's (with a path) in all of its namespaces."""
        words = ["nsenter", f"--target={self._init()}", "--all", f"--root=/proc/{self._init()}/root", *command]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def _init(self) -> int:
        """The process id of the machine's systemd."""
        network = Path(f"/run/netns/{self.network}").stat().st_ino
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                if (process / "comm").read_text() == "systemd\n" and (process / "ns/net").stat().st_ino == network:
                    return int(process.name)
        raise LookupError(f"no systemd runs in the network of {self.id}")


def scan_from(source: Machine | str, address: str, *ports: int) -> subprocess.Popen[str]:
    """Start a scan of these ports, or all, from the network of a machine or a network namespace (empty: the controller's)."""
    name = source.network if isinstance(source, Machine) else source
    words = [*(["nsenter", f"--net=/run/netns/{name}"] if name else []), sys.executable, port_scan.__file__, address]
    return subprocess.Popen([*words, *map(str, ports)], stdout=subprocess.PIPE, text=True)


def result_of(scan: subprocess.Popen[str]) -> dict[str, list[int]]:
    result: dict[str, list[int]] = json.loads(scan.communicate()[0])
    return result


def is_silent(address: str, source: Machine | str = "") -> bool:
    """Return whether nothing answers at an address: ports do not even refuse connections."""
    return result_of(scan_from(source, address, API, CONFIG_SERVER)) == {"open": [], "dropped": [API, CONFIG_SERVER]}


def readiness(machine: Machine, host: str = "127.0.0.1") -> str:
    """Return what an API server answers a machine for its readiness, which includes that of etcd."""
    curl = ["/usr/bin/curl", "--insecure", "--silent", "--max-time", "5", "--write-out", "%{http_code}", "--output", "/dev/null"]
    return machine.inside(*curl, f"https://{host}:{API}/readyz").stdout


def check_open_ports(machines: dict[str, Machine], *, family: int = 4, are_listed: bool = True) -> None:
    """Assert that open TCP ports of each node are those of the page, from the controller, from a host that is no node, and from worker-0.

    ``are_listed``: whether the record of the nodes has their addresses of this IP version; without it worker-0 is as any other host.
    What is dropped is felt by the controller too: an install that ends needs none of it.
    """
    rows = {kind: listed_ports(row) for kind, row in (("master", "control plane node"), ("worker", "worker"))}
    with outsider() as other:
        sources: dict[str, Machine | str] = {"controller": "", "outsider": other, "worker-0": machines["worker-0"]}
        scans = {
            (source, name): scan_from(network, machine.address if family == 4 else machine.address6)
            for source, network in sources.items()
            for name, machine in machines.items()
            if name != source
        }
        results = {ends: result_of(scan) for ends, scan in scans.items()}
    for (source, name), result in results.items():
        kind, is_accepted = name.partition("-")[0], source == "worker-0" and are_listed
        public, closed, others = rows[kind]
        assert result["dropped"] == ([] if is_accepted else closed), (source, name)
        # Of the ports of metrics and readiness, containers have that of the API server.
        expected = sorted({*public, *({INSECURE_READYZ} & {*others})})
        assert [port for port in result["open"] if port not in closed] == expected, (source, name, result["open"])
        if is_accepted:
            assert set(result["open"]) >= {KUBELET, *((2379, 2380, CONFIG_SERVER) if kind == "master" else ())}, name


def listed_ports(row: str) -> tuple[list[int], list[int], list[int]]:
    """Return the ports of a kind of machine on the page: open to every client, dropped, and of metrics and readiness."""
    page, tcp, udp = (REPOSITORY / "docs/networks.md").read_text(encoding="utf-8"), ", ".join(TCP_PORTS), ", ".join(UDP_PORTS)
    [(public, others)] = re.findall(rf"^\| {row} \| ([^|]+) \| ([^|]+) \| TCP {tcp}; UDP {udp} \|$", page, re.MULTILINE)
    return ports_of(public), ports_of(tcp), ports_of(others)


def ports_of(text: str) -> list[int]:
    """Return the ports of a text like "22, 2379-2380"."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text)
    return [port for first, last in ranges for port in range(int(first), int(last or first) + 1)]


@contextlib.contextmanager
def outsider(name: str = "outsider", number: int = 99) -> Iterator[str]:
    """Yield the network namespace of a host that is no machine of the cluster, with addresses of its own: these numbers of the networks."""
    address = namespace.NETWORK[number]
    for command in (
        f"netns add {name}",
        f"link add {name} type veth peer name eth0 netns {name}",
        f"link set {name} master {namespace.BRIDGE} up",
        f"address replace 2001:db8::1/64 dev {namespace.BRIDGE} nodad",
        f"-netns {name} link set eth0 up",
        f"-netns {name} address add {address}/{namespace.NETWORK.prefixlen} dev eth0",
        f"-netns {name} address add 2001:db8::{number}/64 dev eth0 nodad",
        f"-netns {name} route add default via {namespace.ADDRESS}",
        f"-netns {name} route add default via 2001:db8::1",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    try:
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def members(user: User) -> list[str]:
    """Return the short names of the etcd members, read in the pod of one as the collection does."""
    command = f"exec --namespace=openshift-etcd etcd-master-0.{NAME} --container=etcdctl -- etcdctl member list -w json"
    kubectl = [str(user.folder / "sandbox/bin/kubectl"), f"--kubeconfig={user.cluster / 'kubeconfig'}", *command.split()]
    done = subprocess.run(kubectl, capture_output=True, text=True, check=True)
    return sorted(member["name"].removesuffix(f".{NAME}") for member in json.loads(done.stdout)["members"])
