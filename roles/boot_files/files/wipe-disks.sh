#!/usr/bin/env bash
# Takes partition tables and file system marks off every disk that a rule of choose-disk may take. The live system runs from memory.
set -euo pipefail
# What was put together of the disks holds on to them.
mdadm --stop --scan || true
vgchange --activate n || true
disks=$(lsblk --nodeps --noheadings --bytes --paths --raw --output NAME,TYPE,RM,RO,SIZE,SUBSYSTEMS,TRAN |
    awk '$2 == "disk" && $3 == 0 && $4 == 0 && $5 > 0 && $6 != "block" && $7 != "usb" {print $1}')
for disk in $disks; do
    # Partitions first: without its table they are gone.
    for part in $(lsblk --noheadings --paths --raw --output NAME,PKNAME | awk -v disk="$disk" '$2 == disk {print $1}') "$disk"; do
        wipefs --all --force "$part"
    done
    sgdisk --zap-all "$disk"
done
udevadm settle
