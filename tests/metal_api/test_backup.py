"""Archives that are no backup of a server: one message, and nothing in the state folder."""

import contextlib
import io
import sqlite3
import tarfile
from pathlib import Path

import pytest

from metal_api.backup import restore
from metal_api.state_folder import StartError


@pytest.fixture
def database(tmp_path: Path) -> bytes:
    path = tmp_path / "made.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE devices (n INTEGER PRIMARY KEY, body TEXT)")
        made.executemany("INSERT INTO devices (body) VALUES (?)", [("x" * 500,)] * 100)
        made.commit()
    return path.read_bytes()


def archive(path: Path, *members: tuple[str, bytes | str, bytes]) -> Path:
    """Write an archive of names, contents or what links lead to, and types."""
    with tarfile.open(path, "w:gz") as written:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if isinstance(content, bytes):
                member.size = len(content)
                written.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content
                written.addfile(member)
    return path


FILE, SYMLINK, HARDLINK, DEVICE, PIPE = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (("../evil", b"x", FILE), "it has ../evil"),
        (("token", "/etc/passwd", SYMLINK), "token is no file"),
        (("token", "/etc/passwd", HARDLINK), "token is no file"),
        (("token", "", PIPE), "token is no file"),
        (("metal.sqlite", b"x", FILE), "File exists"),
    ],
)
def test_hostile_members_are_refused(tmp_path: Path, database: bytes, member: tuple[str, bytes | str, bytes], message: str) -> None:
    made = archive(tmp_path / "backup.tar.gz", ("metal.sqlite", database, FILE), member)
    state = tmp_path / "state"
    with pytest.raises(StartError, match=message):
        restore(made, state)
    assert [each.name for each in state.iterdir()] == ["lock"]


def test_a_damaged_database_is_refused(tmp_path: Path, database: bytes) -> None:
    damaged = database[:8192] + b"\xff" * 4096 + database[12288:]
    made = archive(tmp_path / "backup.tar.gz", ("metal.sqlite", damaged, FILE))
    with pytest.raises(StartError, match=r"the backup .* cannot be restored: (metal.sqlite: |database disk image is malformed)"):
        restore(made, tmp_path / "state")


def test_a_damaged_archive_is_refused(tmp_path: Path, database: bytes) -> None:
    made = archive(tmp_path / "backup.tar.gz", ("metal.sqlite", database, FILE))
    content = bytearray(made.read_bytes())
    content[200:240] = b"\xff" * 40
    made.write_bytes(content)
    with pytest.raises(StartError, match="cannot be restored"):
        restore(made, tmp_path / "state")
