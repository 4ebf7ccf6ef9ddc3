"""Day 2 from another controller, after an upgrade: an inventory, a token and a kubeconfig are enough, in an empty folder."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.openshift.installer import catalogue
from tests.e2e.harness import NAME, User, until

pytestmark = [pytest.mark.e2e]

SPEED = 1200
VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
OLD, NEW = "4.19.42", "4.20.33"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("elsewhere") / "first", speed=SPEED)
    user.folder.mkdir()
    with user.at_work():
        user.play("install.yml", "-e", f"openshift_version={OLD}", timeout=1800).ended_well()
        yield user


@pytest.fixture(scope="module")
def elsewhere(installed: User) -> User:
    """A second engineer, or a job of AWX: nothing but the inventory and the kubeconfig, as text."""
    folder = installed.folder.with_name("second")
    folder.mkdir()
    other = installed.beside(folder)
    # On a computer of its own it has the same ports.
    (other.inventory / "03-ports.yml").unlink()
    text = (installed.cluster / "kubeconfig").read_text(encoding="utf-8")
    (folder / "given.json").write_text(json.dumps({"openshift_kubeconfig": text}), encoding="utf-8")
    return other


GIVEN = ("-e", "@given.json")


def test_without_a_kubeconfig_the_next_step_is_named(elsewhere: User) -> None:
    refused = elsewhere.play("scale.yml")
    assert refused.code != 0
    assert refused.changes == []
    assert not (elsewhere.cluster / "kubeconfig").exists()


def test_the_kubeconfig_of_another_cluster_is_refused(elsewhere: User) -> None:
    for playbook in ("scale.yml", "destroy.yml", "playbooks/approve.yml"):
        elsewhere.play(playbook, *GIVEN, "-e", "openshift_cluster_name=other").refused(
            f"the kubeconfig connects to {NAME}", "the inventory is of other.metal.test"
        )
    assert not (elsewhere.folder / "clusters").exists()


def test_check_mode_and_status_leave_nothing_behind(elsewhere: User) -> None:
    elsewhere.edit_workers(2)
    before = sorted(elsewhere.folder.rglob("*"))
    for arguments in (("scale.yml", "--check"), ("status.yml",)):
        run = elsewhere.play(*arguments, *GIVEN).ended_well()
        assert "worker-2" in run.output
        assert run.writes == []
        assert sorted(elsewhere.folder.rglob("*")) == before


def test_the_cluster_is_upgraded(installed: User) -> None:
    installed.sandbox.call("POST", "upgrade", json={"version": NEW})
    history = until(
        lambda: [entry["version"] for entry in installed.kube(VERSION)["status"]["history"] if entry["state"] == "Completed"] == [NEW, OLD],
        within=240,
        what=f"the cluster runs {NEW}",
    )
    assert history
    operators = installed.kube("/apis/config.openshift.io/v1/clusteroperators")["items"]
    assert {item["status"]["versions"][0]["version"] for item in operators} == {NEW}


def test_workers_are_added_from_an_empty_folder(installed: User, elsewhere: User) -> None:
    # Not even the boot images of the install are there: the cluster names them.
    elsewhere.edit_workers(2)
    scripts: list[str] = []

    def keep_script() -> None:
        files = json.loads((elsewhere.cluster / "publish" / "open.json").read_bytes())
        scripts.append(next(content for name, content in files.items() if name.startswith("worker-2.") and name.endswith(".ipxe")))

    run = elsewhere.play("scale.yml", *GIVEN, after={"boot_files": keep_script}).ended_well()
    assert run.changed > 0
    # The images of the new release, which the old installer's stream does not have.
    assert catalogue.release(NEW, "x86_64").rhcos.build in scripts[0]
    assert catalogue.release(OLD, "x86_64").rhcos.build not in scripts[0]
    assert installed.nodes() == elsewhere.nodes() == ["master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2"]
    kept = {str(path.relative_to(elsewhere.cluster)) for path in elsewhere.cluster.rglob("*") if path.is_file()}
    assert {"kubeconfig", "project", "ignition/metadata.json", "ignition/auth/kubeconfig"} <= kept
    assert not [name for name in kept if name.endswith((".ign", "stream.json", "openshift-install"))]
    assert all(path.stat().st_mode & 0o077 == 0 for path in elsewhere.cluster.rglob("*"))
    key = re.search(r"client-key-data: (\S+)", Path(elsewhere.cluster / "kubeconfig").read_text(encoding="utf-8"))
    assert key is not None
    assert key[1] not in run.output


def test_a_second_run_changes_nothing(elsewhere: User) -> None:
    for playbook in ("scale.yml", "playbooks/approve.yml"):
        elsewhere.play(playbook, *GIVEN).changed_nothing()


def test_an_installed_cluster_is_not_installed_again(elsewhere: User) -> None:
    run = elsewhere.play("install.yml", *GIVEN).ended_well()
    assert run.changes == []
    assert not (elsewhere.cluster / "ignition" / "bootstrap.ign").exists()


def test_the_cluster_is_deleted_from_there(installed: User, elsewhere: User) -> None:
    (elsewhere.cluster / "ignition" / "metadata.json").unlink()
    elsewhere.play("destroy.yml", *GIVEN, "-e", f"openshift_destroy_confirm={NAME}", timeout=1200).ended_well()
    assert installed.sandbox.inventory_is_empty()
    assert not elsewhere.cluster.exists()
