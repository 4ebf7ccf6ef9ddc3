"""What the real installer says of an install-config, preflight says before it: every case of install_configs.yml."""

from __future__ import annotations

from typing import Any

import pytest

from tests.install_configs import InstallConfigCase, cases
from tests.validate.cases import Case
from tests.validate.test_cases import report

CASES = [case for case in cases() if "config" not in case.entry]
OF_RULES = ("cluster name", "base domain", "platform", "cluster networks", "pull secret", "SSH key", "install-config")


def lines_of(case: InstallConfigCase) -> dict[str, dict[str, Any]]:
    entry = {"name": case.name, "variables": case.variables, "hosts": case.entry.get("hosts", {}), "expect": {}}
    if "release" in case.entry:
        entry["variables"]["openshift_version"] = case.entry["release"]
    return {line["check"]: line for line in report(Case(0, entry))["checks"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_preflight_reports_the_errors_of_the_installer(case: InstallConfigCase) -> None:
    lines = lines_of(case)
    verdict, check, texts = case.preflight
    expected = {check: verdict} if check else {}
    expected |= case.entry.get("also", {})
    found = {name: line["verdict"] for name, line in lines.items() if line["verdict"] in ("failed", "warning")}
    # The mirror of these tests has one release, and names of hosts follow the cluster's.
    found = {name: kind for name, kind in found.items() if name not in ("mirror", "host names", "DNS settings", "host variables")}
    assert found == expected, {name: lines[name]["found"] for name in found}
    for text in texts:
        assert " ".join(text.split()) in lines[check]["found"], lines[check]["found"]


def test_an_error_is_reported_by_one_check() -> None:
    lines = lines_of(
        InstallConfigCase(
            {"name": "all", "variables": {"openshift_service_networks": ["10.0.0.1/16"], "openshift_proxy": {"noProxy": "a"}}}
        )
    )
    errors = [line["found"] for line in lines.values() if line["check"] in OF_RULES and line["verdict"] == "failed"]
    assert len(errors) == 2, errors
