# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the removal of workers and of a whole cluster."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...module_utils.base.errors import CollectionError
from ..cluster_folder.ownership import state_problem as problem_of
from ..machines.removal import removal_request
from ..machines.removal_plan import plan_removal
from ..machines.replacement import names_of as names
from ..plan.destroy import plan_destroy

__all__ = ["destroy_plan", "may_prompt", "names", "plan", "state_problem"]

EMPTY: Mapping[str, Any] = MappingProxyType({})
RUNNER = "AWX_ISOLATED_DATA_DIR"
"""ansible-runner sets this variable for each run. It gives the run a terminal that nobody reads."""
FALSE = frozenset({"false", "no", "off", "0", "n", "f", "0.0"})


def plan(  # noqa: PLR0913 - the options of the rule, passed by keyword
    devices: Iterable[Mapping[str, Any]],
    machines: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    cluster: str,
    request: Mapping[str, Any] = EMPTY,
    nodes: Sequence[Mapping[str, Any]] | None = None,
    least_workers: int = 0,
    replaced: Collection[str] = (),
    joining: bool = False,
) -> dict[str, list[Any]]:
    """Return which workers are removed, see ``plan_removal``.

    ``request``: ``names`` and ``sizes`` as in the variables ``openshift_remove`` and ``openshift_pool_sizes``, ``at_most`` the maximum
    number of other workers, ``in_job`` whether only these named ones are removed.
    ``replaced``: host names of workers that are replaced; if there are any, only these are removed.
    """
    return plan_removal(
        list(devices),
        machines,
        cluster=cluster,
        request=removal_request(request),
        nodes=nodes,
        least_workers=int(least_workers),
        replaced=replaced or None,
        joining=joining,
    )


def destroy_plan(
    cluster: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]] = (),
    *,
    by_hand: bool = False,
    files: Mapping[str, str] = EMPTY,
    project: Mapping[str, Any] = EMPTY,
) -> dict[str, Any]:
    """Return the plan of destroy.yml as data, see ``plan_destroy``."""
    return plan_destroy(cluster, records, by_hand=by_hand, files=files, project=project).data()


def state_problem(cluster: Mapping[str, Any], infra_id: str | None, directory: str, begun: bool = False) -> str:
    """Return why what exists of a cluster is not of the install in its folder; empty when it is, or when nothing exists."""
    if "devices" not in cluster:
        raise CollectionError("removal.state_problem: the input has to be a cluster as metal_cluster_info returns it")
    return problem_of(cluster, str(infra_id or ""), str(directory), begun=begun)


def may_prompt(interactive: Any, job: Any = "") -> bool:
    """Return whether a user can answer a question: ``interactive`` is openshift_interactive, ``job`` the ID of an AWX job."""
    return str(interactive).lower() not in FALSE and not str(job or "") and not os.environ.get(RUNNER)
