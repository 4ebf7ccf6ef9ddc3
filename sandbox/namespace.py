# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network namespace of a sandbox whose machines have network cards: it starts itself again in one, of which nothing leads outside.

A bridge of machines with firmware, on which the sandbox's services listen, and the networks of simulated devices as local ones, so that
all of them reach each other. A machine with a network card of its own takes its address away from the local ones (`sandbox.containers`).
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from metal_api.state_folder import StartError
from sandbox.loopback import VARIABLE

_LOG = logging.getLogger(__name__)

_INSIDE: Final = "SANDBOX_NAMESPACE"
"""Set in the environment of what runs in the namespace."""

BRIDGE: Final = "br0"
ADDRESS: Final = "10.9.0.1"
NETWORK: Final = IPv4Network("10.9.0.0/24")
_DEVICE_NETWORKS: Final = "10.64.0.0/10 10.192.0.0/10"
_DEVICE_NETWORK6: Final = "2604:1380::/32"

SEARCHED: Final = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
"""Where programs for root are, which the PATH of an ordinary user does not have."""
ROUTERS: Final = {"169.254.255.1": 100, "169.254.255.2": 101}
"""BGP routers of the service, as in the metadata, with the tables of their routes, which are read before that of local addresses."""
_WATCHERS: Final = 4096
"""Instances of inotify of one user: each systemd has about twenty, and computers allow 128."""
_OWN_FOLDERS: Final = ("/run/netns", "/run/systemd/nspawn")
"""Folders of containers that are in memory and the namespace's own: nothing is left in those of the computer."""


def require(what: str, programs: Mapping[str, str]) -> None:
    """Raise :class:`StartError` with the Debian packages that ``what`` lacks. ``programs``: packages by program."""
    if missing := [package for program, package in programs.items() if shutil.which(program, path=SEARCHED) is None]:
        raise StartError(f"{what} needs further packages: apt-get install --no-install-recommends {' '.join(missing)}")


def path_of(program: str) -> str:
    """Return the path of a program that :func:`require` has found."""
    return shutil.which(program, path=SEARCHED) or program


def enter(module: str, arguments: list[str], *, as_root: bool) -> None:
    """Start this program again in a network namespace of its own, unless it is in one already. Does not return then.

    ``as_root``: as root of the computer, who may mount file systems and start containers; without it as root of a user namespace. Raises
    :class:`StartError` where the computer refuses namespaces.
    """
    if os.environ.get(_INSIDE):
        return
    words = ["unshare", *(() if as_root else ("--user", "--map-root-user")), "--net", "--mount"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False) if shutil.which("unshare") else None
    if tried is None or tried.returncode:
        reason = tried.stderr.strip() if tried is not None else "there is no unshare (package util-linux)"
        raise StartError(f"--machines needs a network namespace of its own, and this computer refuses it ({reason})")
    environment = {**os.environ, _INSIDE: "root" if as_root else "user", VARIABLE: _DEVICE_NETWORKS}
    sys.stdout.flush()
    os.execvpe(words[0], [*words, sys.executable, "-m", module, *arguments], environment)  # noqa: S606 - no shell is needed


def command_to_enter(environment: Path) -> str:
    """Return the command that starts a shell in the namespace of this process, with the file ``environment``; empty if it is in none."""
    kind = os.environ.get(_INSIDE)
    if not kind:
        return ""
    user = ["--user", "--preserve-credentials"] if kind == "user" else []
    words = ["nsenter", "--target", str(os.getpid()), *user, "--net", "--mount", f"--wd={Path.cwd()}"]
    return shlex.join([*words, "bash", "--rcfile", str(environment.resolve())])


def set_up() -> None:
    """Make the bridge of the machines, and the networks of simulated devices local; in the namespace, once. Raises :class:`StartError`."""
    if subprocess.run(["ip", "link", "show", BRIDGE], capture_output=True, check=False).returncode == 0:
        return
    _run("ip link set lo up")
    _run(f"ip link add {BRIDGE} type bridge forward_delay 0")
    _run(f"ip address add {ADDRESS}/{NETWORK.prefixlen} dev {BRIDGE}")
    _run(f"ip link set {BRIDGE} up")
    for network in _DEVICE_NETWORKS.split():
        _run(f"ip route add local {network} dev lo")
    if os.environ.get(_INSIDE) == "root":
        # Machines with network cards are routed one by one, also to each other.
        _set(Path("/proc/sys/net/ipv4/ip_forward"), 1)
        _set(Path("/proc/sys/net/ipv6/conf/all/forwarding"), 1)
        # The router's own addresses are its own at once.
        _set(Path("/proc/sys/net/ipv6/conf/default/accept_dad"), 0)
        # The router asks there for IPv6 addresses of machines without power, where none answers.
        _run(f"ip route add {_DEVICE_NETWORK6} dev {BRIDGE}")
        for priority, (address, table) in enumerate(ROUTERS.items(), 1):
            _run(f"ip address add {address}/32 dev lo")
            _run(f"ip rule add priority {priority} lookup {table}")
        _run(f"ip rule add priority {len(ROUTERS) + 1} lookup local")
        _run("ip rule delete priority 0")
        # By ports too, so that one client's connections use all equal routes.
        _set(Path("/proc/sys/net/ipv4/fib_multipath_hash_policy"), 1)
        _raise_limit(Path("/proc/sys/fs/inotify/max_user_instances"), _WATCHERS)
        for folder in _OWN_FOLDERS:
            Path(folder).mkdir(parents=True, exist_ok=True)
            _run(f"mount -t tmpfs tmpfs {folder}")


def _raise_limit(path: Path, least: int) -> None:
    """Raise a limit of the computer, which is not the namespace's own."""
    if int(path.read_text(encoding="ascii")) < least:
        _set(path, least)
        _LOG.info("%s is %d from now on", path, least)


def _set(path: Path, value: int) -> None:
    try:
        path.write_text(f"{value}\n", encoding="ascii")
    except OSError as error:
        raise StartError(f"--machines: {path} cannot be set to {value}: {error.strerror}") from None


def _run(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise StartError(f"--machines: {command}: {done.stderr.strip()}")


def use_name_server(folder: Path) -> None:
    """Have the programs in the namespace resolve names at the sandbox's DNS server: no other one can be reached there."""
    file = folder / "resolv.conf"
    file.write_text(f"nameserver {ADDRESS}\noptions timeout:1 attempts:1\n", encoding="ascii")
    done = subprocess.run(["mount", "--bind", str(file), "/etc/resolv.conf"], capture_output=True, text=True, check=False)
    if done.returncode:
        _LOG.warning("names are still resolved as outside of the namespace: %s", done.stderr.strip())
