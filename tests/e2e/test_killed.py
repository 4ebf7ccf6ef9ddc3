"""An install that is killed with -9, in every phase, and started again: the same cluster as undisturbed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.harness import NAME, Moment, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

MOMENTS = (
    Moment("validate", 0.5),
    Moment("dns", 0.3),
    Moment("ignition", 1.0),
    Moment("boot_files", 0.5),
    Moment("boot_files", 2.5),
    Moment("provision", 0.5),
    Moment("provision", 12.0),
    Moment("bootstrap_teardown", 0.5),
    Moment("provision", 1.0, 2),
    Moment("csr_approval", 3.0),
    Moment("cluster", 1.0),
)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("killed"), speed=240)
    with user.at_work():
        yield user


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_killed_once_and_started_again(user: User, moment: Moment) -> None:
    killed = user.play("install.yml", kill=moment)
    assert killed.code == -9, killed.tail
    finished = user.play("install.yml").ended_well()
    assert user.hostnames() == ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
    assert sorted(node["metadata"]["name"] for node in user.kube("/api/v1/nodes")["items"]) == [
        f"{name}.{NAME}" for name in user.hostnames()
    ]
    orders = [
        request
        for request in killed.writes + finished.writes
        if request["method"] == "POST" and request["path"].endswith("/devices") and request["status"] == 201
    ]
    assert len(orders) == 6

    user.destroy()
    assert user.sandbox.inventory_is_empty()
