# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity: whether a metro has servers of a plan available, and at what price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options
from ..base.errors import CollectionError, MetalError, NotFoundError, ValidationError
from ..base.json_objects import mappings
from ..metal.catalogue import price_per_hour
from .placement import no_capacity

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

CAPACITY_OPTIONS = Options(
    {
        "servers": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": {
                "plan": {"type": "str", "required": True},
                "metro": {"type": "str", "required": True},
                "quantity": {"type": "int", "default": 1},
            },
        },
    }
)


def ask_capacity(client: MetalClient, servers: Sequence[Mapping[str, Any]], *, optional: bool = False) -> list[dict[str, Any]]:
    """Return ``servers`` (plan, metro, quantity), each with ``available``, in their order.

    ``available`` is None when the API does not report it; with ``optional`` also when the API has no capacity endpoint.
    """
    queries = [{"plan": server["plan"], "metro": server["metro"].lower(), "quantity": server["quantity"]} for server in servers]
    if not queries:
        return []
    try:
        answer = client.ask("capacity/metros", {"servers": queries}, doing="check capacity")
    except MetalError as error:
        if optional and (isinstance(error, NotFoundError) or error.status in (403, 501)):
            return [{**server, "available": None} for server in queries]
        raise
    # Quantities come back as numbers or as text (vendor's OpenAPI text says text, clients saw numbers).
    known = {_question(server): server.get("available") for server in mappings(answer.get("servers"))}
    answers = []
    for server in queries:
        available = known.get(_question(server))
        answers.append({**server, "available": available if isinstance(available, bool) else None})
    return answers


def _question(server: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(server.get(name)) for name in ("plan", "metro", "quantity"))


def unavailable(servers: Sequence[Mapping[str, Any]]) -> list[str]:
    return [no_capacity(server["metro"], server["plan"], server["quantity"]) for server in servers if server["available"] is False]


def out_of_stock(error: CollectionError) -> bool:
    """Return whether an order was refused for lack of capacity, going by the API's error texts.

    "There aren't available servers in that metro", "No available servers with plan ...", "... has no provisionable ... servers matching
    your criteria" (public issue threads).
    """
    return isinstance(error, ValidationError) and (error.mentions("available servers") or error.mentions("has no provisionable"))


def capacity_with_prices(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_capacity_info`` returns: ``servers`` with ``available``, prices in US dollars, and the total price."""
    if wrong := [str(server["quantity"]) for server in params["servers"] if server["quantity"] < 1]:
        raise CollectionError(f"quantity must be 1 or more, not {', '.join(wrong)}")
    servers = ask_capacity(client, params["servers"])
    plans = client.read_list("plans", "plans", doing="read the plans' prices") if servers else []
    prices = {plan.get("slug"): price_per_hour(plan) for plan in plans}
    unknown = sorted({server["plan"] for server in servers} - set(prices))
    if unknown:
        raise CollectionError(
            f"Cannot check capacity: plan {', '.join(unknown)} does not exist. List the plans with metal_plan_info", {"plans": unknown}
        )
    for server in servers:
        server["price_per_hour"] = prices[server["plan"]]
    known = [server["price_per_hour"] * server["quantity"] for server in servers if server["price_per_hour"] is not None]
    return {
        "servers": servers,
        "available": all(server["available"] is True for server in servers),
        "total_price_per_hour": round(sum(known), 4) if len(known) == len(servers) else None,
    }
