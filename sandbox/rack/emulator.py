# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The BMCs of the rack: the Redfish API of sushy-tools in front of :mod:`sandbox.rack.machine`.

sushy-tools serves the API and fetches virtual media. Added here: a driver for the machines, boot overrides for one boot (sushy-tools has
only permanent ones), and BMCs that do not answer.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, cast

import bcrypt  # type: ignore[import-not-found]
import flask
from sushy_tools import error  # type: ignore[import-not-found]
from sushy_tools.emulator import main as sushy  # type: ignore[import-not-found]
from sushy_tools.emulator.resources.systems.base import AbstractSystemsDriver  # type: ignore[import-not-found]
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from sandbox.rack.machine import Device, Machine, Repeat, check_programs
from sandbox.rack.model import RackConfig, RackError

_DEVICES: Final[Mapping[str, Device]] = {"Hdd": "Hdd", "Pxe": "Pxe", "Cd": "Cd", "None": "None"}
_REPEATS: Final[Mapping[str, Repeat]] = {"Once": "Once", "Continuous": "Continuous", "Disabled": "Disabled"}
_MODES: Final = {"UEFI": True, "Legacy": False}
_STORAGE: Final = "1"
_GIB: Final = 1 << 30

_Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class QemuDriver(AbstractSystemsDriver):  # type: ignore[misc]
    """The systems driver of sushy-tools for the machines of a rack. Its base class documents the methods."""

    def __init__(self, machines: Iterable[Machine]) -> None:
        super().__init__()
        self._machines = {machine.made_of.uuid: machine for machine in machines}

    def machine(self, identity: str) -> Machine:
        """Return the machine with this UUID; a name is redirected to the UUID, as in sushy-tools."""
        known = self._machines.get(identity)
        if known is not None:
            return known
        for machine in self._machines.values():
            if machine.made_of.name == identity:
                raise error.AliasAccessError(machine.made_of.uuid)
        raise error.NotFound(f"there is no system {identity}")

    @property
    def driver(self) -> str:
        return "<qemu>"

    @property
    def systems(self) -> list[str]:
        return list(self._machines)

    def uuid(self, identity: str) -> str:
        return self.machine(identity).made_of.uuid

    def name(self, identity: str) -> str:
        return self.machine(identity).made_of.name

    def get_power_state(self, identity: str) -> str:
        return "On" if self.machine(identity).is_on else "Off"

    def set_power_state(self, identity: str, state: str) -> None:
        machine = self.machine(identity)
        actions: dict[str, Callable[[], None]] = {
            "On": machine.power_on,
            "ForceOn": machine.power_on,
            "ForceOff": machine.power_off,
            "ForceRestart": machine.power_cycle,
            "GracefulShutdown": machine.press_power_button,
            "GracefulRestart": lambda: machine.press_power_button(start_again=True),
        }
        action = actions.get(state)
        if action is None:
            raise error.BadRequest(f"ResetType {state} is not one of {', '.join(actions)}")
        _run(action)

    def get_boot_device(self, identity: str) -> str:
        return self.machine(identity).state.device

    def set_boot_device(self, identity: str, boot_source: str) -> None:
        # sushy-tools hands on the device alone: without more in the request it is permanent.
        self.set_boot(identity, boot_source, "Continuous")

    def set_boot(self, identity: str, target: str, enabled: str) -> None:
        """Set the boot override as the values of a Redfish request name it."""
        machine = self.machine(identity)
        if target not in _DEVICES or enabled not in _REPEATS:
            raise error.BadRequest(f"boot override {target} {enabled}: must be one of {', '.join(_DEVICES)}, and of {', '.join(_REPEATS)}")
        _run(lambda: machine.set_boot(_DEVICES[target], _REPEATS[enabled]))

    def get_boot_mode(self, identity: str) -> str:
        return "UEFI" if self.machine(identity).state.uefi else "Legacy"

    def set_boot_mode(self, identity: str, boot_mode: str) -> None:
        if boot_mode not in _MODES:
            raise error.BadRequest(f"boot mode {boot_mode}: must be one of {', '.join(_MODES)}")
        self.machine(identity).set_uefi(_MODES[boot_mode])

    def get_secure_boot(self, identity: str) -> bool:
        # Required: Ironic reads it, and repeats the call for half a minute after an answer of 501.
        self.machine(identity)
        return False

    def get_total_memory(self, identity: str) -> int:
        # In GiB. Rounded up: sushy, the client of Ironic, reads whole numbers, with 0 for unknown.
        return -(-self.machine(identity).made_of.memory_mb // 1024)

    def get_total_cpus(self, identity: str) -> int:
        return self.machine(identity).made_of.cores

    def get_processors(self, identity: str) -> list[dict[str, str]]:
        cores = str(self.machine(identity).made_of.cores)
        return [{"id": "CPU0", "Id": "CPU0", "socket": "CPU 0", "vendor": "QEMU", "model": "TCG", "cores": cores, "threads": cores}]

    def get_nics(self, identity: str) -> list[dict[str, str]]:
        return [{"id": mac, "mac": mac} for mac in self.machine(identity).made_of.macs]

    def get_simple_storage_collection(self, identity: str) -> dict[str, Any]:
        size = self.machine(identity).made_of.disk_gb * _GIB
        return {"virtio": {"Id": "virtio", "Name": "virtio", "DeviceList": [{"Name": "vda", "CapacityBytes": size}]}}

    def get_boot_image(self, identity: str, device: str) -> tuple[str | None, bool, bool]:
        media = self.machine(identity).state.media if device == "Cd" else ""
        return media or None, True, bool(media)

    def set_boot_image(self, identity: str, device: str, boot_image: str | None = None, write_protected: bool = True) -> None:
        if device != "Cd":
            raise error.NotSupportedError(f"virtual media {device} is not emulated, Cd is")
        machine = self.machine(identity)
        _run(lambda: machine.set_media(boot_image or ""))


def _run(action: Callable[[], None]) -> None:
    """Run an action on a machine; an action that it refuses is an error of the API."""
    try:
        action()
    except RackError as problem:
        raise error.FishyError(str(problem)) from None


class _Silence:
    """In front of the API: requests to a BMC that is unreachable get no answer.

    The connection stays open until the client gives up or the BMC is reachable again, or is closed at once (see :class:`Machine`).
    """

    def __init__(self, app: _Wsgi, machines: Iterable[Machine]) -> None:
        self._app, self._machines = app, {machine.made_of.uuid: machine for machine in machines}
        self._poll = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        for part in environ.get("PATH_INFO", "").split("/"):
            machine = self._machines.get(part)
            if machine is not None and machine.unreachable.exists():
                connection: socket.socket = environ["werkzeug.socket"]
                self._wait(machine, connection)
                # A request that was not answered in time is lost, as with a BMC that was restarted.
                connection.shutdown(socket.SHUT_RDWR)
                return []
        return self._app(environ, start_response)

    def _wait(self, machine: Machine, connection: socket.socket) -> None:
        while machine.unreachable.exists() and machine.unreachable.read_text() != "close":
            try:
                if not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    return
            except BlockingIOError:
                self._poll.wait(0.2)
            except OSError:
                return


class _Handler(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        # Not the polls, of which a controller makes thousands.
        if self.command != "GET" or int(code) >= 400:
            self.log("info", "%s %s: %s", self.command, self.path, int(code))


def _install_system_view(driver: QemuDriver) -> None:
    """Put boot overrides for one boot into the resource of a system, which sushy-tools writes and reads without them."""
    views = sushy.app.view_functions
    original = views["system_resource"]

    def system(identity: str) -> Any:
        if flask.request.method == "PATCH":
            boot = (flask.request.get_json(silent=True) or {}).get("Boot") or {}
            target, enabled = boot.get("BootSourceOverrideTarget"), boot.get("BootSourceOverrideEnabled")
            if enabled is None or target == "UefiHttp":
                return original(identity)
            state = driver.machine(identity).state
            if mode := boot.get("BootSourceOverrideMode"):
                driver.set_boot_mode(identity, mode)
            driver.set_boot(identity, target or state.device, enabled)
            return flask.Response(status=204)
        answer = flask.make_response(original(identity))
        if answer.status_code == 200:
            content = json.loads(answer.get_data())
            content["Boot"]["BootSourceOverrideEnabled"] = driver.machine(identity).state.repeat
            content["Boot"]["BootSourceOverrideEnabled@Redfish.AllowableValues"] = list(_REPEATS)
            answer.set_data(json.dumps(content, indent=2))
        return answer

    views["system_resource"] = system


def create_server(config: RackConfig) -> BaseWSGIServer:
    """Return the server of the rack's Redfish API, listening. Raises :class:`RackError`."""
    check_programs()
    config.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    media, state = config.folder / "media", config.folder / "emulator"
    for folder in (media, state):
        folder.mkdir(exist_ok=True)
    # sushy-tools puts the media it fetches into the folder for temporary files; they are remembered beyond a restart.
    tempfile.tempdir = str(media)
    starter = ThreadPoolExecutor(1, thread_name_prefix="qemu")
    machines = [Machine(made_of, config.folder / made_of.name, config.bridge, starter) for made_of in config.machines]
    driver = QemuDriver(machines)
    passwords = config.folder / "htpasswd"
    _write_passwords(passwords, config)
    sushy.app.configure(
        extra_config={
            "SUSHY_EMULATOR_STATE_DIR": str(state),
            "SUSHY_EMULATOR_AUTH_FILE": str(passwords),
            "SUSHY_EMULATOR_VMEDIA_DEVICES": {"Cd": {"Name": "Virtual CD", "MediaTypes": ["CD", "DVD"]}},
            **_storage(config),
        }
    )
    # Its drivers are hard-wired; managers and virtual media are built on this property.
    sushy.Application.systems = property(lambda _app: driver)
    _install_system_view(driver)
    app = _Silence(cast(_Wsgi, sushy.app), machines)
    # Bound here: werkzeug ends the process where an address is in use.
    try:
        listener = socket.create_server((config.host, config.port))
    except OSError as problem:
        raise RackError(f"the Redfish API cannot listen on {config.host}:{config.port}: {problem.strerror}") from None
    with listener:
        # werkzeug duplicates the handle.
        server = make_server(config.host, config.port, app, threaded=True, request_handler=_Handler, fd=listener.fileno())
    # Who started this process may be in another network namespace, from which the port cannot be tried.
    (config.folder / "listening").write_text(str(os.getpid()), encoding="ascii")
    return server


def serve(config: RackConfig) -> None:
    """Serve the rack until the process is ended. The machines end with it."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    create_server(config).serve_forever()


def _write_passwords(path: Path, config: RackConfig) -> None:
    # The lowest cost: it is checked at every request, and only an emulator is behind it.
    digest = bcrypt.hashpw(config.password.encode(), bcrypt.gensalt(4)).decode()
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{config.user}:{digest}\n")


def _storage(config: RackConfig) -> dict[str, Any]:
    """Return the settings of sushy-tools for the disks, which the systems driver does not return."""
    storage: dict[str, Any] = {}
    drives: dict[tuple[str, str], Any] = {}
    volumes: dict[tuple[str, str], Any] = {}
    for machine in config.machines:
        key, size = str(uuid.UUID(machine.uuid)), machine.disk_gb * _GIB
        storage[key] = [
            {
                "Id": _STORAGE,
                "Name": "Local storage",
                "StorageControllers": [{"MemberId": "0", "Name": "virtio", "SpeedGbps": 12}],
                "Drives": ["vda"],
            }
        ]
        drives[key, _STORAGE] = [{"Id": "vda", "Name": "vda", "CapacityBytes": size, "Protocol": "SAS"}]
        volumes[key, _STORAGE] = []
    return {"SUSHY_EMULATOR_STORAGE": storage, "SUSHY_EMULATOR_DRIVES": drives, "SUSHY_EMULATOR_VOLUMES": volumes}
