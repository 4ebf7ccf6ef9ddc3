# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed system of a node or of the bootstrap machine: first boot by the real Ignition engine, then systemd and what it starts."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from sandbox.containers.cloud import CloudContainer
from sandbox.containers.cloud_tree import DISTRIBUTIONS
from sandbox.containers.command import ContainerError
from sandbox.containers.container import Container
from sandbox.containers.ignition import IgnitionFailedError, ignite
from sandbox.containers.programs import Programs
from sandbox.containers.tree import CONTROL_PLANE, ENTRY_POINTS, KUBELET
from sandbox.machines import System, SystemFactory
from sandbox.machines.coreos import InstalledSystem
from sandbox.machines.host import Host, Hung, Rebooting
from sandbox.machines.ignition import Config, IgnitionError
from sandbox.machines.simulated import simulated_system

_POOL: Final = re.compile(r"/config/([a-z0-9][a-z0-9-]*)$")


class Containers:
    """Makes installed systems: containers for machine config pools and operating systems that ``is_container`` names, else simulated."""

    def __init__(self, programs: Programs, is_container: Callable[[str], bool]) -> None:
        self._programs = programs
        self._is_container = is_container

    def __call__(self, host: Host, drive: str, content: dict[str, Any], factory: SystemFactory) -> System:
        name = content["system"]
        if name == "rhcos":
            embedded = content["ignition"]
            if embedded is None:
                host.remark("this system is simulated, and no container: no config is on its disk")
            elif self._is_container(pool_of(embedded)):
                return ContainerSystem(host, drive, content, factory, programs=self._programs)
        elif self._is_container(name):
            if name.startswith(DISTRIBUTIONS):
                return CloudContainer(host, drive, content, tree=self._programs.cloud)
            host.remark(f"this system is simulated, and no container: containers have packages of Debian, {name} has others")
        return simulated_system(host, drive, content, factory)


def pool_of(embedded: str) -> str:
    """Return the machine config pool that the config on a disk (base64) refers to.

    That of the control plane for another config: the bootstrap machine is a container where the control plane is.
    """
    with contextlib.suppress(ValueError, LookupError, AttributeError, TypeError, StopIteration):
        references = json.loads(base64.b64decode(embedded))["ignition"]["config"]["merge"]
        return next(match[1] for reference in references if (match := _POOL.search(str(reference.get("source")))))
    return "master"


class ContainerSystem(InstalledSystem):
    """RHEL CoreOS in a container. Cancelling is a loss of power."""

    def __init__(self, host: Host, drive: str, content: dict[str, Any], factory: SystemFactory, *, programs: Programs) -> None:
        super().__init__(host, drive, content, factory)
        self._container = Container(
            host,
            programs.tree,
            f"--bind-ro={host.directory / 'container/root/usr'}:/usr",
            f"--bind-ro={programs.kubelet}:{KUBELET}",
            f"--bind-ro={programs.control_plane}:{CONTROL_PLANE}",
            f"--bind-ro={programs.entry_points}:{ENTRY_POINTS}",
            # The kubelet opens the log of the kernel, which is that of the computer.
            "--bind=/dev/null:/dev/kmsg",
        )

    async def run(self) -> None:
        if self._content.get("first_boot"):
            self._container.wipe()
        try:
            async with self._container.mounted(), self._container.link.connected():
                await super().run()
        except ContainerError as error:
            raise Hung(f"this computer cannot run the container of the machine: {error}") from error

    async def _ignite(self) -> Config:
        content = self._content
        embedded = None if content["ignition"] is None else base64.b64decode(content["ignition"])
        try:
            text = await ignite(self._container, content["platform"], embedded, content["kargs"])
        except IgnitionFailedError as error:
            # The engine has reported it, where its platform does.
            await self._emergency(f"ignition: failed in {error}", IgnitionError(str(error)))
        config: Config = json.loads(text)
        return config

    async def _start(self) -> NoReturn:
        ended: Exception = Hung("the system ended by itself")
        try:
            with self._host.with_userland(self._container, self._container.link):
                # In a task of its own: in Python 3.11 a group of tasks that ends with an error leaves its task marked as cancelled.
                await asyncio.create_task(self._factory(self._host, self._content["config"]).run())
        except* (Rebooting, Hung, ContainerError) as group:
            ended = next(leaves(group))
        raise ended


def leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    """Yield the exceptions of a group and of the groups in it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error
