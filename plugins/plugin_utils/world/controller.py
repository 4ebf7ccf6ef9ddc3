# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state of the controller: the libraries of the modules' Python, the cluster folder and its files, and the publishing ports."""

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
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import URLError

import yaml
from ansible import constants
from ansible.module_utils.urls import open_url

from ...module_utils.base.errors import CollectionError
from ..cluster_folder.folders import is_in_job_folder
from ..manifests.cloud_controller import has_cloud_controller
from ..manifests.ingress_controller import has_ingress_controller
from ..manifests.user_manifests import ignored_files, user_manifests
from ..settings.networks import url_of

LIBRARIES = ("packet", "requests", "jmespath", "netaddr", "kubernetes", "cryptography", "dns", "websocket", "yaml")
"""What modules import: of requirements.txt, but for what single DNS providers and publishing methods need."""
_FIND = "import importlib.util as u, json, sys; print(json.dumps({name: u.find_spec(name) is None for name in sys.argv[1:]}))"


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return readings of the controller.

    These are ``controller`` (architecture, ``in_job_folder``, and the values of :func:`read_folder`), ``python`` (see :func:`read_python`),
    ``manifests`` (``problem``, ``cloud_controller``) and ``publish`` (ports, own).
    """
    directory = str(settings["directory"])
    controller = {"architecture": platform.machine(), "in_job_folder": is_in_job_folder(directory), **read_folder(directory)}
    readings: dict[str, Any] = {
        "controller": controller,
        "python": read_python(str(settings.get("python_interpreter") or "auto")),
        "manifests": read_manifests(settings.get("manifests") or []),
    }
    ports = [str(settings[name]) for name in ("publish_http_port", "publish_https_port")]
    address = str(settings["publish_bind_address"])
    # Malformed addresses and ports are reported by the checks of the settings.
    if re.fullmatch(r"[0-9A-Za-z.:-]+", address) and all(port.isdecimal() and int(port) < 2**16 for port in ports):
        states = {port: _state(address, int(port)) for port in ports}
        readings["publish"] = {"ports": states, "own": "taken" in states.values() and _is_own_server(address, ports[0], settings)}
    return readings


def read_python(setting: str) -> dict[str, Any]:
    """Return the ``interpreter`` that modules run with here, and the libraries it does not have (``missing``), or ``msg``.

    ``setting``: ``ansible_python_interpreter``. Where that is a kind of discovery (``auto``), it is the first one that Ansible finds.
    """
    discovered = setting.startswith("auto")
    names = constants.config.get_config_value("INTERPRETER_PYTHON_FALLBACK") if discovered else [setting]
    interpreter = next((path for path in map(shutil.which, names) if path), "")
    if not interpreter:
        return {"interpreter": setting, "msg": "it cannot be run"}
    try:
        done = subprocess.run([interpreter, "-c", _FIND, *LIBRARIES], capture_output=True, text=True, timeout=60, check=True)
        return {"interpreter": interpreter, "missing": [name for name, missing in json.loads(done.stdout).items() if missing]}
    except (OSError, subprocess.SubprocessError, ValueError) as problem:
        lines = str(getattr(problem, "stderr", None) or problem).strip().splitlines()
        return {"interpreter": interpreter, "msg": lines[0] if lines else type(problem).__name__}


def read_manifests(paths: Any) -> dict[str, Any]:
    """Return ``problem``, why the manifests of the user cannot be used, the number of ``objects``, and files that are ``ignored``.

    Objects with a check are a ``cloud_controller`` and the default ``ingress_controller``.
    """
    nothing = {"cloud_controller": False, "ingress_controller": False, "objects": 0, "ignored": []}
    if not isinstance(paths, list) or not all(isinstance(entry, str) for entry in paths):
        return {"problem": "openshift_manifests is not a list of paths and texts", **nothing}
    try:
        texts = [manifest["content"] for manifest in user_manifests(paths)]
    except CollectionError as problem:
        return {"problem": str(problem), **nothing}
    objects = [item for text in texts for item in yaml.safe_load_all(text) if item is not None]
    return {
        "problem": "",
        "cloud_controller": has_cloud_controller(objects),
        "ingress_controller": has_ingress_controller(objects),
        "objects": len(objects),
        "ignored": ignored_files(paths),
    }


def read_folder(path: str) -> dict[str, Any]:
    """Return ``writable``, ``mode``, ``project`` and ``metadata`` of the cluster folder, and whether boot files are
    published from it (``publishes``).

    If the folder does not exist, ``mode`` is None, and ``writable`` is that of its nearest parent. A path that cannot
    be a folder has only ``msg``.
    """
    try:
        directory = Path(path).expanduser().absolute()
        nearest = next((folder for folder in (directory, *directory.parents) if folder.is_dir()), Path("/"))
    except (OSError, RuntimeError) as problem:
        # A name that is too long, or the home of an unknown user.
        return {"msg": f"{path}: {getattr(problem, 'strerror', None) or problem}"}
    return {
        "mode": f"{stat.S_IMODE(directory.stat().st_mode):04o}" if directory.is_dir() else None,
        "writable": os.access(nearest, os.W_OK | os.X_OK),
        "project": _text(directory / "project"),
        "metadata": metadata(path),
        "publishes": (directory / "publish").is_dir(),
    }


def metadata(path: str) -> dict[str, Any]:
    """Return the metadata.json of the install in the cluster folder: clusterID, infraID ... Empty without one."""
    try:
        content = json.loads((Path(path).expanduser() / "ignition" / "metadata.json").read_bytes())
    except (OSError, RuntimeError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _state(address: str, port: int) -> str:
    """Return ``free``, ``taken``, or why no program can listen on the port."""
    try:
        family, kind, protocol, _name, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as problem:
        return str(getattr(problem, "strerror", None) or problem)
    with closing(socket.socket(family, kind, protocol)) as probe:
        # As servers do: connections in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except OSError as problem:
            return "taken" if problem.errno == errno.EADDRINUSE else str(problem.strerror)
    return "free"


def _is_own_server(address: str, port: str, settings: Mapping[str, Any]) -> bool:
    """Return whether the boot file server of an earlier run listens: it reports the id of the settings in the cluster folder.

    It stops by itself when other settings are written there, so settings of this run are not compared.
    """
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - asked, not bound
    try:
        own = json.loads((Path(str(settings["directory"])).expanduser() / "publish" / "settings.json").read_bytes())
        with open_url(f"{url_of(reached, port)}/healthz", timeout=float(settings["timeout"]), use_proxy=False) as answer:
            health = json.loads(answer.read())
    except (URLError, http.client.HTTPException, OSError, RuntimeError, ValueError):
        return False
    return isinstance(health, Mapping) and isinstance(own, Mapping) and "id" in own and health.get("id") == own["id"]
