"""Commands in etcd pods through several addresses of a cluster's API."""

from __future__ import annotations

from typing import Any

from tests.contract.environment import run
from tests.contract.etcd import LOST, UP, lay_etcd
from tests.contract.subjects import CLUSTER_REQUESTS, Testbed

NOBODY = "127.64.250.9:6443"


def options(testbed: Testbed, *addresses: str, **more: Any) -> dict[str, Any]:
    reach = {"kubeconfig": str(testbed.cluster.kubeconfig), "api_addresses": [*addresses], "wait_timeout": 30, "wait_interval": 0.1}
    return {**reach, **more}


def test_an_address_that_does_not_answer_is_passed_over(testbed: Testbed) -> None:
    lay_etcd(testbed)
    result = run("etcd_info", options(testbed, NOBODY, testbed.cluster_front.address, wait=False), testbed.environment)
    assert not result.get("failed"), result
    assert [each["name"] for each in result["members"] if each["healthy"]] == [*UP]


def test_a_removal_without_an_answer_is_not_sent_to_another_address(testbed: Testbed) -> None:
    """Its effect is unknown: etcd would refuse the second, which would be an error though the member is removed."""
    lay_etcd(testbed)
    front = testbed.cluster_front
    front.forget()
    front.meet({**CLUSTER_REQUESTS["remove"], "cut": "after", "times": 1})
    try:
        result = run("etcd_member", options(testbed, front.address, front.address, node=LOST[0]), testbed.environment)
    finally:
        front.well()
    assert not result.get("failed"), result
    assert (result["changed"], len(list(testbed.machines.etcd))) == (True, 4)
    assert len([each for each in front.journal() if "command=remove" in each["path"]]) == 1


def test_a_command_ends_after_api_timeout_though_its_answer_has_begun(testbed: Testbed) -> None:
    lay_etcd(testbed)
    front = testbed.cluster_front
    front.meet({**CLUSTER_REQUESTS["run"], "drip": 0.2})
    try:
        given = options(testbed, front.address, wait=False, api_timeout=1)
        result = run("etcd_info", given, testbed.environment, without_pauses=True)
    finally:
        front.well()
    assert result["failed"]
    assert "did not end within 1 seconds (api_timeout)" in result["msg"]
