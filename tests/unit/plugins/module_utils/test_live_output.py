"""The file by which a module displays something while it runs."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.live_output import FILE_VARIABLE, Reader, append


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "progress"
    found.touch()
    monkeypatch.setenv(FILE_VARIABLE, str(found))
    return found


def texts(reader: Reader) -> list[str]:
    return [entry["text"] for entry in reader.new_entries()]


def test_each_entry_is_read_once(path: Path) -> None:
    reader = Reader(path)
    assert texts(reader) == []
    assert append({"text": "one"})
    assert append({"text": "two"})
    assert texts(reader) == ["one", "two"]
    assert texts(reader) == []
    append({"text": "three"})
    assert texts(reader) == ["three"]


def test_a_line_is_read_when_it_is_complete(path: Path) -> None:
    reader = Reader(path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"level": "in\n[1]\n{"text": ')
        file.flush()
        assert texts(reader) == []
        file.write('"one"}\n')
    append({"text": "two"})
    assert texts(reader) == ["one", "two"]


@pytest.mark.parametrize("value", [None, "", "/nowhere/progress"])
def test_without_a_file_nothing_is_written(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(FILE_VARIABLE, value)
    assert not append({"text": "one"})
    assert not Path(value or "/nowhere").exists()


def _write(name: str) -> None:
    for number in range(200):
        append({"text": f"{name} {number}"})


def test_two_writers_and_a_reader_lose_nothing(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    reader, read = Reader(path), []
    while any(writer.is_alive() for writer in writers):
        read += texts(reader)
    read += texts(reader)
    assert sorted(read) == sorted(f"{name} {number}" for name in "ab" for number in range(200))
