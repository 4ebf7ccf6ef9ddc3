"""Job templates of AWX that keep what was attached to them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.awx import templates as awx_templates

KNOWN = [
    {"id": 1, "name": "Metal", "credential_type": 20},
    {"id": 2, "name": "Other metal", "credential_type": 20},
    {"id": 3, "name": "By hand", "credential_type": 30},
    {"id": 4, "name": "Vault", "credential_type": 3, "kind": "vault"},
    {"id": 5, "name": "Vault 2", "credential_type": 3, "kind": "vault"},
]


def merged(template: dict[str, Any], existing: dict[str, Any]) -> dict[str, Any]:
    """Return the options but for the name."""
    found = awx_templates([{"name": "status", **template}], {"status": existing, "other": {"extra_vars": "x: 1"}}, KNOWN)
    assert list(found) == ["status"]
    assert found["status"].pop("name") == "status"
    return found["status"]


def current(*credentials: int, **others: Any) -> dict[str, Any]:
    return {"credentials": [each for each in KNOWN if each["id"] in credentials], **others}


@pytest.mark.parametrize("existing", [{}, current(1, 3, extra_vars="---\na: 1", notification_templates_error=[{"id": 9, "name": "x"}])])
def test_what_is_not_given_is_left_alone(existing: dict[str, Any]) -> None:
    template = {"playbook": "status.yml", "credentials": [], "extra_vars": {}, "notification_templates_error": []}
    assert merged(template, existing) == {"playbook": "status.yml"}


@pytest.mark.parametrize(
    ("existing", "desired", "expected"),
    [
        (current(), ["Metal"], ["Metal"]),
        (current(3), ["Metal"], ["3", "Metal"]),
        (current(1, 3), ["Metal"], ["3", "Metal"]),
        (current(1, 3), ["Other metal"], ["3", "Other metal"]),
        (current(3), ["1"], ["3", "1"]),
        (current(4), ["Vault 2"], ["4", "Vault 2"]),
        (current(4), ["Vault"], ["4"]),
    ],
)
def test_credentials_are_added(existing: dict[str, Any], desired: list[str], expected: list[str]) -> None:
    assert merged({"credentials": desired}, existing) == {"credentials": expected}


def test_notifications_and_variables_are_added() -> None:
    existing = current(extra_vars="---\na: 1\nb: 2", notification_templates_error=[{"id": 9, "name": "mine"}])
    desired = {"extra_vars": {"b": 3}, "notification_templates_error": ["failed jobs"]}
    assert merged(desired, existing) == {"extra_vars": {"a": 1, "b": 3}, "notification_templates_error": ["9", "failed jobs"]}
    assert merged({"extra_vars": {"b": 2}}, existing) == {}
