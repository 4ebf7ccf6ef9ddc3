"""Copies of RHEL CoreOS for iPXE without HTTPS: downloaded with their checksums, and served by the boot service."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from metal_api.boot import BootMedia, create_boot_app
from metal_api.images import fetch, images_folder
from metal_api.state_folder import StartError
from tests.metal_api.conftest import Sandbox, serving
from tests.ports import free_ports

KINDS = ("kernel", "initramfs", "rootfs")


def content(kind: str, build: str) -> bytes:
    return f"{kind} of {build}\n".encode() * 1000


@dataclass
class Mirror:
    """The server that the installer names. ``asked``: paths that were downloaded from it."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def stream(self, build: str = "9.6.1") -> str:
        """Publish a build and return the stream metadata of it."""
        entries: dict[str, Any] = {}
        for kind in KINDS:
            path, data = f"/{build}/rhcos-{build}-live-{kind}.x86_64", content(kind, build)
            self.files[path] = data
            entries[kind] = {"location": self.url + path, "sha256": hashlib.sha256(data).hexdigest()}
        metal = {"release": build, "formats": {"pxe": entries, "iso": {}}}
        return json.dumps({"stream": "rhcos", "architectures": {"x86_64": {"artifacts": {"metal": metal}}}})


@pytest.fixture
async def mirror() -> AsyncIterator[Mirror]:
    (port,) = free_ports(1)
    found = Mirror(f"http://127.0.0.1:{port}")

    async def answer(request: Request) -> PlainTextResponse:
        found.asked.append(request.url.path)
        data = found.files.get(request.url.path)
        return PlainTextResponse(data) if data is not None else PlainTextResponse("gone", 404)

    async with serving({port: Starlette(routes=[Route("/{path:path}", answer)])}):
        yield found


async def fetched(stream: str, state: Path) -> list[str]:
    lines: list[str] = []
    await asyncio.to_thread(fetch, stream, state, lines.append)
    return lines


async def test_images_are_downloaded_once_and_served(mirror: Mirror, sandbox: Sandbox, tmp_path: Path) -> None:
    stream, folder = mirror.stream(), images_folder(tmp_path)
    (port,) = free_ports(1)
    # The server runs already.
    async with serving({port: create_boot_app(sandbox.world, BootMedia(tmp_path / "media", images=folder))}):
        names = [f"rhcos-9.6.1-live-{kind}.x86_64" for kind in KINDS]
        assert await fetched(stream, tmp_path) == [f"{name}: downloaded, its checksum is that of the stream metadata" for name in names]
        assert await fetched(stream, tmp_path) == [f"{name}: unchanged" for name in names]
        assert len(mirror.asked) == 3
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/images") as machine:
            for kind, name in zip(KINDS, names, strict=True):
                answer = await machine.get(f"/{name}")
                assert (answer.status_code, answer.content) == (200, content(kind, "9.6.1"))
                assert (await machine.head(f"/{name}")).headers["content-length"] == str(len(answer.content))
            sums = (await machine.get("/sha256sum.txt")).text
            assert sums == "".join(
                f"{hashlib.sha256(content(kind, '9.6.1')).hexdigest()}  {name}\n" for kind, name in sorted(zip(KINDS, names, strict=True))
            )
            for path in ("/none", "/", "/%2e%2e/token"):
                assert (await machine.get(path)).status_code == 404, path


async def test_a_changed_copy_is_downloaded_again(mirror: Mirror, tmp_path: Path) -> None:
    stream = mirror.stream()
    await fetched(stream, tmp_path)
    kernel = tmp_path / "images" / "rhcos-9.6.1-live-kernel.x86_64"
    kernel.write_bytes(b"damaged")
    lines = await fetched(stream, tmp_path)
    assert lines[0].endswith("downloaded, its checksum is that of the stream metadata")
    assert kernel.read_bytes() == content("kernel", "9.6.1")


async def test_what_is_not_as_the_stream_metadata_says_is_not_served(mirror: Mirror, tmp_path: Path) -> None:
    stream = mirror.stream()
    mirror.files["/9.6.1/rhcos-9.6.1-live-initramfs.x86_64"] = b"another\n"
    with pytest.raises(StartError, match=r"live-initramfs.x86_64 has sha256 [0-9a-f]{64}, and [0-9a-f]{64} in the stream metadata"):
        await fetched(stream, tmp_path)
    assert [each.name for each in (tmp_path / "images").iterdir()] == ["rhcos-9.6.1-live-kernel.x86_64"]
    del mirror.files["/9.6.1/rhcos-9.6.1-live-initramfs.x86_64"]
    with pytest.raises(StartError, match=r"live-initramfs.x86_64 cannot be downloaded: HTTP 404"):
        await fetched(stream, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda _text: "no JSON",
        lambda text: text.replace("http://", "file://"),
        lambda text: text.replace("live-kernel", "live-kernel/../.."),
        lambda text: text.replace('"sha256": "', '"sha256": "x'),
    ],
)
async def test_what_is_no_stream_metadata(mirror: Mirror, tmp_path: Path, change: Any) -> None:
    with pytest.raises(StartError, match="this is no stream metadata with images of x86_64 servers"):
        await fetched(change(mirror.stream()), tmp_path)
    assert mirror.asked == []
