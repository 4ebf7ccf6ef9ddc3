"""What a signature of the mirror's checksums is worth, by what the real gpgv says of signatures that the real gpg made."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.signature import Verdict, command, judge
from tests.gpg import Gpg, gpg

CONTENT = b"0123456789abcdef  openshift-install-linux-4.20.33.tar.gz\n"
SHA1 = ("--digest-algo", "SHA1", "--cert-digest-algo", "SHA1", "--allow-weak-digest-algos")


@dataclass(frozen=True)
class Signed:
    """Keys by name, and what they signed."""

    home: Gpg
    fingerprints: dict[str, str]
    signatures: dict[str, bytes]


@pytest.fixture(scope="module")
def signed() -> Iterator[Signed]:
    with gpg() as home:
        fingerprints = {
            "good": home.key("good"),
            "expired": home.key("expired", expires="2024-06-01"),
            "revoked": home.key("revoked"),
            # Its own certificate is over SHA-1, not what it signs.
            "old": home.key("old", *SHA1),
        }
        signatures = {
            "good": home.sign("good", CONTENT),
            "expired": home.sign("expired", CONTENT, when="20240301T000000"),
            "revoked": home.sign("revoked", CONTENT),
            "ended": home.sign("good", CONTENT, "--default-sig-expire", "1d", when="20240301T000000"),
            "sha1": home.sign("good", CONTENT, *SHA1),
            "old": home.sign("old", CONTENT),
            "other": home.sign("good", b"something else"),
        }
        home.revoke(fingerprints["revoked"])
        yield Signed(home, fingerprints, signatures)


def verdict(folder: Path, signature: bytes, keyring: bytes) -> Verdict:
    (folder / "keyring.gpg").write_bytes(keyring)
    (folder / "signature").write_bytes(signature)
    (folder / "signed").write_bytes(CONTENT)
    keyring_file, signature_file, signed_file = (str(folder / name) for name in ("keyring.gpg", "signature", "signed"))
    asked = command(keyring_file, signature_file, signed_file, str(folder))
    return judge(subprocess.run(asked, capture_output=True, text=True, check=False).stdout)


@pytest.mark.debian("gpgv", "gpg", "gpg-agent")
@pytest.mark.parametrize(
    ("names", "good", "found"),
    [
        (["good"], True, "good, by key {good} on 2026-01-01"),
        (["old"], True, "good, by key {old} on 2026-01-01"),
        (["expired"], False, "which has expired"),
        (["revoked"], False, "which was revoked"),
        (["ended"], False, "has expired"),
        (["sha1"], False, "it is over SHA-1, which is too weak, by key "),
        (["other"], False, "signed something else than these checksums"),
        (["revoked", "good"], True, "good, by key {good} on 2026-01-01"),
        (["other", "good"], False, "signed something else than these checksums"),
    ],
)
def test_signatures_of_every_kind(names: list[str], good: bool, found: str, signed: Signed, tmp_path: Path) -> None:
    judged = verdict(tmp_path, b"".join(signed.signatures[name] for name in names), signed.home.keyring())
    assert judged.good is good, judged
    assert found.format(**signed.fingerprints) in judged.found


@pytest.mark.debian("gpgv", "gpg", "gpg-agent")
def test_a_key_that_the_keyring_does_not_have(signed: Signed, tmp_path: Path) -> None:
    judged = verdict(tmp_path, signed.signatures["good"], signed.home.keyring("expired"))
    assert judged == Verdict(False, f"it is by key {signed.fingerprints['good'][-16:]}, which the keyring does not have")
    assert verdict(tmp_path, signed.signatures["good"] + signed.signatures["revoked"], signed.home.keyring("good")).good


@pytest.mark.debian("gpgv", "gpg", "gpg-agent")
@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_signature_that_is_none(cut: int, signed: Signed, tmp_path: Path) -> None:
    assert not verdict(tmp_path, signed.signatures["good"][:cut], signed.home.keyring()).good
    assert not verdict(tmp_path, b"<html>404 Not Found</html>", signed.home.keyring()).good
    assert not verdict(tmp_path, signed.signatures["good"], b"").good


@pytest.mark.parametrize(
    "status",
    [
        "",
        "gpgv: Good signature\n",
        "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 0123456789ABCDEF Somebody\n",
        "[GNUPG:] NEWSIG\n[GNUPG:] VALIDSIG 0123\n",
        "[GNUPG:] EXPKEYSIG\n[GNUPG:] VALIDSIG\n",
        "x[GNUPG:] GOODSIG 0123456789ABCDEF Somebody\nx[GNUPG:] VALIDSIG 0123 2026-01-01\n",
    ],
)
def test_a_signature_without_a_gpgv_success_is_invalid(status: str) -> None:
    assert not judge(status).good


def test_parts_of_different_signatures_are_invalid() -> None:
    halves = "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 0123456789ABCDEF A\n[GNUPG:] NEWSIG\n[GNUPG:] VALIDSIG 0123 2026-01-01\n"
    assert not judge(halves).good
