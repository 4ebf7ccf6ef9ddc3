# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the approval of CSRs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.base.printable import printable

__all__ = ["lines"]

SHOWN = 20
"""Refused requests and alarms to print."""
LIMIT = 600


def lines(result: Mapping[str, Any], machines: Iterable[str]) -> list[str]:
    """Return the result of the module ``csr_approval`` as lines, each printable and of limited length.

    What was approved is not in them, since the module's task has displayed it. ``machines``: names of the expected machines. Refused
    requests for these are first.
    """
    names = set(machines)
    denied = set(result.get("denied") or ())
    refused = [
        f"REFUSED   {entry['name']} for node '{entry['node']}' ({str(entry['signer']).rpartition('/')[2]}),"
        f" {'denied' if entry['name'] in denied else 'left pending'}: {entry['reason']}"
        for entry in sorted(result.get("refused") or (), key=lambda entry: entry["node"] not in names)
    ]
    alarms = [f"ALARM     {alarm['message']}" for alarm in result.get("alarms") or ()]
    joined = f"{len(result.get('joined') or ())} of {len(names)} machines have joined"
    every = [*_some(refused, "refused requests"), *_some(alarms, "alarms"), joined]
    return [printable(line, LIMIT) for line in every]


def _some(texts: list[str], what: str) -> list[str]:
    more = len(texts) - SHOWN
    return texts if more <= 0 else [*texts[:SHOWN], f"and {more} more {what}"]
