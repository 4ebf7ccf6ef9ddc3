#!/usr/bin/env bash
# Accepts connections to ports that only nodes use from the machines of the cluster alone. The machines are the addresses of the DNS record
# NODES_RECORD, which install.yml and scale.yml keep: a new machine is known minutes before it asks for its Ignition config, without a reboot
# of any node. Until the record lists an address of this node, and whenever it does not, nothing is blocked.
#   NODES_RECORD   name of the record with the addresses of all machines, load balancers among them
#   SOURCES        further sources, as addresses or networks: pods, and openshift_node_firewall_sources
#   TCP_PORTS, UDP_PORTS   ports and ranges of ports, with commas between them; UDP_PORTS may be empty
#   STATE_DIRECTORY        set by systemd; has the last addresses of the record, for a time without DNS, and those of this node among them
set -euo pipefail
shopt -s inherit_errexit
table=node_firewall
known=${STATE_DIRECTORY:?}/nodes
known_own=$STATE_DIRECTORY/own

# One address or network a line of the chosen IP version, as the elements of a set.
elements() {
    local found
    found=$(printf '%s\n' "$2" | { [ "$1" = 6 ] && grep ':' || grep --invert-match -e ':' -e '^$'; } | sort --unique | paste --serial --delimiters=,) || true
    [ -z "$found" ] || printf 'elements = { %s }' "$found"
}

# All addresses of the record, also of an IP version of which this node has no address at the moment.
nodes=$(getent --no-addrconfig ahosts "$NODES_RECORD" | awk '{ print $1 }' | sort --unique) || nodes=
if [ -n "$nodes" ]; then
    printf '%s\n' "$nodes" > "$known.new"
    mv "$known.new" "$known"
elif [ -s "$known" ]; then
    echo "$NODES_RECORD has no address: using those of $(date --utc --iso-8601=seconds --reference="$known")"
    nodes=$(< "$known")
fi

own=$(ip -oneline address show scope global | awk '{ sub("/.*", "", $4); print $4 }' | sort --unique)
listed=$(comm -12 <(echo "$own") <(echo "$nodes"))
if [ -n "$listed" ]; then
    echo "$listed" > "$known_own.new"
    mv "$known_own.new" "$known_own"
elif [ -s "$known_own" ]; then
    # OVN-Kubernetes moves the address to br-ex, and for that time the node has none: the rules stay as long as the record lists what it had.
    listed=$(comm -12 "$known_own" <(echo "$nodes"))
fi
if [ -z "$listed" ]; then
    echo "$NODES_RECORD does not list an address of this node ($(echo "$own" | paste --serial --delimiters=' ')): nothing is blocked"
    # Without `add` the deletion of a table that does not exist fails.
    printf 'add table inet %s\ndelete table inet %s\n' "$table" "$table" | nft --file -
    exit 0
fi

udp=${UDP_PORTS:+"udp dport { $UDP_PORTS } counter drop"}

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
        $udp
    }
}
RULES
