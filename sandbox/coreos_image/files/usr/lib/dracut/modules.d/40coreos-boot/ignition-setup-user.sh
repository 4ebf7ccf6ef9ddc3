#!/bin/bash -eu
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Copies the Ignition config that coreos-installer wrote to the boot file system to where Ignition reads it.
set -euo pipefail
boot=/run/ignition-setup-user
mkdir -p "$boot" /usr/lib/ignition
mount -o ro LABEL=boot "$boot"
trap 'umount "$boot"' EXIT
if [ -f "$boot/ignition/config.ign" ]; then
    cp "$boot/ignition/config.ign" /usr/lib/ignition/user.ign
fi
