"""One scenario of the contract tests, and what all scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.contract.faults import Meeting
    from tests.contract.subjects import Testbed

SECRET = "swordfish-that-must-never-be-seen"
"""In everything that a scenario gives as a secret."""

TAGS = ["openshift-cluster=contract.metal.test", "openshift-role=worker"]
WAIT = {"wait_interval": 0.2, "wait_timeout": 120}

View = Callable[[list[dict[str, Any]]], dict[str, Any]]


def of_one(belongs: Callable[[dict[str, Any]], bool] = bool) -> Callable[[Callable[[dict[str, Any]], dict[str, Any]]], View]:
    """Make the view of a list from that of an entry: the list has one that ``belongs`` to the contract tests at most."""

    def of_list(view: Callable[[dict[str, Any]], dict[str, Any]]) -> View:
        def shown(entries: list[dict[str, Any]]) -> dict[str, Any]:
            found = [entry for entry in entries if belongs(entry)]
            assert len(found) <= 1
            return view(found[0]) if found else {}

        return shown

    return of_list


def is_tagged(entry: Mapping[str, Any]) -> bool:
    return set(TAGS) <= set(entry["tags"])


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The lifecycle of one resource.

    ``create``, ``change``: options for these; ``absent``, ``never``: options that delete it, and that delete what never was. What a
    resource cannot do is None.
    ``listing``: the API's list it is in, ``key``: the list's name, or nothing when it is one object; ``view`` makes of all its entries what
    the module's diff says of them.
    ``prerequisites``: what has to exist before, by name: a module and its options, the API's "POST <path>" and the body, or
    ``RESERVED_HARDWARE`` and what it is to be. Options may refer to its results: ``{name.id}`` is a fact of the resource,
    ``{project}`` the project's id.
    ``order``: how the path ends on which it is ordered, when that is not the list's; ``orders``: how many orders that takes.
    ``secrets``: what must never be seen, beside ``SECRET``.
    """

    module: str
    create: Mapping[str, Any]
    change: Mapping[str, Any] | None = None
    absent: Mapping[str, Any] | None = None
    never: Mapping[str, Any] | None = None
    listing: str
    key: str
    view: View
    name: str = field(default="")
    prerequisites: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    order: str = field(default="")
    orders: int = field(default=1)
    secrets: tuple[str, ...] = field(default=())

    @property
    def title(self) -> str:
        return f"{self.module}{'-' if self.name else ''}{self.name}"

    @property
    def order_path(self) -> str:
        return self.order or self.listing.partition("?")[0].rpartition("/")[2]

    def entries(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        return [answer] if not self.key else answer[self.key]


@dataclass(frozen=True, kw_only=True)
class ClusterScenario:
    """The lifecycle of what a cluster module manages, from ``lay`` on.

    ``create``, ``change``: options; None: there is no such step. ``absent`` has no meaning: an approval or an eviction is not taken back,
    and what is waited for comes by itself. ``worlds``: what ``read_state`` returns after each step. ``listing``: the API's list of the
    module's diff, ``view`` what it says of it. ``metal``: whether it speaks to the Metal API as well. ``clear``: takes away what is left.
    ``returned``: results that are the same with and without a fault. ``is_idempotent``: whether a second run changes nothing.
    """

    module: str
    create: Mapping[str, Any]
    change: Mapping[str, Any] | None = None
    worlds: Mapping[str, Any]
    meetings: tuple[Meeting, ...]
    lay: Callable[[Testbed], None]
    read_state: Callable[[Testbed], Any]
    listing: str
    view: Callable[[Mapping[str, Any]], Any]
    metal: bool = False
    clear: Callable[[Testbed], None] | None = None
    returned: tuple[str, ...] = ()
    is_idempotent: bool = True

    @property
    def title(self) -> str:
        return self.module


def machine(number: int, **more: Any) -> dict[str, Any]:
    return {
        "hostname": f"worker-{number}.contract.metal.test",
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "ubuntu_24_04",
        **more,
    }
