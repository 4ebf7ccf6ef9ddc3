"""Gateways and BGP: what is found by what, and that no secret is returned."""

import json
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.bgp import (
    BGP_CONFIG_OPTIONS,
    BgpConfig,
    find_bgp,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.gateway import (
    GATEWAY_OPTIONS,
    Gateway,
)
from tests.unit.plugins.module_utils.fake_client import FakeClient, options_of


def gateway(answers: FakeClient, **params: Any) -> Gateway:
    return Gateway(answers, options_of(GATEWAY_OPTIONS, **params))


def one(identity: str, vlan: str, block: str, **more: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "state": "active",
        "virtual_network": {"href": f"/virtual-networks/{vlan}"},
        "ip_reservation": {"id": block, "type": "private_ipv4", "cidr": 29},
        **more,
    }


GATEWAYS = FakeClient(
    {
        "projects/p/metal-gateways": [
            one("1", "v1", "b1"),
            one("2", "v2", "b2", vrf={"id": "r"}),
            one("3", "v2", "b3", vrf={"id": "r"}),
            one("4", "v4", "b4", state="deleting"),
            one("6", "v6", "b6"),
            one("7", "v6", "b7", ip_reservation={"id": "b7", "type": "private_ipv4", "cidr": 28}),
        ]
    }
)


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"virtual_network_id": "v1"}, "1"),
        ({"virtual_network_id": "v1", "ip_reservation_id": "b9"}, "1"),
        ({"ip_reservation_id": "b1"}, "1"),
        ({"virtual_network_id": "v2", "ip_reservation_id": "b3"}, "3"),
        ({"virtual_network_id": "v4"}, None),
        ({"virtual_network_id": "v4", "state": "absent"}, "4"),
        ({"virtual_network_id": "v6", "private_ipv4_subnet_size": 8}, "6"),
    ],
)
def test_a_gateway_is_found_by_its_vlan_or_its_block(params: dict[str, Any], found: str | None) -> None:
    assert (gateway(GATEWAYS, **params).find() or {}).get("id") == found


def test_ambiguous_gateways_are_an_error() -> None:
    with pytest.raises(CollectionError, match=r"2 gateways.*2, 3"):
        gateway(GATEWAYS, virtual_network_id="v2").find()
    for options in ({}, {"private_ipv4_subnet_size": 64}, {"ip_reservation_id": "b9"}):
        with pytest.raises(CollectionError, match=r"2 gateways.*6, 7"):
            gateway(GATEWAYS, virtual_network_id="v6", **options).find()


class Configured(FakeClient):
    """A project that has the BGP configuration it is sent."""

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if method == "POST":
            self.answers["projects/p/bgp-config"] = {"id": "c", **body}
            return None
        return super().answer(method, path, body, params)


CONFIG = {"id": "c", "deployment_type": "local", "asn": 65000, "md5": "Swordfish4Bgp", "status": "enabled"}


def config(answers: FakeClient, **params: Any) -> BgpConfig:
    return BgpConfig(answers, options_of(BGP_CONFIG_OPTIONS, **params))


def test_what_is_not_given_of_a_configuration_is_asked_for_as_it_is() -> None:
    answers = Configured({"projects/p/bgp-config": CONFIG})
    resource = config(answers, asn=65001)
    found = resource.find()
    assert found is not None
    resource.update(found, {"asn": 65001})
    assert answers.writes == [("POST", "projects/p/bgp-configs", {"deployment_type": "local", "asn": 65001, "md5": "Swordfish4Bgp"})]
    config(answers, md5="").update(found, {"md5": ""})
    assert "md5" not in answers.writes[-1][2]


@pytest.mark.parametrize(
    ("md5", "desired", "view"),
    [
        ("Swordfish4Bgp", "as given", "as given"),
        ("Swordfish5Bgp", "as given", "another"),
        ("", "", "another"),
        (None, None, "another"),
    ],
)
def test_a_password_is_compared_and_never_returned(md5: str | None, desired: str | None, view: str) -> None:
    resource = config(FakeClient(), md5=md5)
    assert resource.desired().get("md5") == desired
    assert resource.comparable(CONFIG)["md5"] == view
    result = json.dumps([resource.desired(), resource.comparable(CONFIG), resource.result(CONFIG)])
    assert "Swordfish" not in result
    assert resource.result(CONFIG)["md5_enabled"]


def test_the_neighbors_of_a_device_have_no_password() -> None:
    client: Any = FakeClient(
        {
            "devices/d": {"id": "d", "project": {"href": "/metal/v1/projects/p"}},
            "projects/p/bgp-config": {},
            "devices/d/bgp/sessions": [],
            "devices/d/bgp/neighbors": [{"peer_ips": ["192.0.2.1"], "md5_password": "Swordfish4Bgp"}],
        }
    )
    assert find_bgp(client, {"project_id": "another", "device_id": "d"})["bgp_neighbors"] == [{"peer_ips": ["192.0.2.1"]}]
