# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack as a child process of the sandbox or of a test, and the environment its emulator runs in.

The emulator has a virtual environment of its own in the cache folder: Flask and its dependencies are needed by nothing else of the
sandbox, and the versions sushy-tools needs are not to be balanced with those of the Metal API server.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from rich.console import Console

from metal_api.building import BuildError, ensure_environment
from metal_api.process import Child
from sandbox.rack.model import RackConfig, RackError, RackMachine

REQUIREMENTS: Final = Path(__file__).with_name("requirements.txt")
READY_WITHIN: Final = 60.0
"""Seconds in which the emulator has to listen after its start: 1 on an idle computer."""

_REPOSITORY: Final = Path(__file__).resolve().parents[2]


def ensure_emulator(progress: Console | None = None) -> Path:
    """Return the Python interpreter that has sushy-tools, installing it first if need be (about 10 seconds and 40 MB, once).

    Blocks: call it before the event loop or in a thread. Raises :class:`RackError`.
    """
    try:
        programs = ensure_environment("rack", REQUIREMENTS, title="the Redfish emulator", takes="a few seconds", progress=progress)
    except BuildError as error:
        raise RackError(str(error)) from None
    return programs / "python"


class Rack:
    """Emulated machines behind a Redfish API. Machines are off after a start, with their earlier disks and boot settings.

    ``python``: of :func:`ensure_emulator`. ``inside``: command words that run what follows them in the network namespace of the rack
    (``nsenter ...``, ``ip netns exec NAME``), where its bridge is and its API listens; they must keep the process.
    """

    def __init__(self, config: RackConfig, python: Path, *, inside: Sequence[str] = ()) -> None:
        self.config = replace(config, folder=config.folder.resolve())
        self._folder = self.config.folder
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._machines = {machine.name: machine for machine in config.machines}
        file = self._folder / "rack.json"
        self.config.save(file)
        self.log = self._folder / "emulator.log"
        # Its modules are found by the path and not by the working directory, which holds the state.
        words = [*inside, "env", f"PYTHONPATH={_REPOSITORY}", str(python), "-m", "sandbox.rack", "--config", str(file)]
        program = shutil.which(words[0])
        if program is None:
            raise RackError(f"there is no {words[0]} to start the rack with")
        self._command = [program, *words[1:]]
        self._child = Child("rack", lambda: self._command, directory=self._folder, log=self.log)

    @property
    def url(self) -> str:
        """Address of the Redfish API, ``http://127.0.0.1:8000``."""
        return f"http://{self.config.host}:{self.config.port}"

    @property
    def pid(self) -> int | None:
        """Process id of the emulator while it runs."""
        return self._child.pid

    def machine(self, name: str) -> RackMachine:
        """Return a machine by its name. Raises :class:`RackError`."""
        try:
            return self._machines[name]
        except KeyError:
            raise RackError(f"the rack has no machine {name}, it has {', '.join(self._machines) or 'none'}") from None

    def console(self, name: str) -> Path:
        """Return the file with everything that the machine wrote to its serial port. It exists after the first power on."""
        return self._folder / self.machine(name).name / "console.log"

    async def start(self) -> None:
        """Start the emulator and wait until it listens. After an unexpected end it is started again. Raises :class:`RackError`."""
        await self._child.start()
        deadline = time.monotonic() + READY_WITHIN
        while not self._listens():
            if time.monotonic() > deadline or self._child.starts > 2:
                await self._child.stop()
                raise RackError(f"the Redfish emulator does not start. The end of {self.log}:\n{self._child.last_words(10)}")
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """End the emulator, and with it all machines, at once: as a power failure."""
        await self._child.stop()

    def unreachable(self, name: str, fault: Literal["hang", "close"] = "hang") -> None:
        """Make the BMC of a machine unreachable. ``hang``: connections remain open until the client gives up. ``close``: they are closed.

        The machine itself runs on. The fault lasts until :meth:`reachable`, beyond a restart of the emulator.
        """
        file = self._fault(name)
        file.parent.mkdir(exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(fault, encoding="ascii")
        new.replace(file)

    def reachable(self, name: str) -> None:
        """End the fault of :meth:`unreachable`; requests that still wait are lost."""
        self._fault(name).unlink(missing_ok=True)

    def _fault(self, name: str) -> Path:
        return self._folder / self.machine(name).name / "unreachable"

    def _listens(self) -> bool:
        try:
            return (self._folder / "listening").read_text(encoding="ascii") == str(self.pid)
        except OSError:
            return False
