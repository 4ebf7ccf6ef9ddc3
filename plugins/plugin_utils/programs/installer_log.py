# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the log that openshift-install writes to stderr: why it failed and what it warns of, without secrets.

The installer repeats a refused value whole: a pull secret, the address of a proxy with its password. So nothing of its output is shown
before this module has redacted it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils.base.printable import printable
from .redaction import Redactor, secrets_of_settings

LIMIT = 2000
"""Characters of a reason or a warning."""

EXPECTED = ("Making control-plane schedulable by setting MastersSchedulable to true", "Found override for release image")
"""Warnings that say nothing about the install-config. The role sets mastersSchedulable itself."""

_ENTRY = re.compile(r'^(?:time="[^"]*" )?level=(?P<level>\w+) msg=(?P<text>.*)$', re.MULTILINE)
_LONG = re.compile(r'\b(?P<field>sshKey|additionalTrustBundle): Invalid value: "(?:[^"\\]|\\.)*"')
_BEFORE_THE_REASON = re.compile(r"^failed to fetch .*?: failed to load asset \"Install Config\": failed to create install config: ")


@dataclass(frozen=True)
class InstallerLog:
    """``errors`` is one line: why the installer failed, empty if it did not. ``warnings`` has each warning once."""

    errors: str
    warnings: list[str]


def read(stderr: str, install_config: Mapping[str, Any]) -> InstallerLog:
    """Return errors and warnings without the secrets of the install-config that the installer read."""
    redactor = Redactor(secrets_of_settings([install_config]))
    entries = [(entry["level"], entry["text"].strip()) for entry in _ENTRY.finditer(stderr)]
    errors = [text for level, text in entries if level in ("error", "fatal")]
    # A Go program that panics, or a program that is no installer.
    errors = errors or [line.strip() for line in _ENTRY.sub("", stderr).splitlines() if line.strip()][:3]
    warnings = [text for level, text in entries if level == "warning" and not text.startswith(EXPECTED)]
    return InstallerLog(_shown(" ".join(errors), redactor), list(dict.fromkeys(_shown(text, redactor) for text in warnings)))


def _shown(text: str, redactor: Redactor) -> str:
    short = _LONG.sub(r"\g<field>: Invalid value: (the whole text)", _BEFORE_THE_REASON.sub("", text))
    return printable(redactor.text(short), LIMIT)
