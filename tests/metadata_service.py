"""A metadata service for scripts of nodes, and the address for events beside its phone_home_url."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class MetadataService(ThreadingHTTPServer):
    """``events``: those that were reported."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.metadata: Any = {"phone_home_url": f"{self.url}/phone-home"}
        self.events: list[dict[str, Any]] = []


class _Answer(BaseHTTPRequestHandler):
    server: MetadataService

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/metadata" else 404, self.server.metadata)

    def do_POST(self) -> None:
        assert self.path == "/events"
        self.server.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer(201, {})

    def log_message(self, *_arguments: object) -> None:
        pass

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
