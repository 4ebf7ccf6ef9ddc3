#!/usr/bin/env bash
# Writes the static pod of kube-vip, which announces the address of the API by BGP while the API server of this node is ready, and the routes to
# its BGP neighbors. The metadata has the neighbors as soon as the device has a BGP session.
#   METADATA_URL   the document of the metadata service, which identifies a device by its source address
#   API_ADDRESS    elastic address of the API
#   IMAGE          image of kube-vip
# With the argument follow-api it has the address on this node while the API server of the node is ready, and does not end.
#   MANIFESTS      folder of the kubelet's static pods; for tests
set -euo pipefail
shopt -s inherit_errexit
manifests=${MANIFESTS:-/etc/kubernetes/manifests}
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
pod() {
    jq --arg address "$API_ADDRESS" --arg image "$IMAGE" '
        first(.bgp_neighbors[] | select(.address_family == 4 and .customer_ip)) as $bgp
        | (if $bgp.md5_enabled then $bgp.md5_password else "" end) as $password
        | {
            address: $address, port: "6443", vip_interface: "lo", vip_subnet: "32", vip_arp: "false", vip_leaderelection: "false",
            cp_enable: "true", cp_namespace: "kube-system", svc_enable: "false", prometheus_server: "",
            bgp_enable: "true", bgp_routerid: $bgp.customer_ip, bgp_sourceip: $bgp.customer_ip, bgp_as: "\($bgp.customer_as)",
            bgp_peers: ([$bgp.peer_ips[] | "\(.):\($bgp.peer_as):\($password):\($bgp.multihop)"] | join(",")),
            bgp_hold_time: "9", bgp_keepalive_interval: "3",
            control_plane_health_check_address: "http://127.0.0.1:6080/readyz", control_plane_health_check_period_seconds: "1",
            control_plane_health_check_timeout_seconds: "1", control_plane_health_check_failure_threshold: "2",
            k8s_config_file: "/etc/kubernetes/kubeconfig"
          } as $settings
        | {
            apiVersion: "v1", kind: "Pod", metadata: {name: "kube-vip", namespace: "kube-system"},
            spec: {
              hostNetwork: true, priorityClassName: "system-node-critical", tolerations: [{operator: "Exists"}],
              containers: [{
                name: "kube-vip", image: $image, args: ["manager"],
                env: ([$settings | to_entries[] | {name: .key, value: .value}]
                  + [{name: "vip_nodename", valueFrom: {fieldRef: {fieldPath: "spec.nodeName"}}}]),
                resources: {requests: {cpu: "10m", memory: "50Mi"}}, securityContext: {privileged: true},
                volumeMounts: [{name: "kubeconfig", mountPath: "/etc/kubernetes/kubeconfig", readOnly: true}]
              }],
              volumes: [{name: "kubeconfig", hostPath: {path: "/etc/kubernetes/kubeconfig", type: "File"}}]
            }
          }
    ' "$work/metadata.json"
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
            ss --kill --no-header dst "$API_ADDRESS" >/dev/null || true
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

until read_metadata; do
    echo "$METADATA_URL has no BGP neighbors of this device yet: trying again in 5 s"
    sleep 5
done
write_routes
pod > "$work/kube-vip.json"
# A manifest that changes restarts the pod. It has the password of the sessions.
if ! cmp --silent "$work/kube-vip.json" "$manifests/kube-vip.json"; then
    install --mode=600 -D "$work/kube-vip.json" "$manifests/kube-vip.json"
    echo "$API_ADDRESS is announced to $(cut --delimiter=' ' --fields=1 "$work/routes" | paste --serial --delimiters=' ')"
fi
