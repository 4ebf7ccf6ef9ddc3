"""Day 2 of a cluster that is not always on: a worker that comes late, and all machines off until their certificates have ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.testing.observer import REQUESTS
from tests.e2e.harness import Moment, User, back_from_days_off, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SPEED = 1200


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("days-off"), speed=SPEED)
    with user.at_work():
        user.play("install.yml", timeout=1800).ended_well()
        yield user
        # The run that was killed has left its server behind.
        user.destroy(timeout=1200).ended_well()
        assert user.sandbox.inventory_is_empty()


def test_a_late_worker_needs_a_confirmation(user: User) -> None:
    """No approver ran when it filed its CSR, which is too old by now for a first CSR."""
    user.edit_workers(2)
    # At full speed the worker asks within a second of its installation, and no window is too short for it.
    user.sandbox.call("PUT", "settings", json={"speed": 120})
    user.play("scale.yml", kill=Moment("csr_approval"))
    until(
        lambda: any(not item.get("status", {}).get("conditions") for item in user.kube(REQUESTS)["items"]),
        what="worker-2 asks",
    )
    user.sandbox.call("PUT", "settings", json={"speed": SPEED})
    late = user.play("playbooks/approve.yml", "-e", "openshift_join_window=1", "-e", "openshift_join_timeout=30")
    assert late.code != 0
    assert "the window is 1 s" in late.output
    assert "worker-2" not in user.nodes()
    user.play("playbooks/approve.yml", "-e", "openshift_join_window=0", timeout=1200).ended_well()
    assert "worker-2" in user.nodes()


def test_a_cluster_starts_after_days_without_power(user: User) -> None:
    back_from_days_off(user, 31)
