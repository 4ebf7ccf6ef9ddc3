# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads YAML as Kubernetes does, whose objects are JSON: a timestamp without quotes is text."""

from __future__ import annotations

from typing import Any, Final

import yaml

_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    """A SafeLoader without timestamps."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML names and types it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def documents(text: str | bytes) -> list[Any]:
    """Return all documents that are not empty. Raises ``yaml.YAMLError``."""
    return [document for document in yaml.load_all(text, Loader=_Loader) if document]


def first_document(text: str | bytes) -> Any:
    """Return the first document, as Go's ``yaml.Unmarshal`` does. Raises ``yaml.YAMLError``."""
    return next(yaml.load_all(text, Loader=_Loader), None)
