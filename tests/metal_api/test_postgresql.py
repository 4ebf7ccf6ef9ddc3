"""PostgreSQL as the database of a store: what is reported at the start, one server at a time, and connections that are lost."""

from __future__ import annotations

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
from tests.ports import free_port
from tests.postgres import PACKAGE, PASSWORD, Postgres, Proxy

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
        ("nobody", "postgres", 'role "nobody" does not exist. Create the user'),
        ("secured", "postgres", r"no password supplied. The password is read from ~/.pgpass \(PGPASSFILE\), PGPASSWORD or"),
        ("secured:wrong", "postgres", "password authentication failed.*The password is read from"),
        ("encrypted", "postgres?sslmode=disable", r"no encryption. For TLS add \?sslmode=verify-full&sslrootcert=FILE"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_message(postgresql: Postgres, user: str, database: str, message: str) -> None:
    shown = rf"^postgresql://{user.partition(':')[0]}@127.0.0.1:\d+/\w+"
    with pytest.raises(UnusableError, match=f"{shown} cannot be used: .*{message}") as error:
        PostgresqlDatabase(postgresql.url(database, user=user))
    assert "\n" not in str(error.value)
    assert "wrong" not in str(error.value)


def test_nobody_listens() -> None:
    with pytest.raises(UnusableError, match=r"Connection refused.*Check that PostgreSQL runs and listens there"):
        PostgresqlDatabase(f"postgresql://127.0.0.1:{free_port()}/metal")
    with pytest.raises(UnusableError, match=r"No such file.*Check that PostgreSQL runs and listens there"):
        PostgresqlDatabase("postgresql:///metal?host=/run/nowhere")


def test_the_password_is_read_from_the_environment(postgresql: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with closing(PostgresqlDatabase(postgresql.url(postgresql.database("secured"), user="secured"))) as database:
        database.create(["things"])
        database.write([("things", "a", "{}")])
        assert database.tables() == ["things"]


def test_a_user_who_may_not_create_tables(postgresql: Postgres, name: str) -> None:
    with (
        closing(PostgresqlDatabase(postgresql.url(name, user="guest"))) as database,
        pytest.raises(UnusableError, match=rf"permission denied.*Let user guest own the database: ALTER DATABASE {name} OWNER TO guest"),
    ):
        database.create(["things"])


def test_a_server_that_is_too_old(postgresql: Postgres, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OLDEST", 99)
    with pytest.raises(UnusableError, match="is PostgreSQL 15, which is too old: version 99 or newer is needed"):
        PostgresqlDatabase(postgresql.url(name))


def test_a_newer_layout(postgresql: Postgres, name: str, store: Store) -> None:
    store.close()
    with postgresql.admin(name) as admin:
        admin.execute("UPDATE metal.server SET layout = 2")
    with pytest.raises(UnusableError, match=r"newer version of this program \(layout 2, this version knows 1\): update this program"):
        PostgresqlDatabase(postgresql.url(name))


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


def test_a_snapshot_needs_no_lock_and_does_not_change(postgresql: Postgres, name: str, store: Store) -> None:
    with closing(PostgresqlDatabase(postgresql.url(name), is_snapshot=True)) as snapshot:
        store.put(Thing(id="b", name="new"))
        assert [id_ for id_, _body in snapshot.rows("things")] == ["a"]


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


def test_a_session_that_is_ended_is_noticed_by_the_check(postgresql: Postgres, name: str, store: Store) -> None:
    [session] = postgresql.sessions(name)
    with postgresql.admin() as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (session,))
    with pytest.raises(DatabaseError):
        store.database.check()
    assert not store.database.is_up
    recover(store)
    store.database.check()
    store.put(Thing(id="a", name="second"))
    assert names(store) == {"a": "second"}


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


def test_a_lost_session_that_lives_on_is_ended(postgresql: Postgres, name: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a cut of the network, which the server notices late."""
    database = store.database
    assert isinstance(database, PostgresqlDatabase)
    [session] = postgresql.sessions(name)
    alive, database._connection = database._connection, None
    recover(store)
    [now] = postgresql.sessions(name)
    assert now != session
    store.put(Thing(id="a", name="second"))
    assert alive is not None
    alive.close()


def test_a_database_that_others_have_changed_is_not_used(postgresql: Postgres, name: str, store: Store) -> None:
    with postgresql.admin(name) as admin:
        admin.execute("UPDATE metal.server SET changes = changes + 1")
    with pytest.raises(DatabaseError, match="Nothing was changed"):
        store.put(Thing(id="a", name="second"))
    with pytest.raises(ReplacedError, match=r"has another state than this server left in it \(\d+ changes instead of \d+\)"):
        store.database.reconnect()
    assert not store.database.is_up
