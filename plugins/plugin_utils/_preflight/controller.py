# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The computer that Ansible runs on: room and rights where the cluster's folder is, and who has the ports to publish at.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import platform
import re
import shutil
import socket
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import URLError

from ansible.module_utils.urls import open_url


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """``controller`` (architecture, and what :func:`_folder` says) and ``publish`` (ports, ours)."""
    world: dict[str, Any] = {"controller": {"architecture": platform.machine(), **_folder(str(wanted["directory"]))}}
    ports = [str(wanted[name]) for name in ("publish_http_port", "publish_https_port")]
    address = str(wanted["publish_bind_address"])
    # What is no address or no port is told by the checks of the settings.
    if re.fullmatch(r"[0-9A-Za-z.:-]+", address) and all(port.isdecimal() and int(port) < 2**16 for port in ports):
        found = {port: _state(address, int(port)) for port in ports}
        world["publish"] = {"ports": found, "ours": "taken" in found.values() and _ours(address, ports[0], wanted)}
    return world


def _folder(path: str) -> dict[str, Any]:
    """Of the cluster's folder, or the nearest above it: free_bytes, mode of the folder or None, writable; ``project``, which its files are
    for or which is empty; ``metadata`` of its install. ``msg`` when it can be none.
    """
    try:
        directory = Path(path).expanduser().absolute()
        nearest = next((folder for folder in (directory, *directory.parents) if folder.is_dir()), Path("/"))
    except (OSError, RuntimeError) as problem:
        # A name that is too long, or the home of somebody who is not there.
        return {"msg": f"{path}: {getattr(problem, 'strerror', None) or problem}"}
    return {
        "free_bytes": shutil.disk_usage(nearest).free,
        "mode": f"{stat.S_IMODE(directory.stat().st_mode):04o}" if directory.is_dir() else None,
        "writable": os.access(nearest, os.W_OK | os.X_OK),
        "project": _text(directory / "project"),
        "metadata": metadata(path),
    }


def metadata(path: str) -> dict[str, Any]:
    """What the installer says of the install whose files are in this cluster's folder: clusterID, infraID ... Empty without any."""
    try:
        told = json.loads((Path(path).expanduser() / "ignition" / "metadata.json").read_bytes())
    except (OSError, RuntimeError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _state(address: str, port: int) -> str:
    """``free``, ``taken``, or why nobody could listen there."""
    try:
        family, kind, protocol, _name, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as problem:
        return str(getattr(problem, "strerror", None) or problem)
    with closing(socket.socket(family, kind, protocol)) as probe:
        # As servers do it: the remains of connections that have ended are in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except OSError as problem:
            return "taken" if problem.errno == errno.EADDRINUSE else str(problem.strerror)
    return "free"


def _ours(address: str, port: str, wanted: Mapping[str, Any]) -> bool:
    """Whether who listens is this cluster's own server of an earlier run: it tells the id of the settings in its folder.

    By these, not by those of this run: it ends by itself when others are written there.
    """
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - asked, not bound
    host = f"[{reached}]" if ":" in reached else reached
    try:
        settings = json.loads((Path(str(wanted["directory"])).expanduser() / "publish" / "settings.json").read_bytes())
        with open_url(f"http://{host}:{port}/healthz", timeout=float(wanted["timeout"]), use_proxy=False) as answer:
            told = json.loads(answer.read())
    except (URLError, http.client.HTTPException, OSError, RuntimeError, ValueError):
        return False
    return isinstance(told, Mapping) and isinstance(settings, Mapping) and "id" in settings and told.get("id") == settings["id"]
