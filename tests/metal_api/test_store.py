"""The store: memory and database agree, whatever fails. With each kind of database."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString, Protocol

import pytest

from metal_api.core.database import Database, DatabaseError, SqliteDatabase, UnusableError
from metal_api.core.postgresql import PostgresqlDatabase
from metal_api.core.store import Change, Kind, Record, Store
from tests.postgres import PACKAGE, Postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Record):
    name: str = ""


KINDS = [Kind(Thing, "things", keys={"name": lambda r: r.name})]


class Place(Protocol):
    """Where a database is."""

    def open(self) -> Database: ...

    def break_(self) -> None:
        """Make changes of things fail."""

    def mend(self) -> None: ...


class Sqlite:
    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> Database:
        return SqliteDatabase(self._path)

    def break_(self) -> None:
        self._execute("ALTER TABLE things RENAME TO hidden")

    def mend(self) -> None:
        self._execute("ALTER TABLE hidden RENAME TO things")

    def _execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self._path)) as other:
            other.execute(statement)


class Postgresql:
    def __init__(self, server: Postgres) -> None:
        self._server, self._name = server, server.database()

    def open(self) -> Database:
        return PostgresqlDatabase(self._server.url(self._name))

    def break_(self) -> None:
        self._execute("ALTER TABLE metal.records RENAME TO hidden")

    def mend(self) -> None:
        self._execute("ALTER TABLE metal.hidden RENAME TO records")

    def _execute(self, statement: LiteralString) -> None:
        with self._server.admin(self._name) as admin:
            admin.execute(statement)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.debian(PACKAGE))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Sqlite(tmp_path / "metal.sqlite") if request.param == "sqlite" else Postgresql(request.getfixturevalue("postgresql"))


@pytest.fixture
def opened(place: Place) -> Iterator[Callable[[], Store]]:
    """Opens the store, after closing the one that was opened before."""
    stores: list[Store] = []

    def again() -> Store:
        for each in stores:
            each.close()
        stores[:] = [Store(place.open(), KINDS)]
        return stores[0]

    yield again
    for each in stores:
        each.close()


def names(store: Store) -> list[str]:
    return [each.name for each in store[Thing]]


def test_records_keep_their_order_of_creation(opened: Callable[[], Store]) -> None:
    store = opened()
    with store.transaction():
        for id_ in "cab":
            store.put(Thing(id=id_, name=f"first {id_}"))
    store.put(Thing(id="c", name="second c \N{SNOWMAN}\0"))
    store.drop(store[Thing]["a"])
    store.put(Thing(id="a", name="third a"))
    store.write_value("settings", {"a": 1})
    store.write_value("settings", {"a": 2})
    for _time in range(2):
        assert names(store) == ["second c \N{SNOWMAN}\0", "first b", "third a"]
        assert store.read_value("settings") == {"a": 2}
        assert store.read_value("other") is None
        store = opened()


def test_a_transaction_that_fails_changes_nothing(opened: Callable[[], Store]) -> None:
    store = opened()
    store.put(Thing(id="a", name="first"))

    def change() -> None:
        with store.transaction():
            store.put(Thing(id="a", name="second"))
            store.put(Thing(id="b", name="new"))
            raise KeyError("b")

    with pytest.raises(KeyError):
        change()
    assert names(store) == ["first"]
    assert names(opened()) == ["first"]


def test_a_change_that_the_database_refuses_is_undone(opened: Callable[[], Store], place: Place) -> None:
    store = opened()
    store.put(Thing(id="a", name="first"))
    failures: list[list[str]] = []
    store.failed = lambda: failures.append(names(store))
    place.break_()
    with pytest.raises(DatabaseError, match="Nothing was changed") as refused:
        store.put(Thing(id="a", name="second"))
    assert not refused.value.is_in_doubt
    # The change is undone before the callback.
    assert failures == [["first"]]
    assert store[Thing].count("name", "second") == 0
    assert not store.database.is_up
    place.mend()
    store.database.reconnect()
    store.settle()
    assert store.database.is_up
    store.put(Thing(id="b", name="third"))
    assert names(store) == ["first", "third"]
    assert names(opened()) == ["first", "third"]


def test_an_observer_that_fails_undoes_nothing(opened: Callable[[], Store], caplog: pytest.LogCaptureFixture) -> None:
    """Such as an audit log on a full disk: the change is in the database already."""

    def fail(_changes: Sequence[Change]) -> None:
        raise OSError("No space left on device")

    store = opened()
    store.observe = fail
    store.put(Thing(id="a", name="first"))
    assert "changes are stored, and not reported" in caplog.text
    assert "No space left" in caplog.text
    assert names(store) == ["first"]
    assert names(opened()) == ["first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer(Thing):
    colour: str = ""


def test_what_a_newer_version_has_written_is_refused_and_kept(place: Place) -> None:
    newer = Store(place.open(), [Kind(Newer, "things")])
    newer.put(Newer(id="a", name="first", colour="red"))
    newer.close()
    database = place.open()
    with pytest.raises(UnusableError) as refused:
        Store(database, KINDS)
    text = "cannot be used: things have the fields colour, which this version does not know: a newer one wrote them"
    assert str(refused.value) == f"{database.name} {text}"
    database.close()
    again = Store(place.open(), [Kind(Newer, "things")])
    assert again[Newer]["a"].colour == "red"
    again.close()


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metal.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(UnusableError, match="file is not a database"):
        SqliteDatabase(path)
    assert path.read_bytes() == b"no database" * 1000
