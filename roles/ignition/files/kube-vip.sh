#!/usr/bin/env bash
# Writes the static pod of kube-vip, which announces the address of the API.
#   API_ADDRESS    address of the API
#   IMAGE          image of kube-vip
#   METADATA_URL   the document of the metadata service, which identifies a device by its source address. It has the BGP neighbors as soon as
#                  the device has a BGP session. Without it the address is announced by ARP
#   MANIFESTS, CERTIFICATES   folders of the kubelet's static pods and of the API server's certificates; for tests
# By BGP all nodes announce the address, each while its API server is ready, and the script writes the routes to the neighbors. By ARP one node
# has it: the one that holds the lease kube-system/plndr-cp-lock, which it renews at its own API server.
# With the argument follow-api it has the address on this node while the API server of the node is ready, and does not end.
set -euo pipefail
shopt -s inherit_errexit
manifests=${MANIFESTS:-/etc/kubernetes/manifests}
# Written by the operator of the API server before the API server starts on this node. localhost.kubeconfig leads to that API server.
certificates=${CERTIFICATES:-/etc/kubernetes/static-pod-resources/kube-apiserver-certs}
kubeconfig=$certificates/secrets/node-kubeconfigs/localhost.kubeconfig
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT

read_metadata() {
    curl --silent --show-error --fail --location --max-time 10 --output "$work/metadata.json" "$METADATA_URL" &&
        jq --exit-status 'any(.bgp_neighbors[]?; .address_family == 4 and .customer_ip)' "$work/metadata.json" > /dev/null
}

# The neighbors accept sessions with the private address alone, and the default route leads through the public gateway.
write_routes() {
    jq --raw-output '
        first(.bgp_neighbors[] | select(.address_family == 4 and .customer_ip)) as $bgp
        | first(.network.addresses[] | select(.address == $bgp.customer_ip) | .gateway) as $gateway
        | $bgp.peer_ips[] | "\(.) \($gateway) \($bgp.customer_ip)"
    ' "$work/metadata.json" > "$work/routes"
    while read -r peer gateway source; do
        ip route replace "$peer/32" via "$gateway" src "$source" || return
    done < "$work/routes"
}

# Without leader election every node announces the address, and the routers spread connections over the nodes. Port 6080 is the readiness of
# the API server without TLS, which OpenShift has for load balancers. The kubeconfig is read by kube-vip at its start and not used.
bgp_settings() {
    jq '
        first(.bgp_neighbors[] | select(.address_family == 4 and .customer_ip)) as $bgp
        | (if $bgp.md5_enabled then $bgp.md5_password else "" end) as $password
        | {
            vip_interface: "lo", vip_arp: "false", vip_leaderelection: "false",
            bgp_enable: "true", bgp_routerid: $bgp.customer_ip, bgp_sourceip: $bgp.customer_ip, bgp_as: "\($bgp.customer_as)",
            bgp_peers: ([$bgp.peer_ips[] | "\(.):\($bgp.peer_as):\($password):\($bgp.multihop)"] | join(",")),
            bgp_hold_time: "9", bgp_keepalive_interval: "3",
            control_plane_health_check_address: "http://127.0.0.1:6080/readyz", control_plane_health_check_period_seconds: "1",
            control_plane_health_check_timeout_seconds: "1", control_plane_health_check_failure_threshold: "2",
            k8s_config_file: "/etc/kubernetes/kubeconfig"
          }
    ' "$work/metadata.json"
}

# Prints the interface whose subnet has the address. OVN-Kubernetes has moved the node's subnet to its bridge.
arp_interface() {
    ip -json -4 route show table main match "$API_ADDRESS" |
        jq --raw-output --exit-status 'first(.[] | select(.dst != "default" and (has("gateway") | not))) | .dev'
}

# The lease is lost 3 s after the last answer of the own API server, and is free for other nodes 5 s after it.
arp_settings() {
    jq --null-input --arg interface "$1" --arg kubeconfig "$kubeconfig" '{
        vip_interface: $interface, vip_arp: "true", vip_leaderelection: "true", vip_leasename: "plndr-cp-lock",
        vip_leaseduration: "5", vip_renewdeadline: "3", vip_retryperiod: "1", bgp_enable: "false", k8s_config_file: $kubeconfig
    }'
}

# The pod with these settings; the path is that of the kubeconfig, or of the folder that has it with its certificates.
pod() {
    jq --arg address "$API_ADDRESS" --arg image "$IMAGE" --arg path "$1" --arg type "$2" '
        (. + {
            address: $address, port: "6443", vip_subnet: "32", cp_enable: "true", cp_namespace: "kube-system", svc_enable: "false",
            prometheus_server: ""
          }) as $settings
        | {
            apiVersion: "v1", kind: "Pod", metadata: {name: "kube-vip", namespace: "kube-system"},
            spec: {
              hostNetwork: true, priorityClassName: "system-node-critical", tolerations: [{operator: "Exists"}],
              containers: [{
                name: "kube-vip", image: $image, args: ["manager"],
                env: ([$settings | to_entries[] | {name: .key, value: .value}]
                  + [{name: "vip_nodename", valueFrom: {fieldRef: {fieldPath: "spec.nodeName"}}}]),
                resources: {requests: {cpu: "10m", memory: "50Mi"}}, securityContext: {privileged: true},
                volumeMounts: [{name: "kubeconfig", mountPath: $path, readOnly: true}]
              }],
              volumes: [{name: "kubeconfig", hostPath: {path: $path, type: $type}}]
            }
          }
    '
}

# kube-vip leaves the address on the interface while it withdraws the route, and the kubelet of this node would reach no API server: the
# node becomes NotReady at each rollout. Without the address its connections go to the routers, and to another node that announces it.
follow_api() {
    local failures=0
    while true; do
        if curl --silent --fail --max-time 1 --output /dev/null http://127.0.0.1:6080/readyz; then
            failures=0
            has_address || { ip address add "$API_ADDRESS/32" dev lo && echo "the API server of this node is ready: added $API_ADDRESS"; }
        elif failures=$((failures + 1)) && [ "$failures" -ge 2 ] && has_address; then
            ip address delete "$API_ADDRESS/32" dev lo
            # Packets of open connections would go to the routers, without an answer, and the kubelet would wait for one for 45 s.
            ss --kill --tcp --no-header dst "$API_ADDRESS" >/dev/null || true
            echo "the API server of this node is not ready: removed $API_ADDRESS"
        fi
        sleep 1
    done
}

has_address() {
    [ -n "$(ip -oneline address show dev lo to "$API_ADDRESS/32")" ]
}

if [ "${1:-}" = follow-api ]; then
    follow_api
fi

if [ -n "${METADATA_URL:-}" ]; then
    until read_metadata; do
        echo "$METADATA_URL has no BGP neighbors of this device yet: trying again in 5 s"
        sleep 5
    done
    write_routes
    bgp_settings | pod /etc/kubernetes/kubeconfig File > "$work/kube-vip.json"
    where="by BGP to $(cut --delimiter=' ' --fields=1 "$work/routes" | paste --serial --delimiters=' ')"
else
    until interface=$(arp_interface); do
        echo "no interface of this node has a subnet with $API_ADDRESS: trying again in 5 s"
        sleep 5
    done
    until [ -e "$kubeconfig" ]; do
        echo "this node has no API server yet, $kubeconfig does not exist: trying again in 5 s"
        sleep 5
    done
    arp_settings "$interface" | pod "$certificates" Directory > "$work/kube-vip.json"
    where="by ARP on $interface"
fi
# A manifest that changes restarts the pod. It can have the password of BGP sessions.
if ! cmp --silent "$work/kube-vip.json" "$manifests/kube-vip.json"; then
    install --mode=600 -D "$work/kube-vip.json" "$manifests/kube-vip.json"
    echo "$API_ADDRESS is announced $where"
fi
