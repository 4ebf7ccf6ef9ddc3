#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cluster_boot_info
short_description: Read what new machines of a running cluster boot from
version_added: 0.1.0
description:
  - Returns the identity, version and architecture of a running OpenShift cluster, the boot images of that version, and the Ignition
    pointers of the machine config server. To add a machine, nothing else is required, in particular no files of the installation.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  pools:
    description:
      - MachineConfigPools whose Ignition pointers are returned.
      - Requires the right to read Secrets in the namespace C(openshift-machine-api), unless the list is empty.
    type: list
    elements: str
    default: [worker]
seealso:
  - module: equinix_metal.openshift.cluster_wait
"""

EXAMPLES = r"""
- name: Read what new workers boot from
  equinix_metal.openshift.cluster_boot_info:
    kubeconfig: clusters/demo.metal.test/kubeconfig
"""

RETURN = r"""
boot:
  description: What new machines boot from.
  returned: success
  type: dict
  contains:
    domain:
      description: Name of the cluster with its base domain, from the DNS config or the API URL of the cluster.
      type: str
      sample: demo.metal.test
    infra_id: {description: The C(infraID) of the installation., type: str, sample: demo-x7k2p}
    cluster_id: {description: The C(clusterID) of the installation., type: str, sample: 0c9b2f6e-5d0c-4b1e-9d3a-0a4c8d1f7e21}
    api_url: {description: URL of the API., type: str, sample: https://api.demo.metal.test:6443}
    platform: {description: Platform of the cluster., type: str, sample: None}
    network_type: {description: Network plugin of the cluster., type: str, sample: OVNKubernetes}
    version: {description: "The current release, during an upgrade the new one.", type: str, sample: 4.20.33}
    installed_version:
      description: The newest release whose installation is complete. During an upgrade it differs from C(version).
      type: str
      sample: 4.20.33
    multi_architecture: {description: Whether the release is for several architectures., type: bool, sample: false}
    machine_architectures:
      description: Architectures of the machines that the release supports.
      type: list
      elements: str
      sample: [x86_64]
    stream:
      description: Stream metadata of the boot images, as C(openshift-install coreos print-stream-json) prints it. Empty if the cluster has
        none.
      type: dict
      sample: {stream: rhcos-4.20, architectures: {}}
    stream_version: {description: The release of the boot images., type: str, sample: 4.20.33}
    pointers:
      description: For each of O(pools) an Ignition config in JSON with the CA and the URL of the machine config server. It contains no
        secrets.
      type: dict
      sample: {worker: "{\"ignition\": {\"version\": \"3.2.0\"}}"}
"""

from ..module_utils.base.argspec import Options
from ..module_utils.boot.info import read_boot_info
from ..module_utils.frame.cluster import ClusterModule

OPTIONS = Options({"pools": {"type": "list", "elements": "str", "default": ["worker"]}})


def main() -> None:
    with ClusterModule(OPTIONS) as module:
        client = module.client()

        def poll() -> list[str]:
            module.result["boot"] = read_boot_info(client, module.params["pools"])
            return []

        module.wait_for(poll, "Reading of what new machines boot from")


if __name__ == "__main__":
    main()
