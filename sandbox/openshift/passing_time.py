# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Days that pass while clusters are switched off: what nodes were given is older then, and may have ended.

Certificates are measured by the computer's clock, which nobody can move here. So the other side is moved: the certificates on the
machines' disks are signed again with dates that many days earlier, and the certificate requests, all cleaned away by then, go at the
next start. The control plane's own certificates stay: a real one looks after those by itself, kubelets' are what is left to people
(OpenShift documentation, "Recovering from expired control plane certificates").
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.openshift import pki
from sandbox.openshift.cluster import REQUESTS_OUTLIVED, Cluster, Clusters

PATH: Final = "/_sandbox/days"

# Certificates of before 1970 are nobody's.
_LONGEST: Final = 10_000

# Below a machine's folder: of pretended kubelets, and of real ones (certificate and key in one file, named after its time).
_CERTIFICATES: Final = ("system/kubelet/kubelet-*-current.crt", "system/var/lib/kubelet/pki/kubelet-*-[0-9]*.pem")
_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)


class ClusterRunsError(Exception):
    """Days pass at once for clusters that are off only."""


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
    signer = cluster.control_plane.node_certificate_signer
    for path in sorted(path for pattern in _CERTIFICATES for path in machines.glob(f"*/{pattern}")):
        content = path.read_bytes()
        found = _CERTIFICATE.search(content)
        if found is not None and pki.is_signed_by(found[0], cluster.control_plane.node_certificate_authorities):
            older = pki.aged(signer, found[0], time)
            pki.write_file(path, content[: found.start()] + older + content[found.end() :])
            yield path


def create_app(clusters: Clusters, machines: Path) -> Starlette:
    """The control path for it: POST ``{"days": 31}``."""

    async def days(request: Request) -> Response:
        try:
            body = await request.json()
        except ValueError:
            body = None
        wanted = body.get("days") if isinstance(body, dict) else None
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted < _LONGEST:
            return JSONResponse({"errors": [f'give a number of days, less than {_LONGEST}: {{"days": 31}}']}, 422)
        try:
            aged = await asyncio.to_thread(pass_days, clusters, machines, wanted)
        except ClusterRunsError as error:
            return JSONResponse({"errors": [str(error)]}, 409)
        return JSONResponse({"days": wanted, "certificates": aged})

    return Starlette(routes=[Route(PATH, days, methods=["POST"])])
