# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m metal_api``: a Metal API for machines that exist."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DESCRIPTION = """\
The Equinix Metal API for a rack of your own: devices are servers behind OpenStack Ironic, which knows Redfish, IPMI and iDRAC. The Ironic
is one of its own, or one that exists.
"""
SERVE = """\
Start the server in the foreground. It enrols the servers of the rack file, and writes token, env.sh and its CA's certificate
(tls/ca.pem) into its state folder. Ctrl-C or kill end it; machines run on, and the same command continues every operation.
"""
ENROL = """\
Make the servers of the rack file nodes of Ironic, verified, inspected and ready to be ordered. What is as the file says stays untouched.
The server does the same when it starts and at SIGHUP; this command shows the result of each server.
"""
BACKUP = "Write state, token, CA and audit log to one archive. It has secrets: keep it as you keep passwords."
RESTORE = """\
Make a state folder of a backup, and with --database the content of an empty database. Afterwards serve continues every operation, with what
the servers are now. The backup of a server with SQLite can be restored into PostgreSQL, and the other way round.
"""
IMAGES = """\
Download kernel, initramfs and root file system of RHEL CoreOS into the state folder, with the checksums of the stream metadata. The boot
service serves them over HTTP: set openshift_image_mirror_url to its URL with /images. The iPXE of Debian 12 has no HTTPS.
"""
KEY = """\
Make an API key of the first user that may write, while the server is stopped, and write its token into the file token of the state folder:
after all such keys were deleted, or their tokens lost.
"""
DHCP = "Print reservations for the servers of the rack file, which need their MAC addresses there, and what these boot."


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 after a clean end, 1 when it could not start, 2 for wrong arguments."""
    try:
        return _run(command_line().parse_args(arguments))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "metal_api":
            raise
        print(f"metal_api: the Python package {error.name} is missing: pip install -r requirements/metal-api.txt", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m metal_api", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="start the server and stay in the foreground", description=SERVE)
    enrol = commands.add_parser("enrol", help="enrol the servers of the rack file now", description=ENROL)
    enrol.add_argument("--dry-run", action="store_true", help="report what would be done and whether the BMCs answer; change nothing")
    enrol.add_argument(
        "--remove", action="append", default=[], metavar="NAME", help="delete this server, which is free and no longer in the rack file"
    )
    save = commands.add_parser("backup", help="write the state to an archive, also while the server runs", description=BACKUP)
    save.add_argument("archive", type=Path, metavar="FILE", help="archive to write (.tar.gz), which must not exist")
    load = commands.add_parser("restore", help="make the state folder of a backup", description=RESTORE)
    load.add_argument("archive", type=Path, metavar="FILE", help="archive of the command backup")
    images = commands.add_parser("images", help="download the images that servers boot", description=IMAGES)
    images.add_argument("stream", metavar="FILE", help="output of openshift-install coreos print-stream-json; - for standard input")
    key = commands.add_parser("key", help="make an API key while the server is stopped", description=KEY)
    dhcp = commands.add_parser("dhcp", help="print the configuration of a DHCP server of your own", description=DHCP)
    dhcp.add_argument("--kind", choices=("dnsmasq", "isc-dhcpd", "kea"), required=True, help="the DHCP server")
    dhcp.add_argument("--boot-url", required=True, metavar="URL", help="where machines reach the boot service")
    dhcp.add_argument("--tftp-server", default="", metavar="ADDR", help="TFTP server with iPXE, for servers with boot: pxe (default: none)")
    _add_rack(dhcp)
    for command in (save, load, images, key):
        _add_state(command)
    for command in (serve, save, load, key):
        _add_database(command)
    for command in (serve, enrol):
        _add_state(command)
        _add_rack(command)
        _add_ironic(command)
    serve.add_argument("--listen", default="127.0.0.1:8443", metavar="ADDR:PORT", help="address and port of the API (default: %(default)s)")
    serve.add_argument(
        "--boot-listen",
        required=True,
        metavar="ADDR:PORT",
        help="address and port of the boot and metadata services, on the network of the machines; plain HTTP, which their firmware needs",
    )
    serve.add_argument("--boot-url", default="", metavar="URL", help="where machines reach them (default: http://ADDR:PORT)")
    serve.add_argument("--certificate", type=Path, metavar="FILE", help="certificate of the API (PEM; default: one of its own CA)")
    serve.add_argument("--key", type=Path, metavar="FILE", help="its private key (PEM)")
    serve.add_argument("--name", action="append", default=[], metavar="NAME", help="DNS name of the API, for the certificate of its own CA")
    serve.add_argument("--plain-http", action="store_true", help="serve the API without TLS, on loopback only")
    serve.add_argument("--metrics-listen", metavar="ADDR:PORT", help="serve /metrics for Prometheus there, without authentication")
    serve.add_argument(
        "--agent",
        type=Path,
        metavar="DIR",
        help="folder with vmlinuz and initramfs.img of Ironic's agent, which cleans disks (default: disks keep their content)",
    )
    serve.add_argument("--rescue-script-url", default="", metavar="URL", help="iPXE script of a rescue system (default: no rescue)")
    serve.add_argument(
        "--boot-timeout",
        type=float,
        default=1800,
        metavar="SECONDS",
        help="a machine that has not asked the boot service so long after it was switched on has failed (default: %(default)g)",
    )
    return parser


def _add_state(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--state", type=Path, default=Path("metal-api"), metavar="DIR", help="folder for everything it keeps (default: %(default)s)"
    )


def _add_database(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--database",
        metavar="URL",
        help="PostgreSQL database with the state, postgresql://USER@HOST/DATABASE, without password (default: SQLite in the state folder)",
    )
    command.add_argument(
        "--database-url-file", type=Path, metavar="FILE", help="file with the URL instead (mode 0600), which may have the password"
    )


def _add_rack(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rack", type=Path, default=Path("rack.yml"), metavar="FILE", help="rack file (default: %(default)s)")


def _add_ironic(command: argparse.ArgumentParser) -> None:
    command.add_argument("--ironic-url", metavar="URL", help="API of an Ironic that exists (default: one of its own)")
    command.add_argument("--ironic-user", default="", metavar="NAME", help="user for HTTP basic authentication there")
    command.add_argument("--ironic-password-file", type=Path, metavar="FILE", help="file with the password")
    command.add_argument("--os-cloud", metavar="NAME", help="the Ironic of a cloud in clouds.yaml, instead of --ironic-url")
    command.add_argument("--fake-hardware", action="store_true", help=argparse.SUPPRESS)


def _run(chosen: argparse.Namespace) -> int:  # noqa: PLR0911 - one for each command
    # Here and not at the top: --help needs nothing installed.
    from metal_api.backup import backup, restore  # noqa: PLC0415
    from metal_api.catalogue.data import set_catalogue  # noqa: PLC0415
    from metal_api.database_option import database_url  # noqa: PLC0415
    from metal_api.images import fetch, read_stream  # noqa: PLC0415
    from metal_api.offline import make_key  # noqa: PLC0415
    from metal_api.serve import (  # noqa: PLC0415
        Options,
        catalogue_of,
        enrol_once,
        load_rack,
        own_ironic,
        parse_ironic,
        parse_listen,
        reservations_of,
        serve,
    )
    from metal_api.state_folder import StartError  # noqa: PLC0415

    try:
        if chosen.command == "backup":
            database = database_url(chosen.database, chosen.database_url_file)
            print(f"{chosen.archive}: {', '.join(backup(chosen.state, chosen.archive, database))}")
            return 0
        if chosen.command == "images":
            fetch(read_stream(chosen.stream), chosen.state)
            return 0
        if chosen.command == "key":
            print(make_key(chosen.state, database_url(chosen.database, chosen.database_url_file)))
            return 0
        if chosen.command == "dhcp":
            print(reservations_of(load_rack(chosen.rack), chosen.kind, chosen.boot_url, chosen.tftp_server))
            return 0
        if chosen.command == "restore":
            database = database_url(chosen.database, chosen.database_url_file)
            print(f"{chosen.state}: {', '.join(restore(chosen.archive, chosen.state, database))}")
            return 0
        ironic = parse_ironic(chosen.ironic_url, chosen.ironic_user, chosen.ironic_password_file, chosen.os_cloud)
        if chosen.command == "enrol":
            rack = load_rack(chosen.rack)
            set_catalogue(catalogue_of(rack))
            access = ironic or own_ironic(chosen.state)
            return enrol_once(rack, access, dry_run=chosen.dry_run, remove=chosen.remove, check_bmcs=ironic is None)
        return serve(
            Options(
                state=chosen.state,
                rack=chosen.rack,
                listen=parse_listen("--listen", chosen.listen),
                boot_listen=parse_listen("--boot-listen", chosen.boot_listen),
                boot_url=chosen.boot_url,
                certificate=chosen.certificate,
                key=chosen.key,
                names=tuple(chosen.name),
                is_plain=chosen.plain_http,
                ironic=ironic,
                fake_hardware=chosen.fake_hardware,
                agent=chosen.agent,
                rescue_script_url=chosen.rescue_script_url,
                boot_timeout=chosen.boot_timeout,
                metrics_listen=parse_listen("--metrics-listen", chosen.metrics_listen) if chosen.metrics_listen else None,
                database=database_url(chosen.database, chosen.database_url_file),
            )
        )
    except StartError as error:
        print(f"metal_api: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
