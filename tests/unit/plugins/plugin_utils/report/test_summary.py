"""The summary at the end of a run."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.summary import (
    cluster_lines,
    device_lines,
    unjoined,
)

NAME = "demo.metal.test"


def node(name: str, *, ready: bool = True, role: str = "worker", **more: Any) -> dict[str, Any]:
    return {"name": name, "roles": [role], "ready": ready, "unschedulable": False, "kubelet_version": "v1.33.6", **more}


def state(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "api_answers": True,
        "reached": True,
        "waiting": [],
        "cluster_version": "4.20.33",
        "console_url": f"https://console.apps.{NAME}",
        "nodes": list(nodes),
        **more,
    }


def device(role: str, number: int, **more: Any) -> dict[str, Any]:
    return {"hostname": f"{role}-{number}.{NAME}", "role": role, "plan": "c3.small.x86", "metro": "da", "price_per_hour": 0.75, **more}


def test_each_node_has_roles_status_and_version_and_those_in_trouble_come_first() -> None:
    lines = cluster_lines(
        NAME,
        state(
            node("worker-0"),
            node("worker-1", ready=False),
            node("worker-2", unschedulable=True),
            node("master-0", role="control-plane"),
        ),
    )
    assert lines == [
        "demo.metal.test runs OpenShift 4.20.33 on 4 nodes, 3 Ready",
        "",
        "  NODE      ROLES          STATUS                    VERSION",
        "  worker-1  worker         NotReady                  v1.33.6",
        "  master-0  control-plane  Ready                     v1.33.6",
        "  worker-0  worker         Ready                     v1.33.6",
        "  worker-2  worker         Ready,SchedulingDisabled  v1.33.6",
    ]


def test_an_api_that_does_not_answer_is_said() -> None:
    lines = cluster_lines(NAME, state(api_answers=False, reached=False, waiting=["no address answers"]))
    assert lines == ["demo.metal.test: the API server does not answer", "  Waiting:  no address answers"]


def test_devices_are_counted_by_role_and_place_with_the_price_of_all() -> None:
    devices = [device("control-plane", number) for number in range(3)] + [device("worker", 0), device("worker", 1, metro="ny")]
    found = {"clusters": [{"devices": devices, "ip_reservations": [{"id": "x"}], "price_per_hour": 3.75}]}
    assert device_lines(found) == [
        "  Devices:  5, 3.75 USD per hour",
        "            3 control-plane, c3.small.x86 in da; 1 worker, c3.small.x86 in da; 1 worker, c3.small.x86 in ny; 1 address block",
    ]


@pytest.mark.parametrize("belongings", ["text", {"msg": "503"}])
def test_a_metal_api_that_does_not_answer_is_no_failure(belongings: Any) -> None:
    assert device_lines(belongings)[0].startswith("  Devices:  unknown: ")


def owned(role: str, number: int, **more: Any) -> dict[str, Any]:
    return device(role, number, id=f"id-{role}-{number}", state="active", **more)


def joined(role: str, number: int, **more: Any) -> dict[str, Any]:
    return node(f"{role}-{number}.{NAME}", role=role, device_id=f"id-{role}-{number}", **more)


UNJOINED: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[str], list[str]]] = {
    "all have joined": ([owned("worker", 0)], [joined("worker", 0)], [], []),
    "load balancers and the bootstrap device are no nodes": ([owned("load-balancer", 0), owned("bootstrap", 0)], [], [], []),
    "fewer nodes than devices": (
        [owned("worker", 0), owned("worker", 1)],
        [joined("worker", 0)],
        [],
        ["device id-worker-1 (worker-1.demo.metal.test, active) has no Node"],
    ),
    "a node that is not Ready": (
        [owned("worker", 0)],
        [joined("worker", 0, ready=False, message="no network")],
        [],
        ["node worker-0.demo.metal.test is not Ready: no network"],
    ),
    "the node of another device": (
        [owned("worker", 0, hostname="box"), owned("worker", 9, hostname=f"worker-0.{NAME}")],
        [joined("worker", 0)],
        [],
        [
            "device id-worker-0 of node worker-0.demo.metal.test is named box at",
            "device id-worker-9 (worker-0.demo.metal.test, active) has no Node",
        ],
    ),
    "one that the run no longer waits for": ([owned("worker", 0), owned("worker", 1)], [joined("worker", 0)], [f"worker-1.{NAME}"], []),
    "one that is being deleted": ([owned("worker", 0) | {"state": "deprovisioning"}], [], [], []),
}


@pytest.mark.parametrize("case", UNJOINED)
def test_fewer_ready_nodes_than_devices_is_a_problem(case: str) -> None:
    devices, nodes, pending, expected = UNJOINED[case]
    found = unjoined(state(*nodes), {"clusters": [{"devices": devices}]}, pending)
    assert len(found) == len(expected)
    assert all(text.startswith(beginning) for text, beginning in zip(found, expected, strict=True))


def test_text_of_others_cannot_pretend_to_be_something_else() -> None:
    lines = cluster_lines(NAME, state(node("a\x1b[2J\nok: [localhost]"), reached=False, waiting=["b\u202egnp\nc"], cluster_version="4\x07"))
    assert all(line.isprintable() for line in lines)
