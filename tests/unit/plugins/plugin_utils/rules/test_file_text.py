"""A variable that can be a text, or the path of a file with it."""

from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.folders import file_text


@pytest.mark.parametrize("text", ["", "ssh-ed25519 AAAA me@there", "-----BEGIN CERTIFICATE-----\n/abc\n", "{}", "/a\n/b"])
def test_text_is_itself(text: str) -> None:
    assert file_text(text, "openshift_ssh_public_key") == text


def test_a_path_is_the_text_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "id.pub").write_text("ssh-ed25519 AAAA\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_text(str(tmp_path / "id.pub"), "x") == file_text(" ~/id.pub ", "x") == "ssh-ed25519 AAAA\n"


def test_a_missing_file_names_both_ways() -> None:
    with pytest.raises(CollectionError) as problem:
        file_text("/run/no/ca.pem", "openshift_trust_bundle")
    assert "openshift_trust_bundle: the file /run/no/ca.pem cannot be read on the controller: No such file" in str(problem.value)
    assert "Set openshift_trust_bundle to the path of an existing file, or to the text itself" in str(problem.value)
