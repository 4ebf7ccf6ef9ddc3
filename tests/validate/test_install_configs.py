"""What the installer says of an install-config, preflight reports with the variables to correct: every case of install_configs.yml."""

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.programs.installer_log import read
from tests.install_configs import InstallConfigCase, cases
from tests.validate.cases import Case
from tests.validate.test_cases import report

CASES = cases()
OF_INSTALL_CONFIG = ("cluster name", "base domain", "platform", "cluster networks", "pull secret", "SSH key", "install-config")
"""The checks that read the install-config besides the installer."""
ELSEWHERE = ("mirror", "host names", "DNS settings", "host variables")
"""The mirror of these tests has one release, and names of hosts follow the cluster's."""


def lines_of(case: InstallConfigCase, answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    variables = {**case.variables, "openshift_version": case.release}
    entry = {"name": case.name, "variables": variables, "hosts": case.entry.get("hosts", {}), "expect": {}}
    return {line["check"]: line for line in report(Case(0, {**entry, "answers": {"installer_answer": answer}}))["checks"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_preflight_reports_the_answer_of_the_installer(case: InstallConfigCase, tmp_path: Path) -> None:
    code, text = case.ask_stand_in(tmp_path)
    log = read(text, case.install_config)
    lines = lines_of(case, {"version": case.release, **({"refused": log.errors} if code else {"warnings": log.warnings})})
    verdicts, texts = case.preflight
    found = {name: line["verdict"] for name, line in lines.items() if line["verdict"] in ("failed", "warning")}
    assert {name: kind for name, kind in found.items() if name not in ELSEWHERE} == verdicts, {name: lines[name]["found"] for name in found}
    for check, piece in texts:
        # Of a stack trace the first lines are shown.
        if code == 2 and check == "installer validation":
            continue
        assert " ".join(piece.split()) in lines[check]["found"], lines[check]["found"]
    if code == 3:
        # Of two networks that do not fit it may name the one that was not set.
        assert re.search(r" \(set by (openshift_[a-z_]+(, )?)+\)$", lines["installer validation"]["found"]), lines["installer validation"]


def test_without_the_installer_nothing_is_verified() -> None:
    (case,) = (each for each in CASES if each.name == "doc-publish-internal")
    lines = lines_of(case, {"unavailable": "no network"})
    assert {lines[name]["verdict"] for name in OF_INSTALL_CONFIG} == {"passed"}
    assert "not verified" in lines["installer validation"]["found"]
    assert lines["installer validation"]["verdict"] == "not checkable"
