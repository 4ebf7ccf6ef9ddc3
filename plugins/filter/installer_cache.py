# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: installer_cache
short_description: Folder on the controller that keeps downloaded installers
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the folder of the variable C(openshift_installer_cache) if it is set, else C(equinix_metal.openshift/installers) in the cache
    folder of the user, C(XDG_CACHE_HOME) or C(~/.cache). If that cannot be written, such as in a container with a read-only home, it
    returns a folder that Ansible deletes at the end of the run.
options:
  _input:
    description:
      - The value of C(openshift_installer_cache), empty if it is not set.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Download openshift-install once for all clusters
  equinix_metal.openshift.openshift_installer:
    version: 4.20.33
    directory: ~/clusters/demo.metal.example.com
    cache: "{{ '' | equinix_metal.openshift.installer_cache }}"
"""

RETURN = r"""
_value:
  description: The path.
  type: str
  sample: /home/user/.cache/equinix_metal.openshift/installers
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible import constants

NAME = "equinix_metal.openshift/installers"


def installer_cache(given: Any) -> str:
    """Return the folder that keeps downloaded installers."""
    if given:
        return str(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()) / NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return str(Path(constants.DEFAULT_LOCAL_TMP) / NAME)
    return str(folder if os.access(folder, os.W_OK | os.X_OK) else Path(constants.DEFAULT_LOCAL_TMP) / NAME)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"installer_cache": installer_cache}
