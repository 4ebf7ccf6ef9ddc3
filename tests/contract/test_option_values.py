"""Values that Ansible takes for an option's type and no module can use: an error that names the option, before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.environment import run

ID = "0b8ad2f5-8f6e-4bd0-9a39-3d8a1e1ec7c5"
METAL = {"METAL_API_URL": "http://127.0.0.1:9/metal/v1", "METAL_AUTH_TOKEN": "token-of-the-test", "METAL_PROJECT_ID": ID}
CALLS: dict[str, dict[str, Any]] = {
    "metal_vlan_info": {},
    "metal_device": {"id": ID},
    "metal_device_set": {"hostnames": ["worker-0"], "ownership_tags": ["cluster:demo"]},
    "metal_gateway": {"id": ID},
    "metal_hardware_reservation": {"id": ID},
    "metal_ip_assignment": {"id": ID, "state": "absent"},
    "metal_ip_reservation": {"id": ID},
    "metal_port": {"id": ID},
    "cluster_wait": {"kubeconfig": "/dev/null", "condition": "nodes_ready"},
    "dns_records": {"server": "127.0.0.1", "zone": "metal.test", "key_name": "a", "key_secret": "c2VjcmV0", "records": []},
    "dns_wait": {"server": "127.0.0.1", "records": []},
    "openshift_installer": {"directory": "/nowhere", "version": "4.20.33"},
}
ABOVE_ZERO = {"cluster_wait": "api_timeout", "dns_records": "timeout", "dns_wait": "timeout", "openshift_installer": "timeout"}
WAITING = [name for name in CALLS if name not in ("metal_vlan_info", "dns_records", "openshift_installer")]


def refused(module: str, **options: Any) -> str:
    result = run(module, {**CALLS[module], **options}, METAL, without_pauses=True)
    assert result.get("failed"), result
    assert "exception" not in result
    message = str(result["msg"])
    assert message.isprintable()
    return message


@pytest.mark.parametrize("module", CALLS)
@pytest.mark.parametrize("value", ["nan", "1e400", 0])
def test_a_timeout_must_be_positive(module: str, value: Any) -> None:
    option = ABOVE_ZERO.get(module, "metal_api_timeout")
    assert f"{option} must be greater than 0 and at most 1000000000, not " in refused(module, **{option: value})


@pytest.mark.parametrize("module", WAITING)
def test_a_negative_wait_timeout_is_refused(module: str) -> None:
    message = refused(module, wait_timeout="nan", wait_interval=-1, progress_interval="inf")
    for option, value in (("wait_timeout", "nan"), ("wait_interval", "-1"), ("progress_interval", "inf")):
        assert f"{option} must be 0 or greater and at most 1000000000, not {value}" in message
