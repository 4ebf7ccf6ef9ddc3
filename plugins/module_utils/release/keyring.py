# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An OpenPGP keyring for gpgv, from a file or from armored text (RFC 9580, 6.2).

gpgv reads binary keyrings only. AWX injects credentials as text, or as a file with that text.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from ..base.errors import CollectionError

ARMORED = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
BLOCK = re.compile(rf"{ARMORED}[ \t]*\r?\n(?P<body>.*?)-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL)
BOTH = f"Set openshift_release_keyring to the path of a keyring on the controller, or to its armored text ({ARMORED} ...)"


def is_text(keyring: str) -> bool:
    """Return whether the keyring is given as text, and not as a path."""
    return keyring.lstrip().startswith("-----BEGIN ")


def keyring_name(keyring: str) -> str:
    """Return how messages name the keyring: its path, or that it was given as text."""
    return "the text in openshift_release_keyring" if is_text(keyring) else keyring


def keyring_bytes(keyring: str) -> bytes:
    """Return the binary keyring. Raises CollectionError for a missing file, and for text that is no public key."""
    if is_text(keyring):
        return _binary(keyring, keyring_name(keyring))
    try:
        content = Path(keyring).expanduser().read_bytes()
    except (OSError, RuntimeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise CollectionError(f"The keyring {keyring} cannot be read on the controller: {reason}. {BOTH}") from problem
    if content.lstrip().startswith(b"-----BEGIN "):
        return _binary(content.decode("ascii", "replace"), keyring)
    return content


def _binary(text: str, name: str) -> bytes:
    blocks = [match["body"] for match in BLOCK.finditer(text.strip())]
    if not blocks:
        raise CollectionError(f"{name} has no complete public key: neither {ARMORED} nor the line that ends it. {BOTH}")
    return b"".join(_dearmored(block, name) for block in blocks)


def _dearmored(block: str, name: str) -> bytes:
    """Return the data of one block: without its headers, which end with an empty line, and without its checksum."""
    lines = [line.strip() for line in block.splitlines()]
    if any(":" in line for line in lines):
        lines = lines[max(index for index, line in enumerate(lines) if ":" in line) + 1 :]
    data = "".join(line for line in lines if not line.startswith("="))
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise CollectionError(f"{name} is not armored text: {problem}. {BOTH}") from problem
    if not content:
        raise CollectionError(f"{name} is an empty public key. {BOTH}")
    return content
