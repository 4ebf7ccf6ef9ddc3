# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines as containers: the installed system of a machine is a real userland, booted by systemd-nspawn.

Power on, boot script, live system and the choices of coreos-installer are simulated as for every machine. Then, on a node, the real
Ignition engine writes the disk, and systemd of the container starts what is there: the MachineConfigs of the pool with their units and
scripts beside those of OpenShift's machine config operator (`sandbox.containers.operator_units`), NetworkManager, the kubelet. Other
operating systems are configured by cloud-init (`sandbox.containers.cloud`).
"""

from __future__ import annotations

from sandbox.containers.link import silence
from sandbox.containers.programs import Programs, ensure_programs
from sandbox.containers.router import Router
from sandbox.containers.system import Containers

__all__ = ["Containers", "Programs", "Router", "ensure_programs", "silence"]
