#!/usr/bin/env bash
# Removes partition tables and file system signatures from every disk that a rule of choose-disk may choose. The live system runs from memory.
set -euo pipefail
# RAID arrays and volume groups keep the disks busy.
mdadm --stop --scan || true
vgchange --activate n || true
disks=$(lsblk --nodeps --noheadings --bytes --paths --raw --output NAME,TYPE,RM,RO,SIZE,SUBSYSTEMS,TRAN |
    awk '$2 == "disk" && $3 == 0 && $4 == 0 && $5 > 0 && $6 != "block" && $7 != "usb" {print $1}')
for disk in $disks; do
    # Partitions first: they disappear with the partition table.
    for part in $(lsblk --noheadings --paths --raw --output NAME,PKNAME | awk -v disk="$disk" '$2 == disk {print $1}') "$disk"; do
        wipefs --all --force "$part"
    done
    sgdisk --zap-all "$disk"
done
udevadm settle
