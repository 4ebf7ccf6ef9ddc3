"""Whether a file of the controller is as a task would write it."""

from pathlib import Path

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.folders import is_private_file


def test_only_a_regular_file_with_this_text_and_mode(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    assert not is_private_file(str(file), "")
    file.write_text("apiVersion: v1\n", encoding="utf-8")
    file.chmod(0o600)
    assert is_private_file(str(file), "apiVersion: v1")
    assert is_private_file(str(file), "apiVersion: v1\n")
    assert not is_private_file(str(file), "apiVersion: v2\n")
    file.chmod(0o640)
    assert not is_private_file(str(file), "apiVersion: v1\n")
    file.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(file)
    assert not is_private_file(str(link), "apiVersion: v1\n")
    assert not is_private_file(str(tmp_path), "")
    file.write_bytes(b"\xff\xfe")
    assert not is_private_file(str(file), "\xff\xfe")
