// Copyright: (c) 2026, equinix_metal.openshift contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command kubelet is Kubernetes' own kubelet with what a sandbox's machine has around it: a container runtime that only
// remembers its containers (Kubernetes' own fake one) and the name server that DHCP handed out. sandbox/openshift/real_kubelet.py
// starts it.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	runtime := fake.NewFakeRemoteRuntime()
	// The eviction manager asks how full the images' file system is, and complains every 10 seconds when it is not told.
	images := []*runtimeapi.FilesystemUsage{{
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: 1 << 30},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1 << 10},
	}}
	runtime.ImageService.SetFakeFilesystemUsage(images)
	runtime.ImageService.SetFakeContainerFilesystemUsage(images)
	if err := runtime.Start(os.Getenv("SANDBOX_CONTAINER_RUNTIME")); err != nil {
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
