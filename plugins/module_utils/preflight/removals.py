# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of the workers that exist and are not in the inventory.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.removal import choose_removals, removal_request
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding, failed, listed, passed, warning


def workers(context: Context) -> Finding:
    """Return which workers scale.yml would remove, and which it would keep."""
    options = {"names": "remove", "sizes": "pool_sizes", "at_most": "remove_at_most"}
    try:
        request = removal_request({**{name: context.settings.get(key) for name, key in options.items()}, "in_job": context.in_job})
    except (CollectionError, ValueError, TypeError) as problem:
        return failed(str(problem), "correct openshift_remove, openshift_remove_at_most or openshift_pool_sizes")
    choice = choose_removals(context.devices, context.groups, context.cluster, request)
    found = [
        *(f"scale.yml removes {name} ({reason})" for name, reason in choice.removed.items()),
        *(f"{name} is kept ({reason})" for name, reason in choice.kept.items()),
    ]
    if choice.blockers:
        # install.yml removes no worker. With sizes of pools it would create more machines than asked for.
        return (failed if request.sizes else warning)(" ".join(choice.blockers))
    return warning(listed(found)) if found else passed("none")
