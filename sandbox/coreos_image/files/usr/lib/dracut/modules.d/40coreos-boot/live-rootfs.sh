#!/bin/bash -eu
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Downloads the live root file system and mounts it at /sysroot, writable in memory. A URL that does not answer is tried again without end, as
# Fedora's live system does; what it returns has to be a cpio archive with root.squashfs.
set -euo pipefail
shopt -s inherit_errexit
memory=/run/coreos-live

url=
read -r -a arguments < /proc/cmdline
for argument in "${arguments[@]}"; do
    case "$argument" in coreos.live.rootfs_url=*) url=${argument#*=} ;; esac
done

mkdir -p "$memory"
mount -t tmpfs -o mode=0755,size=90% coreos-live "$memory"
until curl --silent --show-error --fail --location --insecure --head --output /dev/null "$url"; do
    echo "coreos-livepxe-rootfs: the root file system $url cannot be downloaded; retrying in 5s..."
    sleep 5
done
echo "coreos-livepxe-rootfs: downloading $url"
cd "$memory"
if ! curl --silent --show-error --fail --location --insecure --retry 5 "$url" | cpio --quiet --extract || [ ! -f root.squashfs ]; then
    echo "coreos-livepxe-rootfs: $url is damaged or is no root file system: no cpio archive with root.squashfs was received. Check the URL in the boot script."
    exit 1
fi
mkdir -p root upper work
mount -t squashfs -o loop,ro root.squashfs root
# The initramfs and its root file system are of one build: modules of another kernel do not load.
if [ ! -d "root/usr/lib/modules/$(uname -r)" ]; then
    echo "coreos-livepxe-rootfs: the root file system $url has no modules of the kernel $(uname -r). Use kernel, initramfs and rootfs of one build."
    exit 1
fi
mount -t overlay -o lowerdir=root,upperdir=upper,workdir=work coreos-live /sysroot
echo "coreos-livepxe-rootfs: mounted the root file system"
