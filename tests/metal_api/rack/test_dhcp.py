"""DHCP and TFTP for servers of a rack: the real dnsmasq, between network namespaces, with a real DHCP client."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal_api.network.dnsmasq import Host
from tests.eventually import until
from tests.network.namespaces import Namespace, namespaces

SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
SERVE = Path(__file__).with_name("serve_dhcp.py")
ROOT = Path(__file__).parents[3]
U1, U2 = "52:54:00:00:00:01", "52:54:00:00:00:02"
HOST = f"{U1},10.20.0.50,r1-u1"
BOOT_URL = "http://10.20.0.1:8080"
OFFERS = """
import json, sys
from metal_api.network.probe import offers
mac, options, wait = bytes.fromhex(sys.argv[1].replace(":", "")), json.loads(sys.argv[2]), float(sys.argv[3])
found = offers("eth0", mac, options={int(code): bytes.fromhex(value) for code, value in options.items()}, wait=wait)
first = next(found, None)
print(json.dumps(first and [first.server, first.address, first.file, {code: value.hex() for code, value in first.options.items()}]))
"""
with_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces with names need root")
with_dnsmasq = pytest.mark.debian("dnsmasq-base", "iproute2")
with_ipxe = pytest.mark.debian("ipxe")
with_client = pytest.mark.debian("isc-dhcp-client")
in_namespaces = [with_root, with_dnsmasq, with_ipxe]


class Serving:
    """The process of ``serve_dhcp.py``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def serve(self, *hosts: str) -> str:
        """Serve these hosts from now on; return ``ready`` with the id of dnsmasq's process, or the error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(hosts) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextlib.contextmanager
def dhcp(namespace: Namespace, folder: Path) -> Iterator[Serving]:
    argv = ["ip", "netns", "exec", namespace.name, sys.executable, str(SERVE), str(folder / "dhcp"), "eth0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield Serving(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)


@pytest.fixture
def link() -> Iterator[tuple[Namespace, Namespace]]:
    """The computer of the Metal API and a server of the rack, on one network."""
    with namespaces("api", "server") as (api, server):
        api.run("ip", "address", "add", "10.20.0.1/24", "dev", "eth0")
        yield api, server


def offer(
    server: Namespace, mac: str, options: dict[str, str] | None = None, wait: float = 3
) -> tuple[str, str, str, dict[str, str]] | None:
    """Return server, address, file and options of the first offer. ``options``: to send, by code, in hex like those of the answer."""
    sent = json.dumps(options or {})
    text = server.run(sys.executable, "-c", OFFERS, mac, sent, str(wait), environment={"PYTHONPATH": str(ROOT)})
    found = json.loads(text)
    return None if found is None else (found[0], found[1], found[2], found[3])


def leased(server: Namespace, mac: str, folder: Path) -> str:
    """Return the lease that dhclient gets with the MAC address ``mac``, in its own words."""
    server.run("ip", "link", "set", "eth0", "down")
    server.run("ip", "link", "set", "eth0", "address", mac)
    server.run("ip", "link", "set", "eth0", "up")
    script = folder / "script"
    script.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    script.chmod(0o755)
    leases = folder / f"lease of {mac}"
    leases.unlink(missing_ok=True)
    configuration = folder / "dhclient.conf"
    configuration.write_text("also request ntp-servers;\n", encoding="utf-8")
    client = ["dhclient", "-1", "-d", "-sf", str(script), "-lf", str(leases), "-pf", str(folder / "pid"), "-cf", str(configuration)]
    # In the foreground it does not end after its lease.
    argv = ["ip", "netns", "exec", server.name, *client, "eth0"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PATH": SEARCHED}) as process:
        try:
            until(lambda: leases.exists() and leases.read_text(encoding="utf-8").rstrip().endswith("}"), "a lease")
        finally:
            process.terminate()
    return leases.read_text(encoding="utf-8")


@with_root
@with_dnsmasq
@with_ipxe
@pytest.mark.parametrize(
    ("architecture", "more", "file"),
    [
        ("0000", {}, "undionly.kpxe"),
        ("0007", {}, "snponly.efi"),
        ("0009", {}, "snponly.efi"),
        ("0010", {"60": b"HTTPClient:Arch:00016".hex()}, f"{BOOT_URL}/ipxe/snponly.efi"),
        ("0000", {"175": "b10101"}, f"{BOOT_URL}/boot.ipxe"),
        ("0007", {"175": "b10101"}, f"{BOOT_URL}/boot.ipxe"),
    ],
)
def test_what_firmware_boots(architecture: str, more: dict[str, str], file: str, booted: dict[str, str]) -> None:
    assert booted[architecture + "".join(more)] == file


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files that are offered, by the architecture and the numbers of further options."""
    found = {}
    with contextlib.ExitStack() as stack:
        api, server = stack.enter_context(namespaces("api", "server"))
        serving = stack.enter_context(dhcp(api, tmp_path_factory.mktemp("dhcp")))
        api.run("ip", "address", "add", "10.20.0.1/24", "dev", "eth0")
        assert serving.serve(HOST).startswith("ready")
        for architecture in ("0000", "0007", "0009", "0010"):
            for more in ({}, {"60": b"HTTPClient:Arch:00016".hex()}, {"175": "b10101"}):
                answer = offer(server, U1, {"93": architecture, **more})
                assert answer is not None
                found[architecture + "".join(more)] = answer[2]
                if "60" in more and architecture == "0010":
                    assert answer[3]["60"] == b"HTTPClient".hex()
    return found


class TestLeases:
    pytestmark = in_namespaces

    def test_servers_of_the_rack_alone_get_addresses(self, link: tuple[Namespace, Namespace], tmp_path: Path) -> None:
        api, server = link
        with dhcp(api, tmp_path) as serving:
            first = serving.serve(HOST)
            assert first.startswith("ready")
            answer = offer(server, U1)
            assert answer is not None
            assert answer[:2] == ("10.20.0.1", "10.20.0.50")
            # Router, name server, name.
            assert [answer[3][code] for code in ("3", "6", "12")] == ["0a140001", "0a140002", b"r1-u1".hex()]
            assert offer(server, U2) is None
            # Another server is enrolled, and this one is removed, without a restart.
            assert serving.serve(f"{U2},10.20.0.51,r1-u2") == first
            until(lambda: offer(server, U1, wait=1) is None, "the server that was removed gets no offer")
            answer = offer(server, U2)
            assert answer is not None
            assert answer[1] == "10.20.0.51"

    @with_client
    def test_a_real_client_keeps_its_lease_for_ever(self, link: tuple[Namespace, Namespace], tmp_path: Path) -> None:
        """A lease with an end is lost while no DHCP server runs, and with it every node its address."""
        api, server = link
        with dhcp(api, tmp_path) as serving:
            assert serving.serve(HOST).startswith("ready")
            lease = leased(server, U1, tmp_path)
            assert "fixed-address 10.20.0.50;" in lease
            assert "option dhcp-lease-time 4294967295;" in lease
            assert "option domain-name-servers 10.20.0.2;" in lease
            assert "option ntp-servers 10.20.0.3,10.20.0.4;" in lease

    @with_client
    def test_a_replaced_network_card_gets_the_address(self, link: tuple[Namespace, Namespace], tmp_path: Path) -> None:
        api, server = link
        with dhcp(api, tmp_path) as serving:
            first = serving.serve(HOST)
            assert "fixed-address 10.20.0.50;" in leased(server, U1, tmp_path)
            # The lease of the removed card has no end.
            assert (tmp_path / "dhcp" / "leases").read_text(encoding="ascii").startswith(f"0 {U1} 10.20.0.50 ")
            changed = serving.serve(f"{U2},10.20.0.50,r1-u1")
            assert changed.startswith("ready")
            assert changed != first
            answer = offer(server, U2)
            assert answer is not None
            assert answer[1] == "10.20.0.50"
        # Also while no server ran.
        with dhcp(api, tmp_path) as serving:
            assert serving.serve(f"{U2},10.20.0.50,r1-u1").startswith("ready")
            assert "fixed-address 10.20.0.50;" in leased(server, U2, tmp_path)
        with dhcp(api, tmp_path) as serving:
            assert serving.serve(HOST).startswith("ready")
            assert "fixed-address 10.20.0.50;" in leased(server, U1, tmp_path)

    def test_another_dhcp_server_on_the_network(self, link: tuple[Namespace, Namespace], tmp_path: Path) -> None:
        api, server = link
        server.run("ip", "address", "add", "10.20.0.200/24", "dev", "eth0")
        other = [
            "dnsmasq",
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--port=0",
            "--interface=eth0",
            "--bind-interfaces",
            "--user=root",
        ]
        other += ["--dhcp-range=10.20.0.210,10.20.0.220", f"--dhcp-leasefile={tmp_path / 'other'}", "--no-ping"]
        argv = ["ip", "netns", "exec", server.name, *other]
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL, env={**os.environ, "PATH": SEARCHED}) as process:
            try:
                until(lambda: offer(api, U2, wait=1), "an offer of the other DHCP server")
                with dhcp(api, tmp_path) as serving:
                    assert serving.serve(HOST) == (
                        "interface eth0 of metro lab has a DHCP server already, 10.20.0.200: stop it, or remove dhcp_interface and "
                        "configure that server (docs/your-own-rack.md)"
                    )
            finally:
                process.terminate()


HOSTS = [Host(U2, "10.20.0.51", "r1-u2"), Host(U1, "10.20.0.50", "r1-u1")]
