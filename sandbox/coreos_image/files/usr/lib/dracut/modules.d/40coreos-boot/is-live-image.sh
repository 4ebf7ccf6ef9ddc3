#!/bin/sh
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Exit status 0 for Ignition's generator if the root file system is in memory.
grep --quiet --word-regexp 'coreos\.live\.rootfs_url=[^ ]*' /proc/cmdline
