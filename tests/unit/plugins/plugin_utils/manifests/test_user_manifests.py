"""Manifests in files and folders are checked before an installer takes them."""

from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.user_manifests import user_manifests as manifests

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ours\n"
BAD = {
    "not YAML (line 2)": "kind: [\n:",
    "is not a Kubernetes object": "- kind: ConfigMap\n",
    "is a Butane config: run butane": "variant: openshift\nversion: 4.20.0\nmetadata: {name: 99-worker-chrony}\n",
    "is a Kustomization, which openshift-install does not build": (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: all}\nresources: [a.yaml]\n"
    ),
    "document 2 has no kind": GOOD + "---\napiVersion: v1\nmetadata: {name: theirs}\n",
}


def test_a_file_and_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.yaml").write_text(GOOD + "---\n" + GOOD, encoding="utf-8")
    (folder / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours"}}', encoding="utf-8")
    (folder / "README.md").write_text("no manifest", encoding="utf-8")
    (tmp_path / "c.yml").write_text(GOOD, encoding="utf-8")
    found = manifests([str(folder), str(tmp_path / "c.yml")])
    assert [each["name"] for each in found] == ["a.json", "b.yaml", "c.yml"]
    assert found[2]["content"] == GOOD


@pytest.mark.parametrize(("result", "text"), BAD.items())
def test_what_is_no_manifest_is_told(result: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CollectionError) as problem:
        manifests([str(path)])
    assert str(path) in str(problem.value)
    assert result in str(problem.value)


def test_everything_is_told_at_once(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.yml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yml").write_text("- 1\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text(GOOD, encoding="utf-8")
    paths = ["one", "two", "bad.yml", "notes.txt", "missing.yml"]
    with pytest.raises(CollectionError, match="4 problems") as problem:
        manifests([str(tmp_path / path) for path in paths])
    for result in (
        "has the same name as",
        "is not a Kubernetes object",
        "reads only files .yml, .yaml, .json",
        "missing.yml: cannot be read",
    ):
        assert result in str(problem.value)


def test_a_folder_without_manifests_is_refused_and_its_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "99-worker-chrony.bu").write_text("variant: openshift\n", encoding="utf-8")
    (tmp_path / "overlays").mkdir()
    with pytest.raises(CollectionError) as problem:
        manifests([str(tmp_path)])
    assert (
        f"{tmp_path}: has no file .yml, .yaml, .json, only 99-worker-chrony.bu is a Butane config: run butane, and put its output here;"
        " overlays is a folder: name it in openshift_manifests too"
    ) in str(problem.value)
