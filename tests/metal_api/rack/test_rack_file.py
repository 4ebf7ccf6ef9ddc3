# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rack files: the example of the documentation, and one message for each problem."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path

import pytest

from metal_api.ironic.nodes import driver_info
from metal_api.rack import Rack, RackError, load

DOCUMENT = Path(__file__).parents[3] / "docs" / "your-own-rack.md"
METRO = "{code: lab, country: DE, network: 10.20.0.0/24, gateway: 10.20.0.1, addresses: 10.20.0.50-10.20.0.52}"
GOOD = f"""
metros:
  - {METRO}
defaults:
  metro: lab
  bmc: {{user: metal, password_file: password}}
servers:
  - name: r1-u10
    bmc: {{address: "https://10.30.0.10"}}
  - name: r1-u12
    macs: [52:54:00:12:34:56]
    bmc: {{address: "https://10.30.0.12"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "password", "secret\n", 0o600)
    return tmp_path


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def loaded(folder: Path, text: str) -> Rack:
    return load(write(folder / "rack.yml", text))


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(RackError) as caught:
        loaded(folder, text)
    return caught.value.problems


def test_the_example_of_the_documentation(folder: Path) -> None:
    (example,) = re.findall(r"```yaml\n# rack.yml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    write(folder / "bmc-password", "secret\n", 0o600)
    write(folder / "bmc-ca.pem", "")
    rack = loaded(folder, example)
    (metro,) = rack.metros
    assert (metro.first, metro.last, metro.dhcp_interface) == (IPv4Address("10.20.0.50"), IPv4Address("10.20.0.99"), "eno2")
    assert metro.time_servers == (IPv4Address("10.20.0.3"),)
    assert [each.slug for each in rack.plans] == ["r640.x86"]
    first, second, third = rack.servers
    assert (first.name, first.plan, first.macs, first.boot, first.firmware) == ("r1-u10", "", (), "virtual-media", "uefi")
    assert (first.bmc.user, first.bmc.password, first.bmc.verify_ca) == ("metal", "secret", str(folder / "bmc-ca.pem"))
    assert (second.address, second.reserved_for, second.bmc.system) == ("10.20.0.60", "payments", "/redfish/v1/Systems/1")
    assert (third.bmc.driver, third.bmc.address, third.boot, third.firmware) == ("ipmi", "10.30.0.14", "pxe", "bios")


def test_passwords_are_not_in_the_representation(folder: Path) -> None:
    assert "secret" not in repr(loaded(folder, GOOD))


def test_a_password_can_be_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD.replace('"https://10.30.0.12"', '"https://10.30.0.12", password_env: BMC_OF_U12')
    assert problems(folder, text) == ["servers[1] r1-u12: bmc: password_env BMC_OF_U12: the environment variable is not set or empty"]
    monkeypatch.setenv("BMC_OF_U12", "other")
    assert [each.bmc.password for each in loaded(folder, text).servers] == ["secret", "other"]


def test_mac_addresses_and_countries_need_no_quotes(folder: Path) -> None:
    """YAML 1.1 has numbers to base 60, and NO is false."""
    rack = loaded(folder, GOOD.replace("52:54:00:12:34:56", "10:54:00:12:34:56").replace("DE", "NO"))
    assert rack.servers[1].macs == ("10:54:00:12:34:56",)
    assert rack.metros[0].country == "NO"


SECOND = METRO.replace("lab", "two")

PROBLEMS = {
    "unknown key": ("name: r1-u10", "name: r1-u10\n    colour: red", "servers[0] r1-u10: unknown key 'colour'"),
    "unknown key at the top": ("defaults:", "racks: []\ndefaults:", "unknown key 'racks'"),
    "unknown default": (
        "  metro: lab",
        "  metro: lab\n  address: 10.20.0.50",
        "defaults: the key 'address' cannot be the same for all servers",
    ),
    "name twice": ("name: r1-u12", "name: r1-u10", "servers: the name r1-u10 is that of servers[1] r1-u10 and servers[0] r1-u10"),
    "MAC twice": (
        "name: r1-u10",
        "name: r1-u10\n    macs: ['52-54-00-12-34-56']",
        "servers: the MAC address 52:54:00:12:34:56 is that of servers[1] r1-u12 and servers[0] r1-u10",
    ),
    "BMC twice": (
        "https://10.30.0.12",
        "https://10.30.0.10/",
        "servers[1] r1-u12: the BMC https://10.30.0.10 is that of servers[0] r1-u10 already",
    ),
    "malformed MAC": ("52:54:00:12:34:56", "'52:54'", "servers[1] r1-u12: macs: '52:54' is not a MAC address such as 52:54:00:12:34:56"),
    "multicast MAC": (
        "52:54:00:12:34:56",
        "01:54:00:12:34:56",
        "servers[1] r1-u12: macs: 01:54:00:12:34:56 is a multicast or empty address, no server has it",
    ),
    "unknown metro": ("name: r1-u10", "name: r1-u10\n    metro: xx", "servers[0] r1-u10: metro 'xx' is not one of lab"),
    "unknown plan": (
        "name: r1-u10",
        "name: r1-u10\n    plan: big.x86",
        "servers[0] r1-u10: plan 'big.x86' is neither in plans nor a plan of the vendor",
    ),
    "plan of an ARM server": (
        "name: r1-u10",
        "name: r1-u10\n    plan: c3.large.arm64",
        "servers[0] r1-u10: plan 'c3.large.arm64': servers with ARM processors cannot be booted: DHCP and the boot ISO have loaders for "
        "x86-64 only",
    ),
    "own plan of an ARM server": (
        "servers:",
        "plans: [{slug: ampere.arm64, cpu: Altra, cores: 8, memory_gb: 32, drives: []}]\nservers:",
        "plans[0] ampere.arm64: slug 'ampere.arm64': servers with ARM processors cannot be booted: DHCP and the boot ISO have loaders for "
        "x86-64 only",
    ),
    "slug without an architecture": (
        "servers:",
        "plans: [{slug: r640, cpu: Xeon, cores: 8, memory_gb: 32, drives: []}]\nservers:",
        "plans[0] r640: slug 'r640' is not a slug that ends in .x86, such as r640.x86",
    ),
    **{
        f"{count} drives": (
            "servers:",
            "plans: [{slug: r640.x86, cpu: Xeon, cores: 8, memory_gb: 32, drives: [{size_gb: 480, type: SSD, "
            f"count: {count}}}]}}]\nservers:",
            f"plans[0] r640.x86: drives[0]: count {count} is not a number from 1 to 1000",
        )
        for count in (-1, 0, 1001)
    },
    "address of another network": (
        "name: r1-u10",
        "name: r1-u10\n    address: 10.20.0.53",
        "servers[0] r1-u10: address 10.20.0.53 is outside of the addresses 10.20.0.50-10.20.0.52 of metro lab",
    ),
    "IPv6 address": (
        "name: r1-u10",
        "name: r1-u10\n    address: fd00::1",
        "servers[0] r1-u10: address 'fd00::1' is not an IPv4 address: IPv6 is not supported",
    ),
    "gateway elsewhere": ("10.20.0.1,", "10.21.0.1,", "metros[0] lab: gateway 10.21.0.1 is not in network 10.20.0.0/24"),
    "gateway for a server": ("10.20.0.1,", "10.20.0.51,", "metros[0] lab: addresses 10.20.0.50-10.20.0.52 include the gateway 10.20.0.51"),
    "time server among the servers": (
        "gateway: 10.20.0.1,",
        "gateway: 10.20.0.1, time_servers: [10.20.0.50],",
        "metros[0] lab: addresses 10.20.0.50-10.20.0.52 include the time server 10.20.0.50",
    ),
    "name of a time server": (
        "gateway: 10.20.0.1,",
        "gateway: 10.20.0.1, time_servers: [ntp.example],",
        "metros[0] lab: time_servers: 'ntp.example' is not an IPv4 address: 'ntp.example' does not appear to be an IPv4 or IPv6 address",
    ),
    "overlapping metros": (
        f"  - {METRO}",
        f"  - {METRO}\n  - {SECOND}",
        "metros: network 10.20.0.0/24 of two overlaps 10.20.0.0/24 of lab",
    ),
    "too few addresses": ("-10.20.0.52", "-10.20.0.50", "metro lab: addresses 10.20.0.50-10.20.0.50 are 1, too few for 2 servers"),
    "password in the file": (
        "password_file: password",
        "password: secret",
        "defaults: bmc: the key 'password' must not be in the rack file: use password_file or password_env",
    ),
    "URL with a password": (
        "https://10.30.0.10",
        "https://a:b@10.30.0.10",
        "servers[0] r1-u10: bmc: address has a user or password in its URL: use user and password_file",
    ),
    "no URL": ("https://10.30.0.10", "10.30.0.10", "servers[0] r1-u10: bmc: address '10.30.0.10' is not a URL such as https://10.30.0.12"),
    "IPv6 without brackets": (
        'address: "https://10.30.0.12"',
        "address: 'fd00::4', driver: ipmi}\n    plan: c3.small.x86 #",
        "servers[1] r1-u12: bmc: address 'fd00::4' is not a host, IPv4 address or IPv6 address in brackets, with an optional port",
    ),
    "IPMI of metal3": (
        "https://10.30.0.10",
        "ipmi://[fd00::4]:6230",
        "servers[0] r1-u10: bmc: address 'ipmi://[fd00::4]:6230' is written as in metal3: write driver: ipmi, address: '[fd00::4]:6230'",
    ),
    "libvirt of metal3": (
        "https://10.30.0.10",
        "libvirt://192.168.122.1:6233/",
        "servers[0] r1-u10: bmc: address 'libvirt://192.168.122.1:6233/' is written as in metal3: write driver: ipmi, "
        "address: '192.168.122.1:6233'",
    ),
    "virtual media of metal3": (
        "https://10.30.0.10",
        "idrac-virtualmedia+https://10.30.0.10/redfish/v1/Systems/System.Embedded.1",
        "servers[0] r1-u10: bmc: address 'idrac-virtualmedia+https://10.30.0.10/redfish/v1/Systems/System.Embedded.1' is written as in "
        "metal3: write driver: idrac, address: 'https://10.30.0.10', system: /redfish/v1/Systems/System.Embedded.1",
    ),
    "network boot of metal3": (
        "https://10.30.0.10",
        "redfish+http://10.30.0.10:8000/redfish/v1/Systems/1",
        "servers[0] r1-u10: bmc: address 'redfish+http://10.30.0.10:8000/redfish/v1/Systems/1' is written as in metal3: write driver: "
        "redfish, address: 'http://10.30.0.10:8000', system: /redfish/v1/Systems/1, and boot: pxe for the server unless its BMC has "
        "virtual media",
    ),
    "virtual media by IPMI": (
        'address: "https://10.30.0.12"',
        "address: 10.30.0.12, driver: ipmi}\n    plan: c3.small.x86\n    boot: virtual-media\n    reserved_for: ''\n    firmware: bios #",
        "servers[1] r1-u12: boot virtual-media needs a BMC with Redfish: with driver ipmi set boot: pxe",
    ),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_a_problem_is_reported_with_its_place(folder: Path, case: str) -> None:
    before, after, message = PROBLEMS[case]
    assert GOOD.count(before) >= 1
    found = problems(folder, GOOD.replace(before, after, 1))
    assert message in found
    # A password that is refused is also one that is missing.
    assert len(found) == 1 or case == "password in the file"


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("'[fd00:1101:0::4]:6230'", "fd00:1101::4", "6230"),
        ("'[FD00:1101::4]'", "fd00:1101::4", ""),
        ("10.30.0.12:6230", "10.30.0.12", "6230"),
        ("bmc-2.example", "bmc-2.example", ""),
    ],
)
def test_ipmi_over_ipv6(folder: Path, address: str, host: str, port: str) -> None:
    text = GOOD.replace('address: "https://10.30.0.12"', f"address: {address}, driver: ipmi}}\n    plan: c3.small.x86 #")
    server = loaded(folder, text).servers[1]
    assert server.bmc.host_and_port == (host, port)
    info = driver_info(server)
    assert (info["ipmi_address"], info.get("ipmi_port", "")) == (host, port)


def test_all_problems_are_reported_at_once(folder: Path) -> None:
    text = GOOD.replace("name: r1-u10", "name: r1-u10\n    metro: xx\n    colour: red").replace("10.20.0.1,", "10.21.0.1,")
    assert len(problems(folder, text)) == 3


def test_a_password_that_others_can_read_is_refused_once(folder: Path) -> None:
    write(folder / "password", "secret\n", 0o644)
    assert problems(folder, GOOD) == [
        "servers[0] r1-u10: bmc: password_file password: its mode 0644 lets other users read or change it: "
        f"chmod 0600 {folder / 'password'}"
    ]
    write(folder / "password", "secret\n", 0o640)
    assert len(loaded(folder, GOOD).servers) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has to be a mapping"),
        ("- a", "the file has to be a mapping"),
        ("metros: [", "line 1, column 10: "),
        ("metros: []\nmetros: []", "line 2, column 1: the key 'metros' is there twice"),
        ("metros: []", "metros: has to have at least one metro"),
        ("servers: []", "metros is missing"),
        ("metros: !!python/object:os.system x", "could not determine a constructor"),
        ("metros: !!bool x", "the file is not YAML: "),
        ("metros: !!timestamp x", "the file is not YAML: "),
        pytest.param(f"metros: {'1' * 5000}", "the file is not YAML: ", id="a number of 5000 digits"),
        ("a: &a {b: *a}", "line 1, column 1: aliases (*name) repeat values without end"),
        (
            "\n".join(["a: &a [x]", *(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghij")), "metros: *j"]),
            "line 1, column 1: aliases (*name) repeat values without end",
        ),
    ],
)
def test_what_is_no_rack_file(folder: Path, text: str, message: str) -> None:
    (found,) = problems(folder, text)
    assert message in found


def test_a_file_that_does_not_exist(folder: Path) -> None:
    with pytest.raises(RackError, match="the file cannot be read"):
        load(folder / "none.yml")


def test_a_name_with_control_characters_does_not_reach_the_terminal(folder: Path) -> None:
    (found,) = problems(folder, GOOD.replace("name: r1-u10", 'name: "a\\e[2J"'))
    assert found == "servers[0]: name 'a\\x1b[2J' is not a host name of lower-case letters, digits and hyphens"
