# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of every DNS service that has a provider of octoDNS.

Of octoDNS only providers are used: one reads the zone, and carries out a plan. The plan has the changes of the caller and no other, so what
octoDNS would do with records that its own configuration lacks (delete them) does not come up.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..base.errors import CollectionError
from ..base.record_set import Found
from .dns import normal

try:
    from octodns.provider.base import BaseProvider
    from octodns.provider.plan import Plan
    from octodns.record import Create, Delete, Record, Update
    from octodns.zone import Zone

    OCTODNS_IMPORT_ERROR: str | None = None
except ImportError:
    OCTODNS_IMPORT_ERROR = traceback.format_exc()

ID = "openshift"


class OctoDNSClient:
    """One zone at a service. Raises CollectionError for a zone that does not exist and for whatever the provider reports."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._zone, self._service = str(params["zone"]).rstrip(".").lower(), str(params["service"])
        kind = _provider_class(self._service)
        options = {**(params.get("options") or {}), **(params.get("secrets") or {})}
        # Where a provider has a timeout for one response, it is an argument of this name.
        arguments = inspect.signature(kind.__init__).parameters
        defaults = {"timeout": float(params["timeout"])} if "timeout" in arguments else {}
        with self._calling("use options and secrets of openshift_dns_octodns"):
            self._provider = kind(ID, **{**defaults, **options})
        # They log each request, and a module has no place for that.
        for name in ("Manager", "Plan", "Record", "Zone", getattr(self._provider, "log", logging.getLogger("Zone")).name):
            logging.getLogger(name).addHandler(logging.NullHandler())
        self._existing: Any = None

    def find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        self._existing = self._read()
        sets = {(_name(record.fqdn), record._type): record for record in self._existing.records}
        return [self._found(record, sets) for record in records]

    def set(self, changes: Sequence[Mapping[str, Any]], ttl: int) -> None:
        """Carry out these changes (``name``, ``type``, ``values``); a set without values is deleted.

        A provider orders the changes of a plan itself. With a plan for ownership records to set, one for addresses, and
        one for ownership records to delete, an address is never there without its ownership record.
        """
        parts: tuple[list[Mapping[str, Any]], ...] = ([], [], [])
        for change in changes:
            parts[1 if change["type"] != "TXT" else 0 if change["values"] else 2].append(change)
        for part in filter(None, parts):
            self._apply(part, ttl)

    def _apply(self, changes: Sequence[Mapping[str, Any]], ttl: int) -> None:
        existing = self._existing or self._read()
        desired = existing.copy()
        planned = []
        names = ", ".join(change["name"] for change in changes[:3]) + (" and others" if len(changes) > 3 else "")
        with self._calling(f"set {names}"):
            for change in changes:
                before = self._record(existing, change)
                if before:
                    desired.remove_record(before)
                after = None
                if change["values"]:
                    data = {
                        "type": change["type"],
                        "ttl": ttl,
                        "values": [_for_octodns(change["type"], value) for value in change["values"]],
                    }
                    after = Record.new(desired, desired.hostname_from_fqdn(f"{change['name']}."), data, source=self._provider, lenient=True)
                    desired.add_record(after, lenient=True)
                if before and after:
                    planned.append(Update(before, after))
                elif after:
                    planned.append(Create(after))
                elif before:
                    planned.append(Delete(before))
            if planned:
                self._provider.apply(Plan(existing, desired, planned, True))
        self._existing = None

    def _record(self, zone: Any, requested: Mapping[str, Any]) -> Any:
        name = requested["name"].rstrip(".").lower()
        return next((record for record in zone.records if _name(record.fqdn) == name and record._type == requested["type"]), None)

    def _found(self, requested: Mapping[str, Any], sets: Mapping[tuple[str, str], Any]) -> Found:
        name = requested["name"].rstrip(".").lower()
        alias = next((sets[name, kind] for kind in ("CNAME", "ALIAS") if (name, kind) in sets), None)
        record = sets.get((name, requested["type"]))
        stored = [] if record is None else getattr(record, "values", None) or [record.value]
        values = normal(
            {"name": name, "type": requested["type"], "values": [_from_octodns(requested["type"], str(value)) for value in stored]}
        )
        return Found(values, str(alias.value) if alias else "")

    def _read(self) -> Any:
        zone = Zone(f"{self._zone}.", [])
        with self._calling("read the zone"):
            exists = self._provider.populate(zone, target=True, lenient=True)
            # A zone without records is no zone for some of them.
            zones = list(self._provider.list_zones()) if not exists and hasattr(self._provider, "list_zones") else []
        if not exists and zone.name not in zones:
            raise CollectionError(
                f"{self._service} has no zone {self._zone} for these credentials. Create the zone, or check openshift_dns_zone."
            )
        return zone

    @contextmanager
    def _calling(self, attempt: str) -> Iterator[None]:
        try:
            yield
        except CollectionError:
            raise
        except Exception as problem:  # each of 40 providers has exceptions of its own and of its library
            text = str(problem) or type(problem).__name__
            raise CollectionError(f"Cannot {attempt} at {self._service}, zone {self._zone}: {type(problem).__name__}: {text}.") from problem


def _provider_class(service: str) -> Any:
    """Return the class of a service: ``cloudflare``, or ``octodns_cloudflare.CloudflareProvider`` where a package has several."""
    package, _dot, chosen = service.rpartition(".") if "." in service else (f"octodns_{service.replace('-', '_')}", "", "")
    if OCTODNS_IMPORT_ERROR is not None:
        raise CollectionError("The Python library octodns is not installed on the controller. Install it with pip install octodns.")
    try:
        module = import_module(package)
    except ImportError as problem:
        raise CollectionError(
            f"Cannot load the provider {service} of octoDNS: {problem}. Install it on the controller, such as pip install "
            f"{package.partition('.')[0].replace('_', '-')}."
        ) from problem
    classes = {
        name: member
        for name, member in vars(module).items()
        if inspect.isclass(member) and issubclass(member, BaseProvider) and member is not BaseProvider
    }
    expected = f"{service.replace('-', '').replace('_', '')}provider".lower()
    names = [chosen] if chosen else [name for name in classes if name.lower() == expected] or list(classes)
    if len(names) != 1 or names[0] not in classes:
        raise CollectionError(
            f"{package} has no single provider {service}. Set service in openshift_dns_octodns to one of "
            f"{', '.join(sorted(f'{package}.{name}' for name in classes)) or 'another service'}."
        )
    return classes[names[0]]


def _name(text: str) -> str:
    return text.rstrip(".").lower()


def _for_octodns(kind: str, value: str) -> str:
    """Return a value as octoDNS has it: TXT without quotes, and with escaped semicolons."""
    if kind != "TXT":
        return value
    return "".join(value[1:-1].split('" "')).replace(";", "\\;")


def _from_octodns(kind: str, value: str) -> str:
    if kind != "TXT":
        return value
    text = value.replace("\\;", ";")
    return " ".join('"' + text[first : first + 255].replace('"', '\\"') + '"' for first in range(0, max(1, len(text)), 255))
