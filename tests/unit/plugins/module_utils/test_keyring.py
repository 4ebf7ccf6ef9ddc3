"""A keyring as binary file, as armored file and as armored text, for the real gpgv."""

from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.mirror import check_signature
from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.keyring import keyring_bytes
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.mirror import runner
from tests.gpg import gpg

SUMS = b"0123  openshift-install-linux.tar.gz\n"


@pytest.mark.debian("gpgv", "gpg", "gpg-agent")
def test_text_and_file_are_the_same_keyring(tmp_path: Path) -> None:
    with gpg() as home:
        home.key("release")
        home.key("other")
        signature, binary = home.sign("release", SUMS), home.keyring()
        armored = home.run("--armor", "--export").decode()
        parts = "".join(home.run("--armor", "--export", f"{name}@example").decode() for name in ("other", "release"))
    (tmp_path / "keys.gpg").write_bytes(binary)
    (tmp_path / "keys.asc").write_text(armored, encoding="ascii")
    with_headers = armored.replace("BLOCK-----\n\n", "BLOCK-----\nVersion: 1\nComment: released\n\n", 1)
    given = [
        str(tmp_path / "keys.gpg"),
        str(tmp_path / "keys.asc"),
        armored,
        f"\n{armored}\n",
        armored.replace("\n", "\r\n"),
        with_headers,
        parts,
    ]
    for keyring in given:
        verdict = check_signature(SUMS, signature, keyring, runner(30))
        assert verdict.good, verdict.found
        assert not check_signature(SUMS + b"x", signature, keyring, runner(30)).good
    assert {keyring_bytes(keyring) for keyring in given[:-1]} == {binary}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("/run/no/keys.gpg", "The keyring /run/no/keys.gpg cannot be read on the controller: No such file"),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ", "has no complete public key"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nmQ==\n-----END PGP PRIVATE KEY BLOCK-----", "has no complete public key"),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n-----END PGP PUBLIC KEY BLOCK-----", "is an empty public key"),
    ],
)
def test_what_is_no_keyring_names_both_ways(given: str, words: str) -> None:
    with pytest.raises(CollectionError) as problem:
        keyring_bytes(given)
    assert words in str(problem.value)
    assert "to the path of a keyring on the controller, or to its armored text" in str(problem.value)
    verdict = check_signature(SUMS, b"", given, runner(30))
    assert (verdict.good, verdict.found) == (False, str(problem.value))
