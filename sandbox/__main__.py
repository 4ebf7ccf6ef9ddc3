# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m sandbox``: a Metal API, simulated machines and the services that OpenShift needs, on this computer's loopback."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sandbox.machine_kinds import HELP, MachineKinds

DESCRIPTION = """\
A simulated data centre for tests and rehearsals: the Metal API, machines that boot from the network, a mirror, DNS, and a real Kubernetes
API for each cluster. Everything is on loopback, and free.
"""
SERVE = """\
Start a sandbox in the foreground. It writes env.sh into its state folder, for a shell in another terminal ("source .sandbox/env.sh").
If standard output is not a terminal, it prints the same exports first, then "# ready"; logs go to standard error. Ctrl-C or kill end it.
The same command with the same state folder continues it.
"""


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 after a clean end, 1 when it could not start, 2 for wrong arguments."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == ["demo"]:
            from sandbox import demo  # noqa: PLC0415 - only this command needs what it needs

            return demo.main(arguments[1:])
        return _run(_parser().parse_args(arguments), arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "sandbox":
            raise
        print(f"sandbox: the Python package {error.name} is missing: run `make setup`, then use .venv/bin/python", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="start a sandbox and stay in the foreground", description=SERVE)
    serve.add_argument(
        "--state", type=Path, default=Path(".sandbox"), metavar="DIR", help="folder for everything it keeps (default: %(default)s)"
    )
    serve.add_argument(
        "--listen",
        metavar="ADDR:PORT",
        help="loopback address and port of API and mirror; port 0 takes a free one (default: that of the last start, else 127.0.0.1:8800)",
    )
    serve.add_argument("--speed", type=_speed, default=60.0, metavar="N", help="simulated seconds per second (default: %(default)g)")
    serve.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="the same number gives the same token, ids and durations (default: that of the last start, else a new one)",
    )
    serve.add_argument(
        "--vendor-names",
        action="store_true",
        help="answer as https://metadata.packet.net too, for openshift_ignition_platform=packet; needs port 443 (kept for later starts)",
    )
    serve.add_argument(
        "--outside",
        choices=("open", "closed"),
        help="closed: machines reach quay.io and the like only through the sandbox's proxy (default: the setting of the last start, else "
        "open)",
    )
    serve.add_argument(
        "--machines",
        type=_machines,
        default="simulated",
        metavar="KIND",
        help=HELP,
    )
    serve.add_argument("--until-eof", action="store_true", help="end at the end of standard input, so with the process that started it")
    build = commands.add_parser(
        "build",
        help="build etcd and Kubernetes for the sandbox, once",
        description="Build the real programs of a cluster and say where they are; serve does it too.",
    )
    build.add_argument("--kube-vip", action="store_true", help="kube-vip too, for machines that are containers")
    commands.add_parser("demo", help="watch a cluster's life: install, scale, destroy", add_help=False)
    return parser


def _run(chosen: argparse.Namespace, arguments: list[str]) -> int:
    # Here and not at the top: --help needs nothing installed.
    from metal_api.state_folder import StartError  # noqa: PLC0415
    from sandbox.openshift.binaries import BinariesError, ensure_binaries, ensure_kube_vip  # noqa: PLC0415
    from sandbox.serve import Options, enter_for, parse_listen, serve  # noqa: PLC0415

    try:
        if chosen.command == "build":
            print(ensure_binaries().etcd.parent)
            if chosen.kube_vip:
                ensure_kube_vip()
            return 0
        if chosen.machines.in_namespace:
            enter_for("sandbox", arguments, chosen.machines)
        address, port = parse_listen(chosen.listen) if chosen.listen is not None else (None, None)
        return serve(
            Options(
                chosen.state,
                address,
                port,
                chosen.speed,
                chosen.seed,
                chosen.vendor_names,
                chosen.until_eof,
                chosen.outside,
                chosen.machines,
            )
        )
    except (StartError, BinariesError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1


def _machines(text: str) -> MachineKinds:
    try:
        return MachineKinds.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _speed(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
