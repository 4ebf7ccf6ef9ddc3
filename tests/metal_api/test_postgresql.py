"""PostgreSQL as the database of a store: what is reported at the start, one server at a time, and connections that are lost."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from metal_api.core import postgresql as module
from metal_api.core.database import DatabaseError, ReplacedError, UnusableError
from metal_api.core.postgresql import PostgresqlDatabase, parameters
from metal_api.core.store import Kind, Record, Store
from tests.eventually import eventually
from tests.postgres import PACKAGE, Postgres, Proxy

pytestmark = pytest.mark.debian(PACKAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Record):
    name: str = ""


KINDS = [Kind(Thing, "things")]


@pytest.fixture
def name(postgresql: Postgres) -> str:
    """Of an empty database."""
    return postgresql.database()


@pytest.fixture
def proxy(postgresql: Postgres) -> Iterator[Proxy]:
    running = Proxy(postgresql.port)
    yield running
    running.close()


@pytest.fixture
def store(postgresql: Postgres, name: str, proxy: Proxy) -> Iterator[Store]:
    """Behind the proxy, with the thing a."""
    opened = Store(PostgresqlDatabase(postgresql.url(name, port=proxy.port)), KINDS)
    opened.put(Thing(id="a", name="first"))
    yield opened
    opened.close()


def names(store: Store) -> dict[str, str]:
    return {each.id: each.name for each in store[Thing]}


def stored(postgresql: Postgres, name: str) -> dict[str, str]:
    """The things in the database."""
    with closing(Store(PostgresqlDatabase(postgresql.url(name)), KINDS)) as other:
        return names(other)


def recover(store: Store) -> None:
    store.database.reconnect()
    store.settle()


# --- the start


@pytest.mark.parametrize(
    ("user", "database", "message"),
    [
        ("metal", "missing", 'database "missing" does not exist. Create it with createdb'),
        ("secured:wrong", "postgres", "password authentication failed.*The password is read from"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_message(postgresql: Postgres, user: str, database: str, message: str) -> None:
    shown = rf"^postgresql://{user.partition(':')[0]}@127.0.0.1:\d+/\w+"
    with pytest.raises(UnusableError, match=f"{shown} cannot be used: .*{message}") as error:
        PostgresqlDatabase(postgresql.url(database, user=user))
    assert "\n" not in str(error.value)
    assert "wrong" not in str(error.value)


def test_other_computers_are_reached_with_verified_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parameters("postgresql://db.example/metal")["sslmode"] == "verify-full"
    assert parameters("postgresql://127.0.0.1,db.example/metal")["sslmode"] == "verify-full"
    assert parameters("postgresql://db.example/metal?sslmode=require")["sslmode"] == "require"
    assert "sslmode" not in parameters("postgresql:///metal?host=/run/postgresql")
    assert "sslmode" not in parameters("postgresql://localhost/metal")
    monkeypatch.setenv("PGHOST", "db.example")
    assert parameters("postgresql:///metal")["sslmode"] == "verify-full"


# --- one server at a time


async def test_a_second_server_is_refused(postgresql: Postgres, name: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCK_WITHIN", 0.3)
    holder = rf"process {os.getpid()} on {socket.gethostname()[:20]}.*, connected since 20\d\d-\d\d-\d\d .*\. Stop that server"
    with pytest.raises(UnusableError, match=holder):
        PostgresqlDatabase(postgresql.url(name))
    # It has left nothing open, and another database is free.
    await eventually(lambda: asyncio.to_thread(lambda: len(postgresql.sessions(name)) == 1))
    PostgresqlDatabase(postgresql.url(postgresql.database())).close()
    store.put(Thing(id="b", name="new"))
    store.close()
    assert stored(postgresql, name) == {"a": "first", "b": "new"}


# --- lost connections


@pytest.mark.parametrize("loses", ["request", "answer"])
def test_the_outcome_of_a_change_without_an_answer_is_found_out(
    postgresql: Postgres, name: str, store: Store, proxy: Proxy, loses: str
) -> None:
    seen: list[tuple[str, str]] = []
    store.observe = lambda changes: seen.extend((each.id, (each.new or {})["name"]) for each in changes)
    proxy.loses = loses
    with pytest.raises(DatabaseError, match="did not confirm") as lost, store.transaction():
        store.put(Thing(id="a", name="second"))
        store.put(Thing(id="b", name="new"))
    assert lost.value.is_in_doubt
    assert names(store) == {"a": "first"}
    # Nothing is stored in between, and that is certain.
    with pytest.raises(DatabaseError, match="Nothing was changed"):
        store.put(Thing(id="a", name="third"))
    with pytest.raises(UnusableError):
        store.database.reconnect()
    proxy.loses = ""
    recover(store)
    is_stored = loses == "answer"
    assert names(store) == ({"a": "second", "b": "new"} if is_stored else {"a": "first"})
    assert seen == ([("a", "second"), ("b", "new")] if is_stored else [])
    store.put(Thing(id="c", name="last"))
    assert seen[-1] == ("c", "last")
    store.close()
    assert stored(postgresql, name) == names(store)


def test_a_server_that_does_not_answer_holds_up_a_change_for_a_limited_time(postgresql: Postgres, name: str, store: Store) -> None:
    database = store.database
    assert isinstance(database, PostgresqlDatabase)
    database.change_within = 0.5
    [session] = postgresql.sessions(name)
    os.kill(session, signal.SIGSTOP)
    try:
        started = time.monotonic()
        with pytest.raises(DatabaseError) as lost:
            store.put(Thing(id="a", name="second"))
        assert 0.4 < time.monotonic() - started < 2
        assert lost.value.is_in_doubt
    finally:
        os.kill(session, signal.SIGCONT)
    # Only when that session has ended is it certain whether it has stored the change.
    recover(store)
    assert session not in postgresql.sessions(name)
    store.close()
    assert names(store) == stored(postgresql, name)


def test_a_database_that_others_have_changed_is_not_used(postgresql: Postgres, name: str, store: Store) -> None:
    with postgresql.admin(name) as admin:
        admin.execute("UPDATE metal.server SET changes = changes + 1")
    with pytest.raises(DatabaseError, match="Nothing was changed"):
        store.put(Thing(id="a", name="second"))
    with pytest.raises(ReplacedError, match=r"has another state than this server left in it \(\d+ changes instead of \d+\)"):
        store.database.reconnect()
    assert not store.database.is_up
