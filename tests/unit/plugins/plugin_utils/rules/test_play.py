"""What of a command line leaves a part of a run out. With real ansible-playbook: tests/validate/test_restricted_runs.py."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.play import restrictions


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, []),
        ({"subset": None, "tags": ["all"], "skip_tags": [], "start_at_task": None, "step": False}, []),
        ({"tags": ("all",)}, []),
        ({"tags": ["network", "all"]}, []),
        ({"subset": "worker-0:!worker-1"}, ["--limit worker-0:!worker-1"]),
        ({"tags": ["always"]}, ["--tags always"]),
        ({"tags": ["a", "b"]}, ["--tags a,b"]),
        ({"skip_tags": ["never"]}, ["--skip-tags never"]),
        ({"start_at_task": "Drain the nodes"}, ["--start-at-task 'Drain the nodes'"]),
        ({"step": True}, ["--step"]),
        ({"subset": "x", "tags": ["y"]}, ["--limit x", "--tags y"]),
    ],
)
def test_what_restricts_a_run(arguments: dict[str, Any], found: list[str]) -> None:
    assert restrictions(arguments) == found
