# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a run that is a job of AWX: what the job's container keeps, and who reaches it."""

from __future__ import annotations

from .context import Context
from .findings import Finding, failed, passed, warning

NO_JOB = "not a job of AWX"


def folder(context: Context) -> Finding:
    """Return whether the cluster's files outlive the job. Without them the kubeconfig of an installed cluster is lost."""
    if not context.in_job:
        return passed(NO_JOB)
    if not (context.readings.get("controller") or {}).get("in_job_folder"):
        return passed(f"{context.text('directory')} is not in the job's private folder")
    if context.text("state_store") == "object_storage":
        return passed("the cluster folder is saved in object storage (openshift_state_store)")
    given_variables = context.settings.get("given_variables") or []
    observed = f"{context.text('directory')} is in the private folder of job {context.text('job')}, which AWX removes at its end"
    # After the install a kubeconfig is sufficient.
    return passed(f"{observed}; openshift_kubeconfig is set") if "openshift_kubeconfig" in given_variables else failed(observed)


def publishing(context: Context) -> Finding:
    """Return whether the boot files are published by a server that machines reach and that outlives the job."""
    if not context.in_job:
        return passed(NO_JOB)
    method = context.text("publish")
    if method != "controller":
        return passed(f"published by {method}")
    if context.is_bootstrapped and not context.machines_to_order:
        return passed("no machines to order, so nothing is published")
    return warning(
        f"the boot files are published by a server in the container of job {context.text('job')}: machines reach its ports only if the "
        "container has the network of its node, and the server ends with the job"
    )
