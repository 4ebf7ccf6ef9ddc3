"""Images on a mirror: the right ones, damaged, half and missing."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.lookup.boot_image import DOCUMENTATION, LookupModule

IMAGE = b"kernel" * 400_000
SHA256 = hashlib.sha256(IMAGE).hexdigest()


class Lookup(LookupModule):
    """With its documented defaults, as the loader would find them."""

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        options = yaml.safe_load(DOCUMENTATION)["options"]
        self._options = {name: option.get("default") for name, option in options.items()} | dict(direct)


class Mirror(ThreadingHTTPServer):
    """``/good``, ``/damaged``, ``/half`` (the connection ends early); nothing else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []

    def image(self, name: str) -> dict[str, str]:
        return {"url": f"http://127.0.0.1:{self.server_port}/{name}", "sha256": SHA256}


class Answer(BaseHTTPRequestHandler):
    server: Mirror

    def _answer(self) -> None:
        self.server.asked.append(self.path)
        content = {"/good": IMAGE, "/damaged": IMAGE[:-1] + b"?", "/half": IMAGE}.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.path == "/half" else content)

    do_GET = _answer  # noqa: N815

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
    assert mirror.asked == ["/good"]


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
