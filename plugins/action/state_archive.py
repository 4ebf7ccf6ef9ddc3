# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""state_archive: pack the files of a cluster folder into an encrypted archive, and restore them from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase

from ..plugin_utils.cluster_folder.state_archive import (
    ArchiveName,
    StateError,
    needs_restore,
    newest,
    next_generation,
    pack,
    restoration,
    unpack,
)
from ..plugin_utils.cluster_folder.state_files import ClusterFiles, Record, read_files, write_file, write_record

Options = Mapping[str, Any]


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """Runs on the controller, where the cluster folder is. Reading from the store and writing to it are tasks of the role state_store."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = False

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "operation": {"type": "str", "required": True, "choices": ["status", "compare", "pack", "unpack", "record"]},
        "directory": {"type": "path", "required": True},
        "cluster": {"type": "str", "required": True},
        "location": {"type": "str", "required": True},
        "password": {"type": "str", "default": "", "no_log": True},
        "archives": {"type": "list", "elements": "str", "default": []},
        "archive": {"type": "str", "default": ""},
        "path": {"type": "path", "default": ""},
        "most_bytes": {"type": "int", "default": 0},
    }

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=self.OPTIONS)
        operations: Mapping[str, Callable[[Options, ClusterFiles], dict[str, Any]]] = {
            "status": self._status,
            "compare": self._compare,
            "pack": self._pack,
            "unpack": self._unpack,
            "record": self._record,
        }
        try:
            local = read_files(Path(options["directory"]), options["location"])
            return {"changed": False, **operations[options["operation"]](options, local)}
        except StateError as problem:
            return {"failed": True, "changed": False, "msg": problem.message}
        except OSError as problem:
            msg = f"Cannot read or write the cluster folder {options['directory']}: {problem}. Correct its owner and mode, or set"
            return {"failed": True, "changed": False, "msg": f"{msg} openshift_directory"}

    @staticmethod
    def _status(options: Options, local: ClusterFiles) -> dict[str, Any]:
        """Return whether the folder is saved. ``recorded``: empty if it never was, or if its restore was interrupted."""
        return {
            "infra_id": local.infra_id,
            "begun": local.is_begun,
            "bootstrap_complete": local.is_bootstrapped,
            "recorded": local.record.archive if local.record and local.record.is_complete else "",
            "saved": local.is_unchanged,
        }

    @staticmethod
    def _compare(options: Options, local: ClusterFiles) -> dict[str, Any]:
        top = newest(options["archives"], options["location"])
        return {"archive": str(top) if top and needs_restore(local, top) else ""}

    def _pack(self, options: Options, local: ClusterFiles) -> dict[str, Any]:
        """Write the archive to the folder ``path``. The folder is not recorded as saved before the archive is in the store."""
        location, directory = options["location"], Path(options["directory"])
        top = newest(options["archives"], location)
        if not local.is_begun:
            return {"archive": "", "path": ""}
        if top and top.digest == local.digest:
            if not self._task.check_mode:
                write_record(directory, Record(location, str(top), local.digest))
            return {"archive": "", "path": ""}
        generation = next_generation(local, top, location)
        if self._task.check_mode:
            return {"changed": True, "archive": "", "path": ""}
        name, content = pack(local, options["cluster"], generation, options["password"])
        if 0 < options["most_bytes"] < len(content):
            sizes = sorted(((len(text), file) for file, text in local.files.items()), reverse=True)[:3]
            raise StateError(
                f"The cluster folder was not saved: its archive has {len(content)} bytes, and {location} takes {options['most_bytes']}."
                f" Its largest files are {', '.join(f'{file} ({size} bytes)' for size, file in sizes)}. Set openshift_state_store to"
                " object_storage"
            )
        path = Path(options["path"]) / str(name)
        write_file(path, content)
        return {"changed": True, "archive": str(name), "path": str(path)}

    def _unpack(self, options: Options, local: ClusterFiles) -> dict[str, Any]:
        """Restore the folder. The record is written first, as incomplete, so that an interrupted restore is repeated."""
        location, directory = options["location"], Path(options["directory"])
        content = Path(options["path"]).read_bytes()
        archive = unpack(options["archive"], content, options["cluster"], options["password"], location)
        restored = restoration(local, archive, str(directory), location)
        if not self._task.check_mode:
            begun = Record(location, str(archive.name), archive.name.digest, is_complete=False)
            write_record(directory, begun)
            for name, content in restored.written.items():
                write_file(directory / name, content)
            for name in restored.deleted:
                (directory / name).unlink(missing_ok=True)
            # Of the folder as it is now: files of a running cluster that were kept are not a reason for another generation.
            write_record(directory, Record(location, begun.archive, read_files(directory, location).digest))
        return {
            "changed": True,
            "infra_id": archive.infra_id,
            "generation": archive.name.generation,
            "restored": sorted(restored.written),
            "deleted": list(restored.deleted),
        }

    @staticmethod
    def _record(options: Options, local: ClusterFiles) -> dict[str, Any]:
        """Record the archive that was put into the store, if it is the newest there. ``outdated``: generations before the last but one."""
        location, name = options["location"], options["archive"]
        top, saved = newest(options["archives"], location), ArchiveName.parse(name)
        if saved is None or top != saved:
            raise StateError(f"{location} does not have {name} as its newest archive, but {top}: another run saved this cluster. Run again")
        write_record(Path(options["directory"]), Record(location, name, saved.digest))
        parsed = (ArchiveName.parse(archive) for archive in options["archives"])
        return {
            "outdated": [
                str(archive) for archive in sorted(archive for archive in parsed if archive) if archive.generation < saved.generation - 1
            ]
        }
