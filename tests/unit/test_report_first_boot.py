"""The script that reports the first boot of an installed system: against a server that records its requests."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

FILES = Path(__file__).resolve().parents[2] / "roles" / "boot_files" / "files"
LIMIT = 90
"""Seconds that the unit allows, TimeoutStartSec."""


class Service:
    """A metadata service, and the address for events beside its phone_home_url."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.metadata: dict[str, Any] = {}
        self.url = ""


@pytest.fixture
def service() -> Iterator[Service]:
    known = Service()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(known.metadata).encode()
            self.send_response(200 if self.path == "/metadata" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            known.posted.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        known.url = f"http://127.0.0.1:{server.server_port}"
        known.metadata = {"phone_home_url": f"{known.url}/phone-home"}
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield known
        server.shutdown()
        thread.join()


def run(root: Path, url: str) -> subprocess.CompletedProcess[str]:
    (root / "etc").mkdir()
    (root / "etc" / "report-first-boot.url").write_text(f"{url}\n", encoding="utf-8")
    return subprocess.run(
        ["bash", str(FILES / "report-first-boot.sh")],
        env={**os.environ, "REPORT_ROOT": str(root)},
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


@pytest.mark.debian("jq", "curl")
def test_it_posts_an_event_in_the_format_of_ignition(tmp_path: Path, service: Service) -> None:
    done = run(tmp_path, f"{service.url}/metadata")
    assert (done.returncode, done.stderr) == (0, "")
    message = "[first boot] Ignition status: finished successfully"
    assert service.posted == [("/events", {"state": "running", "message": message})]


@pytest.mark.debian("jq", "curl")
@pytest.mark.parametrize("metadata", [{}, {"phone_home_url": None}, []])
def test_metadata_without_an_address_is_no_error(tmp_path: Path, service: Service, metadata: Any) -> None:
    service.metadata = metadata
    assert run(tmp_path, f"{service.url}/metadata").returncode == 0
    assert service.posted == []


@pytest.mark.debian("jq", "curl")
@pytest.mark.parametrize("path", ["/missing", ""])
def test_without_a_service_it_ends_at_once_and_well(tmp_path: Path, service: Service, path: str) -> None:
    url = f"{service.url}{path}" if path else f"http://127.0.0.1:{free_port()}/metadata"
    begun = time.monotonic()
    assert run(tmp_path, url).returncode == 0
    assert time.monotonic() - begun < LIMIT / 2
    assert service.posted == []


def test_nothing_of_the_boot_waits_for_the_unit() -> None:
    unit = (FILES / "report-first-boot.service").read_text(encoding="utf-8")
    assert f"TimeoutStartSec={LIMIT}\n" in unit
    assert "Before=" not in unit
    assert "RequiredBy=" not in unit
    assert "ExecStart=-/" in unit, "its failure is no failure of the unit"
