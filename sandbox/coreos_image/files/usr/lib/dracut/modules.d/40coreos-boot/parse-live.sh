#!/bin/sh
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2034
# The variables are dracut's: coreos-livepxe-rootfs.service mounts the root file system of the live system, dracut waits for no device.
if getarg coreos.live.rootfs_url= > /dev/null; then
    root=coreos-live
    rootok=1
fi
