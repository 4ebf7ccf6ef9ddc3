#!/usr/bin/env bash
# Takes partition tables and file system marks off every disk that is not removable. The live system runs from memory.
set -euo pipefail
lsblk --nodeps --noheadings --paths --output NAME,TYPE,RM | while read -r name type removable; do
    if [ "$type" = disk ] && [ "$removable" = 0 ]; then
        wipefs --all --force "$name"*
        sgdisk --zap-all "$name"
    fi
done
udevadm settle
