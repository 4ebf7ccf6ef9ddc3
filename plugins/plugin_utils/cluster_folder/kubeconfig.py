# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubeconfig that a user gives, as a path or as its text, made independent of other files and of contexts that are not current."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ...module_utils.base.errors import CollectionError

NAME = "admin"

INLINE = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
"""Fields of a kubeconfig that name a file, and those that have its content. A token is text, the others are encoded."""

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class KubeconfigError(CollectionError):
    """A kubeconfig that cannot be used. The text has no content of the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"openshift_kubeconfig cannot be used: {reason}. Give the path or the text of a kubeconfig.")


def kubeconfig_text(value: Any) -> str:
    """Return the current context of a kubeconfig as YAML, with the content of the files that it names: a secret, and the same text for the
    same credentials. Empty for an empty value, and where the file does not exist.

    ``value``: the path of a kubeconfig, its text, or what YAML has made of the text. Raises KubeconfigError for anything else.
    """
    config = _normalized(value) if value else None
    return "" if config is None else str(yaml.safe_dump(config, sort_keys=True))


def _normalized(value: Any) -> dict[str, Any] | None:
    folder = Path.cwd()
    if isinstance(value, Mapping):
        config: Any = value
    else:
        text = str(value)
        if "\n" not in text.strip() and not text.lstrip().startswith("{"):
            path = Path(text.strip()).expanduser()
            if not path.is_file():
                return None
            folder = path.absolute().parent
            text = _read(path)
        try:
            config = yaml.safe_load(text)
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            where = f" at line {mark.line + 1}" if mark else ""
            raise KubeconfigError(f"it is no YAML{where}") from None
    if not isinstance(config, Mapping):
        raise KubeconfigError("it is no kubeconfig, which has clusters, users and contexts")
    context = _entry(config, "contexts", "context", config.get("current-context"))
    cluster = _inlined(_entry(config, "clusters", "cluster", context.get("cluster")), folder)
    user = _inlined(_entry(config, "users", "user", context.get("user")), folder)
    if not str(cluster.get("server") or "").startswith("https://"):
        raise KubeconfigError("its cluster has no server with an https URL")
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
        "users": [{"name": NAME, "user": user}],
    }


def unique_certificates(bundles: Iterable[str]) -> str:
    """Return the certificates of PEM bundles, each once, in their order."""
    certificates = dict.fromkeys(match[0] for bundle in bundles for match in CERTIFICATE.finditer(bundle))
    return "".join(f"{certificate}\n" for certificate in certificates)


def certificates_of(kubeconfig: Mapping[str, Any]) -> str:
    """Return the CAs (PEM) of the first cluster of a kubeconfig. Raises KeyError, IndexError, TypeError or ValueError for another file."""
    return b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]).decode()


def _entry(config: Mapping[str, Any], kind: str, field: str, name: Any) -> dict[str, Any]:
    listed = config.get(kind)
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, Mapping) and name and entry.get("name") == name and isinstance(entry.get(field), Mapping):
            return dict(entry[field])
    raise KubeconfigError(f"it has no {field} {name!r} in {kind}" if name else f"it has no current-context, or that context has no {field}")


def _inlined(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    inlined = {name: value for name, value in entry.items() if name not in INLINE}
    for name, target in INLINE.items():
        if entry.get(name) and not inlined.get(target):
            content = _read(folder / Path(str(entry[name])).expanduser())
            inlined[target] = content.strip() if target == "token" else b64encode(content.encode()).decode()
    return inlined


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise KubeconfigError(f"{path} cannot be read: {getattr(problem, 'strerror', None) or 'it is no text'}") from None
