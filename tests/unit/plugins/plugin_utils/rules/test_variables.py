"""A playbook without preflight checks refuses wrong values and names that are gone."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.variables import problems, typed


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


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("openshift_dns_route53", {"zone_id": "Z1", "zone_private": True}, ""),
        ("openshift_dns_route53", {"zone": "Z1"}, "openshift_dns_route53.zone"),
        ("openshift_dns_route53", {"secret_key": "pl4nted", "zone_private": "pl4nted"}, "one of its keys has another type"),
        ("openshift_dns_octodns", ["pl4nted"], "openshift_dns_octodns is not of type dict"),
        ("openshift_drain_options", {"grace_period": "long"}, "grace_period"),
    ],
)
def test_keys_of_a_dictionary_are_checked_without_their_secrets(name: str, value: Any, expected: str) -> None:
    found = "".join(problems({name: value}, [name]))
    assert (expected in found and bool(found) == bool(expected)) and "pl4nted" not in found


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("0", "openshift_stop_min_age", 0),
        (0, "openshift_stop_min_age", 0),
        ("", "openshift_stop_min_age", 90000),
        (None, "openshift_lock", True),
        ("false", "openshift_lock", False),
        (True, "metal_project_create", True),
        ("2.5", "openshift_time_scale", 2.5),
    ],
)
def test_a_value_of_the_command_line_has_the_type_of_its_variable(value: object, name: str, expected: object) -> None:
    converted = typed(value, name)
    assert (converted, type(converted)) == (expected, type(expected))
    with pytest.raises(CollectionError, match=rf"'{name}' is of type .* unable to convert"):
        typed("many", name)
