"""The one filter of the roles: rules that YAML names exist, others are refused, and errors are those that a user can read."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.rule import FOLDER, PACKAGE, function, rule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError

ROOT = Path(__file__).resolve().parents[4]
SUBJECTS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
EVERY = sorted(f"{subject}.{name}" for subject in SUBJECTS for name in import_module(f"{PACKAGE}.{subject}").__all__)
USE = re.compile(r"openshift\.rule\(\s*['\"]([^'\"]*)['\"]")


def used() -> set[str]:
    """Return the rules that roles and playbooks use."""
    files = [
        path for folder in ("roles", "playbooks", "extensions") for path in (ROOT / folder).rglob("*.*") if path.suffix in {".yml", ".j2"}
    ]
    return {name for path in files for name in USE.findall(path.read_text(encoding="utf-8"))}


def test_roles_use_rules_that_exist_and_every_rule_is_used() -> None:
    assert sorted(used()) == EVERY
    assert all(callable(function(name)) for name in EVERY)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../action.phase", "rule: a rule is named <subject>.<function>, not '../../action.phase'"),
        ("names.zone_lines", f"rule: no subject names; there are {', '.join(SUBJECTS)}"),
        ("dns.cluster_dns", "rule: dns has no rule cluster_dns; it has pointers, records, zone_lines"),
    ],
)
def test_an_unknown_rule_is_refused_with_those_that_exist(name: str, message: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        rule([], name)
    assert str(refused.value) == message


def test_an_expected_error_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_value: Any) -> None:
        raise CollectionError("Cannot do this. Do that.")

    monkeypatch.setattr(import_module(f"{PACKAGE}.dns"), "zone_lines", fails)
    function.cache_clear()
    try:
        with pytest.raises(AnsibleFilterError, match=r"^Cannot do this\. Do that\.$"):
            rule([], "dns.zone_lines")
    finally:
        function.cache_clear()


@pytest.mark.parametrize(("value", "options"), [([{}], {}), ([], {"unknown": 1})])
def test_an_input_of_another_form_names_the_rule(value: Any, options: dict[str, Any]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^dns\.zone_lines: the input does not have the form that this rule reads: "):
        rule(value, "dns.zone_lines", "demo.metal.test", 60, **options)
