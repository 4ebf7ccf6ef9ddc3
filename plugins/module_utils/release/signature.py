# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verification of a signature by the status lines of gpgv.

The exit code is not enough: it is 0 for a signature of an expired or revoked key, and for one over SHA-1. Source of the
lines: doc/DETAILS of GnuPG; of the numbers of algorithms: RFC 9580, 9.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WEAK = {"1": "MD5", "2": "SHA-1", "3": "RIPEMD-160"}
"""Hash algorithms with feasible collisions."""

REFUSED = {
    "BADSIG": "key {key} signed something else than these checksums",
    "EXPSIG": "the signature by key {key} has expired",
    "EXPKEYSIG": "it is by key {key}, which has expired",
    "REVKEYSIG": "it is by key {key}, which was revoked",
    "NO_PUBKEY": "it is by key {key}, which the keyring does not have",
    "ERRSIG": "the signature by key {key} cannot be checked",
}
"""Status lines for which a signature is refused, the most specific one first."""


@dataclass(frozen=True)
class Verdict:
    """``good`` only for a valid signature by a key of the keyring; ``found`` names the key, or the reason of the refusal."""

    good: bool
    found: str


def command(keyring: str, signature: str, signed: str, folder: str) -> list[str]:
    """Return the command whose standard output :func:`judge` reads. ``keyring`` needs a slash: else gpgv reads it from its own folder.

    Not with ``--weak-digest SHA1``: gpgv then takes no key whose own certificate is over SHA-1, as those of release keys of 2009 are.
    """
    return ["gpgv", "--homedir", folder, "--status-fd", "1", "--keyring", keyring, signature, signed]


def judge(status: str) -> Verdict:
    """Return what the status lines come to.

    A file may have several signatures, as while keys change: one good one is enough, unless another is of something else.
    """
    signatures = _signatures(status)
    problems = list(dict.fromkeys(filter(None, map(_problem, signatures))))
    good = [signature["VALIDSIG"] for signature in signatures if not _problem(signature)]
    if not good or any("BADSIG" in signature for signature in signatures):
        return Verdict(False, "; ".join(problems) or "there is no signature")
    return Verdict(True, "; ".join(f"good, by key {words[0]} on {words[1]}" for words in good))


def _signatures(status: str) -> list[dict[str, list[str]]]:
    """Return the lines of each signature: the words behind a keyword by the keyword."""
    signatures: list[dict[str, list[str]]] = [{}]
    for line in re.findall(r"^\[GNUPG:\] (\S.*)$", status, re.MULTILINE):
        keyword, *words = line.split()
        if keyword == "NEWSIG":
            signatures.append({})
        signatures[-1][keyword] = words
    return [signature for signature in signatures if signature]


def _problem(signature: Mapping[str, Sequence[str]]) -> str:
    """Return why one signature is refused, or nothing. Lines of validity are written for expired and revoked keys too."""
    valid, unchecked = signature.get("VALIDSIG", ()), signature.get("ERRSIG", ())
    for words, place in ((valid, 7), (unchecked, 2)):
        if len(words) > place and words[place] in WEAK:
            return f"it is over {WEAK[words[place]]}, which is too weak, by key {words[0]}"
    for keyword, text in REFUSED.items():
        if keyword in signature:
            return text.format(key=(list(signature[keyword]) or ["of nobody"])[0])
    return "" if valid and "GOODSIG" in signature else "there is no signature"
