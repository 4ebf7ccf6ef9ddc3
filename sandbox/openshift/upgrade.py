# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upgrades a running cluster, as its cluster version operator does for ``oc adm upgrade --to=<version>``.

ClusterVersion has the new release as desired one and is Progressing; the operators follow one by one; with the machine config operator the
boot images and the pools' user data are those of the new release, and the nodes go over to it one by one. Then the entry in the history
is Completed. Kubelets keep reporting the version of the sandbox's control plane, which is one program for all releases.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from sandbox.control import Call, ControlError, Endpoint, Field, Values
from sandbox.openshift import resources
from sandbox.openshift.cluster import Cluster, Clusters
from sandbox.openshift.control_plane import PASSING_FAILURES
from sandbox.openshift.installer import catalogue
from sandbox.openshift.resources import condition_of

CALL: Final = Call(
    "POST",
    "/upgrade",
    "upgrade a running cluster to a release of the mirror, as oc adm upgrade does; 409 while it is installed or upgraded, or switched off",
    body={
        "version": Field("the release, newer than that of the cluster"),
        "cluster": Field("its name with the base domain; may be left out when there is one cluster"),
    },
    example={"version": catalogue.VERSIONS[-1]},
)


async def upgrade(clusters: Clusters, version: str, domain: str = "") -> Cluster:
    """Begin an upgrade and return its cluster. Raises :class:`ControlError` for one that cannot be upgraded now, or not to this release."""
    chosen = [cluster for cluster in clusters if domain in {"", cluster.assets.domain}]
    if len(chosen) != 1:
        names = ", ".join(sorted(cluster.assets.domain for cluster in clusters)) or "none"
        raise ControlError(404 if not chosen else 422, f"name one cluster; there are: {names}")
    cluster = chosen[0]
    if not catalogue.is_newer(version, cluster.version):
        known = ", ".join(catalogue.VERSIONS)
        raise ControlError(422, f"{cluster.assets.domain} runs {cluster.version}: {version} is no newer release of the mirror ({known})")
    try:
        if not cluster.on:
            raise ControlError(409, f"{cluster.assets.domain} is switched off")
        cluster_version = await cluster.api.get(resources.CLUSTER_VERSION)
        settled = {"Available": "True", "Progressing": "False"}
        if any((condition_of(cluster_version or {}, kind) or {}).get("status") != status for kind, status in settled.items()):
            raise ControlError(409, f"{cluster.assets.domain} is being installed or upgraded")
        await cluster.api.patch(resources.CLUSTER_VERSION, {"spec": {"desiredUpdate": {"version": version}}})
    except PASSING_FAILURES as error:
        raise ControlError(409, f"the API of {cluster.assets.domain} cannot be written to: {error}") from error
    cluster.upgrade(version)
    return cluster


def calls(clusters: Clusters) -> list[tuple[Call, Endpoint]]:
    """Return the call of the control API."""

    async def begin(values: Values, _params: object) -> Response:
        if "version" not in values:
            raise ControlError(422, f'give a release: {{"version": "{catalogue.VERSIONS[-1]}"}}')
        cluster = await upgrade(clusters, values["version"], values.get("cluster", ""))
        return JSONResponse({"cluster": cluster.assets.domain, "version": cluster.version})

    return [(CALL, begin)]
