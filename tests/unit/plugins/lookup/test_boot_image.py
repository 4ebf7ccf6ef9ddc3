"""Images on a mirror: the right ones, damaged, half, missing, and a server that has its moments."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleLookupError

from ansible_collections.equinix_metal.openshift.plugins.lookup.boot_image import DOCUMENTATION, LookupModule

IMAGE = b"kernel" * 400_000
SHA256 = hashlib.sha256(IMAGE).hexdigest()


class Lookup(LookupModule):
    """With its documented defaults, as the loader would find them."""

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        options = yaml.safe_load(DOCUMENTATION)["options"]
        self._options = {name: option.get("default") for name, option in options.items()} | dict(direct)


class Mirror(ThreadingHTTPServer):
    """``/good``, ``/damaged``, ``/half`` (the connection ends early), ``/empty``, ``/once-broken``; nothing else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []

    def image(self, name: str) -> dict[str, str]:
        return {"url": f"http://127.0.0.1:{self.server_port}/{name}", "sha256": SHA256}


class Answer(BaseHTTPRequestHandler):
    server: Mirror

    def _answer(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        if self.path == "/once-broken" and len(self.server.asked) == 1:
            self.send_error(503)
            return
        content = {"/good": IMAGE, "/damaged": IMAGE[:-1] + b"?", "/half": IMAGE, "/empty": b"", "/once-broken": IMAGE}.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: len(content) // 2] if self.path == "/half" else content)

    do_GET = do_HEAD = _answer  # noqa: N815

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def seen(mirror: Mirror, *names: str, **options: Any) -> list[dict[str, Any]]:
    found = Lookup().run([mirror.image(name) for name in names], {}, **options)
    assert [each["url"] for each in found] == [mirror.image(name)["url"] for name in names]
    return list(found)


def test_a_good_image_is_read_once(mirror: Mirror) -> None:
    assert [(each["bytes"], each["problem"]) for each in seen(mirror, "good")] == [(len(IMAGE), "")]
    assert mirror.asked == ["GET /good"]


@pytest.mark.parametrize(
    ("name", "problem", "asked"),
    [
        ("damaged", f", expected {SHA256}", 1),
        ("gone", "HTTP 404 Not Found", 1),
        ("half", f"the connection ended after {len(IMAGE) // 2} of {len(IMAGE)} bytes", 2),
    ],
)
def test_what_is_wrong_is_told(mirror: Mirror, name: str, problem: str, asked: int) -> None:
    (found,) = seen(mirror, name, tries=2)
    assert problem in found["problem"]
    assert len(mirror.asked) == asked


def test_a_server_that_has_its_moments_is_asked_again(mirror: Mirror) -> None:
    assert seen(mirror, "once-broken")[0]["problem"] == ""
    assert len(mirror.asked) == 2


def test_a_server_that_is_not_there(mirror: Mirror) -> None:
    image = {"url": "http://127.0.0.1:9/kernel", "sha256": SHA256}
    (found,) = Lookup().run([image], {})
    assert "refused" in found["problem"].lower()


def test_only_to_ask_whether_they_are_there(mirror: Mirror) -> None:
    found = seen(mirror, "damaged", "gone", "empty", verify="head")
    assert [each["problem"] for each in found] == ["", "HTTP 404 Not Found", "the server reports no size, or the image is empty"]
    assert mirror.asked == ["HEAD /damaged", "HEAD /gone", "HEAD /empty"]


def test_what_is_no_image() -> None:
    with pytest.raises(AnsibleLookupError, match="needs url and sha256"):
        Lookup().run(["http://127.0.0.1/kernel"], {})
