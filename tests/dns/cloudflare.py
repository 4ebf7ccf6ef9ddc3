"""A stand-in for the API of Cloudflare, version 4, over TLS: zones and DNS records, from the API's documentation.

What is strict as in the documentation and in answers of the real service that users have published (error codes): the bearer token, pages,
the TTL (1, or 60 to 86400), identical records (81058, and 81057 where they differ in more than name, type and content), a CNAME beside
other records (81053, 81054), NS beside other types, contents of their type, names in the zone, wildcards as the first label only and quotes
of TXT.
"""

import itertools
import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "Sn3lZJTBX6kkg7OdcBUAxOO963GEIyGQqnFTOFYY"
MOST_PER_PAGE = {"zones": 50, "dns_records": 5_000_000}
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


class RefusedError(Exception):
    """A request that is refused, with the HTTP status, code and message of the answer."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass
class Account:
    """The zones of an account, by id, and their records."""

    zones: dict[str, str] = field(default_factory=dict)
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add_zone(self, name: str) -> None:
        identifier = f"{next(self.ids):032x}"
        self.zones[identifier], self.records[identifier] = name, []

    def answer(self, method: str, target: str, authorization: str | None, body: dict[str, Any]) -> Any:
        """Return the result, or (results, page, per_page) of a list. Raises RefusedError."""
        self.requests.append(f"{method} {target}")
        if not (authorization or "").startswith("Bearer "):
            raise RefusedError(400, 6003, "Invalid request headers")
        if authorization != f"Bearer {TOKEN}":
            raise RefusedError(403, 9109, "Invalid access token")
        url = urlsplit(target)
        query = dict(parse_qsl(url.query))
        parts = url.path.removeprefix("/client/v4/").split("/")
        if parts == ["zones"] and method == "GET":
            found = [{"id": key, "name": name, "name_servers": ["a.ns.test"], "plan": {}} for key, name in self.zones.items()]
            return self._page([zone for zone in found if query.get("name") in (None, zone["name"])], query, "zones")
        if parts[0] != "zones" or len(parts) < 3 or parts[2] != "dns_records":
            raise RefusedError(404, 7000, f"No route for that URI {url.path}")
        if parts[1] not in self.zones:
            raise RefusedError(404, 7003, f"Could not route to {url.path}, perhaps your object identifier is invalid?")
        return self._records(method, parts[1], parts[3] if len(parts) > 3 else "", query, body)

    def _records(self, method: str, zone: str, identifier: str, query: dict[str, str], body: dict[str, Any]) -> Any:
        records = self.records[zone]
        if method == "GET" and not identifier:
            found = [each for each in records if all(query.get(key) in (None, each[key]) for key in ("type", "name", "content"))]
            return self._page(found, query, "dns_records")
        if method == "POST" and not identifier:
            record = {**self._checked(zone, body, ""), "id": f"{next(self.ids):032x}"}
            records.append(record)
            return record
        one = next((each for each in records if each["id"] == identifier), None)
        if one is None:
            raise RefusedError(404, 81044, "Record does not exist.")
        if method == "PUT":
            one.update(self._checked(zone, body, identifier))
            return one
        if method == "DELETE":
            records.remove(one)
            return {"id": identifier}
        raise RefusedError(405, 10405, "Method not allowed")

    def _page(self, found: list[dict[str, Any]], query: dict[str, str], kind: str) -> tuple[list[dict[str, Any]], int, int, int]:
        page, size = int(query.get("page", 1)), int(query.get("per_page", 20 if kind == "zones" else 100))
        if page < 1 or not 5 <= size <= MOST_PER_PAGE[kind]:
            raise RefusedError(400, 1004, "DNS Validation Error")
        return found[(page - 1) * size : page * size], page, size, len(found)

    def _checked(self, zone: str, body: dict[str, Any], own: str) -> dict[str, Any]:
        kind, name, content = body.get("type"), str(body.get("name", "")).lower(), str(body.get("content", ""))
        ttl = body.get("ttl", 1)
        if kind not in ("A", "AAAA", "CNAME", "TXT", "NS", "PTR"):
            raise RefusedError(400, 1004, "DNS Validation Error")
        labels = name.removesuffix(self.zones[zone]).rstrip(".").split(".") if name != self.zones[zone] else []
        if name != self.zones[zone] and not name.endswith(f".{self.zones[zone]}"):
            raise RefusedError(400, 9000, "DNS name is invalid.")
        if not all(LABEL.fullmatch(label) or (label == "*" and number == 0) for number, label in enumerate(labels)) or len(name) > 253:
            raise RefusedError(400, 9000, "DNS name is invalid.")
        if not isinstance(ttl, int) or (ttl != 1 and not 60 <= ttl <= 86400):
            raise RefusedError(400, 9021, "Invalid TTL. Must be between 60 and 86,400 seconds, or 1 for Automatic.")
        self._check_content(str(kind), content)
        others = [each for each in self.records[zone] if each["name"] == name and each["id"] != own]
        same = [each for each in others if each["type"] == kind and each["content"] == content]
        if same:
            identical = same[0]["ttl"] == ttl and same[0]["proxied"] == bool(body.get("proxied"))
            raise RefusedError(400, *((81058, "An identical record already exists.") if identical else (81057, "Record already exists.")))
        if kind in ("A", "AAAA", "CNAME") and any(each["type"] == "CNAME" for each in others):
            raise RefusedError(400, 81054, "A CNAME record with that host already exists.")
        if kind == "CNAME" and others:
            raise RefusedError(400, 81053, "An A, AAAA, or CNAME record with that host already exists.")
        if any((each["type"] == "NS") != (kind == "NS") for each in others):
            raise RefusedError(400, 81056, "NS records with that host already exist.")
        return {
            "type": kind,
            "name": name,
            "content": content,
            "ttl": ttl,
            "proxied": bool(body.get("proxied")),
            "proxiable": kind in ("A", "AAAA", "CNAME"),
            "meta": {},
            "comment": body.get("comment"),
            "tags": body.get("tags", []),
        }

    @staticmethod
    def _check_content(kind: str, content: str) -> None:
        if kind == "TXT" and not re.fullmatch(r'"([^"\\]|\\.){0,255}"( "([^"\\]|\\.){0,255}")*', content):
            # The service quotes such a content itself and warns; a client that relies on it reads another value than it wrote.
            raise RefusedError(400, 1004, "DNS Validation Error")
        try:
            if kind == "A":
                IPv4Address(content)
            elif kind == "AAAA":
                IPv6Address(content)
        except ValueError:
            message = f"Content for {kind} record must be a valid {'IPv4' if kind == 'A' else 'IPv6'} address."
            raise RefusedError(400, 9005 if kind == "A" else 9006, message) from None


class Handler(BaseHTTPRequestHandler):
    """Answers with the envelope of the API."""

    account: Account
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""

    def do_any(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}") if size else {}
        status, errors, result, info = 200, [], None, None
        with self.account.lock:
            try:
                result = self.account.answer(self.command, self.path, self.headers.get("Authorization"), body or {})
            except RefusedError as refused:
                status, errors = refused.status, [{"code": refused.code, "message": str(refused)}]
            text = self._text(errors, result, info)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    @staticmethod
    def _text(errors: list[dict[str, Any]], result: Any, info: Any) -> bytes:
        if isinstance(result, tuple):
            result, page, size, total = result
            pages = -(-total // size)
            info = {"page": page, "per_page": size, "count": len(result), "total_count": total, "total_pages": pages}
        answer = {"success": not errors, "errors": errors, "messages": [], "result": result}
        return json.dumps({**answer, "result_info": info} if info else answer).encode()

    do_GET = do_POST = do_PUT = do_DELETE = do_any  # noqa: N815 - names of http.server


@contextmanager
def started(folder: Path, account: Account) -> Iterator[str]:
    """Yield the URL of the API; ``folder`` has ``server.crt`` and ``server.key``."""
    handler = type("Bound", (Handler,), {"account": account})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/client/v4"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
