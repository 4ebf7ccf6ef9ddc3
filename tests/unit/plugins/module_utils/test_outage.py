"""A service that serves no request is said to, once, while it is still tried."""

from __future__ import annotations

import queue
import threading

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base import outage
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.outage import Outage


class DownError(Exception):
    """No answer."""


class RefusedError(Exception):
    """An answer all the same."""


class Watched:
    """An outage whose lines are waited for."""

    def __init__(self) -> None:
        self.said: queue.Queue[str] = queue.Queue()
        self.time = 0.0
        self.outage = Outage("The Metal API", self.said.put, now=lambda: self.time)

    def request(self, problem: Exception | None = None, *, seconds: float = 0.0) -> None:
        try:
            with self.outage.watched(DownError):
                self.time += seconds
                if problem is not None:
                    raise problem
        except (DownError, RefusedError):
            pass

    def line(self) -> str:
        return self.said.get(timeout=30)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_an_outage_is_reported_once_with_its_reason_and_again_at_its_end(watched: Watched) -> None:
    for _again in range(5):
        watched.request(DownError("the API returned 503"), seconds=10)
    line = watched.line()
    assert line.startswith("The Metal API has served no request for ")
    assert line.endswith("still trying: the API returned 503")
    watched.request()
    assert watched.line() == "The Metal API serves requests again, after 50 s"
    watched.request()
    assert watched.said.empty()


def test_an_outage_is_reported_during_a_pause(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request ends when the time is over: a client that pauses or hangs says it as well."""
    monkeypatch.setattr(outage, "NOTICE_AFTER", 0.05)
    watched.request(DownError("no connection"))
    assert "still trying: no connection" in watched.line()


@pytest.mark.parametrize("answer", [None, RefusedError("404")])
def test_any_answer_ends_an_outage(watched: Watched, answer: Exception | None) -> None:
    watched.request(DownError("x"), seconds=20)
    watched.request(answer)
    watched.request(DownError("x"), seconds=20)
    assert watched.said.empty()


def test_a_second_outage_is_reported_too(watched: Watched) -> None:
    for _outage_number in range(2):
        watched.request(DownError("x"), seconds=40)
        assert "still trying" in watched.line()
        watched.request()
        assert "again" in watched.line()


def test_threads_of_one_client_report_an_outage_once(watched: Watched) -> None:
    threads = [threading.Thread(target=watched.request, args=(DownError("x"),), kwargs={"seconds": 40}) for _number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "still trying" in watched.line()
    watched.request()
    assert "again" in watched.line()
    assert watched.said.empty()
