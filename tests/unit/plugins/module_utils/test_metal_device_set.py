"""Options of a set of devices that contradict each other. What a set does: tests/contract/test_device_set.py."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.set import DEVICE_SET_OPTIONS, DeviceSet

from .fake_client import FakeClient, options_of


def machine(number: int, **more: Any) -> dict[str, Any]:
    own = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
    defaults = dict.fromkeys(DEVICE_SET_OPTIONS.argument_spec["machines"]["options"])
    return {**defaults, "hostname": f"worker-{number}.demo.metal.test", **own, **more}


def pool(count: int) -> dict[str, Any]:
    return {"plan": "c3.small.x86", "metro": "da", "hostnames": [f"worker-{number}" for number in range(count)]}


@pytest.mark.parametrize(
    ("machines", "given", "text"),
    [
        ([machine(0), machine(0)], {}, "worker-0.demo.metal.test is listed 2 times"),
        ([machine(0)], {"ownership_tags": [" "]}, "ownership_tags must have at least one tag"),
        ([], {"all_owned": True}, "all_owned needs state=absent"),
        ([], {"ids": ["id-1"], "all_owned": True, "state": "absent"}, "all_owned needs state=absent, without machines, hostnames and ids"),
        ([], {"machines": None, "hostnames": ["worker-0", ""], "state": "absent"}, "a hostname is empty"),
        (None, {**pool(2), "quorum": 3}, "quorum must be 1 to the number of machines, 2"),
        (None, {**pool(2), "on_drift": "replace", "wait": False}, "on_drift=replace needs wait=true"),
        (None, {**pool(2), "placement": [{"metro": "any"}], "spread": True}, "spread does not support the metro any"),
        (None, {"hostnames": ["a"], "machines": [{"hostname": "b"}]}, "machines and hostnames are mutually exclusive"),
    ],
)
def test_contradicting_options_are_refused_before_any_request(machines: list[Any] | None, given: dict[str, Any], text: str) -> None:
    client = FakeClient()
    options = {"machines": machines or None, "ownership_tags": ["openshift-cluster=demo.metal.test"], **given}
    with pytest.raises(CollectionError) as caught:
        DeviceSet(client, options_of(DEVICE_SET_OPTIONS, **options)).check()
    assert text in caught.value.message
    assert client.requests == []
