"""Rack files: the example of the documentation, and one message for each problem."""

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
    "address of another network": (
        "name: r1-u10",
        "name: r1-u10\n    address: 10.20.0.53",
        "servers[0] r1-u10: address 10.20.0.53 is outside of the addresses 10.20.0.50-10.20.0.52 of metro lab",
    ),
    "gateway for a server": ("10.20.0.1,", "10.20.0.51,", "metros[0] lab: addresses 10.20.0.50-10.20.0.52 include the gateway 10.20.0.51"),
    "overlapping metros": (
        f"  - {METRO}",
        f"  - {METRO}\n  - {SECOND}",
        "metros: network 10.20.0.0/24 of two overlaps 10.20.0.0/24 of lab",
    ),
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
    "virtual media of metal3": (
        "https://10.30.0.10",
        "idrac-virtualmedia+https://10.30.0.10/redfish/v1/Systems/System.Embedded.1",
        "servers[0] r1-u10: bmc: address 'idrac-virtualmedia+https://10.30.0.10/redfish/v1/Systems/System.Embedded.1' is written as in "
        "metal3: write driver: idrac, address: 'https://10.30.0.10', system: /redfish/v1/Systems/System.Embedded.1",
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
        ("10.30.0.12:6230", "10.30.0.12", "6230"),
    ],
)
def test_ipmi_over_ipv6(folder: Path, address: str, host: str, port: str) -> None:
    text = GOOD.replace('address: "https://10.30.0.12"', f"address: {address}, driver: ipmi}}\n    plan: c3.small.x86 #")
    server = loaded(folder, text).servers[1]
    assert server.bmc.host_and_port == (host, port)
    info = driver_info(server)
    assert (info["ipmi_address"], info.get("ipmi_port", "")) == (host, port)


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
        ("metros: [", "line 1, column 10: "),
        ("metros: []\nmetros: []", "line 2, column 1: the key 'metros' is there twice"),
        ("metros: []", "metros: has to have at least one metro"),
        ("metros: !!python/object:os.system x", "could not determine a constructor"),
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


def test_a_name_with_control_characters_does_not_reach_the_terminal(folder: Path) -> None:
    (found,) = problems(folder, GOOD.replace("name: r1-u10", 'name: "a\\e[2J"'))
    assert found == "servers[0]: name 'a\\x1b[2J' is not a host name of lower-case letters, digits and hyphens"
