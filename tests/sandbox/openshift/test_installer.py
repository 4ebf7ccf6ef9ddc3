"""The openshift-install stand-in: commands, files, certificates."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from sandbox.openshift.installer import catalogue, install_config
from sandbox.openshift.installer.cli import main
from sandbox.openshift.installer.errors import InstallerError
from sandbox.openshift.installer.log import Log

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


def test_platform_external_and_real_computes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    external = {"external": {"platformName": "equinixmetal", "cloudControllerManager": "External"}}
    put_install_config(tmp_path, platform=external, compute=[{"name": "worker", "replicas": 2}])
    assert run(tmp_path, "create", "manifests") == 0

    assert "MastersSchedulable" not in capsys.readouterr().err
    infrastructure = yaml.safe_load((tmp_path / "manifests" / "cluster-infrastructure-02-config.yml").read_text(encoding="utf-8"))
    assert infrastructure["spec"]["platformSpec"] == {"external": {"platformName": "equinixmetal"}, "type": "External"}
    assert infrastructure["status"]["platformStatus"]["external"] == {"cloudControllerManager": {"state": "External"}}


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


def test_what_is_no_manifest_stays(tmp_path: Path) -> None:
    put_install_config(tmp_path)
    assert run(tmp_path, "create", "manifests") == 0
    (tmp_path / "manifests" / "README").write_text("mine", encoding="utf-8")
    assert run(tmp_path, "create", "ignition-configs") == 0
    assert [path.name for path in (tmp_path / "manifests").iterdir()] == ["README"]
    assert not (tmp_path / "openshift").exists()


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

DAY, YEAR, DECADE = timedelta(days=1), timedelta(days=365), timedelta(days=3650)
SIGNED = [
    # name, signer, lifetime, common name, organization
    ("root-ca", "root-ca", DECADE, "root-ca", []),
    ("machine-config-server", "root-ca", DECADE, "system:machine-config-server", []),
    ("kube-apiserver-lb-signer", "kube-apiserver-lb-signer", DECADE, "kube-apiserver-lb-signer", []),
    ("kube-apiserver-lb-server", "kube-apiserver-lb-signer", DAY, "system:kube-apiserver", ["kube-master"]),
    ("kube-apiserver-internal-lb-server", "kube-apiserver-lb-signer", DAY, "system:kube-apiserver", ["kube-master"]),
    ("kube-apiserver-service-network-signer", "kube-apiserver-service-network-signer", DECADE, "kube-apiserver-service-network-signer", []),
    ("kube-apiserver-service-network-server", "kube-apiserver-service-network-signer", DAY, "system:kube-apiserver", ["kube-master"]),
    ("kube-apiserver-localhost-signer", "kube-apiserver-localhost-signer", DECADE, "kube-apiserver-localhost-signer", []),
    ("kube-apiserver-localhost-server", "kube-apiserver-localhost-signer", DAY, "system:kube-apiserver", ["kube-master"]),
    ("admin-kubeconfig-signer", "admin-kubeconfig-signer", DECADE, "admin-kubeconfig-signer", []),
    ("admin-kubeconfig-client", "admin-kubeconfig-signer", DECADE, "system:admin", ["system:masters"]),
    ("kubelet-signer", "kubelet-signer", DAY, "kubelet-signer", []),
    ("journal-gatewayd", "root-ca", DECADE, "journal-gatewayd", ["OpenShift Bootstrap"]),
    ("aggregator-ca", "aggregator-ca", DAY, "aggregator", []),
    ("apiserver-proxy", "aggregator-ca", DAY, "system:kube-apiserver-proxy", ["kube-master"]),
    ("aggregator-signer", "aggregator-signer", DAY, "aggregator-signer", []),
    ("aggregator-client", "aggregator-signer", DAY, "system:kube-apiserver-proxy", ["kube-master"]),
    ("kube-control-plane-signer", "kube-control-plane-signer", YEAR, "kube-control-plane-signer", []),
    (
        "kube-control-plane-kube-controller-manager-client",
        "kube-control-plane-signer",
        YEAR,
        "system:admin",
        ["system:masters"],
    ),
    ("kube-control-plane-kube-scheduler-client", "kube-control-plane-signer", YEAR, "system:admin", ["system:masters"]),
    ("kube-apiserver-to-kubelet-signer", "kube-apiserver-to-kubelet-signer", YEAR, "kube-apiserver-to-kubelet-signer", []),
    ("kube-apiserver-to-kubelet-client", "kube-apiserver-to-kubelet-signer", YEAR, "system:kube-apiserver", ["kube-master"]),
    ("kubelet-bootstrap-kubeconfig-signer", "kubelet-bootstrap-kubeconfig-signer", DECADE, "kubelet-bootstrap-kubeconfig-signer", []),
    (
        "kubelet-client",
        "kubelet-bootstrap-kubeconfig-signer",
        DECADE,
        "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
        ["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"],
    ),
]


def tls_of(finished: Path) -> dict[str, bytes]:
    """File names -> contents of all pairs, from the state: some are not in bootstrap.ign."""
    state = json.loads((finished / ".openshift_install_state.json").read_bytes())
    return {entry["Filename"]: base64.b64decode(entry["Data"]) for entry in state["*tls.RootCA"]["FileList"]}


def certificate(finished: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(tls_of(finished)[f"{name}.crt"])


@pytest.mark.parametrize("row", SIGNED, ids=lambda row: str(row[0]))
def test_who_signs_whom_and_how_long(finished: Path, row: tuple[str, str, timedelta, str, list[str]]) -> None:
    name, signer, lifetime, common_name, organization = row
    checked = certificate(finished, name)
    checked.verify_directly_issued_by(certificate(finished, signer))
    assert checked.not_valid_after_utc - checked.not_valid_before_utc == lifetime
    assert checked.not_valid_before_utc <= datetime.now(UTC)
    assert [value.value for value in checked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [common_name]
    assert [value.value for value in checked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == organization
    assert checked.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is (name == signer)
    key = checked.public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == 2048


def test_every_certificate_is_in_the_table(finished: Path) -> None:
    assert {Path(name).stem for name in tls_of(finished)} == {row[0] for row in SIGNED}


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

RELEASE = catalogue.release("4.19.42", "x86_64")
BAD = {
    "no version": ({"apiVersion": ""}, "failed to upconvert install config: apiVersion: Required value: no version was provided"),
    "old version": ({"apiVersion": "v1beta2"}, 'apiVersion: Invalid value: "v1beta2": cannot upconvert from version v1beta2'),
    "no name": ({"metadata": {}}, 'metadata.name: Invalid value: "": a lowercase RFC 1123 subdomain'),
    "no base domain": ({"baseDomain": None}, 'baseDomain: Invalid value: "": '),
    "no platform": ({"platform": {}}, 'platform: Invalid value: "": must specify one of the platforms (aws, azure, '),
    "a platform of nothing": ({"platform": {"none": None}}, 'platform: Invalid value: "": must specify one of the platforms (aws, azure, '),
    "another platform": ({"platform": {"aws": {"region": "eu-west-1"}}}, 'platform: Invalid value: "aws"'),
    "bad key": ({"sshKey": "ssh-rsa nonsense"}, "ssh: no key found"),
    "no control plane": ({"controlPlane": {"name": "master", "replicas": 0}}, "number of control plane replicas must be positive"),
    "two pools": ({"compute": [{"name": "worker"}, {"name": "worker"}]}, 'compute[1].name: Duplicate value: "worker"'),
    "negative": ({"compute": [{"name": "worker", "replicas": -1}]}, "compute[0].replicas: Invalid value: -1"),
    "replicas as text": ({"controlPlane": {"name": "master", "replicas": "3"}}, "cannot unmarshal string into Go struct field"),
    "unknown architecture": ({"controlPlane": {"name": "master", "architecture": "z80"}}, 'Unsupported value: "z80"'),
    "hyperthreading": ({"controlPlane": {"name": "master", "hyperthreading": "on"}}, "controlPlane.hyperthreading: Unsupported value"),
    "proxy": ({"proxy": {"httpsProxy": "proxy:3128"}}, 'proxy.httpsProxy: Unsupported value: "proxy": supported values: "http", "https"'),
    "no network": ({"networking": {"serviceNetwork": ["172.30.0.0/33"]}}, "invalid CIDR address: 172.30.0.0/33"),
    "services over pods": (
        {"networking": {"serviceNetwork": ["10.128.0.0/16"]}},
        "cluster network must not overlap with service network 0",
    ),
    "an entry of nothing": ({"networking": {"machineNetwork": [None]}}, "networking.machineNetwork[0]: Invalid value: "),
    "host prefix": (
        {"networking": {"clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 8}]}},
        "cluster network host subnetwork prefix must not be larger size than CIDR 10.128.0.0/14",
    ),
    "metadata a list": ({"metadata": ["demo"]}, "cannot unmarshal array into Go struct field InstallConfig.metadata"),
}


@pytest.mark.parametrize(("changes", "text"), BAD.values(), ids=BAD)
def test_a_bad_install_config(changes: Mapping[str, Any], text: str) -> None:
    with pytest.raises(InstallerError) as caught:
        install_config.read(yaml.safe_dump(desired(**changes)).encode(), RELEASE, Log(stream=io.StringIO()))
    assert caught.value.code == 3
    assert text in caught.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"networking": None},
        {"compute": None, "controlPlane": None},
        {"proxy": {"httpProxy": "http://proxy.metal.test:3128"}},
        {"capabilities": {"baselineCapabilitySet": "v4.18"}, "metadata": {"name": "a.b"}},
        {"apiVersion": "v1beta4", "controlPlane": {"name": "boss"}, "networking": {"machineNetwork": [], "type": "ovnkubernetes"}},
        {"networking": {"machineCIDR": "192.168.0.0/24", "clusterNetworks": [{"cidr": "10.128.0.0/14", "hostSubnetLength": 9}]}},
        {"metadata": {"name": 5}, "networking": {"MachineNetwork": [{"CIDR": "192.168.0.0/24"}]}},
    ],
)
def test_a_good_install_config(changes: Mapping[str, Any]) -> None:
    text = io.StringIO()
    install_config.read(yaml.safe_dump(desired(**changes)).encode(), RELEASE, Log(stream=text))
    assert text.getvalue() == ""


@pytest.mark.parametrize("text", ["- a", "just text", "a: b: c", "", "7"])
def test_what_is_no_install_config_at_all(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "install-config.yaml").write_text(text, encoding="utf-8")
    assert run(tmp_path, "create", "manifests") == 3
    assert 'failed to load asset "Install Config": failed to create install config: ' in capsys.readouterr().err


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
