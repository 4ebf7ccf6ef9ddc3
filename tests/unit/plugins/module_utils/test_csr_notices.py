"""Lines for the operator: each once, few of many, none that can be forged; and the file that a job leaves them in."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.times import time_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import Alarm, Past, Verdict, alarms
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.history import from_text, from_texts, to_text, to_texts
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.notices import LIMIT, LIMIT_OF_MACHINE, Notices

from .csr_cases import OTHER, WORKER, client, ips, key, made
from .test_csr import first, judged, let_in, rules

MACHINES = (WORKER, OTHER)


def foreign_verdicts(number: int, begin: int = 0) -> list[Verdict]:
    content = made("system:node:x")
    return judged(*(client(content, name=f"csr-{index}") for index in range(begin, begin + number)), pending_limit=100_000)


def shown(notices: Notices, verdicts: list[Verdict], **more: Any) -> list[str]:
    given: dict[str, Any] = {"answered": [], "alarms": [], "problems": {}, **more}
    found = [notice.result() for notice in notices.fresh(verdicts, given["answered"], given["alarms"], given["problems"])]
    assert all(notice["text"].isprintable() and len(notice["text"]) <= 600 for notice in found)
    return [notice["text"] for notice in found]


def test_each_line_is_shown_once() -> None:
    notices, verdicts = Notices(MACHINES), foreign_verdicts(2)
    (alarm,) = two_keys(WORKER)
    assert len(shown(notices, verdicts, alarms=[alarm], problems={"history": "no right"})) == 4
    assert shown(notices, verdicts, alarms=[alarm], problems={"history": "no right, request 7"}) == []
    assert len(shown(notices, [*verdicts, *foreign_verdicts(1, 2)])) == 1


def test_thousands_of_requests_are_some_lines() -> None:
    """Filed at once or one after the other."""
    at_once = shown(Notices(MACHINES), foreign_verdicts(2000))
    assert len(at_once) == LIMIT + 1
    assert at_once[-1].startswith("2000 certificate requests are refused by now")
    notices, lines, filed = Notices(MACHINES), 0, foreign_verdicts(600)
    for number in range(1, 601):
        lines += len(shown(notices, filed[:number]))
    assert lines < LIMIT + 8


def test_csrs_of_machines_are_printed_before_thousands_of_others() -> None:
    notices = Notices(MACHINES)
    shown(notices, foreign_verdicts(100))
    evil = [
        client(made(f"system:node:{WORKER}", names=ips("192.0.2.1")), name=f"csr-evil-{number}", filed=f"2026-03-01T12:20:{number}Z")
        for number in range(10, 30)
    ]
    lines = shown(notices, judged(*evil))
    assert [line.split()[2] for line in lines] == [f"csr-evil-{number}" for number in range(10, 10 + LIMIT_OF_MACHINE)]


def two_keys(node: str, *more: dict[str, Any]) -> list[Alarm]:
    requests = [
        client(made(f"system:node:{node}", signed_with=key(name)), name=f"csr-{node[:8]}-{name}", filed=f"2026-03-01T12:20:0{number}Z")
        for number, name in enumerate("ab")
    ]
    return alarms(judged(*requests, *more), rules())


def test_alarms_from_before_the_run_are_one_short_line() -> None:
    """After a run that was interrupted, the machines that were restarted meanwhile."""
    before = [*two_keys(WORKER), *two_keys(OTHER)]
    notices = Notices(MACHINES)
    (line,) = shown(notices, [], alarms=before)
    assert line.startswith(f"CSRs with different keys were filed before this run for 2 nodes: {WORKER}, {OTHER}.")
    assert len(line) < 250
    assert shown(notices, [], alarms=before) == []
    # One that was let in since is news; that one more key was filed is none.
    let_one_in = (first("a", "12:20:00"), let_in(first("b", "12:20:01")))
    assert len(shown(notices, [], alarms=alarms(judged(*let_one_in), rules()))) == 1
    more = alarms(judged(*let_one_in, first("c", "12:21:00"), second_key_after=3600), rules())
    assert shown(notices, [], alarms=more) == []


# --- history -------------------------------------------------------------------------------------------------------------

PASTS = [
    Past(),
    Past(joined_at=time_of("2026-03-01T12:26:00Z")),
    Past(answered=time_of("2026-03-01T12:25:00Z")),
    Past(time_of("2026-03-01T13:26:00+01:00"), time_of("2026-03-01T12:25:00Z")),
]


@pytest.mark.parametrize("past", PASTS)
def test_a_history_is_read_as_it_was_written(past: Past) -> None:
    assert from_text(to_text(past)) == past, "to the second, as the cluster's own times are"
    assert to_text(from_text(to_text(past))) == to_text(past)


@pytest.mark.parametrize(
    "text",
    [None, 3, "", "x", "[]", "null", '{"joined": 3}', '{"joined": "soon", "answered": [1]}', '{"answered": ["a", 2]}', "[" * 100_000],
)
def test_a_malformed_history_is_none(text: Any) -> None:
    assert from_text(text) == Past()


def test_histories_are_read_by_name() -> None:
    texts_by_name = to_texts({WORKER: PASTS[1], OTHER: PASTS[0]})
    assert from_texts(texts_by_name) == {WORKER: PASTS[1]}
    odds: list[Any] = [None, [], "x", {WORKER: 3}]
    for malformed in odds:
        assert from_texts(malformed) == {}
