#!/bin/bash -eu
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# dracut module: what Fedora CoreOS adds to Debian's Ignition module. Live boot from coreos.live.rootfs_url, and the first boot of an installed disk.

# shellcheck disable=SC2154
# moddir, initdir and the folders of systemd are set by dracut.
check() {
    return 0
}

depends() {
    echo systemd systemd-networkd ignition
}

installkernel() {
    instmods squashfs overlay loop ext4 virtio_pci virtio_net virtio_blk virtio_scsi sd_mod nvme
}

install() {
    inst_multiple curl cpio mount umount mkdir cat sed grep sleep rm cp cut tail journalctl systemctl
    inst_simple /etc/ssl/certs/ca-certificates.crt
    inst_script "$moddir/is-live-image.sh" /usr/bin/is-live-image
    inst_script "$moddir/live-rootfs.sh" /usr/libexec/coreos-livepxe-rootfs
    inst_script "$moddir/ignition-setup-user.sh" /usr/libexec/ignition-setup-user
    inst_script "$moddir/resolv-conf.sh" /usr/libexec/coreos-resolv-conf
    inst_script "$moddir/coreos-boot-generator.sh" "$systemdutildir/system-generators/coreos-boot-generator"
    inst_script "$moddir/setfiles.sh" /usr/sbin/setfiles
    inst_simple /usr/lib/systemd/network/98-default.network
    inst_simple /usr/lib/systemd/network/91-default.network.d/10-client-identifier.conf
    inst_hook emergency 40 "$moddir/report-failure.sh"
    for unit in coreos-livepxe-rootfs coreos-resolv-conf ignition-setup-user; do
        inst_simple "$moddir/$unit.service" "$systemdsystemunitdir/$unit.service"
    done
    mkdir -p "$initdir/$systemdsystemunitdir/ignition-diskful.target.requires"
    ln_r ../ignition-setup-user.service "$systemdsystemunitdir/ignition-diskful.target.requires/ignition-setup-user.service"
    inst_hook cmdline 10 "$moddir/parse-live.sh"
}
