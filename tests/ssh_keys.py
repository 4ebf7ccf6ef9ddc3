"""SSH keys for tests, by OpenSSH."""

import subprocess
from pathlib import Path


def make_ssh_key(file: Path) -> Path:
    """Make a private key without a passphrase, its public half beside it in ``<file>.pub``; returns ``file``."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    return file
