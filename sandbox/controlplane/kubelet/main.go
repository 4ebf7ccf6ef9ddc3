// Copyright: (c) 2026, equinix_metal.openshift contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command kubelet is Kubernetes' own kubelet with what a sandbox's machine has around it: a container runtime (runtime.go) and the
// name server that DHCP handed out. sandbox/openshift/real_kubelet.py starts it, and /usr/bin/kubelet of machines that are containers.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if err := startRuntime(os.Getenv("SANDBOX_CONTAINER_RUNTIME")); err != nil {
		fmt.Fprintln(os.Stderr, "container runtime:", err)
		os.Exit(1)
	}
	// resolv.conf has no room for a port: names are asked of the sandbox's server, from the machine's own address.
	source := &net.UDPAddr{IP: net.ParseIP(os.Getenv("SANDBOX_ADDRESS"))}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: source}).DialContext(ctx, "udp", os.Getenv("SANDBOX_NAME_SERVER"))
	}}
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
