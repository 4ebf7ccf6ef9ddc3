"""The size of a plan, as far as its specs have it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.default_plans import gigabytes, size_of


@pytest.mark.parametrize(
    ("text", "found"),
    [("64GB", 64.0), ("1.5 TB", 1500.0), ("1.2.3 TB", None), (". GB", None), ("9" * 5000 + "GB", None), (None, None), ({"a": 1}, None)],
)
def test_gigabytes(text: Any, found: float | None) -> None:
    assert gigabytes(text) == found


def test_a_number_of_cores_that_no_processor_has_counts_for_nothing() -> None:
    assert size_of({"specs": {"cpus": [{"count": 2, "type": "EPYC 7402P 24-Core Processor"}]}})[0] == 48
    assert size_of({"specs": {"cpus": [{"count": 1, "type": "9" * 5000 + "-Core"}, 7]}})[0] is None
