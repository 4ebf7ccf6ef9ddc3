"""Object storage on loopback: moto's S3, over HTTP and over TLS, behind a door that checks signatures and their ends, which moto does not.

Usage: ``python -m tests.boot_files.storage FOLDER HTTP_PORT HTTPS_PORT``. FOLDER has ``server.crt`` and ``server.key``; ``ahead``, if it is
there, has the seconds by which the storage's clock is ahead. What is checked is what Amazon's API reference says of it ("Authenticating
Requests: Using Query Parameters (AWS Signature Version 4)"), for the key below.
"""

import hashlib
import hmac
import ssl
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def sign(environ: dict[str, Any], query: dict[str, str]) -> str:
    """The signature that a request with this query has to have."""
    date, region, service, end = query["X-Amz-Credential"].split("/")[1:]
    signed = {name: value for name, value in query.items() if name != "X-Amz-Signature"}
    text = "&".join(f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(signed[name], safe='-_.~')}" for name in sorted(signed))
    path = environ["RAW_URI"].partition("?")[0]
    request = "\n".join([environ["REQUEST_METHOD"], path, text, f"host:{environ['HTTP_HOST']}", "", "host", "UNSIGNED-PAYLOAD"])
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", query["X-Amz-Date"], f"{date}/{region}/{service}/{end}", hashlib.sha256(request.encode()).hexdigest()]
    )
    key = b"AWS4" + SECRET_KEY.encode()
    for part in (date, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


def door(storage: Application, folder: Path) -> Application:
    def enter(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        query = dict(urllib.parse.parse_qsl(environ.get("QUERY_STRING", "")))
        if "X-Amz-Signature" in query:
            ahead = folder / "ahead"
            now = datetime.now(UTC) + timedelta(seconds=float(ahead.read_text(encoding="utf-8")) if ahead.exists() else 0)
            begun = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            ended = now > begun + timedelta(seconds=int(query["X-Amz-Expires"]))
            if ended or not hmac.compare_digest(query["X-Amz-Signature"], sign(environ, query)):
                start("403 Forbidden", [("Content-Type", "text/plain")])
                return [b"Request has expired" if ended else b"SignatureDoesNotMatch"]
        return storage(environ, start)

    return enter


def main() -> None:
    folder = Path(sys.argv[1])
    storage = door(DomainDispatcherApplication(create_backend_app), folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    servers = [
        make_server("127.0.0.1", int(sys.argv[2]), storage, threaded=True),
        make_server("127.0.0.1", int(sys.argv[3]), storage, threaded=True, ssl_context=context),
    ]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
