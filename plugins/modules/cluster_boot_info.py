#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_boot_info
short_description: Read from a running cluster what new machines boot from
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the identity, version and architecture of a running OpenShift cluster, the boot images of that version, and the Ignition pointers
    of its machine config server. A machine that is added needs nothing else, in particular none of the files of the install.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.cluster
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  wait:
    description:
      - Whether to wait for an API server that does not answer. Otherwise that is an error at once.
    type: bool
    default: true
  pools:
    description:
      - MachineConfigPools whose Ignition pointers are read.
      - Reading them needs the right to read secrets in the namespace C(openshift-machine-api). V([]) does not.
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
  register: cluster

- name: Print the boot images of x86_64 machines
  ansible.builtin.debug:
    msg: "{{ cluster.boot.stream.architectures.x86_64.artifacts.metal.formats.pxe }}"
"""

RETURN = r"""
boot:
  description: What the cluster reports.
  returned: success
  type: dict
  contains:
    domain:
      description: Name of the cluster with its base domain, from its DNS config or its API's URL.
      type: str
      sample: demo.metal.test
    infra_id:
      description: The C(infraID) of the install.
      type: str
      sample: demo-x7k2p
    cluster_id:
      description: The C(clusterID) of the install.
      type: str
      sample: 0c9b2f6e-5d0c-4b1e-9d3a-0a4c8d1f7e21
    api_url:
      description: URL of its API.
      type: str
      sample: https://api.demo.metal.test:6443
    platform:
      description: Its platform.
      type: str
      sample: None
    network_type:
      description: Its network plugin.
      type: str
      sample: OVNKubernetes
    version:
      description: The release it runs, or is upgraded to.
      type: str
      sample: 4.20.33
    installed_version:
      description: The newest release whose installation is complete. It differs from C(version) during an upgrade.
      type: str
      sample: 4.20.33
    multi_architecture:
      description: Whether it runs a release for several architectures.
      type: bool
      sample: false
    machine_architectures:
      description: Architectures of machines that this release runs on.
      type: list
      elements: str
      sample: [x86_64]
    stream:
      description: Stream metadata of its boot images, as C(openshift-install coreos print-stream-json) prints it. Empty when it has none.
      type: dict
      sample: {stream: rhcos-4.20, architectures: {}}
    stream_version:
      description: The release that these boot images are of.
      type: str
      sample: 4.20.33
    pointers:
      description: For each of O(pools) an Ignition config as JSON, with the CA and the URL of the machine config server. It has no secrets.
      type: dict
      sample: {worker: '{"ignition": {"version": "3.2.0"}}'}
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.boot.info import poll_boot_info
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import ClusterModule

OPTIONS = Options({"pools": {"type": "list", "elements": "str", "default": ["worker"]}})


def main() -> None:
    with ClusterModule(OPTIONS) as module:
        client = module.client()

        def poll(*, patient: bool) -> list[str]:
            module.result["boot"], waiting = poll_boot_info(client, module.params["pools"], patient=patient)
            return waiting

        module.wait_for(poll, "Reading of what new machines boot from")


if __name__ == "__main__":
    main()
