"""A machine's Ignition pointer: its pool, and the unit that gives the kubelet its flags, whose script runs as it is."""

import json
import os
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.files import final_config
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.pointer import (
    SCRIPT,
    is_registrable,
    machine_pointer,
    with_own_settings,
)

URL = "https://api-int.demo.metal.test:22623/config/worker"
POINTER = json.dumps({"ignition": {"config": {"merge": [{"source": URL}]}, "version": "3.2.0"}}, separators=(",", ":"))
TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}

UNIT = """\
# /etc/systemd/system/kubelet.service
[Unit]
Description=Kubernetes Kubelet

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
EnvironmentFile=-/etc/kubernetes/kubelet-env

ExecStart=/usr/local/bin/kubenswrapper \\
    /usr/bin/kubelet \\
      --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} \\
      --cloud-provider= \\
       \\
      --v=${KUBELET_LOG_LEVEL}

Restart=always

# /etc/systemd/system/kubelet.service.d/10-mco-default-madv.conf
[Service]
Environment="GODEBUG=x509ignoreCN=0,madvdontneed=1"
"""
COMMAND = (
    "/usr/local/bin/kubenswrapper /usr/bin/kubelet --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},"
    "${CUSTOM_KUBELET_LABELS} --cloud-provider=  --v=${KUBELET_LOG_LEVEL}"
)


@pytest.mark.parametrize(
    ("label", "may"),
    [
        ("example.com/zone", True),
        ("topology.kubernetes.io/zone", True),
        ("node-role.kubernetes.io/infra", False),
        ("node-restriction.kubernetes.io/a", False),
        ("sub.k8s.io/a", False),
        ("notkubernetes.io/a", True),
    ],
)
def test_labels_that_a_kubelet_may_set(label: str, may: bool) -> None:
    assert is_registrable(label) is may


def test_a_machine_without_own_settings_has_the_pointer_of_its_role() -> None:
    for machine in ({}, {"labels": {"node-role.kubernetes.io/infra": ""}, "taints": []}):
        assert machine_pointer(POINTER, machine) == POINTER
    assert machine_pointer("", {"taints": [TAINT]}) == ""


def test_the_pointer_leads_to_the_pool_of_the_machine() -> None:
    pointer = json.loads(machine_pointer(POINTER, {"machine_config_pool": "infra"}))
    assert pointer["ignition"]["config"]["merge"] == [{"source": URL.replace("/worker", "/infra")}]
    assert set(pointer) == {"ignition"}


def test_the_pointer_has_the_flags_of_the_kubelet() -> None:
    machine = {"labels": {"b": "2", "a": "", "node-role.kubernetes.io/infra": ""}, "taints": [TAINT, {"key": "x", "effect": "NoExecute"}]}
    pointer = json.loads(machine_pointer(POINTER, machine))
    (file,) = pointer["storage"]["files"]
    assert (file["path"], file["mode"]) == ("/usr/local/bin/kubelet-registration", 0o755)
    assert b64decode(file["contents"]["source"].partition("base64,")[2]).decode() == SCRIPT
    (unit,) = pointer["systemd"]["units"]
    flags = "--node-labels=a=,b=2 --register-with-taints=dedicated=infra:NoSchedule,x=:NoExecute"
    assert f"ExecStart=/usr/local/bin/kubelet-registration {flags}\n" in unit["contents"]
    assert unit["enabled"]


def test_on_the_platform_metal_the_config_of_the_machine_has_its_settings() -> None:
    machine: dict[str, Any] = {"taints": [TAINT], "machine_config_pool": "infra"}
    pointer = with_own_settings(json.loads(POINTER), machine)
    reporter = {"name": "report", "script": "#!/bin/sh\n", "unit": "[Unit]\n"}
    config = final_config(pointer, "infra-0.demo.metal.test", {"metadata_url": "http://metadata.test/metadata", "reporter": reporter})
    paths = [file["path"] for file in config["storage"]["files"]]
    assert {"/usr/local/bin/kubelet-registration", "/etc/hostname", "/usr/local/bin/report"} <= set(paths)
    assert [each["name"] for each in config["systemd"]["units"]] == ["kubelet-registration.service", "report.service"]
    assert config["ignition"]["config"]["merge"][0]["source"].endswith("/config/infra")
    plain = final_config(json.loads(POINTER), "worker-0", {"metadata_url": ""})
    assert "systemd" not in plain
    assert json.loads(POINTER)["ignition"]["config"]["merge"][0]["source"] == URL, "the pointer of the role is not changed"


def run(folder: Path, unit: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a systemctl that prints this unit and writes down how it is called."""
    programs = folder / "bin"
    programs.mkdir()
    (folder / "unit").write_text(unit, encoding="utf-8")
    systemctl = programs / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$*" >>{folder}/calls\n[ "$1" != cat ] || cat {folder}/unit\n', encoding="utf-8")
    systemctl.chmod(0o755)
    script = folder / "kubelet-registration"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "KUBELET_REGISTRATION_ROOT": str(folder)}
    return subprocess.run(["bash", str(script), *flags], env=environment, capture_output=True, text=True, check=False)


def written(folder: Path) -> str:
    return (folder / "run/systemd/system/kubelet.service.d/90-registration.conf").read_text(encoding="utf-8")


def test_the_script_appends_the_flags_to_the_command_of_the_unit(tmp_path: Path) -> None:
    done = run(tmp_path, UNIT, "--node-labels=a=1", "--register-with-taints=k=v:NoSchedule")
    assert (done.returncode, done.stderr) == (0, "")
    command = f"{COMMAND} --node-labels=a=1 --register-with-taints=k=v:NoSchedule"
    lines = written(tmp_path).splitlines()
    assert lines[:2] == ["[Service]", "ExecStart="]
    assert lines[2].split() == f"ExecStart={command}".split()
    assert (tmp_path / "calls").read_text(encoding="utf-8").splitlines() == ["cat kubelet.service", "daemon-reload"]


def test_the_script_keeps_the_taints_of_the_unit(tmp_path: Path) -> None:
    unit = UNIT.replace("--cloud-provider= ", "--register-with-taints=node-role.kubernetes.io/master=:NoSchedule ")
    assert run(tmp_path, unit, "--register-with-taints=k=v:NoSchedule").returncode == 0
    assert written(tmp_path).rstrip().endswith("--register-with-taints=k=v:NoSchedule,node-role.kubernetes.io/master=:NoSchedule")


def test_the_last_command_of_the_drop_ins_counts(tmp_path: Path) -> None:
    unit = UNIT + "\n# /etc/systemd/system/kubelet.service.d/50-own.conf\n[Service]\nExecStart=\nExecStart=/opt/kubelet --v=4\n"
    assert run(tmp_path, unit, "--node-labels=a=1").returncode == 0
    assert written(tmp_path).splitlines()[2] == "ExecStart=/opt/kubelet --v=4 --node-labels=a=1"
