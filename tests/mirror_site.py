"""The sandbox's mirror on a web server, for tests that download openshift-install."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sandbox.openshift import mirror as served

Answer = Callable[[SimpleHTTPRequestHandler], None]


@dataclass
class Site:
    """The mirror's folder and address, the requests, and other answers for some file names, each once."""

    folder: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    instead: dict[str, list[Answer]] = field(default_factory=dict)


@contextmanager
def mirror_site(folder: Path) -> Iterator[Site]:
    """Serve a mirror from this folder."""
    found = Site(folder)
    served.create_mirror_app(folder, sys.executable, "http://127.0.0.1:1")

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            found.asked.append(name)
            answers = found.instead.get(name)
            (answers.pop(0) if answers else SimpleHTTPRequestHandler.do_GET)(self)

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}/mirror"
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
