"""The table of install-configs, ``install_configs.yml``, as tests read it."""

import io
from collections.abc import Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal
from unittest.mock import patch

import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.install_config.rendering import render
from sandbox.openshift.installer import catalogue, cli

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "install_configs.yml").read_text(encoding="utf-8"))
GROUND: dict[str, Any] = TABLE["ground"]

SETTINGS: dict[str, Any] = {
    "distribution": "ocp",
    "architecture": "x86_64",
    "platform": "none",
    "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "service_networks": ["172.30.0.0/16"],
    "machine_networks": ["10.0.0.0/16"],
}

Answer = Literal["accepted", "warned", "refused"]
VERDICTS: Mapping[Answer, str] = {"accepted": "passed", "warned": "warning", "refused": "failed"}


@dataclass(frozen=True)
class InstallConfigCase:
    """One entry of the table, with its names put in."""

    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def installer(self) -> Answer:
        answer: Answer = self.entry.get("installer", "refused")
        return answer

    @property
    def variables(self) -> dict[str, Any]:
        """Of the inventory."""
        return {**GROUND, **self.entry.get("variables", {})}

    @property
    def texts(self) -> list[str]:
        """Pieces of what the installer says."""
        text = self.entry.get("text", [])
        return [text] if isinstance(text, str) else list(text)

    @property
    def preflight(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Verdict by check, of those that do not pass, and pieces of what checks have found."""
        verdicts = {"installer validation": VERDICTS[self.installer]} if self.installer != "accepted" else {}
        texts = [("installer validation", text.strip("[],")) for text in self.texts]
        if "preflight" in self.entry:
            verdict, check, text = self.entry["preflight"]
            verdicts[check] = verdict
            texts.append((check, text))
        return verdicts | self.entry.get("also", {}), texts

    @property
    def release(self) -> str:
        return str(self.entry.get("release", self.variables["openshift_version"]))

    @property
    def install_config(self) -> dict[str, Any]:
        """What the role ignition writes for these variables."""
        hosts = self.entry.get("hosts", {}).get("control_plane", [0, 1, 2])
        settings = SETTINGS | {name.removeprefix("openshift_"): value for name, value in self.variables.items()}
        if str(settings.get("metal_plan", "")).endswith("arm64"):
            settings["architecture"] = "aarch64"
        settings["control_plane_replicas"] = len(hosts)
        return render(settings, settings.get("install_config"))

    def ask_stand_in(self, folder: Path) -> tuple[int, str]:
        return ask_stand_in(self.install_config, folder, self.release)


def ask_stand_in(install_config: Mapping[str, Any], folder: Path, version: str = GROUND["openshift_version"]) -> tuple[int, str]:
    """Return exit code and log of the sandbox's openshift-install of this release, which reads the install-config from this folder."""
    release = catalogue.release(version, "x86_64")
    (folder / "install-config.yaml").write_text(yaml.safe_dump(dict(install_config)), encoding="utf-8")
    log = io.StringIO()
    with patch.object(cli, "baked_release", lambda: (release, "http://127.0.0.1:8080/pub/openshift-v4")), redirect_stderr(log):
        code = cli.main(["create", "install-config", "--dir", str(folder)])
    return code, log.getvalue()


def cases() -> list[InstallConfigCase]:
    names = {name: str(value) for name, value in TABLE["names"].items()}
    return [InstallConfigCase(_filled(entry, names)) for entry in TABLE["cases"]]


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(names)
    if isinstance(value, list):
        return [_filled(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return value
