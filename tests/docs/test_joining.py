"""docs/generated/joining.md is what the tests' tables say, and names tests that are there."""

from __future__ import annotations

import ast

import pytest

from tests.cluster.joining import FAULTS, PAGE, REAL, ROOT, RULES, UNIT, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.cluster.joining"


@pytest.mark.parametrize(("files", "which"), [((UNIT,), "unit"), ((REAL, FAULTS), "real")])
def test_every_rule_is_held_by_tests_that_are_there(files: tuple[str, ...], which: str) -> None:
    trees = [ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in files]
    there = {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}
    for rule in RULES:
        assert rule.unit or rule.real, rule.title
        assert set(getattr(rule, which)) <= there, rule.title
