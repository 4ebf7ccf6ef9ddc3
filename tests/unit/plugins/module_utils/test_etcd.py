"""Which control plane machine can be replaced. The modules: tests/contract/test_etcd.py."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.etcd.members import (
    Member,
    Operator,
    Replacement,
    membership_problems,
    removal_blockers,
)

IDLE = Operator(version="1", guarded=True, replacing=Replacement(), problem="")


def members(healthy: str, sick: str = "", learners: str = "") -> list[Member]:
    """Members of names of one letter."""
    found = [(name, False, True) for name in healthy] + [(name, False, False) for name in sick] + [(name, True, False) for name in learners]
    return [Member(f"{ord(name):x}", name, learner, is_healthy) for name, learner, is_healthy in found]


@pytest.mark.parametrize(
    ("given", "node", "blocked"),
    [
        (members("abc"), "b", ""),
        (members("ac"), "b", ""),
        (members("abcd"), "b", ""),
        (members("ab", sick="c"), "b", "lose its quorum: 1 of 3"),
        (members("ab"), "b", "lose its quorum: 1 of 2"),
        (members("b"), "b", "the only etcd member"),
        (members("abcd", sick="e"), "b", "The etcd members of e are not healthy"),
        (members("abc", learners="d"), "b", ""),
    ],
)
def test_a_machine_is_replaced_only_while_the_others_are_a_healthy_majority(given: list[Member], node: str, blocked: str) -> None:
    blockers = removal_blockers(given, IDLE, [node], node)
    if blocked:
        assert any(blocked in each for each in blockers), blockers
    else:
        assert blockers == []


def test_one_machine_is_replaced_at_a_time() -> None:
    other = Operator(version="1", guarded=False, replacing=Replacement("c", "device", "1"), problem="")
    (blocker,) = removal_blockers(members("abc"), other, [], "b")
    assert "replace.yml -e openshift_replace=c" in blocker
    assert removal_blockers(members("ab"), other, [], "c") == []


def test_the_other_nodes_have_to_be_ready() -> None:
    (blocker,) = removal_blockers(members("abc"), IDLE, ["b", "c"], "b")
    assert "c are not Ready" in blocker


def test_machines_that_lost_their_members_together_are_replaced_one_after_the_other() -> None:
    assert removal_blockers(members("a"), IDLE, ["b", "c"], "b") == []
    continued = Operator("1", guarded=True, replacing=Replacement("b", "device", ""), problem="")
    assert removal_blockers(members("ab"), continued, ["c"], "b") == []
    (blocker,) = removal_blockers(members("a"), IDLE, ["c"], "b")
    assert "b is Ready and has no etcd member" in blocker


@pytest.mark.parametrize(
    ("given", "problem", "expected"),
    [
        (members("abc"), "", []),
        (members("ab"), "", ["etcd has no member of c"]),
        (members("ab", learners="c"), "", ["etcd has no member of c"]),
        (members("ab", sick="c"), "", ["the etcd member of c is not healthy"]),
        (members("abcd"), "", []),
        (members("abc", sick="d"), "", ["etcd has a sick member of d, which is to be removed"]),
    ],
)
def test_the_desired_nodes_have_healthy_members(given: list[Member], problem: str, expected: list[str]) -> None:
    assert membership_problems(given, Operator("1", guarded=True, replacing=Replacement(), problem=problem), "abc") == expected
