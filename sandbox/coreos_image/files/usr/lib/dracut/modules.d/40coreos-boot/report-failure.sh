#!/bin/sh
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints the end of the logs of failed services before the emergency shell: the console is all that is seen of a remote machine.
for unit in $(systemctl list-units --failed --plain --no-legend | cut -d' ' -f1); do
    echo "The service $unit failed:"
    # Ignition logs its config, too: lines of JSON.
    journalctl --boot --no-pager --output=cat --unit="$unit" | grep -v '^ *["{}[]' | grep -v '^ *]' | tail -n 12
done > /dev/console 2>&1
