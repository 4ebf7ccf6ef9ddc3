"""The store: memory and database agree, whatever fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from metal_api.core.database import SqliteDatabase
from metal_api.core.store import Kind, Record, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Record):
    name: str = ""


def test_an_observer_that_fails_undoes_nothing(tmp_path: Path) -> None:
    """Such as an audit log on a full disk: the change is in the database already."""

    def fail(_changes: object) -> None:
        raise OSError("No space left on device")

    path = tmp_path / "metal.sqlite"
    store = Store(SqliteDatabase(path), [Kind(Thing, "things")])
    store.observe = fail
    with pytest.raises(OSError, match="No space left"):
        store.put(Thing(id="a", name="first"))
    assert store[Thing]["a"].name == "first"
    store.close()
    again = Store(SqliteDatabase(path), [Kind(Thing, "things")])
    assert again[Thing]["a"].name == "first"
    again.close()
