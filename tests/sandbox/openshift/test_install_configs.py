"""The stand-in says of an install-config what the real installer says: every case of install_configs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rendering import render
from sandbox.openshift.installer import catalogue, cli
from tests.install_configs import GROUND, InstallConfigCase, cases

CASES = [case for case in cases() if case.entry.get("standin") != "none"]
SETTINGS: dict[str, Any] = {
    "distribution": "ocp",
    "architecture": "x86_64",
    "platform": "none",
    "platform_name": "equinix-metal",
    "network_type": "OVNKubernetes",
    "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "service_networks": ["172.30.0.0/16"],
    "machine_networks": ["10.0.0.0/16"],
}
CODES = {"accepted": 0, "warned": 0, "refused": 3}


def rendered(case: InstallConfigCase) -> dict[str, Any]:
    """What the role ignition writes for these variables."""
    hosts = case.entry.get("hosts", {}).get("control_plane", [0, 1, 2])
    settings = SETTINGS | {name.removeprefix("openshift_"): value for name, value in case.variables.items()}
    if str(settings.get("metal_plan", "")).endswith("arm64"):
        settings["architecture"] = "aarch64"
    settings["control_plane_replicas"] = len(hosts)
    further: dict[str, Any] = case.entry.get("config", {})
    return render(settings, settings.get("install_config")) | further


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_stand_in_says_what_the_installer_says(
    case: InstallConfigCase, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = catalogue.release(case.entry.get("release", GROUND["openshift_version"]), "x86_64")
    monkeypatch.setattr(cli, "baked_release", lambda: (release, "http://127.0.0.1:8080/pub/openshift-v4"))
    (tmp_path / "install-config.yaml").write_text(yaml.safe_dump(rendered(case)), encoding="utf-8")

    code = cli.main(["create", "install-config", "--dir", str(tmp_path)])

    log = capsys.readouterr().err
    assert code == case.entry.get("code", CODES[case.installer]), log
    # A text of several lines is several entries of the log.
    result = "\n".join(line.partition(" msg=")[2] or line for line in log.splitlines())
    for text in case.texts:
        assert " ".join(text.split()) in result
    if case.installer != "refused":
        assert ("level=warning" in log) == (case.installer == "warned"), log


def test_every_case_has_a_text_unless_it_is_accepted() -> None:
    assert not [case.name for case in cases() if (case.installer == "accepted") != (not case.texts)]
