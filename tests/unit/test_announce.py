"""What the load balancers' program makes of a device's metadata. With real BIRD and HAProxy: tests/load_balancer."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[2] / "roles"
PROGRAM = ROLES / "load_balancer/files/announce.py"
VENDOR = re.compile(r"[\w.-]*\b(platformequinix|packet|equinix)\.(com|net)\b")


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("announce", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def neighbors(**changes: Any) -> dict[str, Any]:
    return {
        "address_family": 4,
        "customer_as": 65000,
        "customer_ip": "10.1.2.3",
        "md5_enabled": False,
        "md5_password": None,
        "multihop": True,
        "peer_as": 65530,
        "peer_ips": ["169.254.255.1", "169.254.255.2"],
        **changes,
    }


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({}, None),
        # A session of a device without a private address has no neighbor to speak to.
        ({"bgp_neighbors": [neighbors(customer_ip=None)]}, None),
        ({"bgp_neighbors": [neighbors(address_family=6), neighbors()]}, neighbors()),
    ],
)
def test_neighbors_are_those_of_the_ipv4_session(program: ModuleType, metadata: dict[str, Any], found: dict[str, Any] | None) -> None:
    assert program.bgp_neighbors(metadata) == found


def test_there_is_a_session_with_each_neighbor_and_the_route_is_disabled_at_first(program: ModuleType) -> None:
    text = program.bird_configuration(neighbors(), "198.51.100.7")
    assert text.count("protocol bgp ") == 2
    assert "  disabled;\n  ipv4;\n  route 198.51.100.7/32 blackhole;" in text
    assert "password" not in text
    assert 'password "Secret4Sessions";' in program.bird_configuration(neighbors(md5_enabled=True, md5_password="Secret4Sessions"), "a")
    assert "multihop" not in program.bird_configuration(neighbors(multihop=False), "a")


def test_the_unit_has_the_metadata_service_of_the_inventory() -> None:
    command = re.search(r"^ExecStart=(.*)$", PROGRAM.with_suffix(".service").read_text(encoding="utf-8"), re.MULTILINE)
    assert command is not None
    files = yaml.safe_load((ROLES / "load_balancer/vars/main.yml").read_text(encoding="utf-8"))["__load_balancer_announce_files"]
    (settings,) = (file["content"] for file in files if file["path"] == "/etc/default/announce")
    assert set(re.findall(r"\$\{(\w+)\}", command[1])) == {line.partition("=")[0] for line in settings.splitlines()}
    assert "METADATA_URL={{ __load_balancer_metadata_url }}" in settings.splitlines()


def test_no_program_of_a_role_knows_a_host_of_the_vendor() -> None:
    texts = {path: path.read_text(encoding="utf-8") for folder in ("files", "templates") for path in ROLES.glob(f"*/{folder}/**/*.*")}
    assert len(texts) > 20
    assert [f"{path.name}: {found[0]}" for path, text in texts.items() for found in VENDOR.finditer(text)] == []
