# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small CoreOS-like operating system from Debian packages, for machines of the sandbox that really boot.

It boots and is installed like RHCOS: kernel and initramfs by iPXE, live root file system by HTTP, Ignition, coreos-installer, and Ignition
again at the first boot of the installed disk.
"""
