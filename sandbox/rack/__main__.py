# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack in a process of its own: ``python -m sandbox.rack --config FILE``, with the interpreter of its environment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sandbox.rack.model import RackConfig, RackError


def main() -> int:
    """Serve until the process is ended. Returns 1 after a message if the rack cannot be served."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.rack", description="Emulated machines with QEMU behind a Redfish API")
    parser.add_argument("--config", required=True, type=Path, metavar="FILE", help="the rack, as sandbox.rack.model.RackConfig writes it")
    try:
        from sandbox.rack.emulator import serve  # noqa: PLC0415 - it needs the environment of requirements.txt
    except ImportError as error:
        print(f"error: {error}. Use the interpreter that sandbox.rack.rack.ensure_emulator returns.", file=sys.stderr)
        return 1
    try:
        serve(RackConfig.load(parser.parse_args().config))
    except RackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
