"""Public SSH keys as sshd and the installer read them."""

from __future__ import annotations

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.install_config import authorized_keys

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKjUXG9UCv2NJ0NB4fGX0B3iFCcBNoX5V8w+TzYQXH3H"


@pytest.mark.parametrize(
    ("line", "kind", "problem"),
    [
        (KEY, "ssh-ed25519", ""),
        (f"{KEY} ada@example.com", "ssh-ed25519", ""),
        (f'command="echo \\"a b\\"",no-pty {KEY}', "ssh-ed25519", ""),
        (f"restrict {KEY}", "ssh-ed25519", ""),
        (f"  {KEY}\r", "ssh-ed25519", ""),
        (KEY.replace("ssh-ed25519 ", "ssh-rsa "), "ssh-ed25519", "its key is ssh-ed25519, it says ssh-rsa"),
        (KEY[:-8], "", "no whole public key"),
        (KEY[:-1], "", "no whole public key"),
        ("ssh-ed25519", "", "no whole public key"),
        ("ssh-ed25519 AAAA", "", "no whole public key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "", "no whole public key"),
        ('"' * 500, "", "no whole public key"),
    ],
)
def test_a_line_of_authorized_keys(line: str, kind: str, problem: str) -> None:
    (read,) = authorized_keys.read(f"# comment\n\n{line}\n")
    assert (read.number, read.kind, read.problem) == (3, kind, problem)


def test_a_text_without_any_line() -> None:
    for text in ("", "\n\n", "# nothing\n", "\r\n"):
        assert authorized_keys.read(text) == []
