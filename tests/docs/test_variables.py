"""Every variable has a default, a description and a place on one page, and no number of seconds hides in a task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.variables import NONE, PAGE, ROOT, Option, options, page

TASKS = sorted(path for folder in ("roles/*/tasks", "playbooks") for path in ROOT.glob(f"{folder}/**/*.yml"))
LIMIT = re.compile(r"(\w+_)?(timeout|retries|delay|interval|async|seconds|minutes|lifetime|sleep)")


@pytest.mark.parametrize("option", options(), ids=lambda option: option.name)
def test_a_default_is_what_the_argument_spec_says(option: Option) -> None:
    assert option.spec is not None, "it has an argument spec"
    assert option.description
    assert f"| `{option.name}` |" in (ROOT / "roles" / option.role / "README.md").read_text(encoding="utf-8")
    # What is worked out when it is used has no default that a spec could say.
    assert option.spec.get("default", NONE) == option.default


def test_the_page_is_made_of_them() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make it anew: python -m tools.variables"


def limits(value: Any) -> Iterator[tuple[str, Any]]:
    """Every limit that stands in tasks, with its value."""
    if isinstance(value, list):
        for item in value:
            yield from limits(item)
    if isinstance(value, dict):
        for name, item in value.items():
            if LIMIT.fullmatch(str(name)):
                yield name, item
            yield from limits(item)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_limits_are_variables(path: Path) -> None:
    tasks = yaml.safe_load(path.read_text(encoding="utf-8"))
    # With a look each second the number of retries is the limit, in seconds.
    found = {name: value for name, value in limits(tasks) if re.fullmatch(r"[0-9.]+", str(value)) and (name, value) != ("delay", 1)}
    assert not found, "a limit is a variable of the role, with a default"


def test_limits_are_found() -> None:
    tasks = yaml.safe_load("[{ansible.builtin.uri: {url: x, timeout: 5}, retries: '3'}, {block: [{wait_timeout: '{{ x }}'}]}]")
    assert list(limits(tasks)) == [("timeout", 5), ("retries", "3"), ("wait_timeout", "{{ x }}")]
