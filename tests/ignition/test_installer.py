"""The installer is run wherever it lies, and what it refuses or warns of is shown without secrets."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from sandbox.openshift.assets import files_of

from .conftest import Role

VERSION = "4.20.33"
PASSWORD = "planted-password"
FOLDERS = ['my clusters, größe [1], it\'s "the" demo', "/".join(["long" * 20] * 9)]


def installer_of(role: Role) -> Path:
    return role.folder / "bin" / f"{VERSION}-x86_64" / "openshift-install"


def files_made_by(folder: Path) -> Path:
    """Path of the installer that made the files."""
    assert json.loads((folder / "ignition" / "metadata.json").read_bytes())["clusterName"]
    return (folder / "ignition" / "openshift-install").resolve()


@pytest.mark.parametrize("name", FOLDERS, ids=["characters", "length"])
def test_the_installer_and_the_folder_may_be_anywhere(role: Role, tmp_path: Path, name: str) -> None:
    own = tmp_path / "home" / name / "openshift-install"
    own.parent.mkdir(parents=True)
    shutil.copy(installer_of(role), own)
    role.environment = role.environment | {"HOME": str(tmp_path / "home")}
    folder = f"~/{name}/demo"
    manifests = own.parent / "manifests"
    manifests.mkdir()
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours", "namespace": "default"}}
    (manifests / "ours.json").write_text(json.dumps(manifest), encoding="utf-8")
    settings = {
        "openshift_directory": folder,
        "openshift_version": "",
        "openshift_installer": f"~/{name}/openshift-install",
        "openshift_manifests": [f"~/{name}/manifests"],
    }

    role.well(**settings)

    assert files_made_by(own.parent / "demo") == own
    assert (own.parent / "demo").stat().st_mode & 0o777 == 0o700
    assert "changed=0" in role.well(**settings)
    # Other inputs: the older files are moved aside.
    role.well(**settings, openshift_machine_networks=["10.9.0.0/16"])
    assert (own.parent / "demo" / "ignition.previous" / "metadata.json").exists()
    assert not (tmp_path / "~").exists()
    role.well(**settings, tasks_from="remove")
    assert not (own.parent / "demo").exists()


def test_installer_errors_are_printed_without_secrets(role: Role) -> None:
    before = (role.files / "bootstrap.ign").read_bytes()
    proxy = f"http://ada:{PASSWORD}@10.128.0.5:3128"
    pull_secret = {"auths": {"quay.io": {"auth": "cGxhbnRlZDpzZWNyZXQtdG9rZW4="}}}
    result = role.refused(openshift_proxy={"httpProxy": proxy}, openshift_pull_secret=pull_secret)
    assert "openshift-install create manifests failed for" in result
    assert "proxy value is part of the cluster networks" in result
    assert PASSWORD not in result
    assert "cGxhbnRlZDpzZWNyZXQtdG9rZW4=" not in result
    assert (role.files / "bootstrap.ign").read_bytes() == before
    assert not list(role.folder.glob(".ignition-*"))


def script(path: Path, create: str) -> str:
    says = f'printf "%s\\n" "$0 {VERSION}" "built from commit 1" "release architecture amd64"'
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then {says}; exit; fi\n{create}\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("create", "reason"),
    [
        ("trap '' TERM; exec sleep 60", "it did not end within 1 seconds"),
        ("echo no libraries >&2; exit 127", "(exit code 127): no libraries"),
    ],
)
def test_an_installer_that_creates_no_files_is_an_error(role: Role, tmp_path: Path, create: str, reason: str) -> None:
    installer = script(tmp_path / "installer", create)
    result = role.refused(
        openshift_version="", openshift_installer=installer, __ignition_installer_timeout=1, openshift_machine_networks=["10.9.0.0/16"]
    )
    assert reason in result


def with_scheduler(role: Role, path: Path, manifest: str) -> dict[str, str]:
    """Return the settings for the same installer, which writes another manifest of the scheduler."""
    write = f"printf '%s\\n' '{manifest}' > \"${{3#--dir=}}/manifests/cluster-scheduler-02-config.yml\""
    installer = script(path, f'{installer_of(role)} "$@" || exit\n[ "$2" != manifests ] || {write}')
    text = path.read_text(encoding="utf-8").replace('if [ "$1" = version ]', 'if [ "$1" = version ] || [ "$1" = coreos ]')
    path.write_text(text.replace("then printf", f'then [ "$1" = version ] || exec {installer_of(role)} "$@"; printf'), encoding="utf-8")
    return {"openshift_version": "", "openshift_installer": installer}


@pytest.mark.parametrize("spec", ['spec:\n  "mastersSchedulable" : true', "spec: {policy: {name: x}}"])
def test_the_control_plane_of_a_cluster_with_workers_is_not_schedulable(role: Role, tmp_path: Path, spec: str) -> None:
    manifest = f"apiVersion: config.openshift.io/v1\nkind: Scheduler\nmetadata: {{name: cluster}}\n{spec}"
    role.well(**with_scheduler(role, tmp_path / "installer", manifest), ignition_workers=[{"hostname": "worker-0"}])
    files = files_of(json.loads((role.files / "bootstrap.ign").read_bytes()))
    scheduler = yaml.safe_load(files["/opt/openshift/manifests/cluster-scheduler-02-config.yml"])
    assert scheduler["spec"] == {**yaml.safe_load(spec)["spec"], "mastersSchedulable": False}
