#!/bin/sh
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes the name servers that systemd-networkd got to /etc/resolv.conf, which curl and Ignition read.
DNS='' DOMAINS=''
# shellcheck source=/dev/null
. /run/systemd/netif/state
{
    for server in $DNS; do
        echo "nameserver $server"
    done
    [ -z "$DOMAINS" ] || echo "search $DOMAINS"
} > /etc/resolv.conf
