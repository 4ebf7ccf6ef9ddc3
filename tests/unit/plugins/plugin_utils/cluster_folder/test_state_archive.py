"""The archive of a cluster folder: contents, names, hostile archives, and what is decided of folder and store."""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder import state_archive
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder.state_archive import (
    Archive,
    ArchiveName,
    StateError,
    needs_restore,
    newest,
    next_generation,
    pack,
    restoration,
    unpack,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder.state_files import (
    RECORD,
    ClusterFiles,
    Record,
    digest_of,
    is_saved,
    read_files,
    write_file,
    write_record,
)

CLUSTER = "demo.metal.test"
PASSWORD = "swordfish"
LOCATION = "s3://states/demo.metal.test/"
METADATA = "ignition/metadata.json"


def files(infra_id: str = "demo-abc12", **others: bytes) -> dict[str, bytes]:
    contents = {METADATA: json.dumps({"infraID": infra_id}).encode(), "ignition/auth/kubeadmin-password": b"secret", "project": b"one\n"}
    return {**contents, **{name.replace("__", "/"): text for name, text in others.items()}}


def archived(local: ClusterFiles, generation: int = 1, cluster: str = CLUSTER) -> tuple[str, bytes]:
    name, content = pack(local, cluster, generation, PASSWORD)
    return str(name), content


def named(generation: int, contents: dict[str, bytes]) -> ArchiveName:
    return ArchiveName(generation, digest_of(contents), "0" * 16)


def recorded(name: ArchiveName, *, is_complete: bool = True) -> Record:
    return Record(LOCATION, str(name), name.digest, is_complete)


# --- the folder -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("kubeconfig", True, True),
        (METADATA, True, True),
        ("ignition/auth/kubeconfig", True, True),
        ("ignition/bootstrap.ign", True, False),
        ("ignition/.openshift_install_state.json", True, False),
        ("publish/tls/ca.key", True, True),
        ("publish/bearer", True, True),
        ("publish/secret/bootstrap.ign", False, False),
        ("ignition/.openshift_install.log", False, False),
        ("ignition/openshift-install", False, False),
        ("bin/openshift-install", False, False),
        ("reports/install.html", False, False),
        (RECORD, False, False),
        ("notes.txt", False, False),
    ],
)
def test_which_files_are_saved(name: str, before: bool, after: bool) -> None:
    assert is_saved(name) is before
    assert is_saved(name, after_bootstrap=True) is after


def test_files_and_all_their_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    write_file(tmp_path / "clusters" / "demo" / METADATA, b"{}")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "clusters").rglob("*"))
    write_file(tmp_path / "clusters" / "demo" / METADATA, b"[]")
    assert [path.name for path in (tmp_path / "clusters").rglob("*") if path.is_file()] == ["metadata.json"]


def test_links_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"of another folder")
    folder = tmp_path / "cluster"
    write_file(folder / METADATA, b"{}")
    (folder / "ignition" / "link").symlink_to(tmp_path / "outside")
    (folder / "publish").symlink_to(tmp_path)
    assert set(read_files(folder).files) == {METADATA}


def test_the_record_of_another_location_counts_as_none(tmp_path: Path) -> None:
    write_file(tmp_path / METADATA, b"{}")
    record = Record(LOCATION, "x", "y")
    write_record(tmp_path, record)
    assert read_files(tmp_path, LOCATION).record == record
    assert read_files(tmp_path, "s3://other/").record is None
    assert (tmp_path / RECORD).stat().st_mode & 0o077 == 0


# --- the archive ----------------------------------------------------------------------------------------------------------------


def test_an_archive_has_the_files_and_shows_none_of_them() -> None:
    local = ClusterFiles(files())
    name, content = archived(local, 7)
    assert name.startswith("00000007-")
    assert b"secret" not in content
    found = unpack(name, content, CLUSTER, PASSWORD, LOCATION)
    assert found.files == local.files
    assert found.infra_id == "demo-abc12"


def test_a_wrong_password_is_named() -> None:
    with pytest.raises(StateError, match=r"cannot be decrypted. Set openshift_state_password to the password it was saved with"):
        unpack(*archived(ClusterFiles(files())), CLUSTER, "other", LOCATION)


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[:-100], lambda content: b"", lambda content: content.replace(b"3", b"4"), lambda content: b"x" + content],
)
def test_a_damaged_archive_is_refused(damage: Callable[[bytes], bytes]) -> None:
    name, content = archived(ClusterFiles(files()))
    with pytest.raises(StateError, match=r"is damaged: its [0-9]+ bytes do not have the checksum"):
        unpack(name, damage(content), CLUSTER, PASSWORD, LOCATION)


def test_the_archive_of_another_cluster_is_refused_with_both_names() -> None:
    name, content = archived(ClusterFiles(files("other-1")), cluster="other.metal.test")
    with pytest.raises(StateError, match=r"of the cluster other.metal.test \(infraID other-1\), and the inventory is of demo.metal.test"):
        unpack(name, content, CLUSTER, PASSWORD, LOCATION)


def hostile(*members: tuple[tarfile.TarInfo, bytes], header: dict[str, object] | None = None, cut: int = 0) -> tuple[str, bytes]:
    """An archive with the right password whose members nobody has checked."""
    head = json.dumps({"format": 1, "cluster": CLUSTER, "digest": digest_of({}), **(header or {})}).encode()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:") as archive:
        for member, content in [(plain("state.json"), head), *members]:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    packed = gzip.compress(stream.getvalue())
    content = VaultLib([("default", VaultSecret(PASSWORD.encode()))]).encrypt(packed[: len(packed) - cut])
    return f"00000001-{'0' * 16}-{hashlib.sha256(content).hexdigest()[:16]}.vault", content


def plain(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


HOSTILE = {
    "traversal": (plain("files/ignition/../../../.bashrc"), b"x"),
    "absolute": (plain("/etc/cron.d/x"), b"x"),
    "other file": (plain("files/bin/openshift-install"), b"x"),
    "record": (plain("files/state-store.json"), b"{}"),
    "beside": (plain("kubeconfig"), b"x"),
    "symbolic link": (plain("files/ignition/auth", tarfile.SYMTYPE, "/etc"), b""),
    "hard link": (plain("files/ignition/x", tarfile.LNKTYPE, "state.json"), b""),
    "device": (plain("files/ignition/x", tarfile.CHRTYPE), b""),
    "folder": (plain("files/ignition", tarfile.DIRTYPE), b""),
    "not in the digest": (plain("files/ignition/master.ign"), b"x"),
}


@pytest.mark.parametrize("member", HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives_are_refused(member: tuple[tarfile.TarInfo, bytes]) -> None:
    with pytest.raises(StateError, match=r"was not written by these playbooks: .*\. Nothing was restored"):
        unpack(*hostile(member), CLUSTER, PASSWORD, LOCATION)


def test_the_digest_is_the_reason_for_the_other_refusals() -> None:
    assert unpack(*hostile(), CLUSTER, PASSWORD, LOCATION).files == {}
    with pytest.raises(StateError, match="its format is not 1"):
        unpack(*hostile(header={"format": 2}), CLUSTER, PASSWORD, LOCATION)
    with pytest.raises(StateError, match="it is truncated"):
        unpack(*hostile(cut=20), CLUSTER, PASSWORD, LOCATION)


def test_an_archive_is_never_unpacked_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_archive, "MOST_BYTES", 2**20)
    bomb = (plain("files/ignition/bootstrap.ign"), bytes(2**21))
    name, content = hostile(bomb)
    assert len(content) < 2**16
    with pytest.raises(StateError, match="it has more than 1048576 bytes"):
        unpack(name, content, CLUSTER, PASSWORD, LOCATION)


# --- decisions ------------------------------------------------------------------------------------------------------------------

OLD, NEW, CHANGED = files(), files(publish__bearer=b"word"), files(publish__bearer=b"changed")
BEGUN = {"project": b"one\n"}
"""What the folder of an install has before its Ignition files."""


def test_the_newest_archive_is_the_one_of_the_highest_generation() -> None:
    names = [str(named(number, OLD)) for number in (2, 10, 9)]
    assert newest([*names, "notes.txt", "../x.vault"], LOCATION) == named(10, OLD)
    assert newest(["notes.txt"], LOCATION) is None


def test_two_archives_of_one_generation_are_refused_with_their_names() -> None:
    names = [str(named(3, OLD)), str(named(3, NEW))]
    with pytest.raises(StateError, match=f"2 archives of generation 3.*{names[0]}|2 archives of generation 3.*{names[1]}"):
        newest(names, LOCATION)


def test_the_programs_of_the_documentation_read_an_archive(tmp_path: Path) -> None:
    """docs/recovery.md: how to get the kubeconfig and the password of kubeadmin without these playbooks."""
    _name, content = archived(ClusterFiles(files(kubeconfig=b"of the cluster")))
    (tmp_path / "state.vault").write_bytes(content)
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    vault = [
        str(Path(sys.executable).with_name("ansible-vault")),
        "decrypt",
        "--vault-password-file",
        "password",
        "--output",
        "state.tar.gz",
    ]
    subprocess.run([*vault, "state.vault"], cwd=tmp_path, check=True, capture_output=True)
    wanted = ["files/kubeconfig", "files/ignition/auth/kubeadmin-password"]
    subprocess.run(["tar", "-xzf", "state.tar.gz", "--strip-components=1", *wanted], cwd=tmp_path, check=True)
    assert (tmp_path / "kubeconfig").read_bytes() == b"of the cluster"
    assert (tmp_path / "ignition" / "auth" / "kubeadmin-password").read_bytes() == b"secret"


def test_an_install_that_was_only_begun_is_archived_and_restored() -> None:
    """Its first object is created before its Ignition files: without the archive an empty folder would be that of nobody."""
    local = ClusterFiles(BEGUN)
    assert (local.is_begun, local.infra_id) == (True, "")
    assert not ClusterFiles({"release.json": b"{}"}).is_begun, "playbooks that order nothing write it, too"
    name, content = archived(local)
    archive = unpack(name, content, CLUSTER, PASSWORD, LOCATION)
    assert restoration(ClusterFiles(), archive, "/clusters/demo", LOCATION).written == BEGUN


@pytest.mark.parametrize(
    ("local", "top", "needed"),
    [
        pytest.param(ClusterFiles(), None, False, id="nothing anywhere"),
        pytest.param(ClusterFiles(OLD), None, False, id="nothing in the store"),
        pytest.param(ClusterFiles(), named(1, OLD), True, id="an empty folder"),
        pytest.param(ClusterFiles({"project": b"one\n"}), named(1, OLD), True, id="a folder without an install"),
        pytest.param(ClusterFiles(BEGUN, recorded(named(1, BEGUN))), named(1, BEGUN), False, id="begun and saved"),
        pytest.param(ClusterFiles(BEGUN, recorded(named(1, BEGUN))), named(2, OLD), True, id="begun here, continued by another controller"),
        pytest.param(ClusterFiles({}, recorded(named(1, OLD))), named(1, OLD), True, id="files deleted, record left"),
        pytest.param(ClusterFiles(OLD), named(1, OLD), False, id="the same files, not recorded"),
        pytest.param(ClusterFiles(OLD), named(1, NEW), True, id="other files, not recorded"),
        pytest.param(ClusterFiles(OLD, recorded(named(1, OLD))), named(1, OLD), False, id="saved"),
        pytest.param(ClusterFiles(NEW, recorded(named(1, OLD))), named(1, OLD), False, id="changed since it was saved"),
        pytest.param(ClusterFiles(OLD, recorded(named(1, OLD))), named(2, NEW), True, id="saved by another controller since"),
        pytest.param(ClusterFiles(NEW, recorded(named(1, OLD))), named(2, NEW), False, id="saved, and killed before it was recorded"),
        pytest.param(ClusterFiles(NEW, recorded(named(5, OLD))), named(4, OLD), False, id="the store lost an archive"),
        pytest.param(ClusterFiles(NEW, recorded(named(1, OLD), is_complete=False)), named(1, OLD), True, id="the restore was interrupted"),
    ],
)
def test_when_an_archive_is_restored(local: ClusterFiles, top: ArchiveName | None, needed: bool) -> None:
    assert needs_restore(local, top) is needed


@pytest.mark.parametrize(
    ("local", "top", "generation"),
    [
        (ClusterFiles(OLD), None, 1),
        (ClusterFiles(NEW, recorded(named(3, OLD))), named(3, OLD), 4),
        (ClusterFiles(NEW, recorded(named(3, OLD))), None, 4),
        (ClusterFiles(NEW, recorded(named(3, OLD))), named(2, OLD), 4),
    ],
)
def test_the_next_generation(local: ClusterFiles, top: ArchiveName | None, generation: int) -> None:
    assert next_generation(local, top, LOCATION) == generation


@pytest.mark.parametrize("record", [None, recorded(named(1, OLD)), recorded(named(2, OLD))])
def test_a_stale_run_never_saves(record: Record | None) -> None:
    with pytest.raises(StateError, match="has generation 2, saved by another run"):
        next_generation(ClusterFiles(CHANGED, record), named(2, NEW), LOCATION)


def restored(local: ClusterFiles, contents: dict[str, bytes], generation: int = 2) -> state_archive.Restoration:
    return restoration(local, Archive(named(generation, contents), CLUSTER, contents), "/clusters/demo", LOCATION)


def test_an_unchanged_folder_is_replaced_and_loses_what_the_archive_does_not_have() -> None:
    found = restored(ClusterFiles(NEW, recorded(named(1, NEW))), {**OLD, "kubeconfig": b"c"})
    assert found.written == {**OLD, "kubeconfig": b"c"}
    assert found.deleted == ("publish/bearer",)


def test_an_interrupted_restore_is_repeated() -> None:
    assert restored(ClusterFiles(CHANGED, recorded(named(2, NEW), is_complete=False)), NEW).written == NEW


def test_a_changed_folder_is_never_overwritten() -> None:
    for record in (None, recorded(named(1, OLD))):
        with pytest.raises(StateError, match=r"differ from the generation they were saved as, and .* \(infraID demo-abc12, generation 2\)"):
            restored(ClusterFiles(CHANGED, record), NEW)


def test_the_folder_of_another_install_is_refused_with_both_infra_ids() -> None:
    with pytest.raises(StateError, match=r"files of the install demo-xyz98, and .* \(infraID demo-abc12, generation 2\)"):
        restored(ClusterFiles(files("demo-xyz98")), NEW)


def test_the_folder_of_a_running_cluster_gets_what_it_does_not_have() -> None:
    local = ClusterFiles({METADATA: OLD[METADATA], "kubeconfig": b"given", "project": b"one\n"})
    found = restored(local, {**OLD, "kubeconfig": b"saved"})
    assert found.written == {"ignition/auth/kubeadmin-password": b"secret"}
    assert found.deleted == ()
