# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state and the moving parts of one Metal API, in one place: what handlers, lifecycles and services share."""

from __future__ import annotations

import base64
import hashlib
import logging
import random
import secrets
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sandbox.clock import Clock
from sandbox.machines import Machines
from sandbox.metal import catalogue
from sandbox.metal import settings as settings_module
from sandbox.metal.address_space import AddressSpace
from sandbox.metal.errors import ApiError
from sandbox.metal.faults import Faults
from sandbox.metal.journal import Journal
from sandbox.metal.lifecycle import Lifecycle
from sandbox.metal.records import ApiKey, Device, Event, Organization, Project, SshKey, User, VirtualNetwork
from sandbox.metal.store import Store

LOG = logging.getLogger(__name__)

PASSWORD_SHOWN = timedelta(hours=24)


class MetalWorld:
    """Everything behind the routes.

    ``state_dir``: folder for metal.sqlite. ``seed``: ids and token of the first user and project are made of it.
    ``boot_url``, ``metadata_url``: where machines reach the two services. ``public_network``: inside 127.0.0.0/8, where devices and
    reservations get their public IPv4 from; it may only change with a new state folder.

    Call :meth:`start` on the running loop before the first request and :meth:`close` at the end; ``machines`` stay the caller's to close.
    """

    def __init__(  # noqa: PLR0913 - the parts of the sandbox, all by name but the first three
        self,
        state_dir: Path,
        clock: Clock,
        machines: Machines,
        *,
        boot_url: str,
        metadata_url: str,
        seed: int,
        public_network: str = "127.64.0.0/10",
    ) -> None:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = state_dir / "metal.sqlite"
        # Tokens and userdata are in it.
        path.touch(mode=0o600)
        self.clock = clock
        self.machines = machines
        self.boot_url = boot_url.rstrip("/")
        self.metadata_url = metadata_url.rstrip("/")
        self.catalogue = catalogue.load()
        self.store = Store(path)
        self.journal = Journal(self.store.database)
        self.faults = Faults()
        self.settings = self._kept_settings()
        self.store.keep_past(self.read_lag)
        # (metro, plan) -> servers that others took right after they were asked for; forgotten at a restart.
        self._taken: Counter[tuple[str, str]] = Counter()
        self._first_start(seed)
        self.addresses = AddressSpace(self, public_network)
        self.lifecycle = Lifecycle(self)

    @property
    def token(self) -> str:
        """The first user's token."""
        return next(key.token for key in self.store.api_keys if key.user_id)

    @property
    def project_id(self) -> str:
        """The first user's default project."""
        return next(iter(self.store.users)).project_id

    async def start(self) -> None:
        """Go on with everything that was under way, and switch on the machines that were on."""
        await self.lifecycle.resume()

    async def close(self) -> None:
        await self.lifecycle.close()
        self.store.close()

    def change_settings(self, change: dict[str, Any]) -> None:
        """Raises 422 for what cannot be, and then changes nothing."""
        self.settings = settings_module.merged(self.settings, change)
        self._settings_changed(set(change))

    def _settings_changed(self, groups: set[str]) -> None:
        self.store.write_value("settings", self.settings)
        self.store.keep_past(self.read_lag)
        if "capacity" in groups:
            self._taken.clear()
        if {"spot", "capacity"} & groups:
            self.lifecycle.look_at_spot_market()

    def _kept_settings(self) -> dict[str, Any]:
        kept = self.store.read_value("settings") or {}
        try:
            return settings_module.merged(settings_module.DEFAULTS, kept)
        except ApiError as problem:
            LOG.warning("the settings of the last start are not used: %s", problem)
            return settings_module.merged(settings_module.DEFAULTS, {})

    def reset_settings(self) -> None:
        """Put all settings back to their defaults."""
        self.settings = settings_module.merged(settings_module.DEFAULTS, {})
        self._settings_changed({"capacity", "spot"})

    @property
    def read_lag(self) -> float:
        """How far reads are behind, in real seconds."""
        return float(self.settings["stale_reads"]["seconds"]) / self.clock.speed

    def duration(self, name: str) -> float:
        """Simulated seconds."""
        return float(self.settings["durations"][name])

    @staticmethod
    def now() -> str:
        """As the API writes time: UTC to the second."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def record_event(self, device: Device, type_: str, body: str, *, user_id: str | None = None, state: str | None = None) -> Event:
        return self.store.put(
            Event(
                id=str(uuid.uuid4()),
                type=type_,
                body=body,
                created_at=self.now(),
                project_id=device.project_id,
                device_id=device.id,
                user_id=user_id,
                state=state,
            )
        )

    def record_project_event(self, project_id: str, type_: str, body: str) -> Event:
        """Of a project itself."""
        return self.store.put(Event(id=str(uuid.uuid4()), type=type_, body=body, created_at=self.now(), project_id=project_id))

    def available_servers(self, metro: str, plan: str) -> int:
        capacity = self.settings["capacity"]
        total = capacity["metros"].get(metro, {}).get(plan, capacity["default"])
        return max(0, int(total) - self.store.devices.count("stock", (metro, plan)) - self._taken[metro, plan])

    def asked_for(self, metro: str, plan: str) -> None:
        """Somebody has found enough servers in a check: by choice others are faster with their order."""
        self._taken[metro, plan] += int(self.settings["capacity"]["taken_after_check"])

    def members(self, project: Project) -> list[User]:
        """Users who see ``project``, those of its organization first."""
        of_organization = self.store.organizations[project.organization_id].member_ids or [each.id for each in self.store.users]
        ids = dict.fromkeys((*of_organization, *project.member_ids))
        return [user for user in map(self.store.users.get, ids) if user is not None]

    def projects_of(self, user_id: str) -> list[Project]:
        return [each for each in self.store.projects if any(user.id == user_id for user in self.members(each))]

    def devices_in(self, vlan: VirtualNetwork) -> list[Device]:
        """Devices with a port in ``vlan``."""
        ids = dict.fromkeys(port.device_id for port in self.store.ports.by("in_use", True) if vlan.id in port.vlan_ids)
        return [self.store.devices[each] for each in ids]

    @staticmethod
    def vlan_assignment_id(port_id: str, vlan_id: str) -> str:
        return str(uuid.uuid5(uuid.UUID(port_id), vlan_id))

    @staticmethod
    def shown_password(device: Device) -> str | None:
        """Gone 24 hours after provisioning (vendor's OpenAPI text)."""
        created = datetime.fromisoformat(device.created_at)
        return device.root_password if datetime.now(UTC) - created < PASSWORD_SHOWN else None

    @staticmethod
    def new_password() -> str:
        return secrets.token_urlsafe(12)

    def add_user(self, first_name: str, last_name: str, email: str, ids: tuple[str, str, str], *, project_name: str) -> User:
        """A user with an organization and a project, whose ``ids`` are given in this order; in a transaction."""
        now = self.now()
        user_id, organization_id, project_id = ids
        self.store.put(Organization(id=organization_id, name=first_name, member_ids=(user_id,), created_at=now, updated_at=now))
        self.store.put(Project(id=project_id, name=project_name, organization_id=organization_id, created_at=now, updated_at=now))
        return self.store.put(
            User(
                id=user_id,
                first_name=first_name,
                last_name=last_name,
                email=email,
                organization_id=organization_id,
                project_id=project_id,
                created_at=now,
                updated_at=now,
            )
        )

    def _first_start(self, seed: int) -> None:
        if len(self.store.users):
            return
        chance = random.Random(f"equinix_metal.openshift sandbox {seed}")  # noqa: S311 - the same each time is what is wanted here

        def new_id() -> str:
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))

        now = self.now()
        user_id, organization_id, project_id = new_id(), new_id(), new_id()
        key = (
            "ssh-ed25519 "
            + base64.b64encode(
                b"\0\0\0\x0bssh-ed25519\0\0\0 " + hashlib.sha256(b"nobody has the private half of this key").digest()
            ).decode()
        )
        with self.store.transaction():
            self.add_user("Sandbox", "User", "user@sandbox.test", (user_id, organization_id, project_id), project_name="sandbox")
            self.store.put(
                ApiKey(
                    id=new_id(),
                    token="".join(chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", k=32)),
                    description="sandbox",
                    read_only=False,
                    user_id=user_id,
                    created_at=now,
                    updated_at=now,
                )
            )
            # Like nearly every account: with no key at all a device cannot be ordered without saying no_ssh_keys.
            self.store.put(
                SshKey(
                    id=new_id(),
                    label="sandbox",
                    key=f"{key} user@sandbox.test",
                    fingerprint=fingerprint(key),
                    user_id=user_id,
                    created_at=now,
                    updated_at=now,
                )
            )

    def project_key(self, project: Project, label: str, key: str) -> SshKey:
        """The project's key with this text; made, if it has none yet. Raises ValueError for what is no key."""
        mark, now = fingerprint(key), self.now()
        found = [each for each in self.store.ssh_keys.by("project", project.id) if each.fingerprint == mark]
        if found:
            return found[0]
        id_ = str(uuid.uuid4())
        return self.store.put(SshKey(id=id_, label=label, key=key, fingerprint=mark, project_id=project.id, created_at=now, updated_at=now))


def fingerprint(key: str) -> str:
    """MD5 of an OpenSSH public key, in colon form as the API shows it. Raises ValueError for what is no key."""
    parts = key.split()
    if len(parts) < 2 or not parts[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise ValueError("not an OpenSSH public key")
    blob = base64.b64decode(parts[1], validate=True)
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    return ":".join(digest[at : at + 2] for at in range(0, 32, 2))
