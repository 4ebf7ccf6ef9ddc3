"""A playbook without preflight checks refuses wrong values and names that are gone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.variables import problems, with_removed_options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"openshift_stop_min_age": 3600, "openshift_state_store": "cluster", "openshift_orphans_delete": "a.test,b.test"}, []),
        ({"openshift_stop_min_age": "soon"}, ["openshift_stop_min_age"]),
        # Preflight has a check of its own for these choices.
        ({"openshift_state_store": "attic"}, ["object_storage"]),
        ({"openshift_orphans_min_age": ""}, []),
    ],
)
def test_values_have_the_type_and_the_choices_of_their_variable(given: dict[str, Any], expected: list[str]) -> None:
    found = problems(given, given)
    assert len(found) == len(expected)
    assert all(text in problem for text, problem in zip(expected, found, strict=True))


def test_names_that_are_gone_are_refused_with_what_to_do() -> None:
    names = ["openshift_fips", "power_min_age", "openshift_lock", "gather_keep_nothing"]
    assert problems({}, names) == [
        "openshift_fips is gone: set fips in openshift_install_config",
        "power_min_age is gone: set openshift_stop_min_age",
    ]


def test_patterns_match_variables_and_former_options() -> None:
    patterns = with_removed_options("^openshift_.+")
    assert [name for name in ("openshift_fips", "power_min_age", "cluster_name") if any(re.search(each, name) for each in patterns)] == [
        "openshift_fips",
        "power_min_age",
    ]
