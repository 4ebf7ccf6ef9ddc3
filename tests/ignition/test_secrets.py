"""What the role shows has no secret in it: neither own manifests nor what a real installer repeats when it refuses."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.openshift.assets import files_of
from tests.secrets.keeping import keeping

from .conftest import SSH_KEY, Role

CORE = "planted-7f3a91"
PULL_SECRET = {"auths": {"quay.io": {"auth": "cGxhbnRlZDpwbGFudGVkLTdmM2E5MQ==", "email": f"{CORE}@metal.test"}}}
PLANTED = {"the secret": CORE, "its base64": "cGxhbnRlZDpwbGFudGVkLTdmM2E5MQ"}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ours"}, "stringData": {"key": CORE}}
INVALID = (
    'level=error msg=failed to fetch Install Config: failed to load asset "Install Config": failed to create install config:'
    ' invalid "install-config.yaml" file: '
)


# What is set, what the installer says of it (in the words of the real one), and what has to stay of that.
REFUSALS: dict[str, tuple[dict[str, Any], str, str]] = {
    "proxy": (
        {"openshift_proxy": {"httpProxy": f"http://user:{CORE}@10.128.0.5:3128"}},
        f'proxy.httpProxy: Invalid value: "http://user:{CORE}@10.128.0.5:3128": proxy value is part of the cluster networks',
        "proxy value is part of the cluster networks",
    ),
    "pull secret": ({}, f"pullSecret: Invalid value: {json.dumps(json.dumps(PULL_SECRET))}: auths required", "auths required"),
}


@pytest.fixture
def secretive(role: Role, tmp_path: Path) -> Role:
    """The role with an older cluster's files gone, as far as it is made anew."""
    (role.files / "inputs.sha256").write_text("another", encoding="utf-8")
    return role


def output_of(role: Role, folder: Path, *, fails: bool = False, **variables: Any) -> str:
    """What was shown, in everything that keeps it: no planted secret."""
    with keeping(folder) as keeper:
        watched = replace(
            role, environment={**role.environment, **keeper.environment, "ANSIBLE_VERBOSITY": "3", "ANSIBLE_DIFF_ALWAYS": "1"}
        )
        done = watched.run(**variables)
    assert done.returncode == (2 if fails else 0), done.stdout[-5000:] + done.stderr[-2000:]
    assert keeper.revealed(PLANTED, done.stdout, done.stderr) == []
    return " ".join(done.stdout.split())


def test_manifests_may_contain_secrets(secretive: Role, tmp_path: Path) -> None:
    manifest = tmp_path / "ours.yml"
    manifest.write_text(yaml.safe_dump(SECRET), encoding="utf-8")
    shown = output_of(secretive, tmp_path / "kept", openshift_manifests=[str(manifest)], openshift_pull_secret=PULL_SECRET)
    assert "item=ours.yml" in shown
    files = files_of(json.loads((secretive.files / "bootstrap.ign").read_bytes()))
    assert yaml.safe_load(files["/opt/openshift/openshift/ours.yml"]) == SECRET


@pytest.mark.parametrize(("refused", "command"), [("proxy", "manifests"), ("pull secret", "ignition-configs")])
def test_a_refused_manifest_is_reported_with_its_reason_and_without_secrets(
    secretive: Role, tmp_path: Path, refused: str, command: str
) -> None:
    variables, text, reason = REFUSALS[refused]
    real = secretive.files / "openshift-install"
    own = tmp_path / "openshift-install"
    own.write_text(
        f'#!/bin/sh\ncase "$2" in\n{command}) cat >&2 <<\\END\n{INVALID}{text}\nEND\nexit 3;;\nesac\nexec {real.resolve()} "$@"\n',
        encoding="utf-8",
    )
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    given = {"openshift_pull_secret": PULL_SECRET, "openshift_ssh_public_key": SSH_KEY, **variables}
    shown = output_of(secretive, tmp_path / "kept", fails=True, openshift_installer=str(own), **given)
    assert reason in shown
    assert f"create {command}" in shown and "exit code 3" in shown
