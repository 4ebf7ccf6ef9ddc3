# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m metal_api serve``: the Metal API of a rack as one process.

Two listeners: the API with TLS for users, and the boot and metadata services over plain HTTP for machines, whose firmware has no CA. State,
token and the Ironic of its own are in the state folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import shlex
import signal
import socket
import sqlite3
import ssl
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import yaml
from rich.console import Console

from metal_api import audit
from metal_api.app import create_machines_app, create_metal_app
from metal_api.audit import Audit
from metal_api.boot import BootMedia
from metal_api.boot_iso import BootIsoError, write_media
from metal_api.catalogue.data import Catalogue, Plan, own_metro, set_catalogue
from metal_api.certificate import Certificate, CertificateError, by_own_ca, from_files
from metal_api.connections import Connections, raise_descriptors
from metal_api.core.database import DatabaseError, UnusableError
from metal_api.core.world import Environment, MetroNetwork
from metal_api.database_option import check_place, open_database, write_place
from metal_api.first_start import Owner
from metal_api.images import images_folder
from metal_api.ironic import agent
from metal_api.ironic.client import IronicClient, IronicError
from metal_api.ironic.embedded import USER, Access, EmbeddedError, EmbeddedIronic, Site, ensure_ironic
from metal_api.ironic.enrolment import EnrolmentError, KnownServer, assigned, enrol
from metal_api.ironic.machines import IronicMachines
from metal_api.listener import Listener
from metal_api.metrics import Metrics
from metal_api.network.dnsmasq import DhcpError, Dnsmasq, Host, hosts_of
from metal_api.network.reservations import reservations
from metal_api.printable import PrintableFormatter
from metal_api.rack import Rack, RackError, load, parsed, rack_of, with_agent
from metal_api.recovery import Recovery
from metal_api.running import Runnable, run
from metal_api.servers import Server
from metal_api.state_folder import StartError, locked, write_private
from metal_api.world import MetalWorld

LOG = logging.getLogger(__name__)

DEFAULT_LISTEN = "127.0.0.1:8443"
TOKEN, CA, MEDIA, KEPT_RACK = "token", "tls/ca.pem", "media", "rack-in-force.yml"
"""In the state folder: a token that may write, the CA of the API's certificate, the folder of what machines boot, metros and plans."""

MOST_CONNECTIONS, MOST_CONNECTIONS_OF_CLIENT = 2000, 128
"""Of each listener, and of one address there."""

LOST_WITHIN = 300.0
"""Seconds until the node of a server has to exist at the start if Ironic lacks it; else the server is enrolled later."""

OWNER = Owner("Metal", "Admin", "admin@metal.invalid", "metal")


@dataclass(frozen=True)
class Options:
    """The command line's options.

    ``listen``: address and port of the API. ``boot_listen``: of the boot service; ``boot_url``: where machines reach it, empty for
    ``http://`` and ``boot_listen``. ``certificate``, ``key``: of the API, None for one of its own CA. ``names``: further DNS names in that
    certificate. ``is_plain``: API without TLS. ``ironic``: None for one of its own; ``fake_hardware``: whether that one knows nodes without
    hardware. ``agent``: folder with the agent that cleans disks, for an Ironic of its own. ``boot_timeout``: seconds in which a machine has
    to ask the boot service after it was switched on. ``database``: URL of PostgreSQL, None for a file in the state folder.
    """

    state: Path
    rack: Path
    listen: tuple[str, int]
    boot_listen: tuple[str, int]
    boot_url: str = ""
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()
    is_plain: bool = False
    ironic: Access | None = None
    fake_hardware: bool = False
    agent: Path | None = None
    rescue_script_url: str = ""
    boot_timeout: float = 1800
    metrics_listen: tuple[str, int] | None = None
    database: str | None = None


def parse_listen(option: str, text: str) -> tuple[str, int]:
    """Return address and port of ``ADDRESS:PORT``. Raises :class:`StartError`."""
    host, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal() or not 0 < int(number) <= 65535:
        raise StartError(f"{option} {text}: write it as ADDRESS:PORT, for example {DEFAULT_LISTEN}")
    try:
        return str(ipaddress.IPv4Address(host)), int(number)
    except ValueError:
        raise StartError(f"{option} {text}: {host!r} is not an IPv4 address") from None


def parse_ironic(url: str | None, user: str, password_file: Path | None, cloud: str | None) -> Access | None:
    """Return how the Ironic of these options is reached, None for one of the server's own. Raises :class:`StartError`."""
    if cloud and url:
        raise StartError("--os-cloud and --ironic-url: name one Ironic")
    if cloud:
        return Access(cloud=cloud)
    if not url:
        return None
    password = ""
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StartError(f"--ironic-password-file {password_file}: {os.strerror(error.errno or 0)}") from None
    if bool(user) != bool(password):
        raise StartError("--ironic-user and --ironic-password-file: one needs the other")
    return Access(url, user, password)


def checked(options: Options) -> Options:
    """Return the options, if they fit together. Raises :class:`StartError`."""
    address = ipaddress.ip_address(options.listen[0])
    if options.is_plain and not address.is_loopback:
        raise StartError(
            f"--plain-http with --listen {address}: tokens would be readable on the network. Leave it out: TLS needs no setup, "
            f"clients trust {options.state / CA}"
        )
    if options.agent is not None:
        missing = [name for name in (agent.KERNEL, agent.INITRAMFS) if not (options.agent / name).is_file()]
        if missing:
            raise StartError(f"--agent {options.agent}: {' and '.join(missing)} missing there")
        if options.ironic is not None:
            raise StartError("--agent: an Ironic that exists has an agent of its own; configure it there")
    if (options.certificate is None) != (options.key is None):
        raise StartError("--certificate and --key: one needs the other")
    if not options.boot_url and ipaddress.ip_address(options.boot_listen[0]).is_unspecified:
        raise StartError(f"--boot-listen {options.boot_listen[0]}: name the URL at which machines reach it with --boot-url")
    return options


def load_rack(path: Path) -> Rack:
    """Return the rack of a file. Raises :class:`StartError` with all its problems, a line each."""
    try:
        return load(path)
    except RackError as error:
        problems = "\n".join(f"  {problem}" for problem in error.problems)
        raise StartError(f"{path} cannot be used, nothing was started:\n{problems}") from None


def rack_in_force(path: Path, state: Path) -> Rack:
    """Return the rack of a file; of one that cannot be used, the metros and plans of the last start, without servers to enrol.

    So a mistake in the file stops no server that is started again: devices run on, and their network is served. Raises :class:`StartError`
    where there was no start before.
    """
    kept = state / KEPT_RACK
    try:
        # Parsed once: by the rules of YAML 1.1 it would have other values, such as false for the country NO.
        data = parsed(path)
        rack = rack_of(data, path)
    except RackError as error:
        if not kept.exists():
            return load_rack(path)
        LOG.error("the metros and plans of the last start are in force, correct the file and reload it (SIGHUP): %s", error)  # noqa: TRY400
        return replace(load_rack(kept), are_servers_known=False)
    # Without servers it contains no secrets and no names of files.
    _keep(rack, yaml.safe_dump({name: data[name] for name in ("metros", "plans") if data.get(name)}), kept)
    return rack


def _keep(rack: Rack, text: str, kept: Path) -> None:
    """Replace the file ``kept`` with ``text``, if that is a rack file with the metros and plans of ``rack``."""
    fresh = kept.with_suffix(".fresh")
    write_private(fresh, text)
    try:
        again = load(fresh)
    except RackError as error:
        LOG.error("%s is not replaced: %s", kept, error)  # noqa: TRY400 - its words suffice
        return
    if (again.metros, again.plans) == (rack.metros, rack.plans):
        fresh.replace(kept)
    else:
        LOG.error("%s is not replaced: %s has other metros or plans than the rack file", kept, fresh)


def catalogue_of(rack: Rack) -> Catalogue:
    """Return the catalogue of a rack: its metros, and its plans beside those of the vendor."""
    return Catalogue(
        [own_metro(metro.code, metro.name, metro.country) for metro in rack.metros],
        [
            Plan(
                slug=plan.slug,
                cpu=plan.cpu,
                cores=plan.cores,
                memory_gb=plan.memory_gb,
                drives=plan.drives,
                ports=plan.ports,
                nic=plan.nic,
                price_hour=plan.price_hour,
                type="standard",
                categories=("compute", "current_gen"),
            )
            for plan in rack.plans
        ],
    )


def serve(options: Options) -> int:
    """Run the server until SIGINT or SIGTERM. Raises :class:`StartError` when it cannot start."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("httpx", "httpcore", "uvicorn", "openstack", "keystoneauth", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    options = checked(options)
    with locked(options.state, "server"):
        rack = rack_in_force(options.rack, options.state)
        set_catalogue(catalogue_of(rack))
        check_place(options.state, options.database)
        try:
            write_media(options.state / MEDIA, _boot_url(options))
            programs = ensure_ironic(Console(stderr=True)) if options.ironic is None else None
            return asyncio.run(_run(options, rack, programs))
        except (BootIsoError, EmbeddedError, UnusableError, DatabaseError) as error:
            raise StartError(str(error)) from None
        except (OSError, sqlite3.Error) as error:
            # A full or read-only disk, for the most part.
            raise StartError(f"--state {options.state}: {error}") from error


def _boot_url(options: Options) -> str:
    return options.boot_url.rstrip("/") or "http://{}:{}".format(*options.boot_listen)


class MetalServer(Runnable):
    """All services, started in the order of their dependencies and ended in reverse order. ``programs``: of an Ironic of its own.

    ``ended``: set when it cannot go on, for the reason in ``failure``.
    """

    def __init__(self, options: Options, rack: Rack, programs: Path | None, ended: asyncio.Event) -> None:
        super().__init__()
        self._options, self._rack, self._programs, self._ended = options, rack, programs, ended
        self.failure: Exception | None = None
        self._reloaded = asyncio.Event()
        self._metrics = Metrics()
        self._certificate: Certificate | None = None
        # For each of the three listeners.
        self._descriptors = raise_descriptors() // 3

    async def start(self) -> None:
        """Raises :class:`StartError`."""
        options, boot_url = self._options, _boot_url(self._options)
        database = None
        if options.database is not None:
            database = await asyncio.to_thread(open_database, options.database)
            self._ends("database", partial(asyncio.to_thread, database.close))
            write_place(options.state, database.name)
        access = options.ironic or await self._start_ironic(boot_url)
        is_own = options.ironic is None
        machines = IronicMachines(
            IronicClient(access.connect(), self._metrics.ironic_call),
            boot_url=boot_url,
            # Nodes of another Ironic are the matter of its operator.
            is_expected=lambda name: is_own and self._rack.may_have(name),
        )
        self._ends("machines", machines.close)
        environment = Environment(
            boot_url=boot_url,
            metadata_url=boot_url,
            # Of what a plain network does not have, elastic addresses and private ones, nothing is given out.
            public_network="192.0.2.0/24",
            private_network="198.51.100.0/24",
            networks={
                metro.code: MetroNetwork(str(metro.network), str(metro.gateway), str(metro.first), str(metro.last))
                for metro in self._rack.metros
            },
            boot_timeout=options.boot_timeout,
            rescue_script_url=options.rescue_script_url,
            has_agent=options.agent is not None,
        )
        # From the first user and token on.
        observe = Audit(options.state / audit.NAME).write
        world = MetalWorld(options.state, machines, environment=environment, owner=OWNER, database=database, observe=observe)
        self._ends("Metal API", world.close)
        recovery = Recovery(world)
        world.observers.append(self._metrics.request)
        self._metrics.watch(world, lambda: machines.poll_age)
        self._connect, self._world = access.connect, world
        try:
            if is_own and self._rack.servers and (lost := await machines.lost(world)):
                # Before operations go on, which would find no node.
                LOG.info("creating the nodes of servers that Ironic does not have: %s", ", ".join(lost))
                await self._enrol(patience=LOST_WITHIN)
            await machines.start(world)
        except IronicError as error:
            raise StartError(f"the Ironic at {access.url} cannot be used: {error}") from None
        media = BootMedia(options.state / MEDIA, images=images_folder(options.state), agent=options.agent, ironic_url=access.url)
        await self._listen("--boot-listen", options.boot_listen, create_machines_app(world, media), None)
        if not options.is_plain:
            self._certificate = await asyncio.to_thread(self._new_certificate)
            self._metrics.watch_certificate(self._certificate)
            self._ends_task(asyncio.create_task(self._certificate.keep_valid(), name="certificate"))
        context = None if self._certificate is None else self._certificate.context
        await self._listen("--listen", options.listen, create_metal_app(world), context)
        if options.metrics_listen is not None:
            await self._listen("--metrics-listen", options.metrics_listen, self._metrics.application(), None)
        if world.token:
            write_private(options.state / TOKEN, world.token + "\n")
        else:
            LOG.error("no API key of a user may write: stop the server, then run python -m metal_api key --state %s", options.state)
            (options.state / TOKEN).unlink(missing_ok=True)
        self._write_environment(world)
        # Before any server is powered on, which then finds DHCP if it can be served.
        await self._start_dhcp(world, machines)
        # Last, since operations that were interrupted go on at once.
        await world.start()
        self._ends_task(asyncio.create_task(self._recover(recovery), name="check of the database"))
        self._poll_soon = machines.poll_soon
        self._ends_task(asyncio.create_task(self._keep_enrolled(), name="enrolment"))

    async def _recover(self, recovery: Recovery) -> None:
        try:
            await recovery.run()
        except Exception as error:  # noqa: BLE001 - whatever it is: without this task a lost database stays lost
            self.failure = error
            self._ended.set()

    async def _start_dhcp(self, world: MetalWorld, machines: IronicMachines) -> None:
        if not any(metro.dhcp_interface for metro in self._rack.metros):
            return
        dnsmasq = Dnsmasq(self._options.state / "dnsmasq", self._rack.metros, _boot_url(self._options))
        self._ends("DHCP", dnsmasq.stop)
        reported = ""

        async def serve_hosts() -> None:
            nonlocal reported
            try:
                await dnsmasq.update(hosts_of(world.store[Server]))
                reported = ""
            except Exception as error:
                # Also of a full disk: devices run on without DHCP, and need the API.
                if repr(error) != reported:
                    traceback = None if isinstance(error, DhcpError) else error
                    text = "DHCP does not serve all servers, trying again at each poll of Ironic: %s"
                    LOG.error(text, error, exc_info=traceback)  # noqa: TRY400 - the words of a DhcpError suffice
                reported = repr(error)

        async def follow() -> None:
            while True:
                await machines.next_poll()
                await serve_hosts()

        await serve_hosts()
        self._ends_task(asyncio.create_task(follow(), name="hosts of DHCP"))

    def reload(self) -> None:
        """Read the rack file again and enrol its servers; read the certificate of the API again."""
        self._reloaded.set()
        if self._certificate is not None:
            self._certificate.renew()

    async def _keep_enrolled(self) -> None:
        """Enrol the servers of the rack file, now and each time that it is reloaded."""
        while True:
            self._reloaded.clear()
            if self._rack.servers and await self._enrol():
                self._poll_soon()
            await self._reloaded.wait()
            await self._take_rack()

    async def _enrol(self, patience: float = 1800.0) -> bool:
        """Enrol the servers of the rack file, and return whether Ironic could be read. ``patience``: seconds for each."""
        boot_url = _boot_url(self._options)
        known = {
            server.name: KnownServer(server.id, server.address, server.plan, server.macs, server.device_id or "", boot_url)
            for server in self._world.store[Server]
        }
        is_own = self._options.ironic is None
        try:
            connection = await asyncio.to_thread(self._connect)
            rack = with_agent(self._rack, boot_url) if self._options.agent is not None else self._rack
            report = await enrol(rack, connection, check_bmcs=is_own, known=known if is_own else None, progress=LOG.info, patience=patience)
        except EnrolmentError as error:
            self._not_enrolled(str(error))
            return False
        except Exception:
            LOG.exception("rack %s is not enrolled, reload it (SIGHUP) to try again", self._options.rack)
            return False
        failed = sum(result.outcome == "failed" for result in report.results)
        LOG.info("rack %s: %d servers, %d failed", self._options.rack, len(self._rack.servers), failed)
        return True

    def _not_enrolled(self, reason: str) -> None:
        LOG.error("rack %s is not enrolled, reload it (SIGHUP) to try again: %s", self._options.rack, reason)

    async def _take_rack(self) -> None:
        try:
            # In a thread: thousands of servers take seconds.
            rack = await asyncio.to_thread(load, self._options.rack)
        except RackError as error:
            LOG.error("the rack file is not used, the one of the start is still in force: %s", error)  # noqa: TRY400 - its words suffice
            return
        except Exception:
            # Without this task no later rack file is used.
            LOG.exception("the rack file is not used, the one of the start is still in force")
            return
        if (rack.metros, rack.plans) != (self._rack.metros, self._rack.plans):
            LOG.error("metros or plans of %s have changed: restart the server to use them", self._options.rack)
            return
        self._rack = rack

    async def _start_ironic(self, boot_url: str) -> Access:
        if self._programs is None:
            raise RuntimeError("the programs of Ironic are missing")
        site = Site(boot_url, agent=self._options.agent is not None, fake_hardware=self._options.fake_hardware)
        ironic = EmbeddedIronic(self._options.state / "ironic", self._programs, _free_port(), site)
        self._ends("Ironic", ironic.stop)
        LOG.info("starting Ironic")
        try:
            await ironic.start()
        except EmbeddedError as error:
            raise StartError(str(error)) from None
        url = self._options.state / "ironic" / "url"
        write_private(url, ironic.access.url + "\n")
        self._ends("URL of Ironic", partial(asyncio.to_thread, url.unlink))
        return ironic.access

    def _new_certificate(self) -> Certificate:
        options = self._options
        if options.certificate is not None and options.key is not None:
            source = partial(from_files, options.certificate, options.key)
        else:
            source = partial(by_own_ca, options.state / "tls", options.listen[0], *options.names)
        try:
            return Certificate(source)
        except CertificateError as error:
            raise StartError(str(error)) from None

    async def _listen(self, option: str, place: tuple[str, int], app: object, context: ssl.SSLContext | None) -> None:
        most = min(MOST_CONNECTIONS, self._descriptors)
        connections = Connections(most, min(MOST_CONNECTIONS_OF_CLIENT, most // 2))
        listener = Listener(app, connections=connections)  # type: ignore[arg-type] # an ASGI application
        try:
            await listener.open(*place, context)
        except OSError as error:
            raise StartError("{} {}:{}: {}".format(option, *place, os.strerror(error.errno or 0))) from None
        self._ends(f"listener {place[1]}", listener.close)

    def _write_environment(self, world: MetalWorld) -> None:
        """Write ``env.sh``: what clients need, for a shell on this computer."""
        options = self._options
        address, port = options.listen
        if ipaddress.ip_address(address).is_unspecified:
            # A name of the certificate.
            address = next(iter(options.names), "localhost")
        scheme = "http" if options.is_plain else "https"
        exports = {
            "METAL_API_URL": f"{scheme}://{address}:{port}/metal/v1",
            "METAL_AUTH_TOKEN": world.token,
            "METAL_PROJECT_ID": world.project_id,
            "OPENSHIFT_METADATA_URL": f"{_boot_url(options)}/metadata",
        }
        if scheme == "https" and options.certificate is None:
            exports["METAL_API_CA_PATH"] = str((options.state / CA).resolve())
        lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
        write_private(options.state / "env.sh", "\n".join([*lines, ""]))


def own_ironic(state: Path) -> Access:
    """Return how the Ironic of the server that runs with this state folder is reached. Raises :class:`StartError`."""
    folder = state / "ironic"
    missing = "no server with an Ironic of its own runs here: start it, or name an Ironic with --ironic-url"
    try:
        url, password = ((folder / name).read_text(encoding="ascii").strip() for name in ("url", "password"))
    except OSError:
        raise StartError(f"--state {state}: {missing}") from None
    return Access(url, USER, password)


def enrol_once(rack: Rack, access: Access, *, dry_run: bool, remove: Sequence[str], check_bmcs: bool) -> int:
    """Enrol the servers of a rack, print the outcome of each, and return the exit status. Raises :class:`StartError`.

    ``check_bmcs``: whether this computer reaches the BMCs, as an Ironic of its own does.
    """
    try:
        report = asyncio.run(enrol(rack, access.connect(), dry_run=dry_run, remove=remove, check_bmcs=check_bmcs))
    except EnrolmentError as error:
        raise StartError(str(error)) from None
    counts = Counter(result.outcome for result in report.results)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) or "the rack file has no servers")
    return 0 if report.is_good else 1


def reservations_of(rack: Rack, kind: str, boot_url: str, tftp_server: str) -> str:
    """Return the configuration of another DHCP server. Raises :class:`StartError` if the file lacks MAC addresses."""
    without = [server.name for server in rack.servers if not server.macs]
    if without:
        raise StartError(f"the rack file has no macs of {', '.join(without)}: a reservation needs them")
    addresses = assigned(rack, ())
    return reservations(
        kind, [Host(server.macs[0], addresses[server.name], server.name) for server in rack.servers], boot_url, tftp_server=tftp_server
    )


async def _run(options: Options, rack: Rack, programs: Path | None) -> int:
    ended = asyncio.Event()
    server = MetalServer(options, rack, programs, ended)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, server.reload)

    @contextlib.contextmanager
    def ready() -> Iterator[None]:
        print("# ready", flush=True)
        LOG.info("ready; in another terminal: source %s", options.state / "env.sh")
        yield

    status = await run(server, ready, ended)
    if server.failure is not None:
        raise server.failure
    return status


def _free_port() -> int:
    with socket.socket() as placeholder:
        placeholder.bind(("127.0.0.1", 0))
        port: int = placeholder.getsockname()[1]
        return port
