# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One emulated machine: power, boot device, boot mode and virtual media of its BMC, and the QEMU that runs while it is on."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal

from sandbox.rack.model import RackError, RackMachine
from sandbox.rack.qmp import Qmp, QmpError

Device = Literal["None", "Hdd", "Pxe", "Cd"]
Repeat = Literal["Disabled", "Once", "Continuous"]

QEMU: Final = "qemu-system-x86_64"
_UEFI_CODE: Final = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
_UEFI_VARIABLES: Final = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
_POWER_OFF_WITHIN: Final = 10.0
"""Seconds until a QEMU that does not quit is killed."""

# As in metal_api.process, whose module needs more than this environment: the child requests SIGKILL at the end of its parent.
_LAUNCHER: Final = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None, use_errno=True).prctl(1, 9, 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(125)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)
_DEFAULT_ORDER: Final[tuple[Device, ...]] = ("Hdd", "Pxe")
"""What firmware tries without an override. Virtual media are booted only by an override."""

_PACKAGES: Final = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "ip": "iproute2"}


@dataclass(frozen=True)
class State:
    """The state of a BMC. ``media``: file of the medium in the virtual CD drive, empty for none. ``uefi``: the boot mode."""

    device: Device = "None"
    repeat: Repeat = "Disabled"
    uefi: bool = False
    media: str = ""

    @property
    def order(self) -> tuple[Device, ...]:
        """Devices in the order in which the next boot tries them."""
        if self.repeat == "Disabled" or self.device == "None":
            return _DEFAULT_ORDER
        return (self.device, *(device for device in _DEFAULT_ORDER if device != self.device))


class Machine:
    """``folder``: for the disk, ``console.log`` and the state. ``bridge``: where its interfaces are put, None for nowhere.

    ``starter``: an executor with one thread that lives as long as the process. A QEMU is ended with the *thread* that started it.

    All methods may be called by several threads. They raise :class:`RackError`. A machine is off after its emulator was started anew: the
    QEMU before has ended with the emulator before.
    """

    def __init__(self, made_of: RackMachine, folder: Path, bridge: str | None, starter: Executor) -> None:
        self.made_of = made_of
        self._folder, self._bridge, self._starter = folder, bridge if made_of.cabled else None, starter
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._qmp: Qmp | None = None
        self._start_again = False
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "state.json"
        self._state = State(**json.loads(self._file.read_text())) if self._file.exists() else State(uefi=made_of.firmware == "uefi")

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_on(self) -> bool:
        # Not whether QEMU runs: between two boots of one machine it does not.
        return self._process is not None

    @property
    def console(self) -> Path:
        """The file to which everything on the serial port is appended."""
        return self._folder / "console.log"

    @property
    def unreachable(self) -> Path:
        """While this file exists the BMC does not answer. ``close``, its content, closes connections; otherwise they are left open."""
        return self._folder / "unreachable"

    # --- requests to the BMC ---

    def power_on(self) -> None:
        with self._lock:
            if not self._runs:
                self._stop()
                self._start()

    def power_off(self) -> None:
        with self._lock:
            self._stop()

    def power_cycle(self) -> None:
        """Reset a machine that is on, start one that is off."""
        with self._lock:
            self._stop()
            self._start()

    def press_power_button(self, *, start_again: bool = False) -> None:
        """Ask the operating system to power off, which it may ignore. ``start_again``: power on afterwards."""
        with self._lock:
            if self.is_on:
                self._start_again = start_again
                self._command("system_powerdown")
            elif start_again:
                self._start()

    def set_boot(self, device: Device, repeat: Repeat) -> None:
        """Set the boot override: from the next boot on, or for that one alone."""
        with self._lock:
            if repeat == "Disabled" or device == "None":
                device, repeat = "None", "Disabled"
            self._save(replace(self._state, device=device, repeat=repeat))

    def set_uefi(self, uefi: bool) -> None:
        """Set the boot mode, from the next boot on."""
        with self._lock:
            self._save(replace(self._state, uefi=uefi))

    def set_media(self, image: str) -> None:
        """Put an ISO file into the virtual CD drive, or remove it (empty)."""
        with self._lock:
            self._save(replace(self._state, media=image))
            if not self._runs:
                return
            if image:
                self._command("blockdev-change-medium", id="cd", filename=image, format="raw", **{"read-only-mode": "read-only"})
            else:
                self._command("eject", id="cd", force=True)

    # --- QEMU ---

    @property
    def _runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            # QEMU inherits the handles; here they are closed.
            with theirs, (self._folder / "qemu.log").open("wb") as log, contextlib.ExitStack() as opened:
                taps = []
                for _mac in self.made_of.macs if self._bridge else ():
                    handle, name = _open_tap()
                    opened.callback(os.close, handle)
                    taps.append(handle)
                    _attach(name, str(self._bridge))
                command = self._command_line(theirs.fileno(), taps)
                self._process = self._starter.submit(_launch, command, log.fileno(), [theirs.fileno(), *taps]).result()
        except (OSError, RackError) as error:
            ours.close()
            raise RackError(f"cannot power on machine {self.made_of.name}: {error}") from None
        process, self._start_again = self._process, False
        try:
            self._qmp = Qmp(ours, self._on_event, lambda: self._ended(process))
            # Only now, so that no event is missed: a boot can last for less than a second.
            self._command("cont")
        except (QmpError, RackError) as error:
            process.kill()
            process.wait()
            self._process = self._qmp = None
            text = (self._folder / "qemu.log").read_text(errors="replace").strip()
            raise RackError(f"cannot power on machine {self.made_of.name}: {text[-500:] or error}") from None
        # A boot has begun, which uses up an override for one boot.
        if self._state.repeat == "Once":
            self._save(replace(self._state, device="None", repeat="Disabled"))

    def _stop(self) -> None:
        process, qmp = self._process, self._qmp
        self._process = self._qmp = None
        if process is None or qmp is None:
            return
        with contextlib.suppress(QmpError):
            if process.poll() is None:
                qmp.command("quit")
        try:
            process.wait(_POWER_OFF_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        qmp.close()

    def _on_event(self, event: str, data: Mapping[str, object]) -> None:
        if event == "SHUTDOWN" and data.get("reason") == "guest-reset":
            self._start_again = True

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        """Handle the end of a QEMU, in the thread of its events: the machine boots again, or is off."""
        process.wait()
        with self._lock:
            # Otherwise the BMC has ended it.
            if process is self._process:
                self._process = self._qmp = None
                if self._start_again:
                    self._start()

    def _command(self, name: str, **arguments: object) -> None:
        if self._qmp is None:
            raise RackError(f"machine {self.made_of.name} is off: {name} is not possible")
        try:
            self._qmp.command(name, **arguments)
        except QmpError as error:
            raise RackError(f"machine {self.made_of.name}: {error}") from None

    def _save(self, state: State) -> None:
        self._state = state
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(asdict(state)))
        new.replace(self._file)

    def _command_line(self, qmp: int, taps: Sequence[int]) -> list[str]:
        made_of, state = self.made_of, self._state
        place = {device: f",bootindex={number}" for number, device in enumerate(state.order)}
        # In QEMU's options a comma is written twice.
        medium = f",file={state.media.replace(',', ',,')},format=raw" if state.media else ""
        command = [
            *(_program(QEMU), "-name", made_of.name, "-uuid", made_of.uuid, "-S", "-nodefaults", "-no-user-config"),
            # Each boot is a QEMU of its own, with the order of that boot: SeaBIOS resets a machine that was reset twice more, so that
            # boots cannot be counted by resets.
            *("-action", "reboot=shutdown"),
            # graphics=off: SeaBIOS and boot loaders use the serial port.
            *("-machine", "q35,graphics=off", "-accel", "tcg", "-cpu", "max,la57=off", "-m", str(made_of.memory_mb)),
            # A system without a serial console among its kernel arguments needs another one.
            *("-smp", str(made_of.cores), "-display", "none", "-vga", "std", "-rtc", "base=utc"),
            *("-chardev", f"socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control"),
            *("-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console"),
            *("-device", "virtio-rng-pci"),
            *("-drive", f"if=none,id=disk,file={self._disk()},format=qcow2,discard=unmap"),
            *("-device", f"virtio-blk-pci,id=hdd,drive=disk,serial={made_of.name[:20]}{place.get('Hdd', '')}"),
            *("-drive", f"if=none,id=medium,media=cdrom,readonly=on{medium}"),
            *("-device", f"ide-cd,id=cd,drive=medium,bus=ide.0{place.get('Cd', '')}"),
        ]
        if state.uefi:
            command += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={_UEFI_CODE}"]
            command += ["-drive", f"if=pflash,unit=1,format=raw,file={self._uefi_variables()}"]
        for number, mac in enumerate(made_of.macs):
            # Without a bridge an interface is connected to a hub with nothing else.
            network = f"tap,id=net{number},fd={taps[number]}" if taps else f"hubport,id=net{number},hubid={number}"
            name = "pxe" if number == 0 else f"pxe{number}"
            boots = place.get("Pxe", "") if number == 0 else ""
            # With UEFI the firmware's own drivers boot, by PXE and HTTP, as on servers; QEMU's ROM would be an iPXE.
            rom = ",romfile=" if state.uefi else ""
            command += ["-netdev", network, "-device", f"virtio-net-pci,id={name},netdev=net{number},mac={mac}{boots}{rom}"]
        return command

    def _disk(self) -> Path:
        disk = self._folder / "disk.qcow2"
        if not disk.exists():
            new = disk.with_suffix(".new")
            command = [_program("qemu-img"), "create", "-q", "-f", "qcow2", str(new), f"{self.made_of.disk_gb}G"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RackError(f"cannot make its disk: {done.stderr.strip()}")
            new.replace(disk)
        return disk

    def _uefi_variables(self) -> Path:
        variables = self._folder / "uefi-variables.fd"
        if not _UEFI_VARIABLES.exists() or not _UEFI_CODE.exists():
            raise RackError(f"{_UEFI_CODE.parent} has no firmware. Install the package: apt-get install ovmf")
        if not variables.exists():
            new = variables.with_suffix(".new")
            shutil.copyfile(_UEFI_VARIABLES, new)
            new.replace(variables)
        return variables


def check_programs() -> None:
    """Raise :class:`RackError` naming the Debian packages whose programs are missing."""
    missing = [package for program, package in _PACKAGES.items() if shutil.which(program, path=_search_path()) is None]
    if missing:
        raise RackError(f"the rack needs QEMU and its tools. Install the packages: apt-get install {' '.join(missing)}")


def _search_path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _program(name: str) -> str:
    path = shutil.which(name, path=_search_path())
    if path is None:
        raise RackError(f"there is no {name}. Install the package: apt-get install {_PACKAGES[name]}")
    return path


def _launch(command: list[str], log: int, handles: list[int]) -> subprocess.Popen[bytes]:
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid())]
    return subprocess.Popen(
        [*launcher, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=handles, start_new_session=True
    )


def _open_tap() -> tuple[int, str]:
    """Return handle and name of a new network interface, which exists as long as its handle is open."""
    set_interface, tap, without_header = 0x400454CA, 0x0002, 0x1000  # TUNSETIFF, IFF_TAP, IFF_NO_PI
    try:
        handle = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        answer = fcntl.ioctl(handle, set_interface, struct.pack("16sH22x", b"rack%d", tap | without_header))
    except OSError as error:
        raise RackError(
            f"no network interface on /dev/net/tun ({error.strerror}): it needs a network namespace with CAP_NET_ADMIN"
        ) from None
    return handle, answer[:16].rstrip(b"\0").decode()


def _attach(interface: str, bridge: str) -> None:
    command = [_program("ip"), "link", "set", interface, "master", bridge, "up"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RackError(f"bridge {bridge}: {done.stderr.strip()}")
