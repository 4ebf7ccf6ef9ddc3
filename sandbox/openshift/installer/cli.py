# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: the subcommands of ``openshift-install`` that the collection calls, with their flags, help and exit codes."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from . import catalogue, errors
from .assets import Assets
from .errors import InstallerError
from .log import LEVELS, Log
from .validation import PanicError

RELEASE_FILE: Final = "release.json"
_PANIC: Final = """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x4e1f2a6]

goroutine 1 [running]:
github.com/openshift/installer/pkg/types/featuregates.FeatureGateFromFeatureSets(...)
\t/go/src/github.com/openshift/installer/pkg/types/featuregates/featuregates.go:53 +0x86
"""
"""The real installer does not check the lookup of an unknown feature set, which returns a nil pointer."""


@dataclass(frozen=True)
class Context:
    """What every command gets."""

    arguments: argparse.Namespace
    directory: Path
    release: catalogue.Release
    mirror_url: str
    log: Log
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
            os.environ.get("SANDBOX_INSTALLER_STRICT", "") == "1",
        )
    )


# --- commands --------------------------------------------------------------------------------------------------------------


def _create_install_config(context: Context) -> int:
    context.assets.create_install_config()
    return 0


def _create_manifests(context: Context) -> int:
    _warn_of_override(context)
    context.assets.create_manifests()
    return 0


def _create_ignition_configs(context: Context) -> int:
    _warn_of_override(context)
    context.assets.create_ignition_configs()
    return 0


def _warn_of_override(context: Context) -> None:
    image = os.environ.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")
    if image:
        context.log.warning(f"Found override for release image ({image}). Please be warned, this is not advised")


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

    _leaf(commands, "version", "Print version information", _version, writes=False)
    return top


if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction["_Parser"]  # argparse has no public name for it


def _global_flags(parser: argparse.ArgumentParser, *, defaults: bool) -> None:
    # Accepted before and after the subcommand; only the first parser sets defaults, which a subparser would set again.
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
