"""The smallest inventory, in README.md and inventory/, passes the preflight checks with the defaults of all other variables."""

import re
from pathlib import Path

import yaml

from tests.validate.cases import Case
from tests.validate.test_cases import BASE, report

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
EXAMPLE = ROOT / "inventory" / "01-cluster.yml"
OF_THE_ENVIRONMENT = {"metal_api_url", "metal_api_token", "metal_project_id", "openshift_directory"}
"""Variables that have a value without a line of the inventory."""


def test_it_has_fifteen_lines_and_no_failed_check() -> None:
    section = README.read_text(encoding="utf-8").split("## What you write")[1]
    block = re.search(r"(?m)(?:^    .*\n)+", section)
    assert block
    assert len(block[0].splitlines()) <= 15
    assert yaml.safe_load(block[0]) == yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    variables = yaml.safe_load(block[0])["all"]["vars"]
    given = {**variables, "openshift_dns_provider": "none", "openshift_pull_secret": BASE["variables"]["openshift_pull_secret"]}
    without = sorted(set(BASE["variables"]) - set(given) - OF_THE_ENVIRONMENT)
    made = report(Case(0, {"name": "smallest", "variables": given, "without": without, "expect": {}}))
    assert [line for line in made["checks"] if line["verdict"] == "failed"] == []
