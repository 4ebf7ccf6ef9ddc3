# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m sandbox serve``: runs the sandbox as one process.

Starts and connects all services: name server, Metal API with metadata and boot service, mirror, clusters, machines. Values that must not
change at a restart (addresses, keys) are in ``sandbox.json`` of the state folder, whose lock allows one sandbox at a time.
``sandbox.networks`` allocates the machines' network.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import ipaddress
import json
import logging
import os
import random
import resource
import secrets
import shlex
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from starlette.requests import Request
from starlette.types import ASGIApp

from metal_api.app import create_boot_app, create_metadata_app, create_metal_app
from metal_api.building import cache_root
from metal_api.core.database import UnusableError
from metal_api.core.machines import Machines
from metal_api.listener import Listener
from metal_api.running import Runnable, run
from metal_api.servers import Servers
from metal_api.state_folder import StartError, locked
from metal_api.tls import CertificateAuthority
from sandbox import containers, namespace, qemu
from sandbox.clock import Clock
from sandbox.control import PATH as CONTROL_PATH
from sandbox.dns import DynamicZone, Server, keyring
from sandbox.elastic import ElasticRouting
from sandbox.loopback import PRIVATE, PUBLIC, private_network
from sandbox.machine_kinds import SIMULATED, MachineKinds
from sandbox.machines.host import Site
from sandbox.machines.outside import NAMES as OUTSIDE_NAMES
from sandbox.machines.outside import Outside
from sandbox.machines.simulated import SimulatedMachines, no_silence, simulated_system
from sandbox.machines.with_servers import WithServers
from sandbox.metal.attachment import Attachment, attachment
from sandbox.metal.control import control_app
from sandbox.metal.world import SandboxWorld, environment_of_sandbox, of_sandbox
from sandbox.networks import IDENTITY, NetworkError, Networks
from sandbox.openshift import passing_time, registry, upgrade
from sandbox.openshift.binaries import Binaries, BinariesError, ensure_binaries
from sandbox.openshift.cluster import Clusters, OneControlPlaneCluster
from sandbox.openshift.mirror import create_mirror_app
from sandbox.openshift.mirror import keyring as release_keyring
from sandbox.openshift.static_pod_cluster import StaticPodCluster
from sandbox.openshift.systems import system_factory
from sandbox.proxy import LOGIN as PROXY_LOGIN
from sandbox.proxy import Proxy
from sandbox.qemu import QemuMachines
from sandbox.serial_consoles import SerialConsoles
from sandbox.shell import environment_file

LOG = logging.getLogger(__name__)

BASE_DOMAIN = "metal.test"
DEFAULT_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8800
# Each state folder on this computer has one of these for its machines; the last is the clusters' own, see sandbox.openshift.
MACHINE_NETWORKS = tuple(PUBLIC.subnets(new_prefix=16))[:-1]
MIRROR_PATH = "/pub"
METADATA_NAME = "metadata.packet.net"
KEY_NAME = "sandbox"
LISTENING = range(10_000, 20_000)
"""The range for ports that are not specified: below the ephemeral ports, which an outgoing connection could take between check and start,
and below those of published boot files. Each sandbox chooses from a part of its own (:func:`_own_ports`)."""
SECOND_LISTENERS = ("boot", "metadata", "dns", "tls", "outside", "mirror-registry", "proxy", "sos")


@dataclass(frozen=True)
class Options:
    """The command line's options. ``None``: the value of the last start, else the default. Port 0: any free port.

    ``vendor_names``: answer at the vendor's name of the metadata service, which needs port 443.
    ``until_eof``: end when standard input ends, which it does with the process that holds its other end.
    """

    state: Path
    address: str | None
    port: int | None
    speed: float
    seed: int | None
    vendor_names: bool = False
    until_eof: bool = False
    outside: Literal["open", "closed"] | None = None
    machines: MachineKinds = SIMULATED


def parse_listen(text: str) -> tuple[str, int]:
    """``ADDR:PORT`` of this machine's loopback. Raises :class:`StartError`."""
    host, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal() or int(number) > 65535:
        raise StartError(f"--listen {text}: write it as ADDRESS:PORT, for example 127.0.0.1:8800")
    try:
        address = ipaddress.ip_address(DEFAULT_ADDRESS if host == "localhost" else host)
    except ValueError:
        raise StartError(f"--listen {text}: {host!r} is not an IP address") from None
    if address.version != 4 or not address.is_loopback:
        raise StartError(f"--listen {text}: the sandbox serves 127.0.0.0/8 only, since its control API has no authentication")
    if address in PUBLIC or address in PRIVATE:
        raise StartError(f"--listen {text}: {PUBLIC} and {PRIVATE} belong to the sandbox's machines; take 127.0.0.1")
    return str(address), int(number)


def serve(options: Options) -> int:
    """Run a sandbox until SIGINT, SIGTERM or, by choice, the end of standard input. Raises :class:`StartError` when it cannot start."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # A line for each request of a machine would hide everything else; the journal has the important ones.
    for chatty in ("httpx", "httpcore", "uvicorn", "asyncssh"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    _allow_many_sockets()
    with locked(options.state, "sandbox"):
        if options.machines.in_namespace:
            namespace.set_up()
        if options.machines.firmware:
            qemu.use_catalogue()
        identity = Identity(options)
        programs = _programs(options.machines)
        identity.save()
        try:
            return asyncio.run(_run(options, identity, programs))
        except UnusableError as error:
            raise StartError(str(error)) from None


class Identity:
    """What a sandbox keeps over restarts: address, ports, machines' network, DNS key, seed, the kind of its machines."""

    def __init__(self, options: Options) -> None:
        """Raises :class:`StartError`."""
        self._state = state = options.state
        self._path = state / IDENTITY
        kept: dict[str, Any] = {}
        if self._path.exists():
            try:
                kept = json.loads(self._path.read_text(encoding="utf-8"))
            except ValueError:
                raise StartError(f"{self._path} is damaged: remove it, or the whole folder to begin anew") from None
        self._machines = options.machines.name
        if (machines := kept.get("machines", self._machines)) != self._machines:
            raise StartError(
                f"the sandbox in {state} was made with --machines {machines}: start it with that, or begin anew with another --state"
            )
        self.address: str = options.address or kept.get("address") or DEFAULT_ADDRESS
        if options.machines.in_namespace:
            self.address = namespace.ADDRESS
        self.vendor_names: bool = kept.get("vendor_names", False) or options.vendor_names
        # Tokens are computed from it, so it is random, unless the user sets it to get the same tokens each time.
        self.seed: int = next(value for value in (options.seed, kept.get("seed"), secrets.randbits(128)) if value is not None)
        self._networks = Networks(cache_root() / "machine-networks.json", MACHINE_NETWORKS)
        try:
            self._held = self._networks.take(state, kept.get("machine_network"))
        except NetworkError as error:
            raise StartError(str(error)) from None
        self.dns_secret: str = kept.get("dns_secret") or base64.b64encode(secrets.token_bytes(32)).decode("ascii")
        ports: dict[str, int] = kept.get("ports") or {}
        requested = ports.get("main", DEFAULT_PORT) if options.port is None else options.port
        self.ports: dict[str, int] = {}
        self.ports["main"] = self._main_port(requested)
        for number, name in enumerate(SECOND_LISTENERS, 1):
            # The next ones after the main port, so that a user sees what belongs together; any free ones when those are taken.
            first = ports.get(name) or (self.ports["main"] + number if requested else 0)
            if name == "dns" and options.machines.in_namespace:
                # Resolvers of operating systems use no other port.
                first = 53
            self.ports[name] = self._free_port(first)
            if ports.get(name) not in (None, self.ports[name]):
                LOG.warning("port %d of the last start (%s) is taken, now it is %d", ports[name], name, self.ports[name])

    @property
    def machine_network(self) -> str:
        return self._held.network

    @property
    def vendor_address(self) -> str:
        """The address of the metadata service at the vendor's name: the machines' last one, which none of them has."""
        return str(ipaddress.ip_network(self.machine_network).broadcast_address - 1)

    def url(self, name: str) -> str:
        return f"http://{self.address}:{self.ports[name]}"

    def _free_port(self, first: int) -> int:
        """Return ``first`` if it is free, else another free one. Raises ``OSError``."""
        if first and first not in self.ports.values() and first <= 65535:
            with contextlib.suppress(OSError):
                return _probe(self.address, first)
        return self._any_port()

    def _any_port(self) -> int:
        """Return a random free port of this sandbox's own part of ``LISTENING``. Raises ``OSError`` if none is free."""
        free = [port for port in _own_ports(self.machine_network) if port not in self.ports.values()]
        for candidate in random.sample(free, len(free)):
            with contextlib.suppress(OSError):
                return _probe(self.address, candidate)
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))

    def _main_port(self, requested: int) -> int:
        try:
            return _probe(self.address, requested) if requested else self._any_port()
        except PermissionError:
            raise StartError(
                f"cannot listen on {self.address}:{requested}: ports below 1024 need root; choose another with --listen"
            ) from None
        except OSError as error:
            raise StartError(
                f"cannot listen on {self.address}:{requested} ({os.strerror(error.errno or 0)}): "
                "is another sandbox running? --listen 127.0.0.1:0 takes a free port"
            ) from None

    def save(self) -> None:
        """Save the identity for the next start; when all services have started, so that no choice is kept that cannot be fulfilled."""
        fresh = self._path.with_suffix(".new")
        fresh.touch(mode=0o600)
        kept = {
            "address": self.address,
            "ports": self.ports,
            "machine_network": self.machine_network,
            "dns_secret": self.dns_secret,
            "seed": self.seed,
            "machines": self._machines,
            "vendor_names": self.vendor_names,
        }
        fresh.write_text(json.dumps(kept), encoding="utf-8")
        self._networks.reserve(self._state, self.machine_network, lambda: fresh.replace(self._path))


@dataclass(frozen=True)
class Programs:
    """The real programs that clusters run. ``qemu`` None: there are no servers. ``containers`` None: no machine is a container."""

    control_plane: Binaries
    qemu: qemu.Programs | None = None
    containers: containers.Programs | None = None


class Sandbox(Runnable):
    """All services, started in the order of their dependencies and stopped in reverse order."""

    def __init__(self, options: Options, identity: Identity, programs: Programs) -> None:
        super().__init__()
        self._options = options
        self._identity = identity
        self._programs = programs
        self.world: SandboxWorld | None = None
        self._ca_file = Path()
        self._trusted: Path | None = None
        self._public_ca_file = Path()

    async def start(self) -> None:
        """Raises :class:`StartError`."""
        identity, state = self._identity, self._options.state
        clock = Clock(self._options.speed)
        names = await self._start_dns()
        qemu_programs, firmware = self._programs.qemu, self._options.machines.firmware
        container_programs, kinds = self._programs.containers, self._options.machines
        servers = QemuMachines(state, identity.url("boot"), qemu_programs, firmware) if qemu_programs is not None else None
        artefact = servers.artefact if servers is not None else None
        mirror = await asyncio.to_thread(create_mirror_app, state, sys.executable, identity.url("main"), artefact)
        clusters = Clusters(
            state,
            clock,
            self._programs.control_plane,
            mirror_url=f"{identity.url('main')}/pub/openshift-v4",
            make=StaticPodCluster if kinds.has_container("master") else OneControlPlaneCluster,
        )
        self._ends("clusters", clusters.close)
        # Of its own: machines trust it as they trust public CAs, while the CA of the data centre has to be in their config.
        public = await asyncio.to_thread(CertificateAuthority, state / "tls" / "public", "Sandbox public CA")
        self._public_ca_file = public.certificate_file.resolve()
        outside = Outside(
            (identity.address, identity.ports["outside"]), self._public_ca_file.read_bytes(), lambda: self._setting("outside", "open")
        )
        ca = await asyncio.to_thread(CertificateAuthority, state / "tls", "Sandbox Metal API")
        site = Site(
            clock,
            identity.url("boot"),
            identity.url("metadata"),
            (names.address, names.port),
            public_ca=self._public_ca_file.read_bytes() if identity.vendor_names else None,
            seed=identity.seed,
            outside=outside,
            attachment=self._attachment_of,
        )
        simulated = SimulatedMachines(
            state,
            site,
            system_factory(clusters),
            installed=simulated_system if container_programs is None else containers.Containers(container_programs, kinds.has_container),
            silence=no_silence if container_programs is None else containers.silence,
        )
        machines: Machines = simulated if servers is None else WithServers(simulated, servers.backend, self._is_server)
        self._ends("machines", machines.close)
        world = SandboxWorld(
            state,
            clock,
            machines,
            environment=environment_of_sandbox(
                boot_url=identity.url("boot"),
                metadata_url=identity.url("metadata"),
                public_network=identity.machine_network,
                private_network=private_network(identity.machine_network),
                networks=qemu.networks() if servers is not None else {},
                has_agent=servers is not None,
            ),
            owner=of_sandbox(identity.seed),
        )
        self._ends("Metal API", world.close)
        self.world = world
        if self._options.outside is not None:
            world.change_settings({"outside": {"open": self._options.outside == "open"}})
        await self._listen("boot", create_boot_app(world, servers.media if servers is not None else None))
        metadata = create_metadata_app(world)
        await self._listen("metadata", metadata)
        if identity.vendor_names:
            await self._listen_as_vendor(metadata, public)
        removed = registry.Removed(state / "mirror-registry.json")
        calls = [*passing_time.calls(clusters, state / "machines"), *upgrade.calls(clusters), *registry.calls(removed)]
        metal = create_metal_app(world, {MIRROR_PATH: mirror, CONTROL_PATH: control_app(world, calls)})
        await self._listen("main", metal)
        # The same API for clients that support only https.
        self._ca_file = ca.certificate_file.resolve()
        await self._listen("tls", metal, ca.server_context(identity.address))
        await self._serve_images(world, outside, removed, ca, public)
        await self._serve_consoles(world)
        self._ends_task(asyncio.create_task(ElasticRouting(world, site.announcements).run(), name="elastic addresses"))
        if container_programs is not None:
            for address in namespace.ROUTERS:
                self._ends_task(asyncio.create_task(containers.Router(world, address, state).run(), name=f"BGP router {address}"))
        if servers is not None:
            self._ends("machines with QEMU", servers.stop)
            await servers.start(world)
        # Last, since machines that were on send requests at once.
        await world.start()

    def _is_server(self, device_id: str) -> bool:
        return self.world is not None and self.world.service(Servers).of_device(device_id) is not None

    def _attachment_of(self, device_id: str) -> Attachment:
        return attachment(self.world, device_id) if self.world is not None else Attachment()

    async def _serve_images(
        self, world: SandboxWorld, outside: Outside, removed: registry.Removed, ca: CertificateAuthority, public: CertificateAuthority
    ) -> None:
        """Start the registries of the outside and of the data centre, and the proxy between them."""
        identity = self._identity

        def note(service: str) -> Callable[[Request, int], None]:
            def write(request: Request, status: int) -> None:
                client = request.client.host if request.client is not None else ""
                world.journal.write(
                    service=service, method=request.method, path=request.url.path, status=status, caller=client, started=time.time()
                )

            return write

        quay = registry.Registry(registry.outside, note("outside"), service="quay.io")
        names = [name for domain in OUTSIDE_NAMES for name in (domain, f"*.{domain}")]
        await self._listen("outside", quay.application(), public.server_context(identity.address, *names))
        mirror = registry.Registry(registry.mirrored, note("mirror-registry"), login=registry.MIRROR_LOGIN, removed=removed)
        await self._listen("mirror-registry", mirror.application(), ca.server_context(identity.address))

        def write(method: str, target: str, status: int, client: str, started: float) -> None:
            world.journal.write(service="proxy", method=method, path=target, status=status, caller=client, started=started)

        proxy = Proxy(outside, lambda: self._setting("outside", "proxy_login"), write)
        with self._listening("proxy") as (address, port):
            await proxy.open(address, port)
        self._ends("proxy", proxy.close)

    async def _serve_consoles(self, world: SandboxWorld) -> None:
        state = self._options.state
        consoles = SerialConsoles(world, state / "machines", state / "sos_host_key")
        with self._listening("sos") as (address, port):
            await consoles.open(address, port)
        self._ends("serial consoles", consoles.close)

    def _setting(self, group: str, name: str) -> bool:
        return self.world is not None and bool(self.world.settings[group][name])

    async def _listen_as_vendor(self, app: ASGIApp, ca: CertificateAuthority) -> None:
        address, listener = self._identity.vendor_address, Listener(app)
        try:
            await listener.open(address, 443, ca.server_context(address, METADATA_NAME))
        except OSError as error:
            raise StartError(
                f"--vendor-names: cannot listen on {address}:443 ({os.strerror(error.errno or 0)}): ports below 1024 need root, "
                "or the sysctl net.ipv4.ip_unprivileged_port_start"
            ) from None
        self._ends("metadata listener at the vendor's name", listener.close)
        # What the controller trusts: its own public CAs, and the sandbox's.
        self._trusted = self._options.state / "tls" / "trusted.pem"
        await asyncio.to_thread(_write_bundle, self._trusted, ssl.get_default_verify_paths().cafile, ca.certificate_file)

    def exports(self) -> dict[str, str]:
        """Return the environment variables for a user's shell."""
        if self.world is None:
            raise RuntimeError("the sandbox has not been started")
        identity, root = self._identity, self._identity.url("main")
        return {
            "METAL_API_URL": f"{root}/metal/v1",
            "METAL_API_TLS_URL": f"https://{identity.address}:{identity.ports['tls']}/metal/v1",
            # For requests and what is built on it: REQUESTS_CA_BUNDLE="$METAL_API_CA_FILE".
            "METAL_API_CA_FILE": str(self._ca_file),
            "METAL_AUTH_TOKEN": self.world.token,
            "METAL_PROJECT_ID": self.world.project_id,
            # Serial consoles over SSH, with a key of the project or the user.
            "METAL_CONSOLE_HOST": f"{identity.address}:{identity.ports['sos']}",
            "OPENSHIFT_MIRROR_URL": f"{root}/pub/openshift-v4",
            "OPENSHIFT_DNS_SERVER": identity.address,
            "OPENSHIFT_DNS_PORT": str(identity.ports["dns"]),
            "OPENSHIFT_DNS_KEY_NAME": KEY_NAME,
            "OPENSHIFT_DNS_KEY_SECRET": identity.dns_secret,
            "OPENSHIFT_BASE_DOMAIN": BASE_DOMAIN,
            "OPENSHIFT_PULL_SECRET": pull_secret(f"{identity.address}:{identity.ports['mirror-registry']}"),
            "OPENSHIFT_PUBLISH_ADDRESS": identity.address,
            "OPENSHIFT_RELEASE_KEYRING": str(release_keyring(self._options.state).resolve()),
            # For the outside: a proxy, a mirror registry (its certificate is of METAL_API_CA_FILE), and the CA of the outside's servers.
            "OPENSHIFT_PROXY_URL": "http://{}:{}@{}:{}".format(*PROXY_LOGIN, identity.address, identity.ports["proxy"]),
            "OPENSHIFT_MIRROR_REGISTRY": f"{identity.address}:{identity.ports['mirror-registry']}",
            "SANDBOX_PUBLIC_CA_FILE": str(self._public_ca_file),
            "SANDBOX_URL": root,
            "OPENSHIFT_METADATA_URL": f"{identity.url('metadata')}/metadata",
            **({"SSL_CERT_FILE": str(self._trusted.resolve())} if self._trusted else {}),
        }

    async def _start_dns(self) -> Server:
        identity = self._identity
        others = {METADATA_NAME: identity.vendor_address} if identity.vendor_names else {}
        zone = DynamicZone(BASE_DOMAIN, self._options.state / "dns" / f"{BASE_DOMAIN}.zone", keyring(KEY_NAME, identity.dns_secret), others)
        server = Server(zone, identity.address, identity.ports["dns"])
        try:
            await server.start()
        except OSError as error:
            raise StartError(f"cannot serve DNS on {identity.address}:{identity.ports['dns']}: {error}") from None
        self._ends("DNS", server.stop)
        return server

    async def _listen(self, name: str, app: ASGIApp, context: ssl.SSLContext | None = None) -> None:
        listener = Listener(app)
        with self._listening(name) as (address, port):
            await listener.open(address, port, context)
        self._ends(f"{name} listener", listener.close)

    @contextlib.contextmanager
    def _listening(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield the address and port of a listener, which is opened inside. Raises :class:`StartError`."""
        address, port = self._identity.address, self._identity.ports[name]
        try:
            yield address, port
        except OSError as error:
            raise StartError(f"cannot listen on {address}:{port} ({name}): {error}") from None


def _write_bundle(path: Path, system: str | None, own: Path) -> None:
    """Write the system's public CAs and one more."""
    path.write_bytes((Path(system).read_bytes() if system else b"") + own.read_bytes())


def pull_secret(mirror_registry: str) -> str:
    """JSON of the form the console hands out, with the login of the mirror registry; it opens nothing but the sandbox's registries."""
    entry = {"auth": base64.b64encode(b"sandbox:opens-nothing").decode("ascii"), "email": "sandbox@metal.test"}
    auths = dict.fromkeys(("cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io"), entry)
    mirror = {"auth": base64.b64encode(":".join(registry.MIRROR_LOGIN).encode()).decode("ascii")}
    return json.dumps({"auths": auths | {mirror_registry: mirror}})


async def _run(options: Options, identity: Identity, programs: Programs) -> int:
    sandbox, ended = Sandbox(options, identity, programs), asyncio.Event()
    if options.until_eof:
        threading.Thread(target=_read_to_the_end, args=(asyncio.get_running_loop(), ended), daemon=True).start()

    @contextlib.contextmanager
    def ready() -> Iterator[None]:
        with environment_file(options.state, sandbox.exports(), programs.control_plane.kubectl) as path:
            _announce(sandbox.exports(), path)
            yield

    return await run(sandbox, ready, ended)


def _read_to_the_end(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended already
        loop.call_soon_threadsafe(ended.set)


def _announce(exports: dict[str, str], environment: Path) -> None:
    # Exports for a program. A user at a terminal has the file, so that the token is not on the screen.
    lines = [] if sys.stdout.isatty() else [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
    lines.append(f"# In another terminal: {namespace.command_to_enter(environment) or f'source {shlex.quote(str(environment))}'}")
    # A reader of the first lines (head, a script) may close the pipe: the sandbox continues.
    with contextlib.suppress(BrokenPipeError):
        print("\n".join([*lines, "# ready"]), flush=True)
    LOG.info("ready at %s; Ctrl-C ends it, the same command goes on from its state", exports["SANDBOX_URL"])


def enter_for(module: str, arguments: list[str], machines: MachineKinds) -> None:
    """Start this program again in the namespace of these machines, after all programs are made: there is no way out of it.

    Raises :class:`StartError`.
    """
    console = Console(stderr=True)
    try:
        ensure_binaries(console)
    except BinariesError as error:
        raise StartError(str(error)) from None
    if machines.containers is not None:
        containers.ensure_programs(console)
    else:
        qemu.ensure_programs(console)
    namespace.enter(module, arguments, as_root=machines.containers is not None)


def _programs(machines: MachineKinds) -> Programs:
    try:
        console = Console(stderr=True)
        return Programs(
            ensure_binaries(console),
            qemu.ensure_programs(console) if machines.firmware else None,
            containers.ensure_programs(console) if machines.containers is not None else None,
        )
    except BinariesError as error:
        raise StartError(str(error)) from None


def _probe(address: str, port: int) -> int:
    """Return ``port`` if it is free for TCP and UDP. Raises ``OSError``."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        # As the listeners do: a port whose last connections are only waiting to be forgotten is free.
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((address, port))
        tcp.listen(1)
        udp.bind((address, port))
        return port


def _own_ports(machine_network: str) -> range:
    """Return the part of ``LISTENING`` for the sandbox that holds this network of machines, which no other running sandbox does.

    Ports are opened seconds after they were chosen: two sandboxes that start together must not choose the same one.
    """
    size = len(LISTENING) // len(MACHINE_NETWORKS)
    number = (int(ipaddress.ip_network(machine_network).network_address) >> 16) % len(MACHINE_NETWORKS)
    return LISTENING[number * size : (number + 1) * size]


def _allow_many_sockets() -> None:
    """Hundreds of kubelets are hundreds of sockets: take what the system allows."""
    _unused, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
