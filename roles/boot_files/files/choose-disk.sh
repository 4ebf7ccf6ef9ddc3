#!/usr/bin/env bash
# The smallest disk that is not removable: on plans with several that is the one meant to boot from.
set -euo pipefail
chosen=$(lsblk --nodeps --noheadings --bytes --paths --output SIZE,NAME,TYPE,RM | awk '$3 == "disk" && $4 == 0 && $1 > 0' | sort -n | awk 'NR == 1 {print $2}')
[ -n "$chosen" ]
echo "dest-device: $chosen" >/etc/coreos/installer.d/20-disk.yaml
