# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: subcommands, flags, help and exit codes of ``openshift-install``."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from . import catalogue, errors, explain
from .assets import Assets
from .errors import InstallerError
from .log import LEVELS, Log
from .validation import PanicError
from .wait import Waiter

RELEASE_FILE: Final = "release.json"
_PANIC: Final = """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x4e1f2a6]

goroutine 1 [running]:
github.com/openshift/installer/pkg/types/featuregates.FeatureGateFromFeatureSets(...)
\t/go/src/github.com/openshift/installer/pkg/types/featuregates/featuregates.go:53 +0x86
"""
"""The real installer does not check the lookup of an unknown feature set, which returns a nil pointer."""
_FAILURES: Final = ("install-config", "bootstrap", "install", "operators")


@dataclass(frozen=True)
class Context:
    """What every command gets."""

    arguments: argparse.Namespace
    directory: Path
    release: catalogue.Release
    mirror_url: str
    log: Log
    failures: frozenset[str]
    """Steps that shall fail, from SANDBOX_INSTALLER_FAIL."""
    speed: float
    strict: bool

    @property
    def assets(self) -> Assets:
        return Assets(self.directory, self.release, self.log, strict=self.strict)


def baked_release() -> tuple[catalogue.Release, str]:
    """Return release and mirror URL of this installer; from a checkout, the newest release of a mirror at the usual place."""
    baked = resources.files(__package__ or "").joinpath(RELEASE_FILE)
    if not baked.is_file():
        default = f"http://127.0.0.1:8080{catalogue.MIRROR_PATH}"
        return catalogue.release(catalogue.VERSIONS[-1], "x86_64"), os.environ.get("OPENSHIFT_MIRROR_URL", default)
    data = json.loads(baked.read_text(encoding="utf-8"))
    return catalogue.release(data["version"], data["architecture"]), data["mirror_url"]


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    parsed = _parser().parse_args(arguments)
    log = Log(parsed.log_level)
    try:
        return _run(parsed, log)
    except InstallerError as error:
        log.entry(error.level, error.message)
        return error.code
    except PanicError:
        sys.stderr.write(_PANIC)
        return errors.PANIC
    except KeyboardInterrupt:
        log.warning("Received interrupt signal")
        return errors.INTERRUPTED


def _run(parsed: argparse.Namespace, log: Log) -> int:
    release, mirror_url = baked_release()
    command: Callable[[Context], int] | None = getattr(parsed, "command", None)
    if command is None:
        parsed.parser.print_help()
        return 0
    directory = Path(parsed.dir)
    if parsed.writes:
        log.open_file(directory)
    log.debug(f"OpenShift Installer {release.version}")
    log.debug(f"Built from commit {release.commit}")
    return command(
        Context(
            parsed,
            directory,
            release,
            mirror_url,
            log,
            _failures(os.environ.get("SANDBOX_INSTALLER_FAIL", "")),
            _speed(os.environ.get("SANDBOX_INSTALLER_SPEED", "1")),
            os.environ.get("SANDBOX_INSTALLER_STRICT", "") == "1",
        )
    )


def _failures(text: str) -> frozenset[str]:
    failures = frozenset(filter(None, (word.strip() for word in text.split(","))))
    if failures - set(_FAILURES):
        raise InstallerError(f"SANDBOX_INSTALLER_FAIL: {', '.join(sorted(failures - set(_FAILURES)))}: not one of {', '.join(_FAILURES)}")
    return failures


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not speed > 0:
        raise InstallerError(f"SANDBOX_INSTALLER_SPEED: {text!r} is no number above 0")
    return speed


# --- commands --------------------------------------------------------------------------------------------------------------


def _create_install_config(context: Context) -> int:
    _fail_install_config(context)
    context.assets.create_install_config()
    return 0


def _create_manifests(context: Context) -> int:
    _fail_install_config(context)
    _warn_of_override(context)
    context.assets.create_manifests()
    return 0


def _create_ignition_configs(context: Context) -> int:
    _fail_install_config(context)
    _warn_of_override(context)
    context.assets.create_ignition_configs()
    return 0


def _fail_install_config(context: Context) -> None:
    if "install-config" in context.failures:
        text = 'failed to fetch Install Config: failed to load asset "Install Config": failed on demand'
        raise InstallerError(text, errors.INSTALL_CONFIG, level="error")


def _warn_of_override(context: Context) -> None:
    image = os.environ.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")
    if image:
        context.log.warning(f"Found override for release image ({image}). Please be warned, this is not advised")


def _wait_for_bootstrap_complete(context: Context) -> int:
    return _waiter(context).bootstrap_complete()


def _wait_for_install_complete(context: Context) -> int:
    return _waiter(context).install_complete()


def _waiter(context: Context) -> Waiter:
    return Waiter(context.directory, context.log, speed=context.speed, failures=context.failures)


def _gather_bootstrap(context: Context) -> int:
    """The way of the platforms without machines of their own: the bootstrap machine's address has to be given, SSH does the rest."""
    bootstrap = context.arguments.bootstrap
    if not bootstrap:
        raise InstallerError("must provide bootstrap host address")
    context.log.info("Pulling debug logs from the bootstrap machine")
    try:
        socket.create_connection((bootstrap, 22), timeout=5).close()
    except OSError as error:
        raise InstallerError(f"failed to create SSH client: dial tcp {bootstrap}:22: connect: {error.strerror or error}") from error
    raise InstallerError("failed to create SSH client: machines of the sandbox run no SSH server, something else answers there")


def _destroy(context: Context) -> int:
    """Platforms none and external have nothing in metadata.json that could be destroyed: always ends with an error."""
    prefix = "Failed while preparing to destroy cluster: " if context.arguments.what == "cluster" else ""
    path = context.directory / "metadata.json"
    if not path.exists():
        raise InstallerError(f"{prefix}open {path}: no such file or directory")
    raise InstallerError(f"{prefix}no platform configured in metadata")


def _explain(context: Context) -> int:
    sys.stdout.write(explain.text(context.arguments.path))
    return 0


def _print_stream_json(context: Context) -> int:
    json.dump(catalogue.stream(context.release, context.mirror_url), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


def _version(context: Context) -> int:
    """The first line begins with how the program was called, path and all."""
    release = context.release
    override = os.environ.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")
    architecture = "unknown" if override else release.release_architecture
    sys.stdout.write(
        f"{sys.argv[0]} {release.version}\n"
        f"built from commit {release.commit}\n"
        f"release image {override or release.image}\n"
        f"release architecture {architecture}\n"
    )
    if architecture in ("multi", "unknown"):
        sys.stdout.write("default architecture amd64\n")
    return 0


class _Parser(argparse.ArgumentParser):
    """argparse that fails with the words and the code of the real one's library."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        choice = re.match(r"argument \[command\]: invalid choice: '([^']*)'", message)
        if unknown and unknown[1].startswith("-"):
            message = f"unknown flag: {unknown[1]}"
        elif choice or unknown:
            name = (choice or unknown or [""])[1]
            message = f'unknown command "{name}" for "{self.prog}"'
        sys.stderr.write(f"Error: {message}\nRun '{self.prog} --help' for usage.\n")
        Log().fatal(f"Error executing openshift-install: {message}")
        sys.exit(errors.OTHER)


def _parser() -> argparse.ArgumentParser:
    top = _Parser(prog="openshift-install", description="Creates OpenShift clusters", allow_abbrev=False)
    _global_flags(top, defaults=True)
    top.set_defaults(parser=top)
    commands = top.add_subparsers(title="Available Commands", metavar="[command]")

    coreos = _group(commands, "coreos", "Commands for operating on CoreOS boot images")
    _leaf(coreos, "print-stream-json", "Outputs the CoreOS stream metadata for the bootimages", _print_stream_json, writes=False)

    create = _group(commands, "create", "Create part of an OpenShift cluster")
    _leaf(create, "ignition-configs", "Generates the Ignition Config asset", _create_ignition_configs)
    _leaf(create, "install-config", "Generates the Install Config asset", _create_install_config)
    _leaf(create, "manifests", "Generates the Kubernetes manifests", _create_manifests)

    destroy = _group(commands, "destroy", "Destroy part of an OpenShift cluster")
    for what, text in (("bootstrap", "Destroy the bootstrap resources"), ("cluster", "Destroy an OpenShift cluster")):
        _leaf(destroy, what, text, _destroy).set_defaults(what=what)

    explained = _leaf(commands, "explain", "List the fields for supported InstallConfig versions", _explain, writes=False)
    explained.add_argument("path", help="installconfig, or the path of a field below: installconfig.networking.clusterNetwork")

    gather = _group(commands, "gather", "Gather debugging data for a given installation failure")
    bootstrap = _leaf(gather, "bootstrap", "Gather debugging data for a failing-to-bootstrap control plane", _gather_bootstrap)
    bootstrap.add_argument("--bootstrap", metavar="string", help="Hostname or IP of the bootstrap host")
    bootstrap.add_argument("--master", action="append", metavar="strings", help="Hostnames or IPs of all control plane hosts")
    bootstrap.add_argument("--key", action="append", metavar="strings", help="Path to SSH private keys that should be used")
    bootstrap.add_argument("--skipAnalysis", action="store_true", help="Skip analysis of the gathered data")

    _leaf(commands, "version", "Print version information", _version, writes=False)

    waiting = _group(commands, "wait-for", "Wait for install-time events")
    _leaf(waiting, "bootstrap-complete", "Wait until cluster bootstrapping has completed", _wait_for_bootstrap_complete)
    _leaf(waiting, "install-complete", "Wait until the cluster is ready", _wait_for_install_complete)
    return top


if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction["_Parser"]  # argparse has no public name for it


def _global_flags(parser: argparse.ArgumentParser, *, defaults: bool) -> None:
    # Given before or after the subcommand; only the first parser sets defaults, or a subparser would undo what was given.
    missing = None if defaults else argparse.SUPPRESS
    parser.add_argument("--dir", default="." if defaults else missing, help='assets directory (default ".")')
    parser.add_argument(
        "--log-level", default="info" if defaults else missing, choices=LEVELS[:-1], help='log level (e.g. "debug | info | warn | error")'
    )


def _group(commands: _Commands, name: str, text: str) -> _Commands:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    _global_flags(parser, defaults=False)
    parser.set_defaults(parser=parser)
    return parser.add_subparsers(title="Available Commands", metavar="[command]")


def _leaf(commands: _Commands, name: str, text: str, command: Callable[[Context], int], *, writes: bool = True) -> _Parser:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    _global_flags(parser, defaults=False)
    parser.set_defaults(command=command, writes=writes, parser=parser)
    return parser
