// Copyright: (c) 2026, equinix_metal.openshift contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command kubelet is Kubernetes' own kubelet with a container runtime in it (runtime.go). /usr/bin/kubelet of machines that are containers
// starts it.
package main

import (
	"context"
	"fmt"
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
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
