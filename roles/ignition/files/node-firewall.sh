#!/usr/bin/env bash
# Accepts connections to ports that only nodes use from the machines of the cluster alone. The machines are the addresses of the DNS record
# NODES_RECORD, which install.yml and scale.yml keep: a new machine is known minutes before it asks for its Ignition config, without a reboot
# of any node. Until the record lists an address of this node, and whenever it does not, nothing is blocked.
#   NODES_RECORD   name of the record with the addresses of all machines, load balancers among them
#   SOURCES        further sources, as addresses or networks: pods, and openshift_node_firewall_sources
#   TCP_PORTS, UDP_PORTS   ports and ranges of ports, with commas between them
#   STATE_DIRECTORY        set by systemd; has the last addresses of the record, for a time without DNS
set -euo pipefail
shopt -s inherit_errexit
table=node_firewall
known=${STATE_DIRECTORY:?}/nodes

# One address or network a line of the chosen IP version, as the elements of a set.
elements() {
    local found
    found=$(printf '%s\n' "$2" | { [ "$1" = 6 ] && grep ':' || grep --invert-match ':'; } | sort --unique | paste --serial --delimiters=,) || true
    [ -z "$found" ] || printf 'elements = { %s }' "$found"
}

nodes=$(getent ahosts "$NODES_RECORD" | awk '{ print $1 }' | sort --unique) || nodes=
if [ -n "$nodes" ]; then
    printf '%s\n' "$nodes" > "$known.new"
    mv "$known.new" "$known"
elif [ -s "$known" ]; then
    echo "$NODES_RECORD has no address: using those of $(date --utc --iso-8601=seconds --reference="$known")"
    nodes=$(< "$known")
fi

own=$(ip -oneline address show scope global | awk '{ sub("/.*", "", $4); print $4 }' | sort --unique)
if [ -z "$nodes" ] || [ -z "$(comm -12 <(echo "$own") <(echo "$nodes"))" ]; then
    echo "$NODES_RECORD does not list an address of this node ($(echo "$own" | paste --serial --delimiters=' ')): nothing is blocked"
    # Without `add` the deletion of a table that does not exist fails.
    printf 'add table inet %s\ndelete table inet %s\n' "$table" "$table" | nft --file -
    exit 0
fi

# nft applies a file as one transaction: no packet meets half of it.
nft --file - << RULES
add table inet $table
delete table inet $table
table inet $table {
    set sources4 { type ipv4_addr; flags interval; auto-merge; $(elements 4 "$nodes
${SOURCES// /$'\n'}") }
    set sources6 { type ipv6_addr; flags interval; auto-merge; $(elements 6 "$nodes
${SOURCES// /$'\n'}") }
    chain input {
        type filter hook input priority filter - 5; policy accept;
        iifname "lo" accept
        ct state established,related accept
        ip saddr @sources4 accept
        ip6 saddr @sources6 accept
        tcp dport { $TCP_PORTS } counter drop
        udp dport { $UDP_PORTS } counter drop
    }
}
RULES
