"""OpenPGP keys and signatures by the real gpg, in a home of their own."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOW = "20260101T000000"


class Gpg:
    """``home`` has a short path, since gpg-agent's socket is in it."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *arguments: str, content: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", str(self.home), "--batch", "--yes", "--quiet", *arguments]
        done = subprocess.run(command, input=content, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def key(self, name: str, *options: str, expires: str = "never") -> str:
        """Make a key of 2024 that signs, and return its fingerprint. ``expires`` is a date, such as 2024-06-01."""
        unprotected = ("--pinentry-mode", "loopback", "--passphrase", "")
        desired = (f"{name} <{name}@example>", "rsa2048", "sign", expires)
        self.run(*unprotected, *options, "--faked-system-time", "20240101T000000!", "--quick-gen-key", *desired)
        lines = self.run("--list-keys", "--with-colons", f"{name}@example").decode().splitlines()
        return next(line.split(":")[9] for line in lines if line.startswith("fpr:"))

    def revoke(self, fingerprint: str) -> None:
        """Revoke a key by the certificate that gpg made with it."""
        certificate = (self.home / "openpgp-revocs.d" / f"{fingerprint}.rev").read_bytes()
        self.run("--import", content=certificate.replace(b":-----BEGIN", b"-----BEGIN"))

    def sign(self, name: str, content: bytes, *options: str, when: str = NOW) -> bytes:
        """Return a detached signature."""
        return self.run(
            "--faked-system-time",
            f"{when}!",
            "--local-user",
            f"{name}@example",
            "--output",
            "-",
            *options,
            "--detach-sign",
            content=content,
        )

    def keyring(self, *names: str) -> bytes:
        """Return a keyring for gpgv, of these keys or all."""
        return self.run("--export", *(f"{name}@example" for name in names))


@contextmanager
def gpg() -> Iterator[Gpg]:
    with tempfile.TemporaryDirectory(prefix="gpg-") as folder:
        try:
            yield Gpg(Path(folder))
        finally:
            subprocess.run(["gpgconf", "--homedir", folder, "--kill", "all"], capture_output=True, check=True)
