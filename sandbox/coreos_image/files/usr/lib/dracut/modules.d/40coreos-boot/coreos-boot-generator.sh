#!/bin/sh
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# systemd generator: starts the network where the live system or Ignition needs it, and the download of the live root file system.
units=$1
cmdline=" $(cat /proc/cmdline) "

require() {
    mkdir -p "$units/$2.requires"
    ln -sf "/usr/lib/systemd/system/$1" "$units/$2.requires/$1"
}

case "$cmdline" in
    *" coreos.live.rootfs_url="*)
        require coreos-livepxe-rootfs.service initrd-root-fs.target
        network=yes
        ;;
    *" rd.neednet=1 "*) network=yes ;;
    *) network= ;;
esac
if [ -n "$network" ]; then
    require coreos-resolv-conf.service initrd.target
fi
