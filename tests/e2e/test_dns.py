# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs whose records a person creates by hand, and whose records are in Route 53 (moto)."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import pytest

from tests.dns.providers import ZONE, Place, route53
from tests.e2e.harness import NAME, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

LINE = re.compile(r"\s*(?P<name>\S+)\. 60 IN (?P<kind>A|AAAA) (?P<address>\S+)")
DELETED = re.compile(r"\s*; delete (?P<name>\S+)\.")
PRINTED = "by_hand | Print the DNS records to create and delete by hand"
API = f"api.{NAME}"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path / "user", speed=600)
    user.folder.mkdir()
    with user.at_work():
        yield user


def configure(user: User, settings: dict[str, Any]) -> None:
    environment = user.sandbox.environment
    resolver = {"openshift_resolver": environment["OPENSHIFT_DNS_SERVER"], "openshift_resolver_port": environment["OPENSHIFT_DNS_PORT"]}
    content = {"all": {"vars": {**resolver, **settings}}}
    (user.inventory / "03-dns.yml").write_text(json.dumps(content), encoding="utf-8")


def enter(user: User, name: str, kind: str, *values: str) -> None:
    """Set the records of a name and a type at the resolver of the machines."""
    environment = user.sandbox.environment
    keyring = dns.tsigkeyring.from_text({environment["OPENSHIFT_DNS_KEY_NAME"]: environment["OPENSHIFT_DNS_KEY_SECRET"]})
    update = dns.update.UpdateMessage(environment["OPENSHIFT_BASE_DOMAIN"], keyring=keyring, keyalgorithm="hmac-sha256")
    update.delete(f"{name}.", kind)
    for value in values:
        update.add(f"{name}.", 60, kind, value)
    answer = dns.query.tcp(update, environment["OPENSHIFT_DNS_SERVER"], port=int(environment["OPENSHIFT_DNS_PORT"]), timeout=10)
    assert answer.rcode() == dns.rcode.NOERROR


@dataclass
class Person:
    """Reads what a run prints, and enters the records of the last list each time that the run waits for them."""

    user: User
    pending: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    api: list[list[str]] = field(default_factory=list)
    """The addresses of the API, each time that they were entered."""
    waits: int = 0

    def read(self, line: str) -> None:
        # The heading of a task that prints comes after what it prints.
        if "/none/present.yml" in line:
            self.pending = {}
        elif match := LINE.fullmatch(line):
            self.pending.setdefault((match["name"], match["kind"]), []).append(match["address"])
        elif match := DELETED.fullmatch(line):
            self.pending[match["name"], "A"] = []
        elif " resolves to " in line and self.pending:
            self.waits += 1
            for (name, kind), values in self.pending.items():
                enter(self.user, name, kind, *values)
            self.api.append(self.pending[API, "A"])
            self.pending = {}


def public_addresses(user: User, role: str) -> set[str]:
    found = [device for device in user.devices() if f"openshift-role={role}" in device["tags"]]
    return {entry["address"] for device in found for entry in device["ip_addresses"] if entry["public"] and entry["address_family"] == 4}


def test_a_person_creates_the_records(user: User) -> None:
    paces = {"openshift_wait_interval": 1, "openshift_progress_interval": 1, "openshift_dns_wait_timeout": 300}
    configure(user, {"openshift_dns_provider": "none", **paces})
    person = Person(user)
    bootstrap: list[set[str]] = []
    run = user.play("install.yml", read=person.read, seen={PRINTED: lambda: bootstrap.append(public_addresses(user, "bootstrap"))})
    run.ended_well()
    control_plane = public_addresses(user, "control-plane")
    # The bootstrap device was among the addresses of the API, and was taken out before it was deleted.
    assert len(bootstrap[0]) == 1
    assert set(person.api[0]) == bootstrap[0] | control_plane
    assert set(person.api[-1]) == control_plane
    assert bootstrap[0].isdisjoint(public_addresses(user, "worker"))
    assert person.waits >= 3, "with bootstrap, without it, and with the routers of the worker"
    assert set(user.names.addresses(f"console.apps.{NAME}")) <= public_addresses(user, "worker") | control_plane
    waits = person.waits
    again = user.play("install.yml", read=person.read).ended_well()
    assert (again.changed, again.writes, person.waits) == (0, [], waits)
    destroyed = user.destroy().ended_well()
    assert f"*.apps.{NAME}" in destroyed.output
    assert user.sandbox.inventory_is_empty()
    assert f"{API}. A" in user.names_in_zone(), "records that a person created are deleted by that person"


@contextlib.contextmanager
def fed(user: User, place: Place) -> Iterator[None]:
    """Keep the resolver of the machines the same as the zone at the provider, as a delegation would."""
    stopped = threading.Event()
    failures: list[Exception] = []

    def feed() -> None:
        known: dict[str, list[str]] = {}
        while not stopped.wait(0.5):
            current = {key: values for key, values in place.records().items() if key.endswith((" A", " AAAA", " TXT"))}
            for key in {*current, *known}:
                if current.get(key) != known.get(key):
                    enter(user, *key.split(" "), *current.get(key, []))
            known = current

    def guarded() -> None:
        try:
            feed()
        except Exception as problem:  # noqa: BLE001 - raised below, in the thread of the test
            failures.append(problem)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    if failures:
        raise failures[0]


def test_records_in_route53(user: User, tmp_path: Path) -> None:
    with route53(tmp_path / "route53") as place, fed(user, place):
        place.write(f"decoy.{ZONE}", "A", "203.0.113.1")
        decoys = place.records()
        configure(user, place.variables)
        user.play("install.yml").ended_well()
        records = place.records()
        assert set(records[f"{API} A"]) == public_addresses(user, "control-plane")
        (owner,) = records[f"_openshift-owner.{API} TXT"]
        assert f"openshift-cluster={NAME}" in owner
        _api, throttle = place.inside
        throttle.requests.clear()
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes) == (0, [])
        assert throttle.requests, "the second run has read the records"
        assert not [request for request in throttle.requests if request.startswith("POST")]
        user.destroy().ended_well()
        assert user.sandbox.inventory_is_empty()
        assert place.records() == decoys
        until(lambda: user.names.addresses(API) == [], what="the resolver follows the provider")
