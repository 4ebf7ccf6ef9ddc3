# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines with a kernel of their own, where the network or the disk is the subject: QEMU without firmware, wired to a switch.

The tree is that of containers (`sandbox.containers`) with a kernel and udev. Bonds, VLANs and disks are those of Linux; the switch is a
machine of the same tree. `python -m tests.kernels` runs them.
"""
