"""The last event of devices, and when a wait for them is useless."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, DeviceFailedError, ServerError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.watch import (
    AT_ONCE,
    PAUSE,
    MachineWatch,
    failure_of,
)

PARAMS: dict[str, Any] = {"project_id": "p", "ownership_tags": ["c=1", "mine"], "machines": ["a", "b"], "quorum_of": [], "quorum": 0}
GOOD = {"type": "user.0", "state": "succeeded", "body": "[files] done", "created_at": "2026-11-21T07:10:00Z"}
BAD = {"type": "user.0", "state": "failed", "body": "[files] Ignition error: hash", "created_at": "2026-11-21T07:11:00Z"}
LATER = {"type": "power.210", "state": None, "body": "Rebooted", "created_at": "2026-11-21T07:12:00Z"}


class Service:
    """Lists of an API; counts what it is asked."""

    def __init__(self, devices: list[dict[str, Any]], events: dict[str, list[dict[str, Any]]]) -> None:
        self.devices, self.events, self.asked = devices, events, 0
        self.broken = False

    def read_list(self, path: str, key: str, **more: Any) -> list[dict[str, Any]]:
        self.asked += 1
        if self.broken:
            raise ServerError("503 of the service")
        return self.devices if key == "devices" else self.events[path.split("/")[1]]


def device(name: str, state: str = "active", *tags: str) -> dict[str, Any]:
    return {"id": f"id-{name}", "hostname": name, "state": state, "tags": [*PARAMS["ownership_tags"], *tags]}


@pytest.mark.parametrize(
    ("state", "event", "lost"),
    [
        ("active", GOOD, False),
        ("active", {}, False),
        ("provisioning", {"type": "provisioning.104", "state": "failed"}, False),
        ("active", BAD, True),
        ("failed", {"type": "provisioning.failed", "body": "no disk"}, True),
        ("failed", {}, True),
        ("deprovisioning", GOOD, True),
    ],
)
def test_permanent_device_failures_are_reported(state: str, event: dict[str, Any], lost: bool) -> None:
    assert (failure_of(device("a", state), event) is not None) is lost


def test_a_device_whose_name_has_capitals_is_that_of_its_node() -> None:
    watch = MachineWatch(Service([device("A"), device("b")], {"id-A": [GOOD], "id-b": [GOOD]}), PARAMS)  # type: ignore[arg-type]
    assert [text.split(",")[0] for text in watch.poll()] == ["machine a is active", "machine b is active"]
    assert watch.lost == {}


def test_a_deleted_device_ends_the_wait() -> None:
    """At several polls in a row: a list may miss one for a moment."""
    slept: list[float] = []
    watch = MachineWatch(Service([device("a")], {"id-a": [GOOD]}), PARAMS, sleep=slept.append)  # type: ignore[arg-type]
    with pytest.raises(DeviceFailedError, match="b is not there any more: run again to order another"):
        watch.poll()
    assert len(slept) == 2


@pytest.mark.parametrize(
    ("spare", "quorum", "ends"),
    [(["a", "b"], 1, False), (["a", "b"], 2, True), (["a"], 0, True), (["b"], 0, False)],
)
def test_a_failed_device_is_tolerated_while_the_quorum_can_be_reached(spare: list[str], quorum: int, ends: bool) -> None:
    service = Service([device("a"), device("b")], {"id-a": [GOOD], "id-b": [BAD]})
    watch = MachineWatch(service, {**PARAMS, "quorum_of": spare, "quorum": quorum})  # type: ignore[arg-type]
    if ends:
        with pytest.raises(DeviceFailedError, match="b stopped"):
            watch.poll()
        return
    assert [text.split(",")[0] for text in watch.poll()] == ["machine a is active", "machine b is active"]
    assert list(watch.lost) == ["b"]


def test_a_device_missing_in_one_list_is_not_deleted() -> None:
    service = Service([device("a")], {"id-a": [GOOD], "id-b": [LATER]})
    watch = MachineWatch(service, PARAMS, sleep=lambda _seconds: service.devices.append(device("b")))  # type: ignore[arg-type]
    assert [text.split(",")[0] for text in watch.poll()] == ["machine a is active", "machine b is active"]


def test_devices_are_polled_in_intervals_and_a_silent_service_is_tolerated() -> None:
    clock = [0.0]
    service = Service([device("a"), device("b")], {"id-a": [GOOD], "id-b": [GOOD]})
    watch = MachineWatch(service, PARAMS, now=lambda: clock[0])  # type: ignore[arg-type]
    watch.poll()
    asked = service.asked
    clock[0] = PAUSE - 1
    watch.poll()
    assert service.asked == asked
    service.broken = True
    clock[0] = PAUSE
    assert watch.poll() == ["how far the machines are is not known: 503 of the service"]


def test_a_poll_reads_some_of_hundreds_of_devices_in_turn() -> None:
    clock = [0.0]
    names = [f"worker-{number:03}" for number in range(4 * AT_ONCE)]
    service = Service([device(name) for name in names], {f"id-{name}": [GOOD] for name in names})
    params = {**PARAMS, "machines": names}
    asked_at: list[int] = []
    last_of_all = None
    watch = MachineWatch(service, params, now=lambda: clock[0])  # type: ignore[arg-type]
    for turn in range(4):
        clock[0] = turn * PAUSE
        before = service.asked
        texts = watch.poll()
        asked_at.append(service.asked - before)
        reported = {text.split(" ")[1] for text in texts if "its last event" in text}
        last_of_all = reported if last_of_all is None else last_of_all | reported
        assert len(texts) == len(names)
    assert asked_at == [1 + AT_ONCE] * 4
    assert last_of_all == set(names)


def test_a_machine_that_stopped_is_not_forgotten_until_its_next_turn() -> None:
    """Until it is installed again."""
    names = [f"worker-{number:03}" for number in range(2 * AT_ONCE)]
    service = Service([device(name) for name in names], {f"id-{name}": [BAD if name == names[0] else GOOD] for name in names})
    params = {**PARAMS, "machines": names, "quorum_of": names, "quorum": 1}
    clock = [0.0]
    watch = MachineWatch(service, params, now=lambda: clock[0])  # type: ignore[arg-type]
    for turn in range(4):
        clock[0] = turn * PAUSE
        watch.poll()
        assert list(watch.lost) == [names[0]]
    # The same device, which is installed again.
    for state in ("provisioning", "active"):
        service.devices[0] = device(names[0], state)
        service.events[f"id-{names[0]}"] = [GOOD]
        clock[0] += 2 * PAUSE
        watch.poll()
        assert watch.lost == {}


@pytest.mark.parametrize("missing", ["project_id", "ownership_tags"])
def test_ownership_tags_are_required(missing: str) -> None:
    with pytest.raises(CollectionError, match=missing):
        MachineWatch(Service([], {}), {**PARAMS, missing: None})  # type: ignore[arg-type]
