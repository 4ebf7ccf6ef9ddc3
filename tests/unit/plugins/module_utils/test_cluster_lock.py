"""The cluster lock of one run among others: what it asks of the service, when it takes over, and when it is lost."""

import fcntl
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    LockedError,
    LockNeededError,
    LostAnswerError,
    MetalError,
    PausedError,
    ServerError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Process, process
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock import cluster_lock
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock import record as lock_record
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock import run as lock_run
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.cluster_lock import (
    CHECK_EVERY,
    MARGIN,
    ClusterLock,
    LockStore,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import Holder, Lock, read_lock, scope_of, scope_tags
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run import Locked, Run, settled_at
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import resource
from tests.unit.plugins.module_utils.fake_client import NOT_FOUND, FakeClient

SCOPE = "demo.metal.test"
TAGS = [f"openshift-cluster={SCOPE}"]
TIMEOUT = 10.0
LIFETIME = 120.0
NEEDED = TIMEOUT + MARGIN
ELSEWHERE = "f0f0f0f0-0000-4000-8000-000000000000"


class Time:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Networks(FakeClient):
    """The virtual networks of a project."""

    def __init__(self, time: Time) -> None:
        super().__init__()
        self.time = time
        self.networks: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        """The requests: method and kind of object."""
        self._numbers = itertools.count(1)
        self.has_server_time = True
        self.problem: Callable[[str, str], None] = lambda method, path: None
        self.hidden = 0
        """For so many lists what was created is not seen."""

    def service_time(self, *, latest: bool = False) -> float | None:
        return self.time.now if self.has_server_time else None

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        first, _slash, rest = path.partition("/")
        self.calls.append(f"{method} {rest.rpartition('/')[2] if first == 'projects' else first}")
        self.problem(method, path)
        if (method, path.rpartition("/")[2]) == ("GET", "virtual-networks"):
            self.hidden -= 1
            return [] if self.hidden >= 0 else list(self.networks.values())
        answer = self._of_one(method, path.split("/")[1], body)
        if method in ("POST", "PUT"):
            self.problem(f"after {method}", path)
        return answer

    def _of_one(self, method: str, identity: str, body: Any) -> Any:
        if method == "POST":
            identity = f"lock-{next(self._numbers)}"
            self.networks[identity] = {"id": identity, "created_at": "2026-11-22T00:00:00Z", **body}
        if identity not in self.networks:
            raise NOT_FOUND
        if method == "DELETE":
            del self.networks[identity]
            return None
        self.networks[identity].update(body or {})
        return self.networks[identity]

    # Other runs.

    def add(self, holder: Holder, *, renewed: float | None = 0.0, lifetime: float = LIFETIME, identity: str = "other") -> Lock:
        """The lock of another run, renewed so many seconds ago."""
        moment = None if renewed is None else self.time.now - renewed
        lock = Lock(identity, holder, since=moment, renewed=moment, lifetime=lifetime, limit=30)
        self.networks[identity] = {"id": identity, "tags": lock.tags(SCOPE, TAGS), "created_at": "2026-11-22T00:00:00Z"}
        return lock


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, in which runs have theirs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(resource, "RECHECK_AFTER_LOST_ANSWER", (0.0, 0.0))
    return tmp_path


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def networks(time: Time) -> Networks:
    return Networks(time)


def here(**changes: Any) -> Holder:
    return replace(Holder.here(process(os.getpid()), SCOPE, operation="install.yml"), **changes)


def run_of(holder: Holder | None = None) -> Run:
    return Run.begin(holder or here(), Locked(SCOPE, TAGS, "project-1", "da", LIFETIME))


def lock_of(networks: Networks, run: Run | None = None, *, patient: bool = False) -> ClusterLock:
    store = LockStore(networks, "project-1", SCOPE)
    return ClusterLock(store, run or run_of(), timeout=TIMEOUT, patient=patient, now=networks.time)


def elsewhere(**changes: Any) -> Holder:
    return Holder(**{"run": "zz", "user": "alice@bastion", "operation": "scale.yml", "job": "AWX job 17", **ON_ANOTHER, **changes})


ON_ANOTHER: dict[str, Any] = {"boot": ELSEWHERE, "namespace": "1", "process": Process(4711, "42")}


@contextmanager
def another_process(*, module: bool = False, wrote: float | None = None) -> Iterator[tuple[subprocess.Popen[bytes], Holder]]:
    """A run of this computer with a process that lives: its holder. ``module``: that process is one of its modules."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        holder = replace(here(), run="yy", process=process(child.pid), operation="scale.yml")
        run = Run(lock_run.runs_folder() / "yy.json", holder, Locked(SCOPE, TAGS, "project-1", "da", LIFETIME))
        run.save()
        marker = os.open(run.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        if wrote is not None:
            os.pwrite(marker, f"{wrote:20.3f}".encode(), 0)
        if module:
            fcntl.flock(marker, fcntl.LOCK_SH)
        yield child, holder
        os.close(marker)
    finally:
        child.kill()
        child.wait()


# --- taking it ------------------------------------------------------------------------------------------------------------------


def test_a_lock_is_taken_by_a_list_a_create_and_a_second_list(networks: Networks) -> None:
    lock = lock_of(networks)
    assert lock.attempt() == []
    assert networks.calls == ["GET virtual-networks", "POST virtual-networks", "GET virtual-networks"]
    (network,) = networks.networks.values()
    assert {f"openshift-cluster={SCOPE}", "openshift-role=lock", "openshift-lock-operation=install.yml"} <= set(network["tags"])
    assert all(len(tag) <= 160 and "," not in tag for tag in network["tags"])
    assert network["metro"] == "da"
    assert "install.yml of" in network["description"]
    lock.before_write(paused=False)
    assert len(networks.calls) == 3, "what was seen a moment ago is not asked for again"


def test_a_module_that_read_without_the_lock_reads_again(networks: Networks) -> None:
    lock = lock_of(networks)
    with pytest.raises(LockNeededError):
        lock.before_write(paused=False)
    assert networks.calls == [], "it takes nothing by itself"


def test_the_next_module_of_a_run_reads_the_lock_once(networks: Networks, time: Time) -> None:
    lock_of(networks).attempt()
    networks.calls.clear()
    lock = lock_of(networks)
    lock.before_write(paused=False)
    lock.before_write(paused=False)
    assert networks.calls == ["GET virtual-networks"]
    time.now += CHECK_EVERY + 1
    lock.before_write(paused=False)
    lock.before_write(paused=True)
    assert networks.calls == ["GET virtual-networks"] * 3


def test_a_module_started_before_the_lock_was_taken_does_not_hold_it(networks: Networks) -> None:
    early = lock_of(networks)
    lock_of(networks).attempt()
    with pytest.raises(LockNeededError):
        early.before_write(paused=False)
    assert early.attempt() == [], "it is its own run's"
    assert sum(call.startswith("POST") for call in networks.calls) == 1
    early.before_write(paused=False)


def test_a_lost_create_is_retried_when_the_lock_object_is_absent(networks: Networks) -> None:
    lost = [True]

    def problem(method: str, path: str) -> None:
        if method == "POST" and lost.pop():
            lost.append(False)
            raise LostAnswerError("lost")

    networks.problem = problem
    lock = lock_of(networks)
    assert lock.attempt() == []
    assert len(networks.networks) == 1
    networks.add(lock.run.holder, identity="the-first-one-which-came-late")
    lock.release()
    assert networks.networks == {}


def test_a_create_that_may_still_arrive_is_not_retried(networks: Networks) -> None:
    def problem(method: str, path: str) -> None:
        if method == "POST":
            late = LostAnswerError("lost")
            late.late = True
            raise late

    networks.problem = problem
    lock = lock_of(networks)
    with pytest.raises(LostAnswerError, match="the API may still carry it out"):
        lock.attempt()
    networks.add(lock.run.holder, identity="it-came-late")
    assert lock_of(networks, lock.run).release()
    assert networks.networks == {}


def test_a_list_that_lags_behind_does_not_create_a_second_one(networks: Networks) -> None:
    networks.hidden = 3
    lock = lock_of(networks)
    assert lock.attempt()
    assert lock.attempt()
    assert lock.attempt() == []
    assert sum(call.startswith("POST") for call in networks.calls) == 1


# --- keeping it -----------------------------------------------------------------------------------------------------------------


def test_a_lock_is_renewed_in_time_and_no_earlier(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    lock.attempt()
    first = lock.held
    time.now += LIFETIME / 3 - 1
    lock.before_write(paused=False)
    assert lock.held == first
    time.now += CHECK_EVERY + 1
    lock.before_write(paused=False)
    assert lock.held is not None
    assert lock.held.renewed == time.now
    assert networks.calls[-1] == "PUT virtual-networks"
    (network,) = networks.networks.values()
    assert f"openshift-lock-renewed={lock_record.time_text(time.now)}" in network["tags"]


def test_a_wait_sends_only_the_renewals_of_the_lock(networks: Networks, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_run, "boot_time", time)
    lock_of(networks).attempt()
    networks.calls.clear()
    lock = lock_of(networks)
    for _second in range(int(LIFETIME / 3) - 1):
        time.now += 1
        lock.tick()
    assert networks.calls == []
    for _second in range(int(10 * LIFETIME)):
        time.now += 1
        lock.tick()
        lock_of(networks).before_write(paused=False)
    assert networks.calls.count("PUT virtual-networks") <= 31, "each third of its lifetime"


def test_a_renewal_is_not_repeated_after_a_pause_in_which_the_lock_may_have_expired(networks: Networks, time: Time) -> None:
    """The service answers 429, and asks for a minute: another run may have taken over when it is over."""
    lock = lock_of(networks)
    lock.attempt()
    time.now += LIFETIME / 2
    pauses = [30.0]

    def problem(method: str, path: str) -> None:
        if method == "PUT" and pauses:
            time.now += pauses.pop(0)
            raise PausedError(CollectionError("429"), retries=8)

    networks.problem = problem
    lock.before_write(paused=False)
    assert networks.calls[-3:] == ["PUT virtual-networks", "GET virtual-networks", "PUT virtual-networks"]
    time.now += LIFETIME / 2
    pauses.append(60.0)
    with pytest.raises(LockNeededError, match="it expired at"):
        lock.before_write(paused=False)
    assert networks.calls[-2:] == ["PUT virtual-networks", "GET virtual-networks"]


def test_a_wait_goes_on_when_the_service_does_not_answer(networks: Networks, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_run, "boot_time", time)
    lock = lock_of(networks)
    lock.attempt()
    time.now += LIFETIME / 2

    def problem(method: str, path: str) -> None:
        raise ServerError("Oh snap", status=500)

    networks.problem = problem
    lock.tick()
    with pytest.raises(MetalError):
        lock.before_write(paused=True)


def lost(lock: ClusterLock) -> str:
    with pytest.raises(LockNeededError) as found:
        lock.before_write(paused=True)
    assert lock.run.lock == ""
    assert Run.load(lock.run.path).lock == ""
    return str(found.value)


def test_a_deleted_lock_is_lost(networks: Networks) -> None:
    lock = lock_of(networks)
    lock.attempt()
    networks.networks.clear()
    assert "its lock object is gone" in lost(lock)
    assert lock.attempt() == [], "nobody else has taken it"


def test_a_lock_taken_by_another_run_is_lost(networks: Networks) -> None:
    lock = lock_of(networks)
    lock.attempt()
    (identity,) = networks.networks
    networks.add(elsewhere(), identity=identity)
    assert "gone" in lost(lock)
    with pytest.raises(LockedError, match=r"^The cluster lock of demo.metal.test was lost: .* Another run writes to demo.metal.test"):
        lock.attempt()


def test_an_expired_lock_is_lost_and_not_renewed(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    lock.attempt()
    time.now += LIFETIME
    assert "it expired at 2027" in lost(lock)
    assert "PUT virtual-networks" not in networks.calls
    assert lock.attempt() == []
    assert len(networks.networks) == 1, "the expired one is deleted"


def test_an_expired_lock_that_no_other_run_has_taken_is_known(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    assert lock.attempt() == []
    time.now += LIFETIME
    assert not lock.was_taken(), "its object is still there"
    assert lock.attempt() == []
    assert not lock.was_taken()


def test_a_lock_that_another_run_held_and_released_was_taken(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    assert lock.attempt() == []
    time.now += LIFETIME
    with another_process() as (_child, holder):
        other = lock_of(networks, Run(lock_run.runs_folder() / "yy.json", holder, Locked(SCOPE, TAGS, "project-1", "da", LIFETIME)))
        assert other.attempt() == []
        assert lock.was_taken()
        other.release()
    assert lock.was_taken()


def test_no_request_is_sent_that_might_arrive_after_the_expiry(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    lock.attempt()
    time.now += LIFETIME - NEEDED + 1
    assert "before the time limit of a request" in lost(lock)
    assert "PUT virtual-networks" not in networks.calls


def test_a_lifetime_leaves_time_for_requests() -> None:
    assert cluster_lock.lifetime_for(300, 30) == 300
    assert cluster_lock.lifetime_for(10, 30) == 140
    assert cluster_lock.lifetime_for(300, 120) == 500


def test_a_lock_is_released_with_all_lock_objects_of_the_run(networks: Networks) -> None:
    lock = lock_of(networks)
    lock.attempt()
    networks.add(elsewhere(), identity="another run's")
    networks.calls.clear()
    assert lock.release()
    assert networks.calls == ["DELETE virtual-networks", "GET virtual-networks"]
    assert list(networks.networks) == ["another run's"]
    networks.calls.clear()
    assert not lock.release()
    assert networks.calls == []
    with pytest.raises(LockNeededError):
        lock.before_write(paused=False)


# --- other runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["attempt", "clear"])
def test_the_lock_of_a_run_killed_here_is_taken_over_after_its_requests_ended(
    networks: Networks, time: Time, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another_process(wrote=time.now + 7) as (child, holder):
        networks.add(holder)
        child.kill()
        child.wait()
        lock = lock_of(networks)
        (text,) = getattr(lock, step)()
        assert text.endswith("has ended: its last request arrives within 7 s")
        assert list(networks.networks) == ["other"], "nothing is created before that either"
        time.now += 8
        assert getattr(lock, step)() == []
        assert [cleared.id for cleared in lock.cleared] == ["other"]
        assert "other" not in networks.networks


def test_the_lock_of_a_run_without_requests_is_taken_over_at_once(networks: Networks) -> None:
    with another_process() as (child, holder):
        networks.add(holder)
        child.kill()
        child.wait()
        assert lock_of(networks).clear() == []


def test_a_module_that_outlives_its_run_keeps_the_lock(networks: Networks) -> None:
    with another_process(module=True) as (child, holder):
        networks.add(holder)
        child.kill()
        child.wait()
        assert settled_at(holder) is None
        lock = lock_of(networks)
        (text,) = lock.clear()
        assert "it has ended, but one of its modules may still run" in text
        with pytest.raises(LockedError):
            lock.attempt()
    assert lock.clear() == []


@pytest.mark.parametrize("renewed", [50.0, None])
def test_without_a_server_time_a_lock_is_watched_for_its_whole_lifetime(networks: Networks, time: Time, renewed: float | None) -> None:
    networks.has_server_time = renewed is None
    networks.add(elsewhere(), renewed=renewed)
    lock = lock_of(networks)
    assert f"in {LIFETIME:.0f} s" in lock.clear()[0]
    time.now += LIFETIME - 1
    assert lock.clear()
    time.now += 1
    assert lock.clear() == []


@pytest.mark.parametrize(
    "tags",
    [
        ["openshift-role=lock", "openshift-lock-of=demo.metal.test"],
        ["openshift-role=lock", "openshift-lock-of=demo.metal.test", "openshift-lock-process=//x/", "openshift-lock-renewed=soon"],
        ["openshift-role=lock", "openshift-lock-of=demo.metal.test", "openshift-lock-lifetime=nan", "openshift-lock-renewed=9999-12-31"],
        ["openshift-role=lock", "openshift-lock-of=demo.metal.test", "openshift-lock-process=a/b/1/c/d", 5, None],
    ],
)
def test_an_edited_lock_object_still_locks(networks: Networks, tags: list[Any]) -> None:
    networks.networks["odd"] = {"id": "odd", "tags": tags, "created_at": None}
    lock = lock_of(networks)
    (text,) = lock.clear()
    assert "(lock odd)" in text
    with pytest.raises(LockedError):
        lock.attempt()


def test_other_networks_and_scopes_are_ignored(networks: Networks) -> None:
    networks.networks["n1"] = {"id": "n1", "tags": TAGS}
    networks.networks["n2"] = {"id": "n2", "tags": ["openshift-role=lock", "openshift-lock-of=other.metal.test"]}
    networks.networks["n3"] = {"id": "n3", "tags": None}
    assert lock_of(networks).attempt() == []
    assert len(networks.networks) == 4


def test_a_network_without_tags_may_be_the_lock_of_another_run(networks: Networks) -> None:
    networks.networks["n1"] = {"id": "n1"}
    with pytest.raises(CollectionError, match="returned no tags for the virtual network n1, which may be the lock"):
        lock_of(networks).attempt()
    assert not [call for call in networks.calls if not call.startswith("GET")]


def test_a_lock_object_of_another_id_than_the_kept_one_is_released(networks: Networks) -> None:
    lock = lock_of(networks)
    lock.attempt()
    lock.run.note_lock("odd", unsure=False)
    later = lock_of(networks, lock.run)
    assert later.own()
    assert later.release()
    assert networks.networks == {}


def test_breaking_a_lock_waits_for_the_requests_of_its_run(networks: Networks, time: Time) -> None:
    lock = lock_of(networks)
    found = networks.add(elsewhere())
    assert lock.break_lock(found) == time.now + CHECK_EVERY + 30, "the time limit is that of the run whose lock it is"
    assert networks.networks == {}


# --- the run's file -------------------------------------------------------------------------------------------------------------


def test_a_process_always_gets_the_same_run(networks: Networks) -> None:
    lock_of(networks).attempt()
    assert run_of().lock == next(iter(networks.networks))
    assert Holder.here(process(os.getpid()), "other.metal.test", operation="").run != here().run
    assert Holder.here(process(os.getppid()), SCOPE, operation="").run != here().run


@pytest.mark.parametrize("content", ["", "{}", "[]", "\0", '{"pid": "x"}'])
def test_an_invalid_run_is_an_error(folder: Path, content: str) -> None:
    path = folder / "x.json"
    path.write_text(content)
    with pytest.raises(CollectionError, match=r"Cannot read the run .*x.json \(cluster_lock\): it is not the file of a run"):
        Run.load(path)
    with pytest.raises(CollectionError, match="No such file"):
        Run.load(folder / "y.json")


def test_the_folder_of_runs_is_readable_by_its_owner_only(folder: Path) -> None:
    path = lock_run.runs_folder()
    assert path.stat().st_mode & 0o777 == 0o700
    path.chmod(0o755)
    with pytest.raises(CollectionError, match="other users have access to it"):
        lock_run.runs_folder()
    path.rmdir()
    path.symlink_to(folder)
    with pytest.raises(CollectionError, match="other users have access to it"):
        lock_run.runs_folder()


def test_a_marker_is_not_followed_elsewhere(folder: Path) -> None:
    target = folder / "precious"
    target.write_text("precious")
    run = Run(lock_run.runs_folder() / "x.json", here(), Locked(SCOPE, TAGS, "p", "da", LIFETIME))
    run.path.with_suffix(".lock").symlink_to(target)
    with pytest.raises(CollectionError, match="Cannot open"):
        run.note_write(5)
    assert target.read_text() == "precious"


def test_files_of_runs_that_ended_long_ago_are_removed(folder: Path) -> None:
    with another_process() as (child, holder):
        old = Run.load(lock_run.runs_folder() / f"{holder.run}.json")
        day = old.path.stat().st_mtime - lock_run.KEPT - 1
        os.utime(old.path, (day, day))
        run_of()
        assert old.path.exists(), "it lives"
        child.kill()
        child.wait()
        run_of(replace(here(), run="xx"))
        assert not old.path.exists()
        assert not old.path.with_suffix(".lock").exists()


def test_a_run_remembers_until_when_the_last_of_its_writes_may_arrive(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_run, "boot_time", time)
    run = run_of()
    run.note_write(30)
    time.now += 1
    run.note_write(5)
    assert float(run.path.with_suffix(".lock").read_text()) == time.now + 29


# --- scopes and times -----------------------------------------------------------------------------------------------------------


def test_devices_of_a_cluster_are_locked_by_their_cluster_others_by_their_tags() -> None:
    assert scope_of(["openshift-role=worker", "openshift-cluster=a.b"]) == "a.b"
    assert scope_tags(["openshift-role=worker", "openshift-cluster=a.b"]) == ["openshift-cluster=a.b"]
    assert scope_of(["pool=1", "team=x"]) == scope_of(["team=x", "pool=1", "pool=1"]) != scope_of(["team=x"])
    assert scope_of(["openshift-cluster="]).startswith("tags-")


def test_a_lock_is_read_as_it_was_written() -> None:
    holder = replace(elsewhere(), user="Ünal, the 2nd\n@host", operation="x" * 500)
    lock = Lock("i", holder, since=1_800_000_000, renewed=1_800_000_100, lifetime=300, limit=35)
    read = read_lock("i", lock.tags(SCOPE, TAGS), None, lifetime=7)
    assert (read.since, read.renewed, read.lifetime, read.limit) == (1_800_000_000, 1_800_000_100, 300, 35)
    assert read.expires == 1_800_000_400
    assert read_lock("i", ["openshift-lock-lifetime=120"], None, lifetime=7).limit == 30
    assert read.holder.process == holder.process
    assert read.holder.user == "nal the 2nd @host"
    assert len(read.holder.operation) == lock_record.LONGEST
