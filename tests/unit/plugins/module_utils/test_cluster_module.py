"""How a module waits for a cluster that refuses, and when it ends a slice of its wait early."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterRefusedError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import find_play
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import StillWaiting, Waiter, WaitTimeout
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

    def waiter(*arguments: Any, **named: Any) -> Any:
        return Waiter(*arguments, **{**named, "now": found.time})

    monkeypatch.setattr(cluster_module, "Waiter", waiter)
    return found


def module(tmp_path: Any, resume: Any = None, **params: Any) -> ClusterModule:
    """Without AnsibleModule: what it needs of its options."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    found = ClusterModule.__new__(ClusterModule)
    found.params = {
        "kubeconfig": str(kubeconfig),
        "wait": True,
        "wait_timeout": 3600.0,
        "wait_interval": 5.0,
        "progress_interval": 0.0,
        "resume": resume,
        **params,
    }
    found.check_mode = False
    found.module = SimpleNamespace()  # type: ignore[assignment]  # the little of it that is called
    found.gate = Gate(find_play())
    found.result = {}
    found.resume = {}
    found.read_resume()
    return found


def refusing(clock: Clock, seconds: float) -> Any:
    """Return a poll of a cluster that refuses for so long, and is ready then."""
    end = clock.now + seconds

    def look(*, patient: bool) -> list[str]:
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


def test_refusals_add_up_over_the_slices_of_a_wait(clock: Clock, tmp_path: Any) -> None:
    read, began = refusing(clock, 10_000), clock.now
    resume: dict[str, Any] = {}
    with pytest.raises(ClusterRefusedError):
        while clock.now < began + 3600:
            sliced = module(tmp_path, resume, progress_interval=15.0)
            with pytest.raises(StillWaiting):
                sliced.wait_for(read, "x", sleep=clock.sleep)
            resume = sliced.state_to_resume()
    assert REFUSED_FOR_GOOD <= clock.now - began < REFUSED_FOR_GOOD + 20


def test_refusals_with_a_break_between_them_do_not_add_up(clock: Clock, tmp_path: Any) -> None:
    def look(*, patient: bool) -> list[str]:
        if int(clock.now / 60) % 2:
            raise ClusterRefusedError("no", 403)
        return ["something"]

    with pytest.raises(WaitTimeout):
        module(tmp_path, wait_timeout=1200.0).wait_for(look, "x", sleep=clock.sleep)


@pytest.mark.parametrize("resume", [None, {}, {"refused_since": "x"}, {"refused_since": None}, {"refused_since": 1e300}])
def test_a_malformed_state_of_an_earlier_call_is_ignored(clock: Clock, tmp_path: Any, resume: Any) -> None:
    module(tmp_path, resume).wait_for(refusing(clock, 30), "x", sleep=clock.sleep)


def test_a_notice_ends_a_slice_at_once_but_not_the_wait(clock: Clock, tmp_path: Any) -> None:
    def look(*, patient: bool) -> list[str]:
        return ["worker-0"]

    began = clock.now
    with pytest.raises(StillWaiting):
        module(tmp_path, progress_interval=15.0).wait_for(look, "x", sleep=clock.sleep, has_news=lambda: True)
    assert clock.now == began
    # Shown by nobody: it goes on.
    with pytest.raises(WaitTimeout):
        module(tmp_path).wait_for(look, "x", sleep=clock.sleep, has_news=lambda: True)
    # Nothing of the time is left: it is over, whatever is new.
    with pytest.raises(WaitTimeout):
        module(tmp_path, progress_interval=15.0, wait_timeout=0.0).wait_for(look, "x", sleep=clock.sleep, has_news=lambda: True)


def test_a_missing_kubeconfig_fails_at_once(clock: Clock, tmp_path: Any) -> None:
    waiting = module(tmp_path)
    (tmp_path / "kubeconfig").unlink()
    with pytest.raises(Exception, match="was deleted"):
        waiting.wait_for(refusing(clock, 0), "x", sleep=clock.sleep)
