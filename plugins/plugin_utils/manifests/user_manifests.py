# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests of the user, in files and folders on the controller.

Each document has to be a Kubernetes object, and nothing builds Butane configs and Kustomizations: bootstrap would fail an hour later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ...module_utils.base.errors import CollectionError, together

SUFFIXES = (".yml", ".yaml", ".json")
BUTANE = (".bu", ".fcc")
BUTANE_ADVICE = "a Butane config: run butane, and put its output here"
KUSTOMIZE = "kustomize.config.k8s.io/"


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES) if path.is_dir() else [path]


def ignored_files(paths: Sequence[str]) -> list[str]:
    """Return what the folders among ``paths`` contain beside manifests; a Butane config whose output is there is left out."""
    folders = [Path(entry).expanduser() for entry in paths if not _is_text(entry)]
    return [
        _ignored(file)
        for folder in folders
        if folder.is_dir()
        for file in sorted(folder.iterdir())
        if file.suffix not in SUFFIXES and not (file.suffix in BUTANE and any(file.with_suffix(suffix).exists() for suffix in SUFFIXES))
    ]


def _ignored(path: Path) -> str:
    if path.is_dir():
        return f"{path.name} is a folder: name it in openshift_manifests too"
    return f"{path.name} is {BUTANE_ADVICE}" if path.suffix in BUTANE else path.name


def _is_text(entry: str) -> bool:
    return "\n" in entry.strip() or entry.lstrip().startswith("{")


def _problems(path: Path, text: str) -> Iterator[str]:
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        yield f"{path}: not YAML{f' (line {mark.line + 1})' if mark else ''}: {getattr(problem, 'problem', None) or 'cannot be read'}"
        return
    if not documents:
        yield f"{path}: is empty"
    for number, document in enumerate(documents, start=1):
        which = f"{path}: document {number}" if len(documents) > 1 else f"{path}:"
        if not isinstance(document, Mapping):
            yield f"{which} is not a Kubernetes object"
            continue
        if document.get("variant") and not document.get("kind"):
            yield f"{which} is {BUTANE_ADVICE}"
            continue
        if str(document.get("apiVersion")).startswith(KUSTOMIZE) or path.stem == "kustomization":
            yield f"{which} is a Kustomization, which openshift-install does not build: run oc kustomize, and put its output here"
            continue
        metadata = document.get("metadata")
        missing = [name for name in ("apiVersion", "kind") if not document.get(name)]
        missing += [] if isinstance(metadata, Mapping) and metadata.get("name") else ["metadata.name"]
        if missing:
            yield f"{which} has no {' and no '.join(missing)}"


def user_manifests(paths: Any) -> list[dict[str, str]]:
    """Return name and content of each file: of a folder all YAML and JSON files. An entry of several lines is a manifest itself.

    Raises CollectionError with all problems.
    """
    if isinstance(paths, str) or not isinstance(paths, Sequence):
        raise CollectionError(f"openshift_manifests has to be a list of paths, not {paths!r}")
    problems: list[str] = []
    sources: dict[str, tuple[Path, str]] = {}
    for number, entry in enumerate(paths, start=1):
        if _is_text(str(entry)):
            name = f"manifest-{number:02d}.yml"
            sources[name] = Path(name), str(entry)
            continue
        entry_path = Path(entry)
        try:
            files = _files(entry_path.expanduser())
            if not files:
                others = f", only {'; '.join(ignored_files([entry]))}" if any(entry_path.expanduser().iterdir()) else ""
                problems.append(f"{entry_path}: has no file {', '.join(SUFFIXES)}{others}")
            for path in files:
                if path.suffix not in SUFFIXES:
                    problems.append(f"{path}: openshift-install reads only files {', '.join(SUFFIXES)}")
                if path.name in sources:
                    problems.append(f"{path}: has the same name as {sources[path.name][0]}")
                sources[path.name] = path, path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            problems.append(
                f"{entry_path}: cannot be read: {problem}. An entry of openshift_manifests is a path on the controller, or the text itself"
            )
    for path, text in sources.values():
        problems.extend(_problems(path, text))
    if problems:
        raise CollectionError(together("The manifests cannot be used", problems))
    return [{"name": name, "content": text} for name, (_path, text) in sources.items()]
