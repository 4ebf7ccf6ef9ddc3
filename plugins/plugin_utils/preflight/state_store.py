# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the store of the cluster folder."""

from __future__ import annotations

from .context import Context
from .findings import Finding, failed, passed, warning

STORES = ("folder", "object_storage", "cluster")


def settings(context: Context) -> Finding:
    """Return whether the settings of the state store are complete. The role state_store reads the store itself before preflight."""
    store = context.text("state_store")
    if store not in STORES:
        return failed(f"openshift_state_store is '{store}'", f"set openshift_state_store to {', '.join(STORES[:-1])} or {STORES[-1]}")
    if store == "folder":
        return passed(f"{context.text('directory')} alone")
    if not context.text("state_password"):
        return failed(
            f"openshift_state_password is not set, which openshift_state_store={store} requires",
            "set openshift_state_password in a vault or in a credential of AWX, and keep it: nobody can read the archive without it",
        )
    if store == "object_storage":
        bucket = context.text("state_bucket")
        return passed(f"bucket {bucket}") if bucket else failed("openshift_state_bucket is not set")
    if context.is_bootstrapped:
        return passed("a Secret of the cluster")
    return warning(
        f"until the bootstrap is complete, {context.text('directory')} is the only copy of the cluster's keys: a cluster without an API has"
        " no Secret"
    )
