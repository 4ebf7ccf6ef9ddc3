"""Where the folders of clusters are: beside the project's ansible.cfg, wherever a playbook is started from."""

from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder.folders import clusters_directory, kept_place
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.folders import cluster_directory

HOME, HERE = Path("/home/user"), Path("/srv/elsewhere")


@pytest.mark.parametrize(
    ("given", "config", "folder"),
    [
        ("", "/srv/project/ansible.cfg", "/srv/project/clusters"),
        ("", "/home/user/.ansible.cfg", "/srv/elsewhere/clusters"),
        ("", "/etc/ansible/ansible.cfg", "/srv/elsewhere/clusters"),
        ("", None, "/srv/elsewhere/clusters"),
        ("/data/clusters", "/srv/project/ansible.cfg", "/data/clusters"),
        ("~/clusters", "/srv/project/ansible.cfg", "/home/user/clusters"),
    ],
)
def test_clusters_are_beside_the_projects_configuration(given: str, config: str | None, folder: str) -> None:
    assert clusters_directory(given, config, HERE, HOME) == Path(folder)


def test_the_folder_of_a_cluster_has_its_full_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The shell's variable is not the folder that a process works in: AWX, cron and `cd` in a script differ.
    monkeypatch.setenv("PWD", "/somewhere/else")
    assert cluster_directory("", "demo", "metal.test", "all") == str(tmp_path / "all" / "demo.metal.test")
    assert cluster_directory("own", "demo", "metal.test", "all") == str(tmp_path / "own")


@pytest.mark.parametrize(
    ("path", "store", "expected"),
    [
        ("/work/clusters/demo/kubeconfig", "folder", "/work/clusters/demo/kubeconfig"),
        ("/node/awx_7/project/clusters/demo/kubeconfig", "cluster", "kubeconfig in the state store in the cluster"),
        ("/node/awx_7/project/failure.tar.gz", "folder", "failure.tar.gz, which is removed with the container of this job"),
    ],
)
def test_where_a_file_is_after_the_run(path: str, store: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of AWX removes its private folder, so a path in it says nothing."""
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", "/node/awx_7")
    assert kept_place(path, store) == expected
