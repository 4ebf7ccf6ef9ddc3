# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates days during which clusters are switched off, so that certificates of nodes expire.

The clock of the computer cannot be changed. Instead, the certificates on the machines' disks are signed again with dates that many days
earlier, and the certificate requests are deleted at the next start. The control plane's own certificates are kept: a real control plane
renews them itself, while those of kubelets have to be approved (OpenShift documentation, "Recovering from expired control plane
certificates").
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from starlette.responses import JSONResponse, Response

from sandbox.control import Call, ControlError, Endpoint, Field, Values
from sandbox.openshift import pki
from sandbox.openshift.cluster import REQUESTS_OUTLIVED, Cluster, Clusters

# Below a machine's folder: of simulated kubelets, and of those of containers (certificate and key in one file, named after its time).
_CERTIFICATES: Final = ("system/kubelet/kubelet-*-current.crt", "system/container/upper/var/lib/kubelet/pki/kubelet-*-[0-9]*.pem")
_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)


class ClusterRunsError(Exception):
    """Days cannot pass while a cluster is running."""


def pass_days(clusters: Clusters, machines: Path, days: float) -> list[str]:
    """Let ``days`` pass; return the files of the certificates that have aged. ``machines`` is the folder of all machines' folders.

    Raises :class:`ClusterRunsError` when a control plane machine of some cluster is on.
    """
    running = [cluster.assets.domain for cluster in clusters if cluster.on]
    if running:
        raise ClusterRunsError(f"switch the machines of {', '.join(sorted(running))} off first: days pass at once only for who sleeps")
    aged = [str(path.relative_to(machines)) for cluster in clusters for path in _age(cluster, machines, timedelta(days=days))]
    for cluster in clusters:
        cluster.reach(REQUESTS_OUTLIVED)
    return aged


def _age(cluster: Cluster, machines: Path, time: timedelta) -> Iterator[Path]:
    signer = cluster.keys.node_certificate_signer
    for path in sorted(path for pattern in _CERTIFICATES for path in machines.glob(f"*/{pattern}")):
        content = path.read_bytes()
        match = _CERTIFICATE.search(content)
        if match is not None and pki.is_signed_by(match[0], cluster.keys.node_certificate_authorities):
            older = pki.aged(signer, match[0], time)
            pki.write_file(path, content[: match.start()] + older + content[match.end() :])
            yield path


CALL: Final = Call(
    "POST",
    "/days",
    "let days pass for the nodes of clusters that are switched off: their certificates are older then, and certificate requests forgotten; "
    "409 while a control plane machine is on",
    body={"days": Field("how many days", "number", most=10_000)},
    example={"days": 31},
)


def calls(clusters: Clusters, machines: Path) -> list[tuple[Call, Endpoint]]:
    """Return the call of the control API."""

    async def pass_time(values: Values, _params: Mapping[str, str]) -> Response:
        days = values.get("days")
        if not days:
            raise ControlError(422, 'give a number of days: {"days": 31}')
        try:
            aged = await asyncio.to_thread(pass_days, clusters, machines, days)
        except ClusterRunsError as error:
            raise ControlError(409, str(error)) from error
        return JSONResponse({"days": days, "certificates": aged})

    return [(CALL, pass_time)]
