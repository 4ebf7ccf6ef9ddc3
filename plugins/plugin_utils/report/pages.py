# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as HTML pages: one file each, which loads nothing and has no scripts. The templates are in ``templates``.

Everything in a page is escaped: names of CSRs, messages of operators and errors of an API are texts that others write.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..actions.screen import duration
from ..preflight.findings import counted
from .rows import price
from .status import GROUPS
from .status_lines import certificate_lines, ending, machine_row

TEMPLATES = Path(__file__).with_name("templates")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"duration": duration, "ending": ending, "machine_row": machine_row}
    environment.globals |= {"count": counted, "price": price}
    return environment


def status_page(status: Mapping[str, Any]) -> str:
    groups = {
        heading: [finding for finding in status["findings"] if finding["group"] == group]
        for group, (heading, _one, _many) in GROUPS.items()
    }
    return (
        _environment()
        .get_template("status.html")
        .render(
            status=status,
            groups={heading: findings for heading, findings in groups.items() if findings},
            machines=sorted(status["machines"], key=lambda machine: not machine["findings"]),
            certificates=[certificate for certificate in status["certificates"] if certificate["within_days"]],
            certificate_lines=certificate_lines(status["certificates"]),
        )
    )


def run_page(report: Mapping[str, Any]) -> str:
    return _environment().get_template("run.html").render(report=report)
