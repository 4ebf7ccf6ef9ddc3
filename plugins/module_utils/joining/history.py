# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The past of machines as texts, for a ConfigMap of the cluster and between calls of a module.

The cluster removes answered CSRs after an hour and Nodes can be deleted, but a machine that has joined stays joined while it exists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..base.times import time_of, timestamp
from .csr import NO_PAST, Past


def to_text(past: Past) -> str:
    """Return one machine's past as a text; equal pasts have equal texts."""
    return json.dumps({"joined": _moment(past.joined_at), "answered": _moment(past.answered)}, sort_keys=True)


def _moment(moment: datetime | None) -> str | None:
    return timestamp(moment) if moment else None


def from_text(text: Any) -> Past:
    """Return the past in a text of ``to_text``; NO_PAST if it is malformed."""
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return NO_PAST
    return Past(time_of(data.get("joined")), time_of(data.get("answered"))) if isinstance(data, dict) else NO_PAST


def to_texts(past: Mapping[str, Past]) -> dict[str, str]:
    return {name: to_text(known) for name, known in past.items()}


def from_texts(texts: Any) -> dict[str, Past]:
    """Return the pasts in such texts by name, without empty ones."""
    read = {name: from_text(text) for name, text in texts.items()} if isinstance(texts, Mapping) else {}
    return {name: known for name, known in read.items() if known != NO_PAST}
