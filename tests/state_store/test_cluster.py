"""The role state_store alone, against a real API server: the Secret that has the archive."""

import base64
import os
from pathlib import Path
from typing import Any

from tests.cluster.control_plane import ControlPlane
from tests.state_store.role import KUBEADMIN, folder_of, play

SECRET = "/api/v1/namespaces/kube-system/secrets/equinix-metal-openshift-state"
BUNDLE = "/api/v1/namespaces/kube-system/secrets/equinix-metal-openshift-failure"
STORE: dict[str, Any] = {"openshift_state_store": "cluster"}


def archives(cluster: ControlPlane) -> list[str]:
    return list(cluster.call("GET", SECRET).json()["data"])


def test_the_secret_has_the_newest_archive_and_restores_a_folder(cluster: ControlPlane, tmp_path: Path) -> None:
    first = folder_of(tmp_path / "first")
    # Without a kubeconfig there is no cluster yet, and nothing is saved.
    assert play(first, "main", "save", **STORE)[0] == 0
    assert not (first / "state-store.json").exists()

    cluster.write_kubeconfig(first / "kubeconfig", server=cluster.url)
    code, output = play(first, "save", "save", **STORE)
    assert code == 0, output
    (saved,) = archives(cluster)
    assert saved.startswith("00000001-")
    assert base64.b64decode(cluster.call("GET", SECRET).json()["data"][saved]).startswith(b"$ANSIBLE_VAULT;1.1;AES256")

    (first / "release.json").write_text("{}", encoding="utf-8")
    assert play(first, "save", **STORE)[0] == 0
    assert [name[:8] for name in archives(cluster)] == ["00000002"]

    # As the role ignition writes it with openshift_kubeconfig.
    second = folder_of(tmp_path / "second")
    (second / "ignition" / "auth" / "kubeadmin-password").unlink()
    cluster.write_kubeconfig(second / "kubeconfig", server=cluster.url)
    code, output = play(second, "main", "main", "save", **STORE)
    assert code == 0, output
    assert output.count("(infraID demo-abc12, generation 2)") >= 1
    assert (second / "ignition" / "auth" / "kubeadmin-password").read_text(encoding="utf-8") == KUBEADMIN
    assert [name[:8] for name in archives(cluster)] == ["00000002"]

    other = folder_of(tmp_path / "other", "demo-other")
    cluster.write_kubeconfig(other / "kubeconfig", server=cluster.url)
    code, output = play(other, "main", **STORE)
    assert code != 0
    assert "has the files of the install demo-other" in " ".join(output.split())

    # What does not fit is refused with the largest files, and the Secret stays as it is.
    (first / "ignition" / "large.json").write_bytes(os.urandom(400_000))
    code, output = play(first, "save", **STORE)
    assert code != 0
    assert "Its largest files are ignition/large.json" in " ".join(output.split())
    assert [name[:8] for name in archives(cluster)] == ["00000002"]

    bundle = tmp_path / "demo.metal.test-failed-20261123T120000Z.tar.gz"
    bundle.write_bytes(b"redacted")
    assert play(second, "failure", state_store_bundle=str(bundle), **STORE)[0] == 0
    assert list(cluster.call("GET", BUNDLE).json()["data"]) == [bundle.name]
