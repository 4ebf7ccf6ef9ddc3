# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulls of container images by simulated machines: real requests, by the files that the machine's own Ignition config has.

Mirrors and their order are of ``/etc/containers/registries.conf`` (containers-registries.conf(5)), the proxy of the systemd environment
or ``/etc/mco/proxy.env``, further CAs of ``/etc/pki/ca-trust/source/anchors``, credentials of the pull secret. Which requests go through
the proxy is decided as Go's ``golang.org/x/net/http/httpproxy`` does. What is pulled is verified by its digest.
"""

from __future__ import annotations

import gzip
import io
import ipaddress
import json
import re
import shlex
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from sandbox.machines import Machine
from sandbox.openshift.installer import host_files, images

ENCAPSULATED: Final = "/etc/ignition-machine-config-encapsulated.json"
_ENVIRONMENT_FILES: Final = ("/etc/systemd/system.conf.d/10-default-env.conf", "/etc/mco/proxy.env")
_ANCHORS: Final = "/etc/pki/ca-trust/source/anchors/"
_AUTH_FILES: Final = ("/var/lib/kubelet/config.json", "/root/.docker/config.json")
_TIMEOUT: Final = 3.0
"""Real seconds, for each phase of a request."""
_RETRY: Final = 10.0
"""Simulated seconds between two tries, as in the services' scripts, but not less than real ones that spare the computer."""
_ARCHITECTURES: Final = images.ARCHITECTURES


class PullError(Exception):
    """An image cannot be pulled; the message is that of podman."""


@dataclass(frozen=True)
class Reference:
    """``registry``: host with port; ``digest``: ``sha256:<hex>``."""

    registry: str
    repository: str
    digest: str

    @classmethod
    def parse(cls, image: str) -> Reference:
        """Read ``registry/repository@sha256:...``. Raises :class:`PullError`."""
        name, at, digest = image.partition("@")
        registry, slash, repository = name.partition("/")
        if not at or not slash:
            raise PullError(f"{image}: not a reference by digest")
        return cls(registry, repository, digest)

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}"


class Puller:
    """Pulls images for a machine with these files."""

    def __init__(self, machine: Machine, files: Mapping[str, bytes]) -> None:
        self._machine = machine
        self._files = files
        self._environment = environment(files)

    async def until_pulled(self, service: str, image: str) -> bytes:
        """Pull until it succeeds, as the services do, and return the last layer."""
        machine, reported = self._machine, ""
        machine.console(f"{service}: Pulling {image}...")
        while True:
            try:
                return await self.pull(image)
            except PullError as error:
                if str(error) != reported:
                    machine.console(f"{service}: Error: {error}")
                    reported = str(error)
                machine.console(f"{service}: Pull failed. Retrying {image}...")
            await machine.clock.sleep(max(_RETRY, machine.clock.speed))

    async def pull(self, image: str) -> bytes:
        """Return the last layer of an image, verified. Raises :class:`PullError`."""
        reference = Reference.parse(image)
        failures = []
        for place in places(self._files.get(host_files.REGISTRIES, b""), reference):
            try:
                return await _Session(self._machine, self._files, self._environment, place).image()
            except (PullError, httpx.TransportError) as error:
                failures.append(f"{place}: {error}")
        if not failures:
            raise PullError(f"initializing source docker://{image}: registry {reference.registry} is blocked in {host_files.REGISTRIES}")
        mirrors = f" (Mirrors also failed: [{'; '.join(failures[:-1])}])" if len(failures) > 1 else ""
        raise PullError(f"initializing source docker://{image}:{mirrors} {failures[-1]}")


class _Session:
    """Requests to one registry, with one token."""

    def __init__(self, machine: Machine, files: Mapping[str, bytes], variables: Mapping[str, str], place: Reference) -> None:
        self._machine = machine
        self._place = place
        self._anchors = b"\n".join(content for path, content in sorted(files.items()) if path.startswith(_ANCHORS))
        self._login = login(files, place)
        self._proxy = variables.get("HTTPS_PROXY", "") if uses_proxy(variables.get("NO_PROXY", ""), place.registry) else ""
        self._authorization = ""

    async def image(self) -> bytes:
        manifest = json.loads(await self._get("manifests", self._place.digest))
        if manifest.get("mediaType") == images.MANIFEST_LIST:
            architecture = _ARCHITECTURES[self._machine.hardware.architecture]
            chosen = [entry["digest"] for entry in manifest["manifests"] if entry["platform"]["architecture"] == architecture]
            if not chosen:
                raise PullError(f"choosing image instance: no image found in manifest list for architecture {architecture}")
            manifest = json.loads(await self._get("manifests", chosen[0]))
        config = json.loads(await self._get("blobs", manifest["config"]["digest"]))
        if config.get("architecture") != _ARCHITECTURES[self._machine.hardware.architecture]:
            raise PullError(f"image is for {config.get('architecture')}: exec format error")
        layer = b""
        for descriptor in manifest["layers"]:
            layer = await self._get("blobs", descriptor["digest"])
        return layer

    async def _get(self, kind: str, digest: str) -> bytes:
        place = self._place
        answer = await self._request(f"https://{place.registry}/v2/{place.repository}/{kind}/{digest}")
        if answer.status_code == 401 and not self._authorization:
            self._authorization = await self._authorize(answer.headers.get("www-authenticate", ""))
            answer = await self._request(f"https://{place.registry}/v2/{place.repository}/{kind}/{digest}")
        if answer.status_code != 200:
            raise PullError(f"reading manifest {digest} in {place.name}: {_error(answer)}")
        if images.sha256(answer.content) != digest:
            raise PullError(f"{kind} {digest} in {place.name} has the digest {images.sha256(answer.content)}")
        return answer.content

    async def _authorize(self, challenge: str) -> str:
        scheme, _unused, fields = challenge.partition(" ")
        if scheme.lower() == "basic":
            return f"Basic {self._login}" if self._login else ""
        parameters = dict(re.findall(r'(\w+)="([^"]*)"', fields))
        if scheme.lower() != "bearer" or "realm" not in parameters:
            raise PullError(f"unsupported authentication: {challenge}")
        query = httpx.QueryParams({name: parameters[name] for name in ("service", "scope") if name in parameters})
        headers = {"authorization": f"Basic {self._login}"} if self._login else {}
        answer = await self._request(f"{parameters['realm']}?{query}", headers)
        if answer.status_code != 200:
            raise PullError(f"requesting bearer token: {_error(answer)}")
        return f"Bearer {answer.json()['token']}"

    async def _request(self, url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        sent = {"accept": f"{images.MANIFEST_LIST}, {images.MANIFEST}"} | dict(headers or {})
        if self._authorization:
            sent["authorization"] = self._authorization
        return await self._machine.http.fetch(url, headers=sent, anchors=self._anchors, proxy=self._proxy, timeout=_TIMEOUT)


def _error(answer: httpx.Response) -> str:
    try:
        errors = answer.json()["errors"]
        return f"{errors[0]['code'].lower().replace('_', ' ')}: {errors[0]['message']}"
    except (ValueError, LookupError, TypeError):
        return f"StatusCode: {answer.status_code}"


# --- the machine's files -------------------------------------------------------------------------------------------------


def places(registries: bytes, image: Reference) -> list[Reference]:
    """Return the places to pull an image from, in order: mirrors of its longest prefix, then the source if it is not blocked."""
    entries: Sequence[Mapping[str, Any]] = tomllib.loads(registries.decode()).get("registry", [])
    best: tuple[str, Mapping[str, Any]] = ("", {})
    for entry in entries:
        prefix = str(entry.get("prefix") or entry.get("location") or "")
        if len(prefix) > len(best[0]) and (image.name == prefix or image.name.startswith(f"{prefix}/")):
            best = (prefix, entry)
    prefix, entry = best
    mirrors = [
        Reference.parse(f"{mirror['location']}{image.name.removeprefix(prefix)}@{image.digest}") for mirror in entry.get("mirror", [])
    ]
    return mirrors if entry.get("blocked") else [*mirrors, image]


def environment(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the proxy variables of the machine's services."""
    variables: dict[str, str] = {}
    for path in _ENVIRONMENT_FILES:
        for line in files.get(path, b"").decode().splitlines():
            if line.startswith("DefaultEnvironment="):
                for word in shlex.split(line.removeprefix("DefaultEnvironment=")):
                    name, _unused, value = word.partition("=")
                    variables[name] = value.replace("%%", "%")
            elif "=" in line and not line.startswith(("#", "[")):
                name, _unused, value = line.partition("=")
                variables[name] = value
    return variables


def uses_proxy(no_proxy: str, place: str) -> bool:
    """Return whether requests to a host (with a port or without) go through the proxy: not to exceptions, and never to loopback."""
    host, _unused, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
    host, port = host.strip("[]").lower(), port or "443"
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    for entry in (part.strip().lower() for part in no_proxy.split(",")):
        if not entry:
            continue
        if entry == "*":
            return False
        if "/" in entry:
            try:
                network = ipaddress.ip_network(entry, strict=False)
            except ValueError:
                continue
            if address is not None and address in network:
                return False
            continue
        name, colon, requested = entry.rpartition(":") if re.search(r"[^:]:\d+$", entry) else (entry, "", "")
        if colon and requested != port:
            continue
        if address is not None or _address(name) is not None:
            if address is not None and address == _address(name):
                return False
            continue
        name = name.removeprefix("*")
        if (not name.startswith(".") and host == name) or host.endswith(name if name.startswith(".") else f".{name}"):
            return False
    return True


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def login(files: Mapping[str, bytes], place: Reference) -> str:
    """Return ``auth`` of the pull secret's entry for a repository: the one with the longest path; empty without one."""
    text = next((files[path] for path in _AUTH_FILES if path in files), b"{}")
    auths: Mapping[str, Mapping[str, str]] = json.loads(text).get("auths") or {}
    parts = place.name.split("/")
    for length in range(len(parts), 0, -1):
        entry = auths.get("/".join(parts[:length]))
        if entry and entry.get("auth"):
            return entry["auth"]
    return ""


def component_images(layer: bytes) -> dict[str, str]:
    """Return the images of the components by their names: what ``image-references`` of the release image's layer lists."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as archive:
        member = archive.extractfile(images.REFERENCES_PATH)
        stream = json.loads(member.read()) if member is not None else {}
    return {tag["name"]: tag["from"]["name"] for tag in stream["spec"]["tags"]}


def os_component(components: Mapping[str, str]) -> str:
    """Return the name of the component that is the nodes' operating system."""
    return next(name for name in ("rhel-coreos", "stream-coreos") if name in components)


def os_image(files: Mapping[str, bytes]) -> str:
    """Return the operating system's image of a node: ``osImageURL`` of the MachineConfig that it was made from; empty without one."""
    encapsulated = json.loads(files.get(ENCAPSULATED, b"{}"))
    return str((encapsulated.get("spec") or {}).get("osImageURL") or "")
