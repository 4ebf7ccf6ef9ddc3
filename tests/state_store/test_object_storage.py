"""The role state_store alone, against an S3 service: what it saves, restores, refuses and deletes."""

import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.boot_files.methods import Method, client, object_storage
from tests.state_store import role
from tests.state_store.role import CLUSTER, folder_of

OBJECTS = f"openshift-state/{CLUSTER}/state/"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Method]:
    folder = tmp_path_factory.mktemp("storage")
    with object_storage(folder / "none", folder / "workspace") as method:
        yield method


def buckets(storage: Method) -> Any:
    """An S3 client that asks nothing of the role."""
    port = urllib.parse.urlsplit(storage.variables["openshift_publish_open_endpoint"]).port
    assert port is not None
    return client(port)


def names(storage: Method, prefix: str = OBJECTS) -> list[str]:
    found = buckets(storage).list_objects_v2(Bucket="boot", Prefix=prefix).get("Contents", [])
    return sorted(entry["Key"].removeprefix(prefix) for entry in found)


def play(storage: Method, folder: Path, *verbs: str, check: bool = False, **variables: Any) -> tuple[int, str]:
    """Run files of tasks of the role with the settings of the S3 service."""
    given = {name: value for name, value in storage.variables.items() if name.startswith("openshift_publish_")}
    return role.play(folder, *verbs, check=check, **{"openshift_state_store": "object_storage", **given, **variables})


def test_a_folder_is_saved_when_it_has_changed_and_restored_elsewhere(storage: Method, tmp_path: Path) -> None:
    first = folder_of(tmp_path / "first")
    code, output = play(storage, first, "save", check=True)
    assert (code, names(storage)) == (0, []), output
    code, output = play(storage, first, "save", "save")
    assert code == 0, output
    (saved,) = names(storage)
    assert saved.startswith("00000001-")
    content = buckets(storage).get_object(Bucket="boot", Key=OBJECTS + saved)["Body"].read()
    assert content.startswith(b"$ANSIBLE_VAULT;1.1;AES256")

    (first / "ignition" / "worker.ign").write_text("{}", encoding="utf-8")
    assert play(storage, first, "save")[0] == 0
    (first / "ignition" / "worker.ign").write_text("{ }", encoding="utf-8")
    assert play(storage, first, "save")[0] == 0
    assert [name[:8] for name in names(storage)] == ["00000002", "00000003"], "the newest one and the one before"

    second = tmp_path / "second"
    code, output = play(storage, second, "main", "main", "save")
    assert code == 0, output
    assert f"Restored 3 files of {CLUSTER} (infraID demo-abc12, generation 3)" in output
    assert (second / "ignition" / "worker.ign").read_text(encoding="utf-8") == "{ }"
    assert all(path.stat().st_mode & 0o077 == 0 for path in [second, *second.rglob("*")])
    assert len(names(storage)) == 2

    # The first controller is behind now: it gets what the second one has saved, and loses nothing.
    (second / "kubeconfig").write_text("of the running cluster", encoding="utf-8")
    assert play(storage, second, "save")[0] == 0
    (first / "release.json").write_text("{}", encoding="utf-8")
    code, output = play(storage, first, "save")
    assert code != 0
    assert "has generation 4, saved by another run, and this folder continues generation 3" in " ".join(output.split())
    code, output = play(storage, first, "main")
    assert code != 0
    assert "differ from the generation they were saved as" in " ".join(output.split())
    (first / "release.json").unlink()
    assert play(storage, first, "main")[0] == 0
    assert (first / "kubeconfig").read_text(encoding="utf-8") == "of the running cluster"

    # Only the archives of the install in the folder are deleted.
    other = folder_of(tmp_path / "other", "demo-other")
    stored = names(storage)
    code, output = play(storage, other, "remove")
    assert (code, names(storage)) == (0, stored)
    assert "was neither saved there nor restored from there" in " ".join(output.split())
    assert play(storage, first, "remove", check=True)[0] == 0
    assert names(storage) == stored
    assert play(storage, first, "remove", "remove")[0] == 0
    assert names(storage) == []


def test_an_install_that_was_only_begun_is_saved_and_restored(storage: Method, tmp_path: Path) -> None:
    """As after its first object at the Metal API, which is created before the Ignition files."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (first / "project").write_text("5f1a4f6e\n", encoding="utf-8")
    code, output = play(storage, first, "save", "save")
    assert code == 0, output
    assert [name[:8] for name in names(storage)] == ["00000001"]
    code, output = play(storage, second, "main", "main", "save")
    assert code == 0, output
    assert output.count(f"Restored 1 files of {CLUSTER} (infraID none, generation 1)") == 1
    assert (second / "project").read_text(encoding="utf-8") == "5f1a4f6e\n"
    assert play(storage, second, "remove")[0] == 0
    assert names(storage) == []


def test_a_playbook_that_only_reads_leaves_no_folder(storage: Method, tmp_path: Path) -> None:
    first, second = folder_of(tmp_path / "first"), tmp_path / "second"
    (first / "kubeconfig").write_text("of the running cluster", encoding="utf-8")
    assert play(storage, first, "save")[0] == 0
    code, output = play(storage, second, "main", state_store_read_only=True)
    assert code == 0, output
    assert f"Restored 3 files of {CLUSTER} (infraID demo-abc12, generation 1)" in output
    assert re.search(r"localhost +: ok=\d+ +changed=0 ", output)
    assert not second.exists()
    # A folder with an install is used as it is, also if the store has a newer generation.
    (first / "release.json").write_text("{}", encoding="utf-8")
    assert play(storage, first, "save")[0] == 0
    code, output = play(storage, folder_of(tmp_path / "third"), "main", state_store_read_only=True)
    assert code == 0, output
    assert "Restored" not in output
    assert play(storage, first, "remove")[0] == 0


@pytest.mark.long
def test_damaged_archives_and_a_missing_bucket_are_refused(storage: Method, tmp_path: Path) -> None:
    first = folder_of(tmp_path / "first")
    assert play(storage, first, "save")[0] == 0
    (saved,) = names(storage)
    content = buckets(storage).get_object(Bucket="boot", Key=OBJECTS + saved)["Body"].read()
    buckets(storage).put_object(Bucket="boot", Key=OBJECTS + saved, Body=content[:-7])
    second = tmp_path / "second"
    code, output = play(storage, second, "main")
    assert code != 0
    assert "is damaged" in output
    assert not second.exists()
    buckets(storage).delete_object(Bucket="boot", Key=OBJECTS + saved)

    code, output = play(storage, folder_of(tmp_path / "third"), "save", openshift_state_bucket="missing")
    assert code != 0
    assert "Check openshift_state_bucket" in " ".join(output.split())
    assert not (tmp_path / "third" / "state-store.json").exists()
    code, output = play(storage, first, "save", openshift_state_password="")
    assert "openshift_state_password is not set" in " ".join(output.split())
    assert code != 0


@pytest.mark.long
def test_the_newest_failure_bundles_are_kept(storage: Method, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "first")
    prefix = f"openshift-state/{CLUSTER}/failures/"
    for hour in range(3):
        bundle = tmp_path / f"{CLUSTER}-failed-20261123T0{hour}0000Z.tar.gz"
        bundle.write_bytes(b"redacted")
        assert play(storage, folder, "failure", state_store_bundle=str(bundle), __state_store_keep=2)[0] == 0
    assert names(storage, prefix) == [f"{CLUSTER}-failed-20261123T0{hour}0000Z.tar.gz" for hour in (1, 2)]
    # A store that does not answer hides no failure.
    code, output = play(storage, folder, "failure", state_store_bundle=str(bundle), openshift_state_bucket="missing")
    assert code == 0
    assert "Not everything is saved in s3://missing/" in " ".join(output.split())
