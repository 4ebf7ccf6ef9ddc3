"""A name server nobody here wrote, BIND, on loopback: with a key that may update its whole zone, and one that may not."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import dns.zone

from tests.system_packages import program

ZONE = "metal.test"
SECRET = "c2FuZGJveC1zYW5kYm94LXNhbmRib3gtc2FuZGJveCE="
WRITER, OTHER = "writer", "other"
"""May update every name, and may update no name but ``OTHERS``."""
OTHERS = f"other.{ZONE}."
STARTS_WITHIN = 60
"""Seconds."""

SETTINGS = """\
options {{
    directory "{folder}";
    managed-keys-directory "{folder}";
    pid-file "{folder}/pid";
    session-keyfile "{folder}/session.key";
    listen-on port {port} {{ 127.0.0.1; }};
    listen-on-v6 {{ none; }};
    recursion no;
}};
controls {{ }};
key {writer} {{ algorithm hmac-sha256; secret "{secret}"; }};
key {other} {{ algorithm hmac-sha256; secret "{secret}"; }};
zone "{zone}" {{
    type primary;
    file "zone";
    allow-transfer {{ key {writer}; }};
    update-policy {{ grant {writer} zonesub ANY; grant {other} name {others} ANY; }};
}};
"""
RECORDS = f"""\
$ORIGIN {ZONE}.
$TTL 60
@ IN SOA ns hostmaster 1 60 30 604800 5
@ IN NS ns
ns IN A 127.0.0.1
"""


@dataclass(frozen=True)
class Named:
    """A running one, by its port."""

    port: int

    def update(self, name: str, kind: str, *values: str) -> None:
        """Have these values, and no others, at the whole name."""
        update = dns.update.UpdateMessage(ZONE, keyring=dns.tsigkeyring.from_text({WRITER: SECRET}), keyalgorithm="hmac-sha256")
        update.delete(f"{name}.", kind)
        for value in values:
            update.add(f"{name}.", 60, kind, value)
        assert dns.query.tcp(update, "127.0.0.1", port=self.port, timeout=10).rcode() == dns.rcode.NOERROR

    def zone(self) -> str:
        """All that is in it, with its serial."""
        keyring = dns.tsigkeyring.from_text({WRITER: SECRET})
        messages = dns.query.xfr("127.0.0.1", ZONE, port=self.port, keyring=keyring, keyalgorithm="hmac-sha256", lifetime=10)
        return dns.zone.from_xfr(messages).to_text()


@contextmanager
def started(folder: Path) -> Iterator[Named]:
    """Needs bind9 of ``system-packages.txt``."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    settings = SETTINGS.format(folder=folder, port=port, zone=ZONE, secret=SECRET, writer=WRITER, other=OTHER, others=OTHERS)
    (folder / "named.conf").write_text(settings, encoding="utf-8")
    (folder / "zone").write_text(RECORDS, encoding="utf-8")
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen([str(program("bind9")), "-g", "-c", str(folder / "named.conf")], stdout=log, stderr=log)
    try:
        _wait_for(process, port, folder / "log")
        yield Named(port)
    finally:
        process.terminate()
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, EOFError, dns.exception.DNSException):
            answer = dns.query.tcp(dns.message.make_query(ZONE, "SOA"), "127.0.0.1", port=port, timeout=5)
            # It listens before it has loaded the zone, and refuses updates of it until then.
            if answer.rcode() == dns.rcode.NOERROR and answer.answer:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8"))
