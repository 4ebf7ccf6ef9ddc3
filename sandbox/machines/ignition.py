# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignition of an installed machine: follows pointers, validates, merges.

Follows Ignition's own rules (`internal/exec/engine.go`, `internal/resource/url.go`, spec 3.0 to 3.5): connection errors,
certificate errors and 5xx are tried again for ever, from 200 ms growing to 5 s; any other status but 200 ends the boot. Hashes are
over the decompressed bytes. On equal keys the fetched (child) config wins over the pointer that named it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import gzip
import hashlib
import json
import urllib.parse
import zlib
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, cast

import httpx

from sandbox.clock import Clock
from sandbox.machines.network import BoundHTTP

Config = dict[str, Any]

VERSIONS = ("3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0")
USER_AGENT = "Ignition/2.20.0"
ACCEPT = "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1"
FIRST_DELAY, LONGEST_DELAY = 0.2, 5.0
GENTLE_DELAY = 0.5
"""Shortest pause before a retry in real seconds, at any speed of the clock: hundreds of machines may wait for one server."""
DEPTH = 10

# The keys by which elements of a list are identified when two configs are merged (spec 3.5, "keys" of each list).
LIST_KEYS = {
    "certificateAuthorities": "source",
    "httpHeaders": "name",
    "disks": "device",
    "partitions": "number",
    "raid": "name",
    "luks": "name",
    "filesystems": "path",
    "files": "path",
    "directories": "path",
    "links": "path",
    "units": "name",
    "dropins": "name",
    "users": "name",
    "groups": "name",
}


class IgnitionError(Exception):
    """The boot ends here; the message is Ignition's."""


OnRetry = Callable[[str, str], Awaitable[None]]
"""Called with the URL and the reason when a URL is tried again for a new reason."""


def parse(text: bytes) -> Config:
    """Return a config from its bytes. Raises :class:`IgnitionError` for a config that this Ignition would refuse."""
    try:
        config = json.loads(text)
    except (ValueError, UnicodeDecodeError) as error:
        kind = " (a cloud-config is no Ignition config)" if text.startswith(b"#cloud-config") else ""
        raise IgnitionError(f"failed to parse config: {error}{kind}") from None
    if not isinstance(config, dict):
        raise IgnitionError("failed to parse config: not a JSON object")
    version = _at(config, "ignition", "version")
    if version not in VERSIONS:
        raise IgnitionError(f"failed to parse config: unsupported config version {version!r}")
    _check(config)
    return cast(Config, config)


def merge(parent: Config, child: Config) -> Config:
    """``child`` over ``parent``: scalars replace, objects merge, lists merge by their key or are joined."""
    return cast(Config, _merge(parent, child, ""))


def data_url(content: bytes) -> str:
    """``content`` as a base64 data URL."""
    return "data:;base64," + base64.b64encode(content).decode("ascii")


def decode_data_url(url: str) -> bytes:
    """The bytes of a data URL (RFC 2397). Raises :class:`IgnitionError` when it is none."""
    header, comma, payload = url.partition(",")
    if not comma or not header.startswith("data:"):
        raise IgnitionError(f"invalid data URL: {url[:40]}")
    raw = urllib.parse.unquote_to_bytes(payload)
    if not header.endswith(";base64"):
        return raw
    try:
        return base64.b64decode(raw, validate=True)
    except binascii.Error as error:
        raise IgnitionError(f"invalid data URL: {error}") from None


def file_contents(config: Config) -> dict[str, bytes]:
    """Path to content of every file in a config from :meth:`Engine.files` (all sources are plain data URLs there)."""
    contents: dict[str, bytes] = {}
    for entry in _at(config, "storage", "files") or []:
        parts = [entry.get("contents") or {}, *(entry.get("append") or [])]
        contents[entry["path"]] = b"".join(decode_data_url(part["source"]) for part in parts if part.get("source"))
    return contents


class Engine:
    """The stages that use the network. ``on_retry`` is called for retries, ``say`` for each console line.

    ``public_ca``: certificates that the system trusts beside those of a config.
    """

    def __init__(
        self, http: BoundHTTP, clock: Clock, say: Callable[[str], None], on_retry: OnRetry, public_ca: bytes | None = None
    ) -> None:
        self._http = http
        self._public_ca = public_ca or b""
        self._clock = clock
        self._say = say
        self._on_retry = on_retry
        self._ca_pem = public_ca

    async def fetch(self, config: Config) -> Config:
        """Follow ``ignition.config`` of a parsed config to the end and merge. Raises :class:`IgnitionError`."""
        await self._trust(config)
        return await self._render(config, 0)

    async def files(self, config: Config) -> Config:
        """The same config with the contents of all files fetched, checked and put in as plain data URLs."""
        result = deepcopy(config)
        await self._trust(result)
        for entry in _at(result, "storage", "files") or []:
            for part in [entry.get("contents") or {}, *(entry.get("append") or [])]:
                if part.get("source"):
                    try:
                        content = await self.resource(part)
                    except IgnitionError as error:
                        raise IgnitionError(f"failed to create files: {entry['path']}: {error}") from None
                    part.clear()
                    part["source"] = data_url(content)
        return result

    async def get(self, url: str, headers: dict[str, str] | None = None) -> bytes:
        """GET with Ignition's retries. Raises :class:`IgnitionError` for a final answer that is not 200."""
        delay, attempt, reported = FIRST_DELAY, 0, ""
        sent = {"user-agent": USER_AGENT, "accept": ACCEPT, "accept-encoding": "identity", **(headers or {})}
        target = url
        for _unused in range(DEPTH):
            while True:
                attempt += 1
                if attempt <= 5 or attempt % 20 == 0:
                    self._say(f"ignition: GET {target}: attempt #{attempt}")
                try:
                    response = await self._http.request("GET", target, headers=sent, ca_pem=self._ca_pem)
                except httpx.UnsupportedProtocol as error:
                    raise IgnitionError(str(error)) from None
                except httpx.TransportError as error:
                    reason = str(error) or type(error).__name__
                else:
                    if response.status_code < 500:
                        break
                    reason = f"HTTP {response.status_code}"
                if reason != reported:
                    reported = reason
                    self._say(f"ignition: GET error: {reason}")
                    await self._on_retry(target, reason)
                await asyncio.sleep(max(delay / self._clock.speed, min(delay, GENTLE_DELAY)))
                delay = min(delay * 2, LONGEST_DELAY)
            if response.is_redirect:
                # Own headers (a bearer token) are not sent on.
                target = urllib.parse.urljoin(target, response.headers["location"])
                sent = {"user-agent": USER_AGENT, "accept": ACCEPT, "accept-encoding": "identity"}
                continue
            if response.status_code == 404:
                raise IgnitionError(f"resource not found: {target}")
            if response.status_code != 200:
                raise IgnitionError(f"failed to fetch resource: HTTP {response.status_code} from {target}")
            self._say(f"ignition: GET result: OK ({target})")
            return response.content
        raise IgnitionError(f"too many redirects from {url}")

    async def resource(self, resource: dict[str, Any]) -> bytes:
        """The bytes behind a source object: fetched, decompressed, verified."""
        url = str(resource["source"])
        scheme = urllib.parse.urlsplit(url).scheme
        if scheme == "data":
            content = decode_data_url(url)
        elif scheme in {"http", "https"}:
            headers = {h["name"]: h.get("value") or "" for h in resource.get("httpHeaders") or []}
            content = await self.get(url, headers)
        elif scheme in {"tftp", "s3", "gs", "arn"}:
            raise IgnitionError(f"{scheme}: a scheme of Ignition's that the sandbox does not play")
        else:
            raise IgnitionError(f"invalid url scheme {scheme!r}")
        if resource.get("compression") == "gzip":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error) as error:
                raise IgnitionError(f"invalid gzip from {_shown(url)}: {error}") from None
        elif resource.get("compression"):
            raise IgnitionError(f"invalid compression method {resource['compression']!r}")
        expected = _at(resource, "verification", "hash")
        if expected:
            _verify(content, str(expected), _shown(url))
        return content

    async def _render(self, config: Config, depth: int) -> Config:
        if depth > DEPTH:
            raise IgnitionError("configs refer to each other without end")
        replace = _at(config, "ignition", "config", "replace") or {}
        if replace.get("source"):
            new = parse(await self.resource(replace))
            await self._trust(new)
            return await self._render(new, depth + 1)
        merged = config
        for reference in _at(config, "ignition", "config", "merge") or []:
            if not reference.get("source"):
                continue
            new = parse(await self.resource(reference))
            await self._trust(merge(merged, new))
            merged = merge(merged, await self._render(new, depth + 1))
        return merged

    async def _trust(self, config: Config) -> None:
        bundle = b""
        for ca in _at(config, "ignition", "security", "tls", "certificateAuthorities") or []:
            pem = await self.resource(ca)
            if b"-----BEGIN CERTIFICATE-----" not in pem:
                raise IgnitionError("unable to parse certificate authority: no PEM block found")
            bundle += pem.rstrip() + b"\n"
        # The system's own certificates are trusted beside these.
        self._ca_pem = self._public_ca + bundle or None


def _verify(content: bytes, verification: str, url: str) -> None:
    function, _unused, expected = verification.partition("-")
    if function not in {"sha512", "sha256"}:
        raise IgnitionError(f"unsupported hash function {function!r}")
    digest = hashlib.new(function, content).hexdigest()
    if digest != expected.lower():
        raise IgnitionError(f"hash verification failed for {url}: expected {expected} but got {digest}")


def _shown(url: str) -> str:
    return "data URL" if url.startswith("data:") else url


def _at(config: Any, *path: str) -> Any:
    """Return the value at ``path``, ``None`` if a part of the path is missing."""
    for key in path:
        if not isinstance(config, dict):
            return None
        config = config.get(key)
    return config


def _merge(parent: Any, child: Any, name: str) -> Any:
    if child is None:
        return deepcopy(parent)
    if isinstance(parent, dict) and isinstance(child, dict):
        result = deepcopy(parent)
        for key, value in child.items():
            result[key] = _merge(parent.get(key), value, key)
        return result
    if isinstance(parent, list) and isinstance(child, list):
        return _merge_lists(parent, child, name)
    return deepcopy(child)


def _merge_lists(parent: list[Any], child: list[Any], name: str) -> list[Any]:
    key = LIST_KEYS.get(name)
    result = deepcopy(parent)
    if key is None:
        return result + [deepcopy(item) for item in child if item not in result]
    for item in child:
        same = next((i for i, old in enumerate(result) if old.get(key) is not None and old.get(key) == item.get(key)), None)
        if same is None:
            result.append(deepcopy(item))
        else:
            result[same] = _merge(result[same], item, name)
    return result


def _check(config: Config) -> None:
    """The mistakes Ignition's validation calls errors; unknown keys are only warnings there."""
    for name, (path, key) in {
        "storage.files": (("storage", "files"), "path"),
        "storage.directories": (("storage", "directories"), "path"),
        "storage.links": (("storage", "links"), "path"),
        "systemd.units": (("systemd", "units"), "name"),
        "passwd.users": (("passwd", "users"), "name"),
    }.items():
        entries = _at(config, *path)
        if entries is None:
            continue
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise IgnitionError(f"invalid config: {name} must be a list of objects")
        seen: set[str] = set()
        for number, entry in enumerate(entries):
            value = entry.get(key)
            if not isinstance(value, str) or not value:
                raise IgnitionError(f"invalid config: {name}.{number}: {key} is missing")
            if key == "path" and not value.startswith("/"):
                raise IgnitionError(f"invalid config: {name}.{number}: path {value!r} is not absolute")
            if value in seen:
                raise IgnitionError(f"invalid config: {name}.{number}: duplicate entry {value!r}")
            seen.add(value)
            if "mode" in entry and not isinstance(entry["mode"], int):
                raise IgnitionError(f"invalid config: {name}.{number}: mode must be a decimal number")
    for reference in _at(config, "ignition", "config", "merge") or []:
        if not isinstance(reference, dict):
            raise IgnitionError("invalid config: ignition.config.merge must be a list of objects")
