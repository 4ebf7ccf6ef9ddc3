# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated kubelet: all requests of a real one that are needed to become and stay a node, and no others.

It reads its machine's disk and uses its machine's network. Like the real one, it keeps a new key in memory until its certificate is issued,
files another request with a new key when the last one was not decided for 15 minutes, and uses its certificates again after a restart.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import logging
import random
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

import httpx
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from metal_api.listener import CLIENT, Listener
from sandbox.machines import Machine
from sandbox.machines.firewall import Firewall
from sandbox.openshift import pki
from sandbox.openshift.api import CSRS, NODES, APIError, Object
from sandbox.openshift.assets import AssetError, files_of, units_of
from sandbox.openshift.control_plane_keys import KUBELETS_CLIENT
from sandbox.openshift.etcdctl import Completed
from sandbox.openshift.machine_config_server import KUBECONFIG, KUBELET_CONFIGURATION, KUBELET_UNIT, NODE_ANNOTATIONS
from sandbox.openshift.node_network import NodeNetwork
from sandbox.openshift.pki import KeyPair
from sandbox.openshift.resources import ROLE_LABEL, condition_of

_logger = logging.getLogger(__name__)

CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER: Final = "kubernetes.io/kubelet-serving"
PORT: Final = 10250

CONTAINER_RUNTIME: Final = "cri-o://1.33.9-2.rhaos4.20"
"""The capacity that simulated kubelets report; the sandbox's workloads simulate their pods."""

SHORTEST_WAIT = 60.0
"""Shortest wait of a request in real seconds, at any speed of the clock: filing, approving and signing hundreds needs real time, also on a
computer that has other work, and kubelets that file requests faster than these are approved would never join."""

CONFIG_DAEMON: Final = 45
"""Simulated seconds from a Node that is Ready to the machine config daemon's word that its configuration is done."""

# Simulated seconds (a machine's own work) and, below, real ones (Kubernetes' own timers).
_UNANSWERED: Final = 15 * 60
_NETWORK_READY: Final = 75

_AFTER_DENIAL: Final = 4.0
_LEASE_SECONDS: Final = 40
_LEASE_INTERVAL: Final = 10.0
_STATUS_INTERVAL: Final = 300.0
_RETRY: Final = (0.5, 10.0)
_POLL: Final = (0.3, 3.0)

_EXEC_PROTOCOL: Final = "v4.channel.k8s.io"
_STDOUT, _STDERR, _STATUS = 1, 2, 3

_FAILURES: Final = (APIError, httpx.HTTPError, OSError)

_T = TypeVar("_T")


class _DeniedError(Exception):
    """The request was denied or has failed."""


class _ExpiredError(Exception):
    """The client certificate ended before there was another: the kubelet ends, and systemd starts it again."""


class _UnansweredError(Exception):
    """The request was not decided in time, or was deleted."""


@dataclass(frozen=True)
class Flags:
    """Labels and taints of the kubelet's flags."""

    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class KubeletConfig:
    """The kubelet's part of the Ignition config: address of the API, CA bundle, bootstrap credentials, labels."""

    server: str
    ca_bundle: bytes
    token: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    annotations: Mapping[str, str]
    client_ca: bytes
    """The CAs of clients that the kubelet accepts, of a file that its configuration names."""
    first: Flags
    """Flags that a unit before the kubelet appends to its command until the machine has joined."""
    network: NodeNetwork | None = None
    """The network that a unit before the kubelet has configured; without it the node address is the one of DHCP."""
    firewall: Firewall | None = None

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> KubeletConfig:
        """Read a config that a machine config server made. Raises :class:`AssetError` for what is missing in it."""
        files = files_of(config)
        try:
            kubeconfig = yaml.safe_load(files[KUBECONFIG])
            cluster = kubeconfig["clusters"][0]["cluster"]
            flags = units_of(config)[KUBELET_UNIT]
            settings = yaml.safe_load(files[KUBELET_CONFIGURATION])
            first = _flags_of_units(config, files)
            _refuse_reserved(first.labels)
            return cls(
                server=cluster["server"].rstrip("/"),
                ca_bundle=base64.b64decode(cluster["certificate-authority-data"]),
                token=kubeconfig["users"][0]["user"]["token"],
                labels=_labels(_flag(flags, "node-labels")),
                taints=tuple(_taint(text) for text in _flag(flags, "register-with-taints").split(",") if text),
                annotations=json.loads(files.get(NODE_ANNOTATIONS, b"{}")),
                client_ca=files[settings["authentication"]["x509"]["clientCAFile"]],
                first=first,
            )
        except (KeyError, IndexError, TypeError, ValueError, yaml.YAMLError) as error:
            raise AssetError(f"the config has no usable kubelet in it: {error!r}") from error

    @property
    def is_control_plane(self) -> bool:
        """Whether the kubelet's own flags make it a control plane node."""
        return f"{ROLE_LABEL}control-plane" in self.labels or f"{ROLE_LABEL}master" in self.labels


def _flag(command: str, name: str) -> str:
    match = re.search(rf"--{name}=(\S*)", command)
    return match[1] if match else ""


def _labels(text: str) -> dict[str, str]:
    # ${ID} of /etc/os-release is rhel; the other variables are empty unless a drop-in sets them.
    expanded = re.sub(r"\$\{\w+\}", "", text.replace("${ID}", "rhel"))
    pairs = (part.partition("=") for part in expanded.split(",") if part)
    return {key: value for key, _unused, value in pairs}


def _flags_of_units(config: Mapping[str, Any], files: Mapping[str, bytes]) -> Flags:
    """Return the flags that enabled units before the kubelet append to its command.

    A unit is taken at its word if its program is a file of the config that writes a drop-in of kubelet.service. Raises
    :class:`AssetError` for one that the kubelet requires and that cannot start.
    """
    labels: dict[str, str] = {}
    taints: list[Mapping[str, str]] = []
    for entry in (config.get("systemd") or {}).get("units") or []:
        contents = entry.get("contents") or ""
        match = re.search(r"^ExecStart=(\S+)", contents, re.MULTILINE)
        before = re.search(rf"^Before=.*\b{re.escape(KUBELET_UNIT)}", contents, re.MULTILINE)
        until_joined = re.search(r"^ConditionPathExists=!/var/lib/kubelet/kubeconfig$", contents, re.MULTILINE)
        if not (entry.get("enabled") and match and before and until_joined):
            continue
        program = files.get(match[1], b"").decode(errors="replace")
        if not program and re.search(rf"^RequiredBy=.*\b{re.escape(KUBELET_UNIT)}", contents, re.MULTILINE):
            raise AssetError(f"dependency failed for {KUBELET_UNIT}: {entry['name']} starts {match[1]}, which does not exist")
        if "kubelet.service.d" in program and "daemon-reload" in program:
            labels |= _labels(_flag(contents, "node-labels"))
            taints += [_taint(text) for text in _flag(contents, "register-with-taints").split(",") if text]
    return Flags(labels, tuple(taints))


def _refuse_reserved(labels: Mapping[str, str]) -> None:
    """Raise :class:`AssetError` for labels with which a kubelet ends at its start (k8s.io/kubernetes, kubelet's options)."""
    reserved = [
        label
        for label in labels
        if re.search(r"(^|\.)(kubernetes|k8s)\.io/", label)
        and not re.search(r"(^|\.)(kubelet|node)\.kubernetes\.io/|^topology\.kubernetes\.io/(zone|region)$", label)
    ]
    if reserved:
        listed = " ".join(sorted(reserved))
        raise AssetError(f"kubelet: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{listed}]")


def _taint(text: str) -> dict[str, str]:
    key, _unused, value_and_effect = text.partition("=")
    value, _unused, effect = value_and_effect.partition(":")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


@dataclass(frozen=True)
class Container:
    """A container of a pod."""

    namespace: str
    pod: str
    container: str


class Execute(Protocol):
    """Runs a command in a container. Raises ``LookupError`` for a container that does not run."""

    def __call__(self, target: Container, command: Sequence[str]) -> Completed: ...


class Kubelet:
    """The kubelet of ``machine``. ``ready``: set when the node is Ready for the first time in this boot.

    ``execute`` runs commands in the machine's containers.
    """

    def __init__(self, machine: Machine, config: KubeletConfig, ready: asyncio.Event, execute: Execute) -> None:
        self._application = application(execute)
        self._machine = machine
        self._config = config
        self._ready = ready
        self._folder = machine.directory / "kubelet"
        self._client_base = self._folder / "kubelet-client-current"
        self._serving_base = self._folder / "kubelet-server-current"
        self._network = config.network or NodeNetwork(machine.hardware.address)
        self.node = machine.hardware.hostname.lower()
        # The unit before the kubelet has a condition on this.
        self._first = Flags({}, ()) if self.joined else config.first
        self._started = _timestamp()
        self._ready_since = ""
        self._listener: Listener | None = None

    @property
    def joined(self) -> bool:
        """Whether this machine already has a client certificate that is valid."""
        pair = KeyPair.read(self._client_base)
        return pair is not None and pair.remaining > timedelta(0)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self._until_client_certificate()
                await self._persist("register node", self._register)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._become_ready())
                    group.create_task(self._keep_lease())
                    group.create_task(self._keep_status())
                    group.create_task(self._keep_client_certificate())
                    group.create_task(self._keep_serving_certificate())
            except* _ExpiredError:
                self._say("kubelet: the client certificate has ended, starting over")
            finally:
                if self._listener is not None:
                    await self._listener.close()

    # --- certificates --------------------------------------------------------------------------------------------------

    async def _until_client_certificate(self) -> None:
        if self.joined:
            return
        self._say(f"kubelet: no client certificate yet, asking {self._config.server} for one")
        pair = await self._certificate(CLIENT_SIGNER, "client auth", lambda: (), token=True)
        pair.write(self._client_base)
        self._say("kubelet: got a client certificate")

    async def _keep_client_certificate(self) -> None:
        while True:
            pair = KeyPair.read(self._client_base)
            if pair is None:
                raise RuntimeError(f"the client certificate of {self.node} is gone from its disk")
            await _until_renewal(pair)
            # Approved by the cluster itself: nodes may renew their own.
            try:
                async with asyncio.timeout(max(pair.remaining.total_seconds(), 0.0)):
                    (await self._certificate(CLIENT_SIGNER, "client auth", lambda: ())).write(self._client_base)
            except TimeoutError:
                raise _ExpiredError(self.node) from None

    async def _keep_serving_certificate(self) -> None:
        pair = KeyPair.read(self._serving_base)
        if pair is not None and pair.remaining <= timedelta(0):
            pair = None
        while True:
            if pair is None:
                pair = await self._certificate(SERVING_SIGNER, "server auth", lambda: (self.node, *self._network.addresses))
                pair.write(self._serving_base)
                self._say("kubelet: got a serving certificate")
            await self._network.until_connected(self._machine)
            await self._persist("serve on port 10250", self._serve)
            await _until_renewal(pair)
            pair = None

    async def _certificate(self, signer: str, usage: str, names: Callable[[], tuple[str, ...]], *, token: bool = False) -> KeyPair:
        """File requests, each with a key of its own, until one is answered with a certificate."""
        while True:
            request, key = pki.request(f"system:node:{self.node}", ["system:nodes"], names())
            body: Object = {
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {"generateName": "csr-"},
                "spec": {
                    "request": base64.b64encode(request).decode(),
                    "signerName": signer,
                    "usages": ["digital signature", usage],
                },
            }
            made = await self._persist(f"file a request for {usage}", functools.partial(self._call, "POST", CSRS, body, token=token))
            name = made["metadata"]["name"]
            waiting = asyncio.create_task(self._answer(name, token=token))
            unanswered = asyncio.create_task(self._give_up())
            try:
                await asyncio.wait({waiting, unanswered}, return_when=asyncio.FIRST_COMPLETED)
                if waiting.done():
                    return KeyPair(waiting.result(), key)
                self._say(f"kubelet: {name} unanswered for 15 minutes, asking again with a new key")
            except _DeniedError as error:
                self._say(f"kubelet: {name} refused ({error}), asking again")
                await asyncio.sleep(_AFTER_DENIAL)
            except _UnansweredError:
                self._say(f"kubelet: {name} is gone, asking again")
            finally:
                waiting.cancel()
                unanswered.cancel()
                await asyncio.gather(waiting, unanswered, return_exceptions=True)

    async def _give_up(self) -> None:
        """Return when a request has waited long enough."""
        await self._machine.clock.sleep(_UNANSWERED)
        await asyncio.sleep(max(0.0, SHORTEST_WAIT - _UNANSWERED / self._machine.clock.speed))

    async def _answer(self, name: str, *, token: bool) -> bytes:
        """Poll a request and return its certificate. Raises :class:`_DeniedError`, :class:`_UnansweredError`."""
        pause = _POLL[0]
        while True:
            try:
                csr = await self._call("GET", f"{CSRS}/{name}", token=token)
            except _FAILURES as error:
                if isinstance(error, APIError) and error.status == 404:
                    raise _UnansweredError(name) from error
                _logger.debug("%s: %s", self.node, error)
            else:
                for kind in ("Denied", "Failed"):
                    condition = condition_of(csr, kind)
                    if condition is not None:
                        raise _DeniedError(f"{kind}: {condition.get('reason', '')} {condition.get('message', '')}".strip())
                certificate = (csr.get("status") or {}).get("certificate")
                if certificate and condition_of(csr, "Approved"):
                    return base64.b64decode(certificate)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load, hides nothing
            pause = min(pause * 1.3, _POLL[1])

    # --- the node ------------------------------------------------------------------------------------------------------

    async def _register(self) -> None:
        hardware = self._machine.hardware
        architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(hardware.architecture, hardware.architecture)
        labels = {
            "kubernetes.io/hostname": self.node,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": architecture,
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": architecture,
            # The API server refuses node roles from nodes (NodeRestriction); OpenShift's is patched to take its own. Here
            # the operators set them from the machine config annotations.
            **{key: value for key, value in self._config.labels.items() if not key.startswith(ROLE_LABEL)},
            **self._first.labels,
        }
        annotations = {
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            **{key: value for key, value in self._config.annotations.items() if not key.endswith("/state")},
        }
        node: Object = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.node, "labels": labels, "annotations": annotations},
            "spec": {"taints": [dict(taint) for taint in (*self._config.taints, *self._first.taints)]},
            "status": self._status(),
        }
        try:
            await self._call("POST", NODES, node)
            self._say("kubelet: node registered")
        except APIError as error:
            if error.status != 409:
                raise
            # Of an existing Node a kubelet changes only labels that it sets itself.
            own = {key: value for key, value in labels.items() if key not in self._first.labels}
            await self._call("PATCH", f"{NODES}/{self.node}", {"metadata": {"labels": own, "annotations": annotations}})
            await self._patch_status()
            self._say("kubelet: node was registered before")

    async def _become_ready(self) -> None:
        await self._machine.clock.sleep(_NETWORK_READY)
        self._ready_since = _timestamp()
        await self._persist("post node status", self._patch_status)
        self._say("kubelet: node is ready")
        self._ready.set()
        await self._machine.clock.sleep(CONFIG_DAEMON)
        state = {key: value for key, value in self._config.annotations.items() if key.endswith("/state")}
        await self._persist("annotate node", lambda: self._call("PATCH", f"{NODES}/{self.node}", {"metadata": {"annotations": state}}))

    async def _keep_status(self) -> None:
        while True:
            await asyncio.sleep(_STATUS_INTERVAL * random.uniform(0.9, 1.1))  # noqa: S311 - spreads load, hides nothing
            try:
                await self._patch_status()
            except _FAILURES as error:
                _logger.warning("%s: cannot post node status: %s", self.node, error)

    async def _patch_status(self) -> None:
        path = f"{NODES}/{self.node}/status"
        status = self._status()
        # The merge key of addresses is their type, which two of a dual stack node share (k8s.io/component-helpers, node/util/status.go).
        status["addresses"].append({"$patch": "replace"})
        await self._call("PATCH", path, {"status": status}, content_type="application/strategic-merge-patch+json")

    def _status(self) -> Object:
        hardware = self._machine.hardware
        conditions = [
            _condition("MemoryPressure", self._started, "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            _condition("DiskPressure", self._started, "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            _condition("PIDPressure", self._started, "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ]
        if self._ready_since:
            conditions.append(_condition("Ready", self._ready_since, "True", "KubeletReady", "kubelet is posting ready status"))
        else:
            text = (
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
                "message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. "
                "Has your network provider started?"
            )
            conditions.append(_condition("Ready", self._started, "False", "KubeletNotReady", text))
        # A real kubelet reads these values from its hardware, of which only the drives are known here: the catalogue is the Metal API's.
        disk = max((drive.size_gb for drive in hardware.drives), default=100)
        capacity = {"cpu": "8", "memory": "32561284Ki", "pods": "250", "ephemeral-storage": f"{disk}G"}
        return {
            "addresses": [
                *({"type": "InternalIP", "address": address} for address in self._network.addresses),
                {"type": "Hostname", "address": self.node},
            ],
            "capacity": capacity,
            "allocatable": {**capacity, "cpu": "7500m", "memory": "31410308Ki"},
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
            "nodeInfo": {
                "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(hardware.architecture, hardware.architecture),
                "bootID": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{hardware.device_id} {self._started}")),
                "containerRuntimeVersion": CONTAINER_RUNTIME,
                "kernelVersion": f"5.14.0-570.72.1.el9_6.{hardware.architecture}",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.33.11",
                "machineID": hardware.device_id.replace("-", ""),
                "operatingSystem": "linux",
                "osImage": "Red Hat Enterprise Linux CoreOS 9.6",
                "systemUUID": hardware.device_id,
            },
        }

    async def _keep_lease(self) -> None:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": self.node, "leaseDurationSeconds": _LEASE_SECONDS}
        while True:
            renewed = {"spec": {**spec, "renewTime": _timestamp(micro=True)}}
            try:
                try:
                    await self._call("PATCH", f"{path}/{self.node}", renewed)
                except APIError as error:
                    if error.status != 404:
                        raise
                    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.node}, **renewed}
                    await self._call("POST", path, lease)
            except _FAILURES as error:
                _logger.warning("%s: cannot renew its lease: %s", self.node, error)
                await asyncio.sleep(1.0)
                continue
            await asyncio.sleep(_LEASE_INTERVAL * random.uniform(0.9, 1.1))  # noqa: S311 - spreads load, hides nothing

    # --- network -------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        pair = KeyPair.read(self._serving_base)
        if pair is None:
            raise FileNotFoundError("the serving certificate is gone from the disk")
        if self._listener is not None:
            await self._listener.close()
        listener = Listener(self._application, websockets=True)
        await listener.open(self._network.address, PORT, pair.server_context(self._config.client_ca))
        if self._config.firewall is not None:
            self._config.firewall.guard(*listener.sockets)
        self._listener = listener

    async def _call(self, method: str, path: str, body: Object | None = None, *, token: bool = False, content_type: str = "") -> Object:
        """Call the API, by name through the machine's own network. Raises :class:`APIError`, ``httpx.HTTPError``."""
        headers = {"accept": "application/json", "user-agent": "kubelet/v1.33.11 (linux/amd64) kubernetes/sandbox"}
        cert = None
        if token:
            headers["authorization"] = f"Bearer {self._config.token}"
        else:
            cert = KeyPair.paths(self._client_base)
        if body is not None:
            headers["content-type"] = content_type or ("application/merge-patch+json" if method == "PATCH" else "application/json")
        answer = await self._machine.http.request(
            method,
            f"{self._config.server}{path}",
            headers=headers,
            content=None if body is None else json.dumps(body).encode(),
            ca_pem=self._config.ca_bundle,
            cert=cert,
        )
        if answer.is_error:
            raise APIError.of(f"{method} {path}", answer)
        try:
            result: Object = answer.json()
        except ValueError as error:
            raise APIError(f"{method} {path}", answer.status_code, "NotJSON", answer.text[:100]) from error
        return result

    async def _persist(self, purpose: str, action: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat an action, with growing pauses, until it succeeds, and print when it begins to fail."""
        pause, failing_since, reported = _RETRY[0], time.monotonic(), ""
        while True:
            try:
                return await action()
            except _FAILURES as error:
                text = f"{error}" or type(error).__name__
                if text != reported:
                    self._say(f"kubelet: cannot {purpose}, trying again: {text}")
                    reported = text
                _logger.debug("%s: cannot %s for %.0f s: %s", self.node, purpose, time.monotonic() - failing_since, text)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load, hides nothing
            pause = min(pause * 1.6, _RETRY[1])

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self._machine.console(line)


async def _healthz(request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


def application(execute: Execute) -> Starlette:
    """Return the endpoints of a kubelet: ``/healthz``, and ``/exec`` for the API server."""

    async def exec_(websocket: WebSocket) -> None:
        if websocket.scope["state"].get(CLIENT) != KUBELETS_CLIENT:
            await websocket.send_denial_response(PlainTextResponse("Unauthorized", status_code=401))
            return
        if _EXEC_PROTOCOL not in websocket.scope["subprotocols"]:
            text = f"unable to upgrade: no supported subprotocol in {websocket.scope['subprotocols']}"
            await websocket.send_denial_response(PlainTextResponse(text, status_code=403))
            return
        if not {"output", "error", "input"} & set(websocket.query_params):
            text = "you must specify at least 1 of stdin, stdout, stderr"
            await websocket.send_denial_response(PlainTextResponse(text, status_code=400))
            return
        target = Container(**{name: websocket.path_params[name] for name in ("namespace", "pod", "container")})
        try:
            done = execute(target, websocket.query_params.getlist("command"))
        except LookupError as error:
            await websocket.send_denial_response(PlainTextResponse(str(error.args[0]), status_code=404))
            return
        await websocket.accept(subprotocol=_EXEC_PROTOCOL)
        # An empty message on each channel begins the session.
        for channel in (_STDOUT, _STDERR, _STATUS):
            await websocket.send_bytes(bytes([channel]))
        for channel, text, parameter in ((_STDOUT, done.stdout, "output"), (_STDERR, done.stderr, "error")):
            if text and parameter in websocket.query_params:
                await websocket.send_bytes(bytes([channel]) + text.encode())
        await websocket.send_bytes(bytes([_STATUS]) + json.dumps(_exec_status(done.code)).encode())
        await websocket.close()

    return Starlette(
        routes=[
            Route("/healthz", _healthz),
            WebSocketRoute("/exec/{namespace}/{pod}/{container}", exec_),
        ]
    )


def _exec_status(code: int) -> Object:
    """Return the Status that ends a session (k8s.io/apimachinery, remotecommand v4)."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


async def _until_renewal(pair: KeyPair) -> None:
    """Return when 70 to 90 % of what is left of a certificate's life are over, as a kubelet does."""
    left = max(pair.remaining.total_seconds(), 0.0) * random.uniform(0.7, 0.9)  # noqa: S311 - spreads load, hides nothing
    await asyncio.sleep(left)


def _condition(kind: str, transition_time: str, status: str, reason: str, message: str) -> dict[str, str]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": _timestamp(),
        "lastTransitionTime": transition_time,
    }


def _timestamp(*, micro: bool = False) -> str:
    now = datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
