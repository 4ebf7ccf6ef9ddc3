# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``env.sh`` in the state folder: the environment of a running sandbox for other terminals.

    source .sandbox/env.sh

It exports the address, the token, the inventory and the rest, and puts the sandbox's kubectl behind the user's own programs on PATH. It
changes nothing else. The file contains the token, so it is readable by its owner alone. It is removed with the sandbox; one that a
killed sandbox has left prints that and exports nothing.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from metal_api.state_folder import write_private

NAME = "env.sh"
INVENTORY = Path(__file__).resolve().parent.parent / "inventory" / "sandbox"


@contextlib.contextmanager
def environment_file(state: Path, exports: Mapping[str, str], kubectl: Path | None) -> Iterator[Path]:
    """Write the file, and remove it in the end; yields its path as the user may type it."""
    path = state / NAME
    programs = state.resolve() / "bin"
    if kubectl is not None:
        programs.mkdir(exist_ok=True)
        link = programs / "kubectl"
        link.unlink(missing_ok=True)
        link.symlink_to(kubectl)
    write_private(path, _text(state, exports, programs if kubectl is not None else None))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _text(state: Path, exports: Mapping[str, str], programs: Path | None) -> str:
    lines = [
        "# For a shell (sh, bash, zsh) beside the sandbox: source this file.",
        f"if ! kill -0 {os.getpid()} 2>/dev/null; then",
        f"    echo {shlex.quote(f'The sandbox of {state.resolve()} has ended. Start it again: make sandbox')} >&2",
        "    return 1",
        "fi",
        *(f"export {name}={shlex.quote(value)}" for name, value in {**exports, "ANSIBLE_INVENTORY": str(INVENTORY)}.items()),
    ]
    if programs is not None:
        folder = shlex.quote(str(programs))
        lines.append(f'case ":$PATH:" in *:{folder}:*) ;; *) export PATH="$PATH":{folder} ;; esac')
    return "\n".join([*lines, ""])
