"""The openshift-install stand-in: commands, files, certificates."""

import base64
import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from sandbox.openshift.installer.cli import main

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8o3Zr3gGqFX0uPHj5OE+7ZzZLhZ0b7mQF4Ee4Vv1mB core@metal.test"
PULL_SECRET = '{"auths":{"quay.io":{"auth":"c2FuZGJveDpzYW5kYm94"}}}'
MACHINE_CONFIG = b"""apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-worker-ours
  labels: {machineconfiguration.openshift.io/role: worker}
spec: {config: {ignition: {version: 3.2.0}}}
"""


def desired(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "baseDomain": "metal.test",
        "metadata": {"name": "demo"},
        "compute": [{"name": "worker", "replicas": 0}],
        "controlPlane": {"name": "master", "replicas": 3},
        "networking": {"machineNetwork": [{"cidr": "127.64.0.0/10"}]},
        "platform": {"none": {}},
        "pullSecret": PULL_SECRET,
        "sshKey": SSH_KEY,
    } | changes


def run(directory: Path, *arguments: str) -> int:
    return main([*arguments, "--dir", str(directory)])


def put_install_config(directory: Path, **changes: Any) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "install-config.yaml").write_text(yaml.safe_dump(desired(**changes)), encoding="utf-8")


def files_of(ignition: Path) -> dict[str, bytes]:
    found = {}
    for entry in json.loads(ignition.read_bytes())["storage"]["files"]:
        head, _unused, body = entry["contents"]["source"].partition(",")
        assert head == "data:text/plain;charset=utf-8;base64"
        found[entry["path"]] = base64.b64decode(body)
    return found


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An asset directory after manifests, edits and ignition-configs. Only read it; `copied` may be changed."""
    directory = tmp_path_factory.mktemp("assets") / "demo"
    put_install_config(directory)
    assert run(directory, "create", "manifests") == 0
    (directory / "openshift" / "99-ours.yaml").write_bytes(MACHINE_CONFIG)
    scheduler = directory / "manifests" / "cluster-scheduler-02-config.yml"
    scheduler.write_text(scheduler.read_text(encoding="utf-8").replace("Schedulable: true", "Schedulable: false"), encoding="utf-8")
    assert run(directory, "create", "ignition-configs") == 0
    return directory


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


# --- inputs and outputs ----------------------------------------------------------------------------------------------------


def test_manifests_take_the_install_config_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_install_config(tmp_path)
    assert run(tmp_path, "create", "manifests") == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".openshift_install.log",
        ".openshift_install_state.json",
        "manifests",
        "openshift",
    ]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "level=info msg=Consuming Install Config from target directory"
    assert lines[1] == (
        "level=warning msg=Making control-plane schedulable by setting MastersSchedulable to true for Scheduler cluster settings"
    )
    assert lines[-1] == f"level=info msg=Manifests created in: {tmp_path}/manifests and {tmp_path}/openshift"
    scheduler = yaml.safe_load((tmp_path / "manifests" / "cluster-scheduler-02-config.yml").read_text(encoding="utf-8"))
    assert scheduler["spec"]["mastersSchedulable"] is True
    infrastructure = yaml.safe_load((tmp_path / "manifests" / "cluster-infrastructure-02-config.yml").read_text(encoding="utf-8"))
    assert infrastructure["status"]["apiServerURL"] == "https://api.demo.metal.test:6443"
    assert infrastructure["status"]["platformStatus"] == {"type": "None"}
    config_map = yaml.safe_load((tmp_path / "manifests" / "cluster-config.yaml").read_text(encoding="utf-8"))
    shown = yaml.safe_load(config_map["data"]["install-config"])
    assert shown["metadata"]["name"] == "demo"
    assert shown["pullSecret"] == ""


def test_ignition_configs_take_the_manifests_away(finished: Path) -> None:
    present = sorted(str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file())
    assert present == [
        ".openshift_install.log",
        ".openshift_install_state.json",
        "auth/kubeadmin-password",
        "auth/kubeconfig",
        "bootstrap.ign",
        "master.ign",
        "metadata.json",
        "worker.ign",
    ]
    assert all(path.stat().st_mode & 0o007 == 0 for path in finished.rglob("*"))


def test_manifests_of_the_user_are_carried_along(finished: Path) -> None:
    files = files_of(finished / "bootstrap.ign")
    assert files["/opt/openshift/openshift/99-ours.yaml"] == MACHINE_CONFIG
    scheduler = yaml.safe_load(files["/opt/openshift/manifests/cluster-scheduler-02-config.yml"])
    assert scheduler["spec"]["mastersSchedulable"] is False


def test_an_old_state_file_wins_without_a_word(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: (copied / name).read_bytes() for name in ("bootstrap.ign", "metadata.json", "auth/kubeconfig")}
    for name in before:
        (copied / name).unlink()
    put_install_config(copied, metadata={"name": "another"})
    assert run(copied, "create", "ignition-configs") == 0

    assert {name: (copied / name).read_bytes() for name in before} == before
    assert not (copied / "install-config.yaml").exists()
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "level=info msg=Consuming Install Config from target directory",
        f"level=info msg=Ignition-Configs created in: {copied} and {copied}/auth",
    ]


def test_changed_manifests_make_new_configs_with_the_old_keys(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_of(copied / "bootstrap.ign")
    assert run(copied, "create", "manifests") == 0
    extra = MACHINE_CONFIG.replace(b"99-worker-ours", b"99-worker-extra")
    (copied / "manifests" / "extra.yml").write_bytes(extra)
    capsys.readouterr()
    assert run(copied, "create", "ignition-configs") == 0

    assert "Discarding the Bootstrap Ignition Config that was provided" in capsys.readouterr().err
    after = files_of(copied / "bootstrap.ign")
    assert after.pop("/opt/openshift/manifests/extra.yml") == extra
    assert b"99-worker-extra" in after.pop("/opt/openshift/manifests/cvo-overrides.yaml")
    del before["/opt/openshift/manifests/cvo-overrides.yaml"]
    assert after == before


# --- certificates ------------------------------------------------------------------------------------------------------------


def tls_of(finished: Path) -> dict[str, bytes]:
    """File names -> contents of all pairs, from the state: some are not in bootstrap.ign."""
    state = json.loads((finished / ".openshift_install_state.json").read_bytes())
    return {entry["Filename"]: base64.b64decode(entry["Data"]) for entry in state["*tls.RootCA"]["FileList"]}


def test_what_of_the_certificates_ends_after_a_day(finished: Path) -> None:
    """The node certificates of a bootstrap that was not started within it are refused."""
    found = {
        name.removesuffix(".crt"): x509.load_pem_x509_certificate(pem) for name, pem in tls_of(finished).items() if name.endswith(".crt")
    }
    assert len(found) == 24
    short = {name for name, each in found.items() if each.not_valid_after_utc - each.not_valid_before_utc == timedelta(days=1)}
    servers = {f"kube-apiserver-{name}-server" for name in ("lb", "internal-lb", "service-network", "localhost")}
    assert short == servers | {"kubelet-signer", "aggregator-ca", "apiserver-proxy", "aggregator-signer", "aggregator-client"}
    found["kube-apiserver-lb-server"].verify_directly_issued_by(found["kube-apiserver-lb-signer"])


def test_the_cluster_version_operator_ignores_the_manifests_until_the_bootstrap_is_complete(finished: Path) -> None:
    files = files_of(finished / "bootstrap.ign")
    spec = yaml.safe_load(files["/opt/openshift/manifests/cvo-overrides.yaml"])["spec"]
    ours = {
        "kind": "MachineConfig",
        "group": "machineconfiguration.openshift.io",
        "namespace": "",
        "name": "99-worker-ours",
        "unmanaged": True,
    }
    assert ours in spec["overrides"]
    assert all(entry["unmanaged"] is True and entry["kind"] != "ClusterVersion" for entry in spec["overrides"])
    assert (
        len(spec["overrides"])
        == len([path for path in files if path.startswith(("/opt/openshift/manifests/", "/opt/openshift/openshift/"))]) - 1
    )
    assert json.loads(files["/opt/openshift/original_cvo_overrides.patch"]) == {"spec": {"overrides": None}}


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (
            b"apiVersion: config.openshift.io/v1\nkind: Scheduler\nmetadata: {name: cluster}\n",
            "multiple manifests for group config.openshift.io kind Scheduler namespace  name cluster: "
            "manifests/cluster-scheduler-02-config.yml, openshift/ours.yaml",
        ),
        (b"metadata: {name: a}\n", """could not unmarshal "openshift/ours.yaml": Object 'Kind' is missing in"""),
        (b"a: [b\n", 'could not unmarshal "openshift/ours.yaml": error converting YAML to JSON'),
    ],
)
def test_manifests_that_the_real_one_refuses(tmp_path: Path, content: bytes, refusal: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_install_config(tmp_path)
    assert run(tmp_path, "create", "manifests") == 0
    (tmp_path / "openshift" / "ours.yaml").write_bytes(content)
    assert run(tmp_path, "create", "ignition-configs") != 0
    assert refusal in capsys.readouterr().err


# --- install-config: cases beside those of tests/install_configs.yml


def test_unknown_fields_are_warned_about_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_install_config(tmp_path, networking={"networkType": "OVNKubernetes", "flavour": "sweet"})
    monkeypatch.setenv("SANDBOX_INSTALLER_STRICT", "1")
    assert run(tmp_path, "create", "manifests") == 3
    assert 'json: unknown field "flavour"' in capsys.readouterr().err
    monkeypatch.delenv("SANDBOX_INSTALLER_STRICT")
    assert run(tmp_path, "create", "manifests") == 0
    warned = capsys.readouterr().err
    assert "level=warning msg=failed to parse first occurrence of unknown field: failed to unmarshal install-config.yaml: " in warned
    assert all(b"flavour" not in path.read_bytes() for path in (tmp_path / "manifests").iterdir())
