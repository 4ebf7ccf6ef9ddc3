# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine config server: Ignition configs by pool, in the spec version of the Accept header.

Rules, statuses and the order of checks are those of machine-config-operator's ``pkg/server/api.go``. Like the real one it has no
authentication: every client that reaches the port gets the bootstrap token and the pull secret.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox.openshift.assets import Assets
from sandbox.openshift.resources import MACHINE_CONFIG_ANNOTATION, ROLE_LABEL

_logger = logging.getLogger(__name__)

Config = dict[str, Any]
Version = tuple[int, int, int]

PORT: Final = 22623
KUBECONFIG: Final = "/etc/kubernetes/kubeconfig"
NODE_ANNOTATIONS: Final = "/etc/machine-config-daemon/node-annotations.json"
KUBELET_UNIT: Final = "kubelet.service"
KUBELET_CONFIGURATION: Final = "/etc/kubernetes/kubelet.conf"
KUBELET_CA_FILE: Final = "/etc/kubernetes/kubelet-ca.crt"

_SPEC_2: Final[Version] = (2, 2, 0)
_SPECS_3: Final[tuple[Version, ...]] = ((3, 5, 0), (3, 4, 0), (3, 3, 0), (3, 2, 0), (3, 1, 0))
_SUBTYPE: Final = "vnd.coreos.ignition+json"


class NotServedError(Exception):
    """This server has no config for that pool; the text has the reason."""


class UnusableVersionError(Exception):
    """The client requests an Ignition spec that this server does not support."""


def application(config_for: Callable[[str], Awaitable[Config]]) -> Starlette:
    """Return the server's application; ``config_for`` returns a pool's config (spec 3) or raises :class:`NotServedError`."""
    making: dict[tuple[str, Version], asyncio.Task[bytes]] = {}

    async def made(pool: str, version: Version) -> bytes:
        return json.dumps(in_version(await config_for(pool), version), separators=(",", ":")).encode()

    async def shared(pool: str, version: Version) -> bytes:
        """Render one config for all requests that arrive meanwhile: five hundred workers come at once and stop after a time-out."""
        key = (pool, version)
        if key not in making:
            making[key] = asyncio.create_task(made(pool, version), name=f"config of {pool}")
            making[key].add_done_callback(lambda _task: making.pop(key))
        # A client that disconnects does not cancel it for the others.
        return await asyncio.shield(making[key])

    async def config(request: Request) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return _empty(405)
        pool = request.path_params["pool"].rpartition("/")[2]
        try:
            version = accepted_version(request.headers.get("accept", ""))
        except UnusableVersionError as error:
            _logger.info("machine config server: %s", error)
            return _empty(400)
        try:
            served = await shared(pool, version)
        except NotServedError as error:
            _logger.info("machine config server: %s", error)
            return _empty(500)
        except Exception:
            _logger.exception("machine config server: no config for pool %s", pool)
            return _empty(500)
        # Starlette leaves the body of a HEAD out and keeps its length.
        return Response(served, media_type="application/json")

    async def healthz(request: Request) -> Response:
        return _empty(200 if request.method in {"GET", "HEAD"} else 405)

    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(routes=[Route("/config/{pool:path}", config, methods=methods), Route("/healthz", healthz, methods=methods)])


def _empty(status: int) -> Response:
    return Response(status_code=status, headers={"content-length": "0"})


def accepted_version(accept: str) -> Version:
    """Return the spec to serve for an Accept header: 2.2.0 when it does not name Ignition's type with a version.

    Raises :class:`UnusableVersionError` when all it names are versions that cannot be served.
    """
    unusable = False
    for _unused, subtype, parameters in _media_ranges(accept):
        requested = _parsed(parameters.get("version", ""))
        if subtype != _SUBTYPE or requested is None:
            continue
        if (3, 1, 0) <= requested < (4, 0, 0):
            return next(spec for spec in _SPECS_3 if requested >= spec)
        if _SPEC_2 <= requested < (3, 0, 0):
            return _SPEC_2
        unusable = True
    if unusable:
        raise UnusableVersionError(f"unsupported Ignition version in Accept header: {accept}")
    return _SPEC_2


def _media_ranges(accept: str) -> list[tuple[float, str, dict[str, str]]]:
    """Return (quality, subtype, parameters), best first."""
    ranges = []
    for part in accept.split(","):
        mime, *pieces = (piece.strip() for piece in part.split(";"))
        kind, slash, subtype = mime.partition("/")
        if not slash or not kind:
            continue
        parameters = {key.strip(): value.strip() for key, _unused, value in (piece.partition("=") for piece in pieces)}
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 0.0
        ranges.append((quality, subtype, parameters))
    return sorted(ranges, key=lambda entry: -entry[0])


def _parsed(version: str) -> Version | None:
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?", version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def in_version(config: Config, version: Version) -> Config:
    """Return a spec 3 config (of fields that 3.1 has already) as ``version``."""
    text = ".".join(map(str, version))
    if version >= (3, 0, 0):
        return {**config, "ignition": {**config.get("ignition", {}), "version": text}}
    storage = config.get("storage") or {}
    files = []
    for file in storage.get("files") or []:
        # Spec 2 has neither `overwrite: false` as default nor files without a file system.
        converted = {key: value for key, value in file.items() if key != "overwrite"}
        contents = {key: value for key, value in (file.get("contents") or {}).items() if key in {"source", "compression", "verification"}}
        files.append({**converted, "filesystem": "root", "contents": contents})
    return {
        "ignition": {"version": text, "config": {}, "security": {"tls": {}}, "timeouts": {}},
        "networkd": {},
        "passwd": config.get("passwd") or {},
        "storage": {"files": files},
        "systemd": config.get("systemd") or {},
    }


# --- what is served ------------------------------------------------------------------------------------------------------


def merged(machine_configs: Iterable[Mapping[str, Any]]) -> Config:
    """Merge the configs of MachineConfig objects by name, later ones over earlier ones, as the operator renders a pool."""
    files: dict[str, Config] = {}
    units: dict[str, Config] = {}
    users: dict[str, Config] = {}
    for machine_config in sorted(machine_configs, key=lambda item: str(item["metadata"]["name"])):
        config = (machine_config.get("spec") or {}).get("config") or {}
        for file in (config.get("storage") or {}).get("files") or []:
            files[file["path"]] = file
        for unit in (config.get("systemd") or {}).get("units") or []:
            units[unit["name"]] = {**units.get(unit["name"], {}), **unit}
        for user in (config.get("passwd") or {}).get("users") or []:
            before = users.get(user["name"], {})
            keys = [*before.get("sshAuthorizedKeys", []), *(user.get("sshAuthorizedKeys") or [])]
            users[user["name"]] = {**before, **user, "sshAuthorizedKeys": list(dict.fromkeys(keys))}
    return {
        "ignition": {"version": "3.5.0"},
        "passwd": {"users": list(users.values())},
        "storage": {"files": list(files.values())},
        "systemd": {"units": list(units.values())},
    }


def kernel_arguments(machine_configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the kernel arguments of a pool: those of all its MachineConfig objects, by name, as the operator renders them."""
    ordered = sorted(machine_configs, key=lambda item: str(item["metadata"]["name"]))
    return [str(argument) for item in ordered for argument in (item.get("spec") or {}).get("kernelArguments") or []]


def rendered_name(pool: str, config: Config, system: str = "") -> str:
    """Return ``rendered-<pool>-<32 hex digits>``: the same for the same content and operating system."""
    digest = hashlib.sha256((json.dumps(config, sort_keys=True) + system).encode()).hexdigest()[:32]
    return f"rendered-{pool}-{digest}"


def template(pool: str, *, schedulable: bool, dual_stack: bool = False) -> Config:
    """Return the MachineConfig the operator itself makes for a pool: kubelet's configuration and unit."""
    control_plane = pool == "master"
    labels = ["control-plane", "master"] if control_plane else ["worker"]
    if control_plane and schedulable:
        labels.append("worker")
    flags = [
        f"--config={KUBELET_CONFIGURATION}",
        "--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig",
        "--kubeconfig=/var/lib/kubelet/kubeconfig",
        "--container-runtime-endpoint=/var/run/crio/crio.sock",
        f"--node-labels={','.join(ROLE_LABEL + label for label in labels)},node.openshift.io/os_id=${{ID}},${{CUSTOM_KUBELET_LABELS}}",
        f"--node-ip=${{{'KUBELET_NODE_IPS' if dual_stack else 'KUBELET_NODE_IP'}}}",
        "--cloud-provider=",
        "--v=${KUBELET_LOG_LEVEL}",
    ]
    if control_plane and not schedulable:
        flags.insert(5, f"--register-with-taints={ROLE_LABEL}master=:NoSchedule")
    lines = " \\\n    ".join(["/usr/bin/kubelet", *flags])
    unit = (
        "[Unit]\nDescription=Kubernetes Kubelet\nWants=rpc-statd.service network-online.target\n"
        "Requires=crio.service kubelet-auto-node-size.service\nAfter=network-online.target crio.service\n\n"
        f"[Service]\nType=notify\nEnvironmentFile=/etc/os-release\nExecStart={lines}\nRestart=always\nRestartSec=10\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    kubelet = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "authentication": {"x509": {"clientCAFile": KUBELET_CA_FILE}, "anonymous": {"enabled": False}},
        "cgroupDriver": "systemd",
        "clusterDNS": ["172.30.0.10"],
        "clusterDomain": "cluster.local",
        "containerLogMaxSize": "50Mi",
        "maxPods": 250,
        "podPidsLimit": 4096,
        "protectKernelDefaults": True,
        "rotateCertificates": True,
        "serializeImagePulls": False,
        "serverTLSBootstrap": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    return {
        "metadata": {"name": f"00-{'master' if control_plane else 'worker'}"},
        "spec": {
            "config": {
                "ignition": {"version": "3.5.0"},
                "storage": {"files": [file_of(KUBELET_CONFIGURATION, yaml.safe_dump(kubelet))]},
                "systemd": {"units": [{"name": KUBELET_UNIT, "enabled": True, "contents": unit}]},
            }
        },
    }


def with_appended(config: Config, *, rendered: str, assets: Assets, version: str, node_ca_bundle: bytes) -> Config:
    """Add what the server appends to a rendered config: credentials, CA bundle, first annotations."""
    annotations = {
        f"{MACHINE_CONFIG_ANNOTATION}currentConfig": rendered,
        f"{MACHINE_CONFIG_ANNOTATION}desiredConfig": rendered,
        f"{MACHINE_CONFIG_ANNOTATION}state": "Done",
    }
    encapsulated = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": rendered},
        "spec": {"config": config, "osImageURL": assets.os_image(version)},
    }
    appended = [
        file_of(KUBECONFIG, _bootstrap_kubeconfig(assets), mode=0o600),
        file_of("/var/lib/kubelet/config.json", assets.pull_secret, mode=0o600),
        file_of("/etc/kubernetes/ca.crt", assets.kubelet_ca_bundle.decode()),
        file_of(KUBELET_CA_FILE, node_ca_bundle.decode()),
        file_of(NODE_ANNOTATIONS, json.dumps(annotations)),
        file_of("/etc/ignition-machine-config-encapsulated.json", json.dumps(encapsulated), mode=0o600),
    ]
    files = {file["path"]: file for file in [*config["storage"]["files"], *appended]}
    return {**config, "storage": {"files": list(files.values())}}


def _bootstrap_kubeconfig(assets: Assets) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "local",
                "cluster": {
                    "server": f"https://api-int.{assets.domain}:6443",
                    "certificate-authority-data": base64.b64encode(assets.kubelet_ca_bundle).decode(),
                },
            }
        ],
        "users": [{"name": "kubelet", "user": {"token": assets.token}}],
        "contexts": [{"name": "kubelet", "context": {"cluster": "local", "user": "kubelet"}}],
        "current-context": "kubelet",
    }
    return yaml.safe_dump(document, sort_keys=False, width=1 << 20)


def file_of(path: str, content: str, *, mode: int = 0o644) -> Config:
    """Return a file of an Ignition config."""
    source = f"data:text/plain;charset=utf-8;base64,{base64.b64encode(content.encode()).decode()}"
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": source}}
