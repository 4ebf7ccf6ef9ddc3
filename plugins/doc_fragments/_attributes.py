# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all modules say: their author, and whether they have check mode, diff mode and are idempotent.

Note that this doc fragment is private to the collection: it may change without notice.
"""


class ModuleDocFragment:
    # For modules that change something.
    CHANGING = r"""
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return predicted changes without making them.
    support: full
  diff_mode:
    description: Returns details of what has changed, in check mode of what would change. Secrets are never included.
    support: full
  idempotent:
    description: When run twice, the second run changes nothing.
    support: full
"""

    # For modules that only read.
    INFO_MODULE = r"""
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options: {}
attributes:
  check_mode:
    description: Can run in check mode, since the module changes nothing.
    support: full
  diff_mode:
    description: The module changes nothing.
    support: N/A
  idempotent:
    description: The module changes nothing.
    support: full
"""

    # For modules that only print, which are action plugins.
    PRINTING = r"""
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options: {}
attributes:
  action:
    description: Runs on the controller.
    support: full
"""
