# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocates a loopback network for the machines of each sandbox.

Two sandboxes on one computer must not use the same address for two machines that listen on port 6443, and after a restart the machines need
their addresses again. So a network belongs to a state folder, whether its sandbox runs or not:

- reserved, by an entry in a file of the user's cache folder, for as long as the state folder exists;
- held while the sandbox runs, by a name in the kernel's abstract namespace, which other users' sandboxes see too and which ends with its
  process, also when that is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = logging.getLogger(__name__)

IDENTITY = "sandbox.json"
"""The file of a state folder that names its network."""


class NetworkError(Exception):
    """No network is available; the message is one sentence for the user."""


@dataclass(frozen=True)
class Held:
    """A network that this process has for as long as ``lock`` is open."""

    network: str
    lock: socket.socket


class Networks:
    """The networks of all state folders of this user. ``file`` has them as ``{state: {"network", "used"}}``."""

    def __init__(self, file: Path, networks: Sequence[ipaddress.IPv4Network]) -> None:
        self._file = file
        self._networks = [str(network) for network in networks]

    def take(self, state: Path, kept: str | None) -> Held:
        """Hold the network of ``state``: ``kept``, or for a new state folder a free one. Raises :class:`NetworkError`."""
        state = state.resolve()
        with self._entries() as entries:
            own = kept or _network_of(entries, state)
            if own is not None:
                held = _hold(own)
                if held is None:
                    raise NetworkError(
                        f"{own}, the network of the machines in {state}, is in use by {_user_of(entries, own, state)}: "
                        "stop that one first, or start anew with another --state"
                    )
                return held
            reserved = {entry["network"]: folder for folder, entry in _oldest_first(entries)}
            for network in self._networks:
                if network not in reserved and (held := _hold(network)) is not None:
                    return held
            for network, folder in reserved.items():
                if (held := _hold(network)) is not None:
                    LOG.warning(
                        "all %d networks for machines are reserved by state folders; taking %s of %s, which was not used for longest. "
                        "Remove state folders that are not needed any more",
                        len(self._networks),
                        network,
                        folder,
                    )
                    entries.pop(folder)
                    return held
        raise NetworkError(f"all {len(self._networks)} networks for machines are in use by running sandboxes")

    def reserve(self, state: Path, network: str, write: Callable[[], object]) -> None:
        """Keep ``network`` for ``state``. ``write`` puts it into the state folder, without which the entry would not count."""
        with self._entries() as entries:
            write()
            entries[str(state.resolve())] = {"network": network, "used": time.time()}

    @contextlib.contextmanager
    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries that count, locked; the caller's changes are written at the end.

        Without a cache folder that can be written there are none: then only running sandboxes keep out of each other's way.
        """
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = self._file.with_suffix(".lock").open("a", encoding="ascii")
        except OSError as error:
            LOG.warning("cannot reserve the machines' network in %s: %s", self._file, error.strerror)
            yield {}
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self._read()
            entries = {folder: entry for folder, entry in known.items() if _owns(Path(folder), entry["network"])}
            before = json.dumps(known)
            yield entries
            if json.dumps(entries) != before:
                fresh = self._file.with_suffix(".new")
                fresh.write_text(json.dumps(entries, indent=1), encoding="utf-8")
                fresh.replace(self._file)

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        entries = document.items() if isinstance(document, dict) else ()
        return {folder: entry for folder, entry in entries if isinstance(entry, dict) and entry.get("network") in self._networks}


def _hold(network: str) -> Held | None:
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lock.bind(f"\0equinix_metal.openshift/sandbox/{network}")
    except OSError:
        lock.close()
        return None
    return Held(network, lock)


def _owns(state: Path, network: str) -> bool:
    """Return whether the sandbox of ``state`` may be started again with ``network``, as for a folder that cannot be read."""
    try:
        kept = json.loads((state / IDENTITY).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        # Only its identity was removed, as for a damaged one: its machines still have their addresses.
        return (state / "metal.sqlite").exists()
    except (OSError, ValueError):
        return True
    return not isinstance(kept, dict) or kept.get("machine_network") in (None, network)


def _network_of(entries: dict[str, Any], state: Path) -> str | None:
    entry = entries.get(str(state))
    return None if entry is None else str(entry["network"])


def _oldest_first(entries: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(entries.items(), key=lambda item: float(item[1].get("used") or 0))


def _user_of(entries: dict[str, Any], network: str, state: Path) -> str:
    """Return the sandbox that seems to hold ``network``, as words of a message."""
    for folder, entry in entries.items():
        if entry["network"] == network and Path(folder) != state:
            with contextlib.suppress(OSError):
                process = (Path(folder) / "lock").read_text(encoding="ascii").strip()
                return f"the sandbox of {folder} (process {process or 'unknown'})"
    return "another sandbox"
