#!/bin/bash -eu
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# As the script of the etcd operator (bindata/etcd/quorum-restore.sh, since 4.18): the member of this machine forgets all others and goes on with
# its data. The operator's next revision brings the usual pod back, which this does itself.
running=/etc/kubernetes/manifests/etcd-pod.yaml usual=/etc/kubernetes/static-pod-resources/etcd-pod.yaml
if [ "$EUID" != 0 ]; then
    echo "This script must be run as root"
    exit 1
fi
if [ ! -e "$running" ]; then
    echo "required dependencies not found, please ensure this script is run on a node with a functional etcd static pod"
    exit 1
fi
serves() {
    ss --no-header --listening --tcp --numeric 'sport = :2380' | grep -q .
}
mv "$running" "$usual"
while serves; do sleep 1; done
echo "starting restore-etcd static pod"
jq '(.spec.containers[] | select(.name == "etcd").command[-1]) |= sub("exec etcd"; "exec etcd --force-new-cluster")' "$usual" > "$usual.restore"
mv "$usual.restore" "$running"
until curl --silent --fail --output /dev/null http://127.0.0.1:2381/health; do sleep 1; done
mv "$usual" "$running"
