"""A kubeconfig that a user gives: as path or text, with files beside it, with several contexts, or malformed."""

import copy
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder.kubeconfig import (
    KubeconfigError,
    kubeconfig_text,
    unique_certificates,
)

SECRET = "pl4nted-secret"
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "mine",
    "clusters": [
        {"name": "other", "cluster": {"server": "https://api.other.test:6443"}},
        {"name": "ours", "cluster": {"server": "https://api.demo.test:6443", "certificate-authority-data": "Q0E="}},
    ],
    "contexts": [{"name": "mine", "context": {"cluster": "ours", "user": "me"}}, {"name": "other", "context": {"cluster": "other"}}],
    "users": [{"name": "me", "user": {"token": SECRET}}],
}


def changed(**fields: Any) -> str:
    return yaml.safe_dump({**copy.deepcopy(CONFIG), **fields})


def test_path_text_and_parsed_text_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(changed(), encoding="utf-8")
    texts = {kubeconfig_text(each) for each in (str(path), f"  {path}\n", changed(), CONFIG)}
    assert len(texts) == 1
    assert kubeconfig_text(texts.copy().pop()) in texts


def test_files_beside_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / "tls" / name).write_text(name, encoding="utf-8")
    path = tmp_path / "kubeconfig"
    cluster = {"server": "https://api.demo.test:6443", "certificate-authority": "tls/ca.crt"}
    user = {"client-certificate": "tls/me.crt", "client-key": str(tmp_path / "tls" / "me.key")}
    path.write_text(changed(clusters=[{"name": "ours", "cluster": cluster}], users=[{"name": "me", "user": user}]), encoding="utf-8")
    config = yaml.safe_load(kubeconfig_text(str(path)))
    assert config["clusters"][0]["cluster"] == {
        "server": "https://api.demo.test:6443",
        "certificate-authority-data": b64encode(b"ca.crt").decode(),
    }
    assert config["users"][0]["user"]["client-key-data"] == b64encode(b"me.key").decode()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (changed(**{"current-context": "none"}), "no context 'none'"),
        (changed(users=[]), "no user 'me'"),
        (changed(clusters=[{"name": "ours", "cluster": {"server": "http://api.demo.test"}}]), "https"),
        (f"token: {SECRET}\n\tuser: [", "no YAML at line 2"),
        (changed(users=[{"name": "me", "user": {"tokenFile": "/nowhere/token"}}]), "/nowhere/token cannot be read"),
    ],
)
def test_a_malformed_one_is_refused_without_its_content(given: str, reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason) as refused:
        kubeconfig_text(given)
    assert SECRET not in str(refused.value)


def test_certificates_are_merged_once() -> None:
    one, two = (f"-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n" for name in ("QQ==", "Qg=="))
    assert unique_certificates([f"# a comment\n{one}{two}", "", one]) == one + two
