#!/usr/bin/env bash
# Configures the bond of a device with the addresses of its metadata, as NetworkManager profiles, and sets which of them is the node address.
# DHCP serves only the public IPv4 address on the first port: no bond, no private address and no IPv6.
#   METADATA_URL   the document of the metadata service, which identifies a device by its source address
#   NODE_ADDRESS   public, private or vlan: which address the node uses. The metadata has no addresses in a VLAN: the number of the VLAN and
#                  the address are tags of the device, openshift-vlan=1000 and openshift-vlan-address=192.168.40.11/24. With a third one,
#                  openshift-vlan-gateway=192.168.40.1, the bond has no address: its port is converted to layer 2.
#   FAMILIES       IP versions of the cluster; the node address is of the first one
#   PROFILES, HINT folder of the profiles, and the file that nodeip-configuration.service reads; for tests
set -euo pipefail
shopt -s inherit_errexit
profiles=${PROFILES:-/etc/NetworkManager/system-connections}
hint=${HINT:-/etc/default/nodeip-configuration}
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT

tag_value() {
    jq --raw-output --arg prefix "$1=" 'first(.tags[]? | select(startswith($prefix)) | ltrimstr($prefix)) // ""' "$work/metadata.json"
}

# In layer 2 no metadata service can be reached. The profiles of the first boot stay: the address of a device does not change.
is_layer2() {
    [ "$NODE_ADDRESS" = vlan ] && grep --quiet --no-messages '^address1=.*,' "$profiles"/bond0.*.nmconnection
}

# An installed profile works without the metadata service. Without one the node waits: it would register with another address.
read_metadata() {
    local tries=0
    until curl --silent --show-error --fail --location --max-time 10 --output "$work/metadata.json" "$METADATA_URL" &&
        jq --exit-status '.network.interfaces | length > 0' "$work/metadata.json" > /dev/null &&
        { [ "$NODE_ADDRESS" != vlan ] || [ -n "$(tag_value openshift-vlan-address)" ]; }; do
        tries=$((tries + 1))
        if [ -e "$profiles/bond0.nmconnection" ] && [ "$tries" -ge 3 ]; then
            echo "$METADATA_URL has no metadata of this device: the profiles stay as they are"
            exit 0
        fi
        echo "$METADATA_URL has no metadata of this device yet: trying again in 5 s"
        sleep 5
    done
}

# The DNS servers that DHCP has set, since the metadata has none.
dns_servers() {
    nmcli --get-values IP4.DNS device show | tr '|' '\n' | awk 'NF { print $1 }' | sort --unique | paste --serial --delimiters=';'
}

# Parameters of the bond: those of the operating systems that the service installs itself.
bond_profile() {
    jq --raw-output --arg dns "$1" --arg gateway "$2" '
        def of(family; public): [.network.addresses[] | select(.address_family == family and .public == public and .management)];
        def line(number; entry; gateway): "address\(number)=\(entry.address)/\(entry.cidr)" + (if gateway then ",\(entry.gateway)" else "" end);
        (.network.interfaces | map(select(.bond == "bond0"))[0].mac) as $mac
        | ((.private_subnets // ["10.0.0.0/8"]) + ["169.254.255.0/24"] | to_entries) as $routes
        | (if $gateway == "" then [of(4; true), of(4; false), of(6; true)] else [[], [], []] end) as [$public, $private, $v6]
        | "[connection]", "id=bond0", "type=bond", "interface-name=bond0", "autoconnect-priority=100", "autoconnect-slaves=1", "",
          "[ethernet]", "cloned-mac-address=\($mac)", "",
          "[bond]", "mode=802.3ad", "miimon=100", "downdelay=200", "updelay=200", "xmit_hash_policy=layer3+4", "lacp_rate=fast", "",
          "[ipv4]",
          (if ($public + $private) == [] then "method=disabled" else
            "method=manual",
            # Without a public address the private gateway is the default one.
            ([$public[], $private[]] | to_entries[] | line(.key + 1; .value; .key == 0)),
            (if $public != [] then $private[0:1][] | .gateway as $via | $routes[] | "route\(.key + 1)=\(.value),\($via)" else empty end),
            (if $dns != "" then "dns=\($dns);" else empty end)
          end), "",
          "[ipv6]",
          (if $gateway != "" then "method=disabled" elif $v6 == [] then "method=link-local" else
            "method=manual", ($v6 | to_entries[] | line(.key + 1; .value; .key == 0))
          end)
    ' "$work/metadata.json"
}

port_profile() {
    printf '%s\n' '[connection]' "id=bond0-$1" 'type=ethernet' 'master=bond0' 'slave-type=bond' 'autoconnect-priority=100' '' \
        '[ethernet]' "mac-address=$2"
}

# Without a gateway in the VLAN other networks are reached by the public address of the bond.
vlan_profile() {
    local address
    address=$(tag_value openshift-vlan-address)
    printf '%s\n' '[connection]' "id=$1" 'type=vlan' "interface-name=$1" 'autoconnect-priority=100' '' \
        '[vlan]' "id=${1#bond0.}" 'parent=bond0' '' '[ipv4]' 'method=manual'
    if [ -n "$3" ]; then
        printf '%s\n' "address1=$address,$3" ${2:+"dns=$2;"}
    else
        printf '%s\n' "address1=$address" 'never-default=true'
    fi
    printf '%s\n' '' '[ipv6]' 'method=disabled'
}

# The first address of the network of an address with its prefix length.
network_address() {
    local a b c d prefix number
    IFS=./ read -r a b c d prefix <<< "$1"
    number=$(((a << 24 | b << 16 | c << 8 | d) & 0xffffffff << (32 - prefix)))
    echo "$((number >> 24 & 255)).$((number >> 16 & 255)).$((number >> 8 & 255)).$((number & 255))"
}

# nodeip-configuration.service takes the address in the subnet of the hint, and on a dual stack cluster one of the other IP version on the same
# interface. It skips an address that is the hint itself (openshift/baremetal-runtimecfg, AddressesRouting), and then takes that of the
# default route. So the hint is another address of the subnet: the gateway, or in a VLAN, which has none, the first one.
node_ip_hint() {
    if [ "$NODE_ADDRESS" = vlan ]; then
        network_address "$(tag_value openshift-vlan-address)"
        return
    fi
    jq --raw-output --argjson family "${FAMILIES%% *}" --argjson public "$([ "$NODE_ADDRESS" = public ] && echo true || echo false)" '
        first(.network.addresses[] | select(.address_family == $family and .public == $public and .management) | .gateway) // ""
    ' "$work/metadata.json"
}

install_file() {
    cmp --silent "$1" "$2" && return 1
    install --mode="$3" -D "$1" "$2"
}

if is_layer2; then
    echo "the bond is in layer 2: the profiles stay as they are"
    exit 0
fi
read_metadata
mkdir "$work/profiles"
gateway=
[ "$NODE_ADDRESS" != vlan ] || gateway=$(tag_value openshift-vlan-gateway)
dns=$(dns_servers)
bond_profile "$dns" "$gateway" > "$work/profiles/bond0.nmconnection"
while read -r name mac; do
    port_profile "$name" "$mac" > "$work/profiles/bond0-$name.nmconnection"
done < <(jq --raw-output '.network.interfaces[] | select(.bond == "bond0") | "\(.name) \(.mac)"' "$work/metadata.json")

connections=(bond0)
if [ "$NODE_ADDRESS" = vlan ]; then
    vlan=bond0.$(tag_value openshift-vlan)
    vlan_profile "$vlan" "$dns" "$gateway" > "$work/profiles/$vlan.nmconnection"
    connections+=("$vlan")
fi

neighbor=$(node_ip_hint)
if [ -z "$neighbor" ]; then
    echo "The metadata has no $NODE_ADDRESS IPv${FAMILIES%% *} address of this device: order it with one (metal_ip_addresses)" >&2
    exit 1
fi
echo "KUBELET_NODEIP_HINT=$neighbor" > "$work/hint"
install_file "$work/hint" "$hint" 644 || true

changed=
for file in "$work/profiles/"*; do
    # NetworkManager ignores profiles that others can read.
    if install_file "$file" "$profiles/${file##*/}" 600; then changed=yes; fi
done
[ -n "$changed" ] || exit 0
if [ -n "$gateway" ]; then
    echo "configured ${connections[1]} with $(tag_value openshift-vlan-address) and the gateway $gateway"
else
    echo "configured bond0 with $(jq --raw-output '[.network.addresses[].address] | join(", ")' "$work/metadata.json")"
fi
nmcli connection reload
for connection in "${connections[@]}"; do
    nmcli --wait 60 connection up "$connection"
done
