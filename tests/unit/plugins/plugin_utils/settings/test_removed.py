"""What is gone has a successor that exists, and stands in docs/coming-from.md."""

import re

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.removed import (
    CONSTANT_OPTIONS,
    REMOVED,
    REMOVED_OPTIONS,
    REMOVED_VARIABLES,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from tools.variables import ROLES, ROOT, options

OPTIONS = {name for role in ROLES for name in options(role)}
PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")


def test_nothing_that_is_gone_exists() -> None:
    assert not REMOVED_VARIABLES.keys() & VARIABLES.keys()
    assert not REMOVED_OPTIONS.keys() & OPTIONS


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_what_replaces_it_exists(name: str) -> None:
    named = set(re.findall(r"\b(?:openshift|metal)_\w+", REMOVED[name]))
    assert named <= VARIABLES.keys()


def test_the_page_lists_variables_and_constants() -> None:
    assert not [name for name in (*REMOVED_VARIABLES, *CONSTANT_OPTIONS) if f"`{name}`" not in PAGE]
