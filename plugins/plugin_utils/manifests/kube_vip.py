# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip on the control plane nodes, which announce the address of the API.

One MachineConfig is for all nodes of a pool, and a node knows its BGP session or its interface only when it runs: a script writes the
static pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils.boot.ignition import ignition_file, unit
from .machine_config import machine_config


def kube_vip(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a MachineConfig for masters.

    ``kube_vip``: ``address`` of the API, without which there is no kube-vip; ``image``; ``metadata_url``, which has the BGP neighbors,
    empty to announce the address by ARP; ``script``, ``service``, ``timer`` and ``address_service``, the contents of their files.
    """
    options = settings.get("kube_vip") or {}
    if not options.get("address"):
        return
    values = {"METADATA_URL": options["metadata_url"], "API_ADDRESS": options["address"], "IMAGE": options["image"]}
    files = [
        ignition_file("/etc/kube-vip.conf", "".join(f'{name}="{value}"\n' for name, value in values.items())),
        ignition_file("/usr/local/bin/kube-vip", options["script"], 0o755),
    ]
    units = {"kube-vip.service": "service", "kube-vip.timer": "timer"}
    if options["metadata_url"]:
        units["kube-vip-address.service"] = "address_service"
    yield machine_config("master", "kube-vip", files, [unit(name, options[content]) for name, content in units.items()])
