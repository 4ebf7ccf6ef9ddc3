# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule of the plays: they compare the whole inventory with what exists, so a partial run would delete the machines that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible import context

from ...module_utils.base.errors import CollectionError

__all__ = ["unrestricted"]


def restrictions(arguments: Mapping[str, Any]) -> list[str]:
    """Return the options of ansible-playbook that leave hosts, tasks or tags out, as on the command line."""
    options = []
    if arguments.get("subset"):
        options.append(f"--limit {arguments['subset']}")
    tags = list(arguments.get("tags") or ["all"])
    if "all" not in tags:
        options.append(f"--tags {','.join(tags)}")
    if arguments.get("skip_tags"):
        options.append(f"--skip-tags {','.join(arguments['skip_tags'])}")
    if arguments.get("start_at_task"):
        options.append(f"--start-at-task '{arguments['start_at_task']}'")
    if arguments.get("step"):
        options.append("--step")
    return options


def unrestricted(pattern: str) -> str:
    """Return the host pattern. Raises CollectionError when the run leaves hosts, tasks or tags out.

    With ``--limit`` a play for localhost is skipped, so that no task of it can fail; its host pattern is evaluated nevertheless.
    """
    if options := restrictions(context.CLIARGS):
        raise CollectionError(
            f"Cannot run with {' '.join(options)}: this playbook compares the whole inventory with the existing devices, and a partial run "
            "would skip or delete devices. Nothing was changed. Run it again without these options."
        )
    return pattern
