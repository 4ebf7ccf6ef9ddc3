# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: subcommands, flags, help and exit codes of ``openshift-install``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import catalogue, errors
from .assets import Assets
from .errors import InstallerError
from .log import LEVELS, Log

RELEASE_FILE: Final = "release.json"
_FAILURES: Final = ("install-config", "infrastructure", "bootstrap", "install", "operators")


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
    wanted = frozenset(filter(None, (word.strip() for word in text.split(","))))
    if wanted - set(_FAILURES):
        raise InstallerError(f"SANDBOX_INSTALLER_FAIL: {', '.join(sorted(wanted - set(_FAILURES)))}: not one of {', '.join(_FAILURES)}")
    return wanted


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
        context.log.warning(f'Found override for release image ({image}). Please be warned, this is not advised')


def _print_stream_json(context: Context) -> int:
    json.dump(catalogue.stream(context.release.rhcos, context.mirror_url), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


def _version(context: Context) -> int:
    release = context.release
    image = os.environ.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE") or release.image
    sys.stdout.write(
        f"{Path(sys.argv[0]).name if sys.argv[0].endswith('openshift-install') else 'openshift-install'} {release.version}\n"
        f"built from commit {release.commit}\n"
        f"release image {image}\n"
        f"release architecture {release.release_architecture}\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="openshift-install", description="Creates OpenShift clusters", allow_abbrev=False)
    _global_flags(top, defaults=True)
    top.set_defaults(parser=top)
    commands = top.add_subparsers(title="Available Commands", metavar="[command]")

    create = _group(commands, "create", "Create part of an OpenShift cluster")
    _leaf(create, "install-config", "Generates the Install Config asset", _create_install_config)
    _leaf(create, "manifests", "Generates the Kubernetes manifests", _create_manifests)
    _leaf(create, "ignition-configs", "Generates the Ignition Config asset", _create_ignition_configs)

    coreos = _group(commands, "coreos", "Commands for operating on CoreOS boot images")
    _leaf(coreos, "print-stream-json", "Outputs the CoreOS stream metadata for the bootimages", _print_stream_json, writes=False)

    _leaf(commands, "version", "Print version information", _version, writes=False)
    return top


if TYPE_CHECKING:
    type_commands = argparse._SubParsersAction[argparse.ArgumentParser]  # argparse has no public name for it


def _global_flags(parser: argparse.ArgumentParser, *, defaults: bool) -> None:
    # Given before or after the subcommand; only the first parser sets defaults, or a subparser would undo what was given.
    missing = None if defaults else argparse.SUPPRESS
    parser.add_argument("--dir", default="." if defaults else missing, help='assets directory (default ".")')
    parser.add_argument(
        "--log-level", default="info" if defaults else missing, choices=LEVELS[:-1], help='log level (e.g. "debug | info | warn | error")'
    )


def _group(commands: type_commands, name: str, text: str) -> type_commands:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    _global_flags(parser, defaults=False)
    parser.set_defaults(parser=parser)
    return parser.add_subparsers(title="Available Commands", metavar="[command]")


def _leaf(
    commands: type_commands, name: str, text: str, command: Callable[[Context], int], *, writes: bool = True
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    _global_flags(parser, defaults=False)
    parser.set_defaults(command=command, writes=writes, parser=parser)
    return parser
