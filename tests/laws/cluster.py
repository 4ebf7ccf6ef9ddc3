"""Scenarios of the modules that speak to a cluster: two machines about to join, and somebody who has no business there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster.control_plane import ControlPlane
from tests.laws.faults import Kind
from tests.unit.plugins.module_utils.csr_cases import OTHER, WORKER, client, dns, made, serving

MACHINES: list[dict[str, Any]] = [{"name": name, "addresses": [], "created_at": None} for name in (WORKER, OTHER)]


@dataclass(frozen=True)
class ClusterScenario:
    """The life of what a module of the cluster looks after, from :func:`lay` on.

    ``create``, ``change``: options; None: there is no such step. ``absent`` has no meaning: an approval is not taken back, and what is
    waited for comes by itself. ``worlds``: what is approved after each step.
    """

    module: str
    create: Mapping[str, Any]
    change: Mapping[str, Any] | None
    worlds: Mapping[str, list[str]]
    meetings: tuple[tuple[Kind, str], ...]

    @property
    def title(self) -> str:
        return self.module


def lay(cluster: ControlPlane) -> None:
    """Two nodes that ask for their serving certificates, and a stranger who asks for one of a node."""
    cluster.clear()
    for number, name in enumerate((WORKER, OTHER)):
        cluster.register(name)
        cluster.file(f"serving-{number}", serving(made(f"system:node:{name}", names=dns(name)))["spec"], node=name).raise_for_status()
    cluster.file("stranger", client(made("system:node:stranger"))["spec"]).raise_for_status()


def look(cluster: ControlPlane) -> list[str]:
    """Names of the approved requests."""
    return sorted(cluster.approved())


def verdict_on(request: Mapping[str, Any]) -> str:
    """What has become of a certificate request, in the words of the module's diff."""
    conditions = request["status"].get("conditions") or []
    return "approved" if any(condition["type"] == "Approved" for condition in conditions) else "pending"


CLUSTER_SCENARIOS = [
    ClusterScenario(
        module="csr_approval",
        create={"machines": MACHINES[:1], "wait": True},
        change={"machines": MACHINES, "wait": True},
        worlds={"nothing": [], "create": ["serving-0"], "change": ["serving-0", "serving-1"]},
        meetings=(("read", "create"), ("follow", "create"), ("change", "create"), ("change", "change")),
    ),
    ClusterScenario(
        module="cluster_wait",
        create={"condition": "nodes_ready", "nodes": [WORKER, OTHER], "wait": True},
        change=None,
        worlds={"nothing": [], "create": []},
        meetings=(("read", "create"),),
    ),
]
