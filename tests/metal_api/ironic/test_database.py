"""``python -m metal_api serve --database``: the server with its state in PostgreSQL."""

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from metal_api.backup import backup, restore
from metal_api.core.database import IN_DOUBT, NOT_STORED, Database, SqliteDatabase
from metal_api.core.postgresql import PostgresqlDatabase
from metal_api.database_option import check_place, database_url
from metal_api.state_folder import StartError
from tests.metal_api.ironic.fake_rack import FakeRack
from tests.metal_api.ironic.server import ROOT, Server, running_server
from tests.metal_api.ironic.test_server import command
from tests.postgres import PACKAGE, PASSWORD, Postgres
from tests.system_packages import BOOT_ISO

pytestmark = pytest.mark.debian(PACKAGE, *BOOT_ISO)

SERVERS = 3


@pytest.fixture
def name(postgresql: Postgres) -> str:
    """Of an empty database."""
    return postgresql.database()


@pytest.fixture
def server(tmp_path: Path, rack: FakeRack, postgresql: Postgres, name: str) -> Iterator[Server]:
    with running_server(tmp_path, rack, "127.90.5", SERVERS, "--database", postgresql.url(name)) as running:
        yield running


def is_up(server: Server) -> bool:
    return server.metric("metal_api_database_up") == 1.0


def rows(database: Database) -> dict[str, list[tuple[str, str]]]:
    """The content of a database, which is closed."""
    with contextlib.closing(database):
        return {table: found for table in database.tables() if (found := list(database.rows(table)))}


def test_one_server_uses_a_database_and_no_other_state(server: Server, tmp_path: Path, postgresql: Postgres, name: str) -> None:
    url = postgresql.url(name)
    assert server.process is not None
    other = [*server.command]
    other[other.index("--state") + 1] = str(tmp_path / "other")
    done = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"metal_api: {url} is used by another server: process {server.process.pid} on " in done.stderr
    assert "Traceback" not in done.stderr

    # Without the option it would begin with an empty state.
    assert not (server.state / "metal.sqlite").exists()
    with pytest.raises(StartError, match=f"its state is in PostgreSQL: add --database {url}$"):
        check_place(server.state, None)

    with postgresql.admin(name) as admin:
        admin.execute("UPDATE metal.server SET changes = changes + 1")
    assert server.rename("lost").status_code == 503
    assert server.process.wait(20) == 1
    assert f"metal_api: {url} has another state than this server left in it" in server.log()


def test_postgresql_is_restarted_under_load_and_the_server_is_killed(server: Server, postgresql: Postgres) -> None:
    answers: dict[str, httpx.Response] = {}
    ended = threading.Event()

    def load() -> None:
        with httpx.Client(base_url=server.api.base_url, headers=server.api.headers, timeout=20) as client:
            while not ended.is_set():
                text = f"key {len(answers)}"
                answers[text] = client.post(f"/projects/{server.project}/api-keys", json={"description": text})

    def again() -> bool:
        """Whether changes are stored that were requested from now on."""
        begun = len(answers)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if any(each.status_code == 201 for each in list(answers.values())[begun:]):
                return True
            time.sleep(0.05)
        return False

    for hostname in ("w1", "w2", "w3"):
        assert server.order(hostname=hostname).status_code == 201
    loading = threading.Thread(target=load)
    loading.start()
    try:
        for how in (signal.SIGINT, signal.SIGQUIT):
            assert again()
            postgresql.stop(how)
            try:
                server.until(lambda: not is_up(server), 20, "the loss of the database is noticed")
                assert server.api.get(f"/projects/{server.project}").status_code == 200
                assert server.rename("refused").status_code == 503
            finally:
                postgresql.start()
            server.until(lambda: is_up(server), 20, "the database is up again")
        assert again()
    finally:
        ended.set()
        loading.join()

    failed = {text: each for text, each in answers.items() if each.status_code != 201}
    assert {each.status_code for each in failed.values()} == {503}
    assert {each.headers["retry-after"] for each in failed.values()} == {"5"}
    texts = {text: each.json()["errors"] for text, each in failed.items()}
    assert [NOT_STORED] in texts.values()

    def check() -> None:
        """What was confirmed is there, what was refused is not, each at most once."""
        found = [each["description"] for each in server.api.get(f"/projects/{server.project}/api-keys").json()["api_keys"]]
        assert len(set(found)) == len(found)
        assert answers.keys() - failed.keys() <= set(found)
        assert failed.keys() & set(found) <= {text for text, errors in texts.items() if errors == [IN_DOUBT]}

    check()
    # Operations that the loss has interrupted go on.
    server.until(lambda: server.devices() == dict.fromkeys(("w1", "w2", "w3"), "active"), what="the devices are active")
    server.kill()
    server.start()
    check()
    assert server.devices() == dict.fromkeys(("w1", "w2", "w3"), "active")


def test_backup_and_restore_in_both_directions(server: Server, tmp_path: Path, postgresql: Postgres, name: str) -> None:
    assert server.order(hostname="w1").status_code == 201
    ids, url, token = server.ids(), postgresql.url(name), server.token
    # While it runs.
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    done = command("backup", first, "--state", server.state, "--database", url)
    assert (done.returncode, done.stdout) == (0, f"{first}: metal.sqlite, token, audit.log\n"), done.stderr
    server.stop()

    to_sqlite, to_postgresql = tmp_path / "sqlite", tmp_path / "postgresql"
    restore(first, to_sqlite)
    content = rows(SqliteDatabase(to_sqlite / "metal.sqlite"))
    assert [id_ for id_, _body in content["devices"]] == list(ids.values())
    with pytest.raises(
        StartError, match=r"its state is in metal\.sqlite there. To move it to PostgreSQL, stop the server, then use backup"
    ):
        check_place(to_sqlite, url)
    backup(to_sqlite, second)

    with pytest.raises(StartError, match=rf"^{url}: there is a state already; restore into an empty database$"):
        restore(second, to_postgresql, url)
    empty = postgresql.url(postgresql.database())
    restore(second, to_postgresql, empty)
    assert rows(PostgresqlDatabase(empty)) == content
    assert not (to_postgresql / "metal.sqlite").exists()

    server.command[server.command.index("--state") + 1] = str(to_postgresql)
    server.command[server.command.index("--database") + 1] = empty
    server.state, server.api = to_postgresql, httpx.Client(base_url=server.api.base_url, timeout=20)
    server.start()
    assert (server.token, server.ids()) == (token, ids)


def test_a_password_is_in_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    for where in (f"postgresql://metal:{PASSWORD}@127.0.0.1/metal", f"postgresql://127.0.0.1/metal?password={PASSWORD}"):
        with pytest.raises(StartError, match="--database has a password, which other users") as error:
            database_url(where, None)
        assert PASSWORD not in str(error.value)
    file = tmp_path / "url"
    file.write_text("postgresql:///metal", encoding="utf-8")
    file.chmod(0o640)
    with pytest.raises(StartError, match="has mode 0640, others may read the password in it: chmod 600"):
        database_url(None, file)
    file.chmod(0o600)
    assert database_url(None, file) == "postgresql:///metal"
