# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics for Prometheus: requests, devices, servers, the calls of Ironic's API, and the certificate of the API."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from metal_api.certificate import Certificate
from metal_api.core.requests import Requested
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.servers import Server

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "metal_api_request_seconds", "Requests by service, method and status.", ("service", "method", "status"), registry=self.registry
        )
        self._ironic = Histogram(
            "metal_api_ironic_call_seconds", "Calls of Ironic's API by name and outcome.", ("call", "outcome"), registry=self.registry
        )

    def request(self, requested: Requested, answer: Response) -> None:
        """Observe a request: see :data:`metal_api.core.requests.Observer`."""
        # Methods are text of clients: each would be a series of its own.
        known = requested.method if requested.method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} else "other"
        self._requests.labels(requested.service, known, str(answer.status_code)).observe(time.time() - requested.started)

    def ironic_call(self, name: str, seconds: float, is_good: bool) -> None:
        self._ironic.labels(name, "ok" if is_good else "error").observe(seconds)

    def watch(self, world: World, poll_age: Callable[[], float]) -> None:
        """Show the devices and servers of a world, and the age of what is known of Ironic's nodes."""
        self.registry.register(_OfWorld(world, poll_age))

    def watch_certificate(self, certificate: Certificate) -> None:
        """Show until when the certificate of the API is valid."""
        until = Gauge("metal_api_certificate_expiry_timestamp_seconds", "When the certificate of the API expires.", registry=self.registry)

        def expiry() -> float:
            return certificate.expires.timestamp()

        until.set_function(expiry)

    def application(self) -> ASGIApp:
        """Return the application with ``GET /metrics``."""

        def show(_request: Request) -> Response:
            return Response(generate_latest(self.registry), media_type=_CONTENT_TYPE)

        return Starlette(routes=[Route("/metrics", show)])


class _OfWorld(Collector):
    def __init__(self, world: World, poll_age: Callable[[], float]) -> None:
        self._world, self._poll_age = world, poll_age

    def collect(self) -> Iterator[Metric]:
        devices = GaugeMetricFamily("metal_api_devices", "Devices by metro, plan and state.", labels=("metro", "plan", "state"))
        for labels, number in Counter((device.metro, device.plan, device.state) for device in self._world.store[Device]).items():
            devices.add_metric(labels, number)
        yield devices
        servers = GaugeMetricFamily(
            "metal_api_servers", "Servers by metro, plan and use: device, free or unavailable.", labels=("metro", "plan", "use")
        )
        for labels, number in Counter((server.metro, server.plan, _usage(server)) for server in self._world.store[Server]).items():
            servers.add_metric(labels, number)
        yield servers
        is_up = self._world.store.database.is_up
        yield GaugeMetricFamily("metal_api_database_up", "1 if the database stores changes, else 0.", value=float(is_up))
        yield GaugeMetricFamily("metal_api_ironic_poll_age_seconds", "Seconds since Ironic has listed its nodes.", value=self._poll_age())


def _usage(server: Server) -> str:
    return "device" if server.device_id else "free" if server.is_free else "unavailable"
