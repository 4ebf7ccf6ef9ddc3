"""Devices as csr_approval wants to know of them."""

from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.machines import joining as joining_machines


def device(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{name}",
        "hostname": name,
        "ip_addresses": [{"address": "203.0.113.10", "public": True}, {"address": "2001:db8::1", "public": True}],
        "created_at": "2026-08-01T00:00:00Z",
        **more,
    }


def test_one_that_was_installed_anew_began_anew() -> None:
    again = device("worker-1", provisioning_started_at="2026-08-02T00:00:00Z")
    untold = device("worker-2", provisioning_started_at=None)
    assert joining_machines([device("worker-0"), again, untold]) == [
        {"name": name, "id": f"id-{name}", "addresses": ["203.0.113.10", "2001:db8::1"], "created_at": f"2026-08-0{day}T00:00:00Z"}
        for name, day in (("worker-0", 1), ("worker-1", 2), ("worker-2", 1))
    ]


def test_others_are_left_out() -> None:
    assert [each["name"] for each in joining_machines([device("worker-0"), device("stranger")], ["worker-0", "worker-1"])] == ["worker-0"]
    assert joining_machines([device("worker-0")], []) == []


def test_names_are_those_of_nodes() -> None:
    """The Metal API keeps capitals, Kubernetes has none."""
    assert [(each["name"], each["id"]) for each in joining_machines([device("Worker-0")], ["worker-0"])] == [("worker-0", "id-Worker-0")]


def test_a_device_that_is_being_deleted_makes_its_replacement_no_second_one() -> None:
    old = device("worker-0", state="deprovisioning", created_at="2026-07-01T00:00:00Z")
    new = device("worker-0", state="provisioning")
    alone = device("worker-1", state="deprovisioning")
    for devices in ([old, new, alone], [new, alone, old]):
        machines = joining_machines(devices)
        assert [(each["name"], each["created_at"][:7]) for each in machines] == [("worker-0", "2026-08"), ("worker-1", "2026-08")]
    # Of two that stay it is the module that says so.
    assert len(joining_machines([new, device("worker-0", state="active")])) == 2


def test_labels_are_those_that_a_kubelet_may_not_set() -> None:
    labels = {"node-role.kubernetes.io/storage": "", "team": "one"}
    inventory = [{"hostname": "worker-0", "labels": labels}, {"hostname": "worker-1", "labels": {"team": "one"}}]
    first, second = joining_machines([device("worker-0"), device("worker-1")], None, inventory)
    assert first["labels"] == {"node-role.kubernetes.io/storage": ""}
    assert "labels" not in second
