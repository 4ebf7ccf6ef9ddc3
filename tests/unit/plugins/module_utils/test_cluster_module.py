"""How a module waits for a cluster that refuses, and what it reports meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterRefusedError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import find_play
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import Waiter, WaitTimeout
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame import cluster as cluster_module
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import REFUSED_FOR_GOOD, ClusterModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.cluster_lock import Gate


class Clock:
    """A clock that advances when a caller sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(cluster_module, "time", found)

    class TimedWaiter(Waiter):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **{**named, "now": found.time})

    monkeypatch.setattr(cluster_module, "Waiter", TimedWaiter)
    return found


def module(tmp_path: Any, **params: Any) -> ClusterModule:
    """Without AnsibleModule: what it needs of its options."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    found = ClusterModule.__new__(ClusterModule)
    found.params = {
        "kubeconfig": str(kubeconfig),
        "wait": True,
        "wait_timeout": 3600.0,
        "time_scale": 1.0,
        "wait_interval": 5.0,
        "progress_interval": 0.0,
        **params,
    }
    found.check_mode = False
    found.module = SimpleNamespace()  # type: ignore[assignment]  # the little of it that is called
    found.gate = Gate(find_play())
    found.result = {}
    found._refused_since = None
    return found


def refusing(clock: Clock, seconds: float) -> Any:
    """Return a poll of a cluster that refuses for so long, and is ready then."""
    end = clock.now + seconds

    def look() -> list[str]:
        if clock.now < end:
            raise ClusterRefusedError("Cannot list the certificate requests: the cluster's API returned 401", 401)
        return []

    return look


@pytest.mark.parametrize("seconds", [5, REFUSED_FOR_GOOD - 10])
def test_a_temporary_refusal_does_not_end_a_wait(clock: Clock, tmp_path: Any, seconds: float) -> None:
    module(tmp_path).wait_for(refusing(clock, seconds), "x", sleep=clock.sleep)


def test_a_lasting_refusal_ends_the_wait_with_the_clusters_message(clock: Clock, tmp_path: Any) -> None:
    began = clock.now
    with pytest.raises(ClusterRefusedError, match="returned 401"):
        module(tmp_path).wait_for(refusing(clock, 10_000), "x", sleep=clock.sleep)
    assert REFUSED_FOR_GOOD <= clock.now - began < REFUSED_FOR_GOOD + 10


def test_refusals_with_a_break_between_them_do_not_add_up(clock: Clock, tmp_path: Any) -> None:
    def look() -> list[str]:
        if int(clock.now / 60) % 2:
            raise ClusterRefusedError("no", 403)
        return ["something"]

    with pytest.raises(WaitTimeout):
        module(tmp_path, wait_timeout=1200.0).wait_for(look, "x", sleep=clock.sleep)


def test_a_missing_kubeconfig_fails_at_once(clock: Clock, tmp_path: Any) -> None:
    waiting = module(tmp_path)
    (tmp_path / "kubeconfig").unlink()
    with pytest.raises(Exception, match="was deleted"):
        waiting.wait_for(refusing(clock, 0), "x", sleep=clock.sleep)
