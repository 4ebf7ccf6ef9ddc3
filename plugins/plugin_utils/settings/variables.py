# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the collection's variables.

``python -m tools.variables`` writes from it the options and defaults of roles, the tables in their READMEs and docs/generated/variables.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils.machines.set import MACHINE_OPTIONS
from .variable import PREFLIGHT, Variable, dictionaries, dictionary, flag, number, seconds, string, strings

REFUSED_DEVICE_OPTIONS: Mapping[str, str] = {
    "userdata": "the userdata of a node is its Ignition pointer: add MachineConfigs with openshift_manifests",
    "ipxe_script_url": "the role boot_files publishes the iPXE script and sets its address: use openshift_publish",
    "always_pxe": "a node that always boots over the network would be installed again at each reboot",
    "power_state": "nodes are switched off and on by playbooks/stop.yml and playbooks/start.yml",
    **dict.fromkeys(("spot_instance", "spot_price_max"), "there is no spot market any more"),
}
"""Attributes of devices that no variable of a host sets, each with the reason. Preflight refuses them."""

HOST_DEVICE_OPTIONS = tuple(name for name in MACHINE_OPTIONS if name not in {"hostname", *REFUSED_DEVICE_OPTIONS})
"""Options of ``metal_device_set`` that hosts set as variables with ``metal_`` before them. The module documents them."""

PUBLISH_PORT = (
    "[openshift_cluster_name | default(''), openshift_base_domain | default(''), "
    "metal_project_id | default(lookup('ansible.builtin.env', 'METAL_PROJECT_ID'), true)] "
    "| equinix_metal.openshift.rule('boot_files.server_port'"
)
"""The beginning of the default of a port of the server of the boot files."""

SECTIONS: Mapping[str, tuple[Variable, ...]] = {
    "Cluster and Ignition files": (
        string(
            "openshift_cluster_name",
            "Name of the cluster, the first label of C(<name>.<domain>). Everything created for the cluster carries the tag "
            "C(openshift-cluster=<name>.<domain>).",
            required=True,
            example="demo",
            read_by=("ignition_cluster_name", PREFLIGHT),
        ),
        string(
            "openshift_base_domain",
            "Domain below which the DNS records of the cluster are created.",
            required=True,
            example="example.com",
            read_by=("ignition_base_domain", PREFLIGHT),
        ),
        string(
            "openshift_version",
            "OpenShift release, or a channel of the mirror such as V(stable-4.20). A channel is resolved once; the release and the digest "
            "of its payload are kept in C(<directory>/release.json), and the installer has to be of that payload. May be empty with "
            "O(openshift_installer).",
            example="4.20.33",
            read_by=("ignition_version", "__gather_version", PREFLIGHT),
        ),
        string(
            "openshift_distribution",
            "V(ocp) is Red Hat OpenShift. V(okd) is the community distribution, which has releases but no channels, and boots CentOS "
            "Stream CoreOS.",
            default="ocp",
            choices=("ocp", "okd"),
            read_by=("ignition_distribution", PREFLIGHT),
        ),
        string(
            "openshift_installer",
            "Path of an C(openshift-install) on the controller, which is used instead of a downloaded one. Its version has to be "
            "O(openshift_version), unless that is empty, and it has to be for the architecture of the machines.",
            read_by=("ignition_installer", PREFLIGHT),
        ),
        string(
            "openshift_installer_cache",
            "Folder on the controller that keeps each downloaded C(openshift-install). Preflight and all clusters share one download.",
            computed="`equinix_metal.openshift/installers` in the cache folder of the user (`XDG_CACHE_HOME`); if that cannot be "
            "written, a folder for the time of the run",
            expression="openshift_installer_cache | default('') | equinix_metal.openshift.rule('folders.installer_cache')",
            read_by=("ignition_installer_cache", PREFLIGHT),
        ),
        string(
            "openshift_architecture",
            "CPU architecture of the machines, as the mirror spells it. The architecture of the control plane is that of the cluster; "
            "workers may have the other one.",
            default="x86_64",
            choices=("x86_64", "aarch64"),
            has_check=True,
            is_of_host=True,
            read_by=("ignition_architecture", "provision_architecture", "boot_files_architecture"),
        ),
        string(
            "openshift_release_architecture",
            "Architecture of the release payload, V(x86_64), V(aarch64), or V(multi) for both. Empty is what the machines need.",
            read_by=("ignition_release_architecture", PREFLIGHT),
        ),
        string(
            "openshift_mirror_url",
            "URL of a mirror of the OpenShift clients, up to C(/pub/openshift-v4). For OKD, the URL below which each release has a folder.",
            expression="openshift_mirror_url | default('') | equinix_metal.openshift.rule('ignition.mirror_url', "
            "openshift_distribution | default('ocp'))",
            computed="`https://mirror.openshift.com/pub/openshift-v4`; for OKD `https://github.com/okd-project/okd/releases/download`",
            read_by=("ignition_mirror_url", PREFLIGHT),
        ),
        string(
            "openshift_release_keyring",
            "OpenPGP keyring with the key that signs the releases, for C(gpgv), a path on the controller or armored text. With a keyring, "
            "a mirror without the signature is refused. Without one, the signature is not checked, and the run prints that.",
            read_by=("ignition_keyring", PREFLIGHT),
        ),
        Variable(
            "openshift_pull_secret",
            "raw",
            "Pull secret, a JSON text, or the path of its file on the controller. Optional with O(openshift_distribution=okd).",
            default="",
            expression="openshift_pull_secret | default('') | equinix_metal.openshift.rule('folders.file_text', 'openshift_pull_secret')",
            no_log=True,
            read_by=("ignition_pull_secret", PREFLIGHT),
        ),
        string(
            "openshift_ssh_public_key",
            "Public SSH key for the user C(core), or the path of its file on the controller.",
            expression="openshift_ssh_public_key | default('') "
            "| equinix_metal.openshift.rule('folders.file_text', 'openshift_ssh_public_key')",
            no_log=False,
            read_by=("ignition_ssh_public_key", PREFLIGHT),
        ),
        string(
            "openshift_platform",
            "Platform in install-config.yaml.",
            default="none",
            choices=("none", "external"),
            has_check=True,
            read_by=("ignition_platform", PREFLIGHT),
        ),
        string(
            "openshift_cloud_controller_manager",
            "V(External) if O(openshift_manifests) contain a cloud controller manager: a workload that tolerates the taint "
            "C(node.cloudprovider.kubernetes.io/uninitialized). Only with O(openshift_platform=external).",
            choices=("", "External"),
            has_check=True,
            read_by=("ignition_cloud_controller_manager", PREFLIGHT),
        ),
        dictionaries(
            "openshift_cluster_networks",
            "Networks of the pods, C(clusterNetwork) in install-config.yaml.",
            default=[{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
            read_by=("ignition_cluster_networks", PREFLIGHT),
        ),
        strings(
            "openshift_service_networks",
            "Networks of the services, C(serviceNetwork) in install-config.yaml.",
            default=["172.30.0.0/16"],
            read_by=("ignition_service_networks", "dns_service_networks", PREFLIGHT),
        ),
        strings(
            "openshift_machine_networks",
            "Networks of the machines, C(machineNetwork) in install-config.yaml.",
            default=["10.0.0.0/16"],
            read_by=("ignition_machine_networks", PREFLIGHT),
        ),
        dictionary(
            "openshift_proxy",
            "Proxy of the nodes and of the cluster, with the keys C(httpProxy), C(httpsProxy) and C(noProxy).",
            no_log=True,
            example={"httpProxy": "http://proxy.example.com:3128", "noProxy": ".example.com"},
            read_by=("ignition_proxy", PREFLIGHT),
        ),
        string(
            "openshift_trust_bundle",
            "CA certificates that the nodes trust in addition to the usual ones, in PEM format, or the path of their file on the "
            "controller.",
            expression="openshift_trust_bundle | default('') | equinix_metal.openshift.rule('folders.file_text', 'openshift_trust_bundle')",
            read_by=("ignition_trust_bundle", PREFLIGHT),
        ),
        dictionaries(
            "openshift_image_digest_sources",
            "Mirrors of container images, entries with C(source) and C(mirrors).",
            example=[{"source": "quay.io/openshift-release-dev/ocp-release", "mirrors": ["registry.example.com/ocp-release"]}],
            read_by=("ignition_image_digest_sources", PREFLIGHT),
        ),
        flag(
            "openshift_default_catalogs",
            "Whether OperatorHub has the catalogues of Red Hat and of the community. Their images are of registries on the internet: set "
            "it to V(false) without access to them, and add catalogues of your mirror with O(openshift_manifests).",
            default=True,
            read_by=("ignition_default_catalogs", PREFLIGHT),
        ),
        dictionary(
            "openshift_install_config",
            "Further fields of install-config.yaml, merged into those of the other variables. A field with another value than that of its "
            "variable is refused.",
            no_log=True,
            read_by=("ignition_install_config", PREFLIGHT),
        ),
        strings(
            "openshift_manifests",
            "Additional manifests, paths of files or folders on the controller, or texts. Each has to contain Kubernetes objects in YAML "
            "or JSON.",
            read_by=("ignition_manifests", PREFLIGHT),
        ),
        strings(
            "openshift_time_servers",
            "Time servers of all machines, names or addresses, for chrony: of the nodes, the bootstrap device and the live system. Without "
            "them they use those of the operating system. A change reboots the nodes one by one.",
            example=["ntp1.example.com", "ntp2.example.com"],
            read_by=("ignition_time_servers", "__cluster_time_servers", "boot_files_time_servers", PREFLIGHT),
        ),
        Variable(
            "openshift_kubeconfig",
            "raw",
            "Kubeconfig of the running cluster, with the rights of a cluster administrator: a path on the controller, or its text as AWX "
            "injects it. With it, playbooks after the install need no file of the install: they read what they need from the cluster, and "
            "write it to O(openshift_directory). A path at which no file is counts as none, so it can be set before the install.",
            default="",
            no_log=True,
            read_by=("ignition_kubeconfig",),
        ),
        string(
            "openshift_directory",
            "Folder of the cluster's files on the controller. It contains secrets and is accessible to its owner only.",
            expression="ignition_check_directory | default(openshift_directory | default('')) "
            "| equinix_metal.openshift.rule('folders.cluster_directory', openshift_cluster_name | default(''), "
            "openshift_base_domain | default(''), openshift_clusters_directory | default(''))",
            computed="`<name>.<domain>` in `openshift_clusters_directory`",
            read_by=(
                *("dns_directory", "ignition_directory", "provision_directory", "boot_files_directory", "csr_approval_directory"),
                *("bootstrap_teardown_directory",),
                *("__cluster_directory", "__services_directory", "__destroy_directory", "__node_removal_directory"),
                *("__control_plane_directory", "__gather_directory", "__report_directory", "__validate_directory", "__power_directory"),
                *("__state_store_directory", "__load_balancer_directory"),
            ),
        ),
    ),
    "Machines": (
        string(
            "metal_api_url",
            "URL of the Metal API.",
            expression="metal_api_url | default(lookup('ansible.builtin.env', 'METAL_API_URL'), true)",
            computed="`METAL_API_URL` of the environment",
            read_by=(PREFLIGHT,),
        ),
        string(
            "metal_api_token",
            "Token for the Metal API.",
            expression="metal_api_token | default('') | equinix_metal.openshift.rule('variables.or_environment', 'metal_api_token')",
            computed="`METAL_AUTH_TOKEN`, `METAL_API_TOKEN`, `PACKET_API_TOKEN`, `PACKET_AUTH_TOKEN` or `PACKET_TOKEN` of the environment",
            no_log=True,
            read_by=(PREFLIGHT,),
        ),
        string(
            "metal_project_id",
            "ID of the project of the devices. It is stored with the cluster's files, and runs for another project are refused.",
            expression="metal_project_id | default(lookup('ansible.builtin.env', 'METAL_PROJECT_ID'), true)",
            computed="`METAL_PROJECT_ID` of the environment",
            read_by=("ignition_project_id", "__project_id", PREFLIGHT),
        ),
        string(
            "metal_project_name",
            "Name of the project, without O(metal_project_id). Needs a user's token.",
            example="demo",
            read_by=("__project_name",),
        ),
        string(
            "metal_organization_id",
            "ID of the organization in which O(metal_project_name) is searched and created. Without it, every project of the token is "
            "searched, and the Metal API creates the project in the user's default organization.",
            read_by=("__project_organization_id",),
        ),
        flag(
            "metal_project_create",
            "Whether install.yml creates the project O(metal_project_name) if it does not exist, before the preflight checks. destroy.yml "
            "deletes a project that was created for the cluster, unless anything is left in it.",
            read_by=("__project_create",),
        ),
        string(
            "openshift_role",
            "Role of the machine, if its groups do not determine it.",
            choices=("bootstrap", "control-plane", "worker", "load-balancer"),
            is_of_host=True,
        ),
        string("openshift_pool", "Machine pool of the worker, if its group below C(workers) does not determine it.", is_of_host=True),
        dictionary(
            "openshift_node_labels",
            "Labels of the nodes of a pool. A label that is removed from the inventory is removed from its nodes by the next run.",
            example={"example.com/zone": "a"},
            is_of_host=True,
        ),
        dictionary(
            "openshift_node_annotations",
            "Annotations of the nodes of a pool. They follow the inventory as labels do.",
            example={"example.com/rack": "r7"},
            is_of_host=True,
        ),
        dictionaries(
            "openshift_node_taints",
            "Taints of the nodes of a pool, entries with C(key), C(effect) and optionally C(value). They follow the inventory as labels "
            "do.",
            example=[{"key": "infra", "effect": "NoSchedule"}],
            is_of_host=True,
        ),
        flag(
            "openshift_pool_machine_config",
            "Whether the pool has a MachineConfigPool of its own, of the pool's name. Its nodes boot with its configuration, carry the "
            "label C(node-role.kubernetes.io/<pool>), and get the MachineConfigs of workers and those of the pool.",
            default=False,
            is_of_host=True,
        ),
        strings(
            "openshift_kernel_arguments",
            "Kernel arguments of the installed system, set by a MachineConfig. The same for the whole control plane, and for all workers "
            "whose pool has no MachineConfigPool of its own (O(openshift_pool_machine_config)). A change reboots the nodes one by one.",
            default=[],
            example=["hugepagesz=1G", "hugepages=16"],
            is_of_host=True,
        ),
        Variable(
            "openshift_pool_sizes",
            "raw",
            "Number of machines by pool, in place of the number of hosts in the inventory. Missing hosts are added with the variables of "
            "the pool's group and the next numbers, and the hosts with the highest numbers are left out. In place of a number a list of "
            "the hosts that stay, which leaves out any other. A mapping, its JSON text, or a text like V(worker=3, storage=storage-0 "
            "storage-2).",
            default={},
            example={"worker": 3},
            read_by=("__node_removal_pool_sizes", PREFLIGHT),
        ),
        flag(
            "openshift_spread",
            "Whether machines whose C(metal_placement) lists several metros are spread evenly over them. Otherwise all machines with the "
            "same list are created in its first entry that has capacity for all of them.",
            read_by=("provision_spread", PREFLIGHT),
        ),
        number(
            "openshift_replace_failed",
            "Maximum number of failed devices that one run replaces, each by another of the same host name. The failed devices are "
            "deleted. Machines that stopped in their installation or first boot are failed, too.",
            read_by=("provision_replace_failed", PREFLIGHT),
        ),
        number(
            "openshift_worker_quorum",
            "Number of workers with which a run continues; V(0) is all of them. The run prints a warning for each worker that failed, is "
            "gone or is not Ready in time.",
            read_by=("provision_worker_quorum", "__cluster_worker_quorum", "csr_approval_worker_quorum", PREFLIGHT),
        ),
        *(Variable(f"metal_{name}", is_of_host=True) for name in HOST_DEVICE_OPTIONS),
    ),
    "Boot files": (
        string(
            "openshift_ignition_platform",
            "Where installed machines get their Ignition config. V(metal) writes it to the disk at the installation, for any Metal API. "
            "V(packet) lets machines read it as userdata from C(https://metadata.packet.net), for services that answer at that name.",
            default="metal",
            choices=("metal", "packet"),
            read_by=("boot_files_ignition_platform", "provision_ignition_platform", "bootstrap_teardown_ignition_platform", PREFLIGHT),
        ),
        string(
            "openshift_publish",
            "Method of publishing boot files. V(controller) is a server on the controller, V(host) a systemd unit on another host of the "
            "inventory, V(object_storage) a bucket of an S3 service with signed URLs, for machines that join a running cluster or with "
            "O(openshift_ignition_platform=packet).",
            default="controller",
            choices=("controller", "host", "object_storage"),
            read_by=("provision_publish", "boot_files_publish", "__destroy_publish", PREFLIGHT),
        ),
        string(
            "openshift_publish_address",
            "IPv4 address at which machines reach the server of the boot files.",
            read_by=("provision_publish_address", "boot_files_address", "bootstrap_teardown_publish_address", PREFLIGHT),
        ),
        string(
            "openshift_publish_bind_address",
            "IPv4 address that the server of the boot files listens on.",
            expression="openshift_publish_bind_address | default(openshift_publish_address | default(''))",
            computed="`openshift_publish_address`",
            read_by=("boot_files_bind_address", PREFLIGHT),
        ),
        number(
            "openshift_publish_http_port",
            "TCP port of boot scripts and live configurations, which have no secrets.",
            expression=f"openshift_publish_http_port | default({PUBLISH_PORT}))",
            computed="computed from the cluster's name and project, from 20000 to 29999",
            read_by=("provision_publish_http_port", "boot_files_http_port", "bootstrap_teardown_publish_http_port", PREFLIGHT),
        ),
        number(
            "openshift_publish_https_port",
            "TCP port of bootstrap.ign.",
            expression=f"openshift_publish_https_port | default({PUBLISH_PORT}, https=true))",
            computed="computed from the cluster's name and project, from 20000 to 29999",
            read_by=("boot_files_https_port", PREFLIGHT),
        ),
        flag(
            "openshift_publish_allow_list",
            "Whether bootstrap.ign is restricted to the addresses that the Metal API reports of the bootstrap device. Set it to V(false) "
            "where addresses are translated on the way, which needs O(openshift_ignition_platform=packet). Object storage has no such "
            "list.",
            default=True,
            read_by=("boot_files_allow_list", PREFLIGHT),
        ),
        string(
            "openshift_publish_host",
            "With O(openshift_publish=host), the inventory host that serves the boot files. Its user has to be root or to become root.",
            read_by=("boot_files_host", PREFLIGHT),
        ),
        string(
            "openshift_publish_host_user",
            "User that the server runs as on O(openshift_publish_host). Empty, a user is created and deleted again.",
            read_by=("boot_files_host_user",),
        ),
        string(
            "openshift_publish_bucket",
            "With O(openshift_publish=object_storage), the bucket. It has to exist and must not be readable without a signature.",
            read_by=("boot_files_object_storage_bucket", PREFLIGHT),
        ),
        string(
            "openshift_publish_prefix",
            "Prefix of the names of objects in the bucket. The name of the cluster follows.",
            default="openshift/",
            read_by=("boot_files_object_storage_prefix",),
        ),
        string("openshift_publish_region", "Region of the bucket.", read_by=("boot_files_object_storage_region", "__state_store_region")),
        string(
            "openshift_publish_endpoint",
            "URL of the S3 service. Empty is Amazon S3.",
            read_by=("boot_files_object_storage_endpoint", "__state_store_endpoint", PREFLIGHT),
        ),
        string(
            "openshift_publish_open_endpoint",
            "URL of the same S3 service over plain HTTP, for what firmware and the live system download. Needed if they do not trust the "
            "CA of O(openshift_publish_endpoint).",
            read_by=("boot_files_object_storage_open_endpoint", PREFLIGHT),
        ),
        Variable(
            "openshift_publish_ca",
            "path",
            "Path of a PEM file with the CA of the S3 service, unless it is a public one.",
            default="",
            read_by=("boot_files_object_storage_ca", "__state_store_ca"),
        ),
        string(
            "openshift_publish_access_key",
            "Access key of the S3 service. Empty, credentials are found as boto3 finds them.",
            no_log=True,
            read_by=("boot_files_object_storage_access_key", "__state_store_access_key"),
        ),
        string(
            "openshift_publish_secret_key",
            "Secret key of the S3 service.",
            no_log=True,
            read_by=("boot_files_object_storage_secret_key", "__state_store_secret_key"),
        ),
        string(
            "openshift_publish_session_token",
            "Session token of the S3 service. It makes URLs too long for the command line of some kernels; prefer keys without a session "
            "token.",
            no_log=True,
            read_by=("boot_files_object_storage_session_token", "__state_store_session_token"),
        ),
        string(
            "openshift_install_device",
            "Disk to install on, a path below C(/dev), V(smallest) or V(largest), or one of these two followed by V(nvme), V(ssd) or "
            "V(hdd).",
            default="smallest",
            example="smallest nvme",
            is_of_host=True,
            read_by=("boot_files_install_device",),
        ),
        dictionary(
            "openshift_root_device_hints",
            "Attributes of the disk to install on, as in OpenShift's C(rootDeviceHints), C(deviceName), C(hctl), C(model), C(vendor), "
            "C(serialNumber), C(minSizeGigabytes), C(wwn), C(wwnWithExtension), C(wwnVendorExtension), C(rotational). A disk has to match "
            "all of them.",
            default={},
            example={"minSizeGigabytes": 400},
            is_of_host=True,
            read_by=("boot_files_root_device_hints",),
        ),
        flag(
            "openshift_wipe_disks",
            "Whether all disks are wiped before the install. Their data is lost.",
            read_by=("boot_files_wipe_disks",),
        ),
        strings(
            "openshift_consoles",
            "Kernel consoles of the live and the installed system; C(/dev/console) is the last one. Empty, with "
            "O(openshift_ignition_platform=metal) they are the usual ones of the architecture: serial ports and the screen. With V(packet) "
            "it is the port that the Metal API shows over SSH.",
            default=[],
            is_of_host=True,
            read_by=("boot_files_consoles",),
        ),
        strings(
            "openshift_live_kernel_arguments", "Additional kernel arguments of the live system.", read_by=("boot_files_kernel_arguments",)
        ),
        string(
            "openshift_image_mirror_url",
            "URL of a mirror of kernel, initramfs and root file system, a folder with the file names of the installer's stream data. "
            "Empty, machines download them from the URLs of the stream data.",
            read_by=("boot_files_image_mirror_url", "ignition_image_mirror_url", PREFLIGHT),
        ),
        string(
            "openshift_image_verify",
            "Check of the boot images from the controller before devices are created. V(sha256) downloads them and compares checksums with "
            "the stream data, V(head) sends HEAD requests, V(none) checks nothing. Done once for each set of Ignition files.",
            expression="openshift_image_verify | default('sha256' if openshift_image_mirror_url | default('') | length > 0 else 'none')",
            computed="`sha256` with `openshift_image_mirror_url`, otherwise `none`",
            choices=("sha256", "head", "none"),
            read_by=("boot_files_image_verify", "ignition_image_verify"),
        ),
        string(
            "openshift_metadata_url",
            "URL of the metadata service, which returns the URL for events of a machine. Machines report there that no disk matches, and "
            "with O(openshift_ignition_platform=metal) their first boot. Empty, they report nothing. Nodes with a bond read their "
            "addresses there, and two load balancers the routers to which they announce their address: O(openshift_machine_network) other "
            "than V(layer3) and two hosts with O(openshift_load_balancer=haproxy) need it.",
            expression="openshift_metadata_url | default('https://metadata.packet.net/metadata' "
            "if openshift_ignition_platform | default('metal') == 'packet' else '', true)",
            computed="`https://metadata.packet.net/metadata` with `openshift_ignition_platform: packet`, otherwise empty",
            read_by=("boot_files_metadata_url", "ignition_metadata_url", "__load_balancer_metadata_url", PREFLIGHT),
        ),
    ),
    "State store": (
        string(
            "openshift_state_store",
            "Where the files that an interrupted install needs to continue are saved. V(folder) is O(openshift_directory) alone. With "
            "V(object_storage) they are also in a bucket of an S3 service, as an encrypted archive, which a run in an empty folder "
            "restores. With V(cluster) they are also in a Secret of the cluster, once its bootstrap is complete.",
            default="folder",
            choices=("folder", "object_storage", "cluster"),
            has_check=True,
            read_by=("__state_store_kind", "__cluster_state_store", PREFLIGHT),
        ),
        string(
            "openshift_state_password",
            "Password of the archive, required with V(object_storage) and V(cluster). Nobody can read the archive without it.",
            no_log=True,
            read_by=("__state_store_password", PREFLIGHT),
        ),
        string(
            "openshift_state_bucket",
            "With O(openshift_state_store=object_storage), the bucket. It has to exist.",
            expression="openshift_state_bucket | default(openshift_publish_bucket | default(''), true)",
            computed="`openshift_publish_bucket`",
            read_by=("__state_store_bucket", PREFLIGHT),
        ),
        string(
            "openshift_state_prefix",
            "Prefix of the names of objects in the bucket. The name of the cluster follows.",
            default="openshift-state/",
            read_by=("__state_store_prefix",),
        ),
    ),
    "DNS and load balancer": (
        string(
            "openshift_dns_provider",
            "Provider of the DNS records. V(rfc2136) is a DNS server that accepts signed updates, V(route53) Amazon Route 53, V(octodns) "
            "one of the services for which octoDNS has a provider. V(none) prints the records and waits until they resolve.",
            default="none",
            choices=("none", "rfc2136", "route53", "octodns"),
            has_check=True,
            read_by=("dns_provider", "bootstrap_teardown_dns_provider", "__load_balancer_dns_provider", PREFLIGHT),
        ),
        string(
            "openshift_dns_server",
            "Address of the DNS server that accepts updates.",
            read_by=("dns_server", "__load_balancer_dns_server", "bootstrap_teardown_dns_server", PREFLIGHT),
        ),
        number(
            "openshift_dns_port",
            "Port of the DNS server.",
            default=53,
            expression="openshift_dns_port | default(53, true)",
            read_by=("dns_port", "__load_balancer_dns_port", "bootstrap_teardown_dns_port", PREFLIGHT),
        ),
        string(
            "openshift_dns_zone",
            "Zone that is updated, the base domain, one above it, or C(<name>.<domain>) of the cluster.",
            expression="openshift_dns_zone | default(openshift_base_domain, true)",
            computed="`openshift_base_domain`",
            read_by=("dns_zone", PREFLIGHT),
        ),
        string("openshift_dns_key_name", "Name of the TSIG key.", read_by=("dns_key_name", PREFLIGHT)),
        string("openshift_dns_key_secret", "TSIG key, in base64.", no_log=True, read_by=("dns_key_secret", PREFLIGHT)),
        string(
            "openshift_dns_key_algorithm", "Algorithm of the TSIG key.", default="hmac-sha256", read_by=("dns_key_algorithm", PREFLIGHT)
        ),
        dictionary(
            "openshift_dns_route53",
            "Settings of the provider V(route53).",
            example={"zone_id": "Z0123456789ABCDEFGHIJ"},
            suboptions=(
                Variable("access_key", "str", "Access key of AWS. Without it, credentials are found as boto3 finds them.", no_log=True),
                Variable("secret_key", "str", "Secret key of AWS.", no_log=True),
                Variable("session_token", "str", "Session token of AWS.", no_log=True),
                Variable("endpoint", "str", "URL of the API. The default is that of Amazon Route 53."),
                Variable("ca", "path", "Path of a PEM file with the CA of the endpoint, unless it is a public one."),
                Variable("zone_id", "str", "ID of the hosted zone, where several have the name O(openshift_dns_zone)."),
                Variable("zone_private", "bool", "Whether the hosted zone is a private one. The machines have to resolve names in it."),
                Variable(
                    "create_zone",
                    "bool",
                    "Whether O(openshift_dns_zone) is created if it does not exist. It has to be of this cluster alone, "
                    "C(<name>.<domain>), and is deleted with the cluster if the collection created it and no other record is in it.",
                ),
            ),
            read_by=("dns_route53", PREFLIGHT),
        ),
        dictionary(
            "openshift_dns_octodns",
            "Settings of the provider V(octodns).",
            example={"service": "cloudflare", "secrets": {"token": "..."}},
            suboptions=(
                Variable(
                    "service",
                    "str",
                    "The service. V(cloudflare) is the provider in the Python package C(octodns-cloudflare), which has to be installed on "
                    "the controller. If a package has several providers, the whole name of a class.",
                ),
                Variable("options", "dict", "Arguments of the octoDNS provider, as its README has them."),
                Variable("secrets", "dict", "More arguments which are secrets, such as C(token). They are in no output.", no_log=True),
            ),
            read_by=("dns_octodns", PREFLIGHT),
        ),
        strings(
            "openshift_dns_reverse_zones",
            "Reverse zones at the provider, such as V(2.0.192.in-addr.arpa). Each device gets a PTR record for each of its addresses in "
            "one of them.",
            read_by=("dns_reverse_zones", PREFLIGHT),
        ),
        string(
            "openshift_dns_parent_zone",
            "Zone at the same provider in which the cluster's zone O(openshift_dns_zone) is delegated to O(openshift_dns_name_servers). "
            "The zone has to be of this cluster alone, C(<name>.<domain>).",
            read_by=("dns_parent_zone", PREFLIGHT),
        ),
        strings(
            "openshift_dns_name_servers",
            "Names of the name servers of O(openshift_dns_zone), for its delegation. With C(create_zone) of O(openshift_dns_route53) the "
            "default is those of the zone in Route 53.",
            read_by=("dns_name_servers", PREFLIGHT),
        ),
        seconds(
            "openshift_dns_wait_timeout",
            "Time in seconds for which a run waits, with the provider V(none), until the records that it has printed resolve at "
            "O(openshift_resolver). 0 does not wait.",
            default=3600,
            read_by=("dns_resolution_timeout",),
        ),
        seconds(
            "openshift_dns_ttl",
            "TTL of the records in seconds. Keep it short, since machines are taken out of service by changes of records.",
            default=60,
            read_by=("dns_ttl", PREFLIGHT),
        ),
        flag(
            "openshift_destroy_foreign_names",
            "Whether destroy also deletes the records of the cluster's names that have another owner or none, such as records of devices "
            "that no longer exist. Another cluster of this name may depend on them.",
            read_by=("dns_foreign_names",),
        ),
        string(
            "openshift_load_balancer",
            "Load balancer of the API and of ingress. V(dns) is round robin DNS, V(haproxy) one or two devices with HAProxy, V(kube_vip) "
            "an address of the API that the control plane nodes announce, with round robin DNS or an address of MetalLB for ingress, "
            "V(external) the user's own.",
            default="dns",
            choices=("dns", "haproxy", "kube_vip", "external"),
            has_check=True,
            read_by=("__load_balancer_kind", "dns_load_balancer", "ignition_load_balancer", "__services_load_balancer", PREFLIGHT),
        ),
        string(
            "openshift_kube_vip_image",
            "Image of kube-vip for O(openshift_load_balancer=kube_vip), at least of version 1.2. It is not in a release, so a cluster "
            "without access to the internet needs the address of a copy in its mirror. Has an effect when the Ignition files are created.",
            default="ghcr.io/kube-vip/kube-vip:v1.2.2",
            read_by=("ignition_kube_vip_image",),
        ),
        string(
            "openshift_api_address",
            "Address of the API, which the records of the API lead to. With O(openshift_load_balancer=external) that of the load balancer "
            "for ports 6443 and 22623. With V(kube_vip) a free address in the subnet of the control plane, which the nodes announce by "
            "ARP; empty, they announce an elastic address by BGP.",
            read_by=("__load_balancer_api_address", "dns_api_address", "__ignition_api_address", "__services_api_address", PREFLIGHT),
        ),
        string(
            "openshift_ingress_address",
            "Address of ingress for ports 80 and 443, which the records of V(*.apps) lead to. With O(openshift_load_balancer=external) "
            "that of the load balancer. With V(kube_vip) a free address in the subnet of the nodes, which MetalLB announces by ARP: set "
            "O(openshift_metallb), and O(openshift_api_address) too.",
            read_by=("__load_balancer_ingress_address", "dns_ingress_address", "__services_ingress_address", PREFLIGHT),
        ),
        string(
            "openshift_ingress_pool",
            "Pool whose nodes run the routers of ingress: its group below C(workers), or V(control_plane) in a cluster without workers. "
            "Routers tolerate the taints of the pool, and DNS records and load balancers follow. Empty, routers run on workers without "
            "taints.",
            example="infra",
            has_check=True,
            read_by=("__cluster_ingress_pool", "ignition_ingress_pool", PREFLIGHT),
        ),
        string(
            "openshift_ingress_replicas",
            "Number of routers, each on a node of its own. Empty is OpenShift's default, two, or one in a cluster of one control plane "
            "machine.",
            example=3,
            has_check=True,
            read_by=("__cluster_ingress_replicas", "ignition_ingress_replicas", PREFLIGHT),
        ),
    ),
    "Network": (
        string(
            "openshift_machine_network",
            "Which addresses of the devices the nodes use. V(layer3) is the public one of the first port, V(bond) the same on a bond of "
            "all ports that has the private one and IPv6 too, V(private) the private one on that bond, V(vlan) that of "
            "O(openshift_vlan_address) in a VLAN on that bond.",
            default="layer3",
            choices=("layer3", "bond", "private", "vlan"),
            has_check=True,
            read_by=(
                *("ignition_machine_network", "bootstrap_teardown_machine_network", "csr_approval_machine_network"),
                *("dns_machine_network", "provision_machine_network"),
                *("__cluster_machine_network", "__control_plane_machine_network", "__gather_machine_network"),
                *("__node_removal_machine_network", "__network_machine_network", "__power_machine_network"),
                PREFLIGHT,
            ),
        ),
        flag(
            "openshift_node_firewall",
            "Whether the nodes accept connections to ports that only nodes use, among them 22623, 10250 and 2379, from machines of the "
            "cluster alone, and so do the bootstrap device and the load balancer devices. They read the addresses of these machines from "
            "the DNS record C(nodes.<name>.<domain>). Has an effect when the Ignition files and the load balancer devices are created.",
            default=True,
            read_by=("ignition_node_firewall", "__load_balancer_node_firewall", PREFLIGHT),
        ),
        strings(
            "openshift_node_firewall_sources",
            "Further addresses and networks that the firewall of the nodes accepts. With O(openshift_load_balancer=external) they have to "
            "contain the addresses from which that load balancer connects to the nodes, also for its health checks.",
            example=["198.51.100.0/24"],
            read_by=("ignition_node_firewall_sources", "__load_balancer_node_firewall_sources", PREFLIGHT),
        ),
        string(
            "openshift_vlan_id",
            "Id of an existing VLAN for O(openshift_machine_network=vlan), in the metro of the machines. It is never deleted. Empty, the "
            "cluster gets a VLAN of its own.",
            example="5f1d3910-2059-4737-8e7d-d4907cfbf27f",
            read_by=("__network_vlan_id", "provision_vlan_id", PREFLIGHT),
        ),
        string(
            "openshift_vlan_mode",
            "How the machines are in the VLAN. V(hybrid) keeps the public address of the bond beside the VLAN. With V(layer2) the nodes "
            "have the address in the VLAN alone, and O(openshift_vlan_gateway) is their default gateway.",
            default="hybrid",
            choices=("hybrid", "layer2"),
            read_by=("ignition_vlan_mode", "provision_vlan_mode", "__cluster_vlan_mode", PREFLIGHT),
        ),
        string(
            "openshift_vlan_gateway",
            "Gateway of the VLAN. V(none) is no gateway, V(private) and V(public) create a Metal gateway of the cluster with a private or "
            "a public subnet. The id of a Metal gateway in O(openshift_vlan_id), or the address of a router of yours in the VLAN, names an "
            "existing one, which is never deleted.",
            default="none",
            example="public",
            read_by=("__network_vlan_gateway", "provision_vlan_gateway", PREFLIGHT),
        ),
        number(
            "openshift_vlan_gateway_size",
            "How many addresses the subnet of the cluster's own gateway has: 8, 16, 32, 64 or 128. Three of them are no addresses of "
            "machines.",
            default=32,
            read_by=("__network_vlan_gateway_size", PREFLIGHT),
        ),
        string(
            "openshift_vlan_reservation_id",
            "Id of an existing IP reservation, a public block of 8 to 128 addresses in the metro of the machines, for "
            "O(openshift_vlan_gateway=public). It is never deleted. Empty, the cluster reserves a block of its own.",
            example="9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10",
            read_by=("__network_vlan_reservation_id", PREFLIGHT),
        ),
        string(
            "openshift_vlan_subnet",
            "IPv4 network of the node addresses with O(openshift_machine_network=vlan). It has to be in one of "
            "O(openshift_machine_networks). With a Metal gateway the network is that of the gateway, and this stays empty.",
            example="192.168.40.0/24",
            read_by=("provision_vlan_subnet", PREFLIGHT),
        ),
        string(
            "openshift_vlan_address",
            "IPv4 address of a machine in the VLAN, which no other one has, or its number in the network of the VLAN; V(11) is "
            "192.168.40.11 of 192.168.40.0/24. Each node and the bootstrap host need one with O(openshift_machine_network=vlan).",
            example="192.168.40.11",
            is_of_host=True,
        ),
        flag(
            "openshift_private_access",
            "Whether the controller reaches the private addresses of the devices, for example through a VPN. "
            "O(openshift_machine_network=private) needs it with O(openshift_load_balancer=external).",
            read_by=(PREFLIGHT,),
        ),
    ),
    "CSR approval": (
        strings(
            "openshift_additional_addresses",
            "Addresses that nodes have in addition to those of their device, for example virtual ones.",
            read_by=("csr_approval_additional_addresses", "__gather_additional_addresses", "__validate_additional_addresses"),
        ),
        flag(
            "openshift_join_short_names",
            "Whether a serving certificate may also contain the first label of the node's name.",
            read_by=("csr_approval_short_names", "__gather_short_names", "__validate_short_names"),
        ),
        flag(
            "openshift_recover_nodes",
            "Whether NotReady nodes whose certificates expired while they were off may get new certificates. Set it for one run, with all "
            "machines powered on.",
            read_by=("csr_approval_recover_nodes", "__gather_recover_nodes", "__validate_recover_nodes"),
        ),
        flag(
            "openshift_deny_refused",
            "Whether CSRs that a rule refuses are denied. Otherwise they remain pending.",
            read_by=("csr_approval_deny_refused", "__gather_deny_refused"),
        ),
    ),
    "Bootstrap, day 2 and deletion": (
        string(
            "openshift_bootstrap_becomes",
            "Inventory host or host name of the worker that the bootstrap device is reinstalled as. Empty, the bootstrap device is "
            "deleted.",
            read_by=("bootstrap_teardown_becomes", PREFLIGHT),
        ),
        number(
            "openshift_least_workers",
            "Minimum number of workers that are Ready and not cordoned after a removal.",
            default=2,
            read_by=("__node_removal_least_workers", PREFLIGHT),
        ),
        Variable(
            "openshift_remove",
            "raw",
            "Workers that scale.yml removes, a list of inventory names or host names that are not in the inventory any more, or a text "
            "with commas. With it exactly these are removed. In a job of AWX no other worker is removed, unless O(openshift_pool_sizes) "
            "has its pool, since a host can be absent there without being removed.",
            default=[],
            example=["worker-3", "worker-4"],
            read_by=("__node_removal_names", PREFLIGHT),
        ),
        number(
            "openshift_remove_at_most",
            "Maximum number of workers that one run removes because they are not in the inventory. Workers in O(openshift_remove) and of "
            "pools in O(openshift_pool_sizes) do not count.",
            default=5,
            read_by=("__node_removal_at_most", PREFLIGHT),
        ),
        strings("openshift_replace", "Inventory hosts or host names of the machines that replace.yml replaces.", read_by=(PREFLIGHT,)),
        string(
            "openshift_replace_pool",
            "Pool whose workers replace.yml replaces, one after the other, instead of O(openshift_replace).",
            read_by=(PREFLIGHT,),
        ),
        string(
            "openshift_replace_older_than",
            "A time in ISO 8601, such as V(2026-05-04T10:00:00Z). replace.yml skips machines whose device was provisioned later, so an "
            "interrupted replacement of a pool continues where it ended.",
            read_by=(PREFLIGHT,),
        ),
        number(
            "openshift_replace_at_most",
            "Number of workers that replace.yml replaces at the same time, and maximum number of unhealthy workers that one run of "
            "scale.yml replaces.",
            default=1,
            read_by=(PREFLIGHT,),
        ),
        seconds(
            "openshift_replace_not_ready_after",
            "Time in seconds for which the node of a running worker may be not Ready before scale.yml replaces the worker. scale.yml then "
            "replaces workers with a failed device, too; V(0) is never, unhealthy machines are only reported by preflight.",
            read_by=(PREFLIGHT,),
        ),
        dictionary(
            "openshift_drain_options",
            "How the pods of a node are evicted.",
            example={"grace_period": 60},
            suboptions=(
                Variable("grace_period", "int", "Grace period in seconds of the pods. The default is that of the pod.", unit="seconds"),
                Variable(
                    "delete_emptydir_data",
                    "bool",
                    "Whether pods with emptyDir volumes, whose data is lost, are evicted. Otherwise the run fails before the first "
                    "eviction.",
                    default=True,
                ),
                Variable(
                    "evict_unmanaged",
                    "bool",
                    "Whether pods without a controller, which are not created again, are evicted. Otherwise the run fails before the first "
                    "eviction.",
                    default=True,
                ),
            ),
            read_by=("__node_removal_drain_options", "__control_plane_drain_options"),
        ),
        flag(
            "openshift_leave_undrained",
            "Whether a device is deleted even if pods remain on its node after O(openshift_drain_timeout). The run prints a warning that "
            "lists them.",
            read_by=("__node_removal_undrained", "__control_plane_undrained"),
        ),
        string(
            "openshift_destroy_confirm",
            "Name of the cluster, C(<name>.<domain>), to delete it without a prompt.",
            read_by=("__destroy_confirm",),
        ),
        flag(
            "openshift_destroy_without_state",
            "Whether destroy deletes what has the ownership tag of the cluster even if the files of that install are not in "
            "O(openshift_directory). It may be a cluster of this name of another owner in the project, and the files with its keys are not "
            "here.",
            read_by=("__destroy_without_state",),
        ),
        seconds(
            "openshift_stop_min_age",
            "Time in seconds since the installation before stop.yml switches a cluster off. The first node certificates are valid for a "
            "day, and nodes whose certificates have expired join again only with O(openshift_recover_nodes).",
            default=90000,
            read_by=("__power_min_age",),
        ),
        strings(
            "openshift_orphans_project_ids",
            "IDs of the projects that orphans.yml lists instead of the project of the run; V(all) is all projects that the token can read.",
            read_by=("__orphans_project_ids",),
        ),
        string(
            "openshift_clusters_directory",
            "Folder on the controller with the folders of its clusters. The default does not depend on the folder that a playbook is "
            "started from, unless the C(ansible.cfg) in use is C(~/.ansible.cfg) or below C(/etc/ansible), or there is none: then it is "
            "C(clusters) in the current folder.",
            expression="openshift_clusters_directory | default('') | equinix_metal.openshift.rule('folders.clusters_directory')",
            computed="`clusters` beside the `ansible.cfg` in use",
            read_by=("__orphans_clusters_directory",),
        ),
        strings(
            "openshift_orphans_delete",
            "Clusters that orphans.yml deletes, each as C(<name>.<domain>), or V(all) that can be deleted, which a job of AWX refuses. "
            "They have no folder in O(openshift_clusters_directory).",
            read_by=("__orphans_delete",),
        ),
        strings(
            "openshift_orphans_confirm",
            "The names of the clusters that O(openshift_orphans_delete) deletes, to delete them without a prompt.",
            read_by=("__orphans_confirm",),
        ),
        seconds(
            "openshift_orphans_min_age",
            "Time in seconds since the creation of the newest object of a cluster that orphans.yml deletes.",
            default=86400,
            read_by=("__orphans_min_age",),
        ),
        strings(
            "openshift_orphans_expected",
            "Clusters that orphans.yml expects, each as C(<name>.<domain>). If set, it fails when another cluster has something in the "
            "project: for a scheduled job with a notification. These clusters are not deleted.",
            example=["demo.example.com"],
            read_by=("__orphans_expected",),
        ),
        flag(
            "openshift_interactive",
            "Whether playbooks may ask for a confirmation. Otherwise, in jobs of AWX and without a terminal they fail at once, with the "
            "variable that answers.",
            default=True,
            read_by=("__destroy_interactive", "__orphans_interactive"),
        ),
        string(
            "openshift_orphans_file",
            "File on the controller that orphans.yml writes its result to, as JSON.",
            read_by=("__orphans_report_file",),
        ),
        flag(
            "openshift_gather_logs",
            "Whether the failure bundle contains logs of programs, redacted, those in the cluster's folder and those of the bootstrap "
            "device over SSH, with the keys of the SSH agent or the key that the installer created. Logs of the control plane need a key "
            "of the agent. Also the serial consoles at O(metal_console_host) and, as user core, the journals of machines.",
            read_by=("__gather_logs",),
        ),
        strings(
            "openshift_gather_files", "Additional files and folders on the controller for the failure bundle.", read_by=("__gather_files",)
        ),
        Variable(
            "openshift_gather_secrets",
            "list",
            "Texts, or lists and dictionaries of texts, that are removed from the failure bundle in addition to the secrets of other "
            "variables and of the environment.",
            default=[],
            elements="raw",
            no_log=True,
            read_by=("__gather_secrets",),
        ),
        string(
            "metal_console_host",
            "SSH host of the serial consoles, with its port after a colon if it is not 22; C(METRO) stands for the metro code of the "
            "device. The user is the id of the device. Empty if there are none.",
            example="sos.METRO.example.com",
            read_by=("__gather_console_host",),
        ),
        string(
            "metal_console_key",
            "File of the private key for serial consoles and journals of machines: its public key is an SSH key of the project or of a "
            "user with access to it, and O(openshift_ssh_public_key). Empty is the SSH agent and the usual files.",
            read_by=("__gather_console_key",),
        ),
    ),
    "Services of the cluster": (
        string(
            "openshift_registry",
            "The internal image registry, which builds and image streams need. V(emptydir) keeps images in its pod, where they are lost "
            "when it restarts; V(pvc) in a PersistentVolumeClaim; V(removed) is no registry. Empty leaves it as it is, and a new cluster "
            "on bare metal has none.",
            choices=("", "removed", "emptydir", "pvc"),
            read_by=("__services_registry", PREFLIGHT),
        ),
        string(
            "openshift_registry_size",
            "Size of the PersistentVolumeClaim of the image registry, with O(openshift_registry=pvc).",
            default="100Gi",
            example="500Gi",
            read_by=("__services_registry_size", PREFLIGHT),
        ),
        string(
            "openshift_registry_storage_class",
            "Storage class of the PersistentVolumeClaim of the image registry. Empty is the default class of the cluster.",
            example="lvms-vg1",
            read_by=("__services_registry_storage_class", PREFLIGHT),
        ),
        string(
            "openshift_local_storage",
            "Local storage for volumes. V(lvms) installs LVM Storage, with the storage class C(lvms-vg1) on the empty disks of nodes. "
            "Empty is none.",
            choices=("", "lvms"),
            read_by=("__services_local_storage", PREFLIGHT),
        ),
        strings(
            "openshift_local_storage_paths",
            "Disks for O(openshift_local_storage), names below C(/dev/disk). A node uses those that it has. Without paths it uses all its "
            "empty disks.",
            example=["/dev/disk/by-path/pci-0000:04:00.0-nvme-1"],
            read_by=("__services_local_storage_paths", PREFLIGHT),
        ),
        dictionary(
            "openshift_local_storage_node_labels",
            "Labels of the nodes whose disks O(openshift_local_storage) uses. Without labels, nodes without NoSchedule taints.",
            example={"node-role.kubernetes.io/storage": ""},
            read_by=("__services_local_storage_node_labels", PREFLIGHT),
        ),
        string(
            "openshift_local_storage_channel",
            "Channel of the operator of O(openshift_local_storage). Empty is C(stable-<minor version of the cluster>).",
            example="stable-4.20",
            read_by=("__services_local_storage_channel",),
        ),
        flag(
            "openshift_metallb",
            "Whether MetalLB is installed. It gives Services of type LoadBalancer an address, and announces that by BGP to the routers of "
            "the Metal API, or by ARP where O(openshift_load_balancer=kube_vip) announces O(openshift_api_address) so.",
            read_by=("__services_metallb", PREFLIGHT),
        ),
        strings(
            "openshift_metallb_addresses",
            "Addresses for Services, with O(openshift_metallb), as networks in CIDR notation or ranges C(first-last). They have to be "
            "elastic addresses of the project, or for ARP free ones in the subnet of the nodes.",
            example=["198.51.100.8/29"],
            read_by=("__services_metallb_addresses", PREFLIGHT),
        ),
        string(
            "openshift_metallb_reservation",
            "ID of a block of elastic addresses of the project. All its addresses are for Services, with O(openshift_metallb). It is never "
            "deleted.",
            example="e1ff9c2b-051a-4688-965f-153e274f77e0",
            read_by=("__services_metallb_reservation", PREFLIGHT),
        ),
        string(
            "openshift_metallb_password",
            "MD5 password of the project's BGP configuration, if that has one. The Metal API returns it to no client of this collection.",
            no_log=True,
            read_by=("__services_metallb_password", PREFLIGHT),
        ),
        string(
            "openshift_operator_catalog",
            "CatalogSource in the namespace C(openshift-marketplace) with the operators of O(openshift_local_storage) and "
            "O(openshift_metallb).",
            default="redhat-operators",
            example="cs-redhat-operator-index-v4-20",
            read_by=("__services_operator_catalog", PREFLIGHT),
        ),
    ),
    "Status": (
        string(
            "openshift_status_file",
            "File on the controller that status.yml writes the status to, as JSON. Empty writes none.",
            example="/var/lib/node_exporter/demo.json",
            read_by=("__validate_status_file",),
        ),
        string(
            "openshift_status_page",
            "File on the controller that status.yml writes the status to, as one HTML page without scripts. Empty writes none.",
            example="/var/www/html/demo.html",
            read_by=("__validate_status_page",),
        ),
        strings(
            "openshift_status_fail_on",
            "Groups of findings with which status.yml fails, for monitoring: machines that differ from the inventory, Nodes and operators "
            "that are degraded, certificates that were not renewed, pending CSRs, or an API that does not answer. V(any) is all groups, "
            "V(none) no group.",
            default=["none"],
            choices=("none", "any", "unreachable", "differences", "degraded", "certificates", "csrs"),
            read_by=("__validate_fail_on",),
        ),
        flag(
            "openshift_status_server_certificates",
            "Whether status.yml connects to the API servers, machine config servers and kubelets to read their certificates.",
            default=True,
            read_by=("__validate_server_certificates",),
        ),
    ),
    "Run report": (
        string(
            "openshift_plan_file",
            "File on the controller that install.yml, scale.yml, replace.yml and destroy.yml write their plan to as JSON, in check mode "
            "too. The plan is printed in any case.",
            read_by=("__validate_plan_file", "__destroy_plan_file"),
        ),
        string(
            "openshift_report_file",
            "File on the controller for the report of a run, an HTML page. Empty is C(reports/<playbook>-<time>.html) in the cluster's "
            "folder, if that exists.",
            read_by=("__report_file",),
        ),
    ),
    "Preflight checks": (
        string(
            "openshift_resolver",
            "Address of the resolver of the nodes, which preflight asks for the records. Without it the resolver of the controller is "
            "used, which may see other records than the devices.",
            read_by=("dns_resolver", "__load_balancer_resolver", PREFLIGHT),
        ),
        number(
            "openshift_resolver_port",
            "Port of O(openshift_resolver).",
            default=53,
            read_by=("dns_resolver_port", "__load_balancer_resolver_port", PREFLIGHT),
        ),
    ),
    "Cluster lock": (
        flag(
            "openshift_lock",
            "Whether runs take the cluster lock. Without the lock, two runs may create the same devices, or one may delete what the other "
            "creates.",
            default=True,
            read_by=("__cluster_lock_enabled",),
        ),
        string(
            "openshift_unlock",
            "ID of a cluster lock to break. Only for the lock of a run that has certainly ended, where the controller cannot verify that. "
            "Empty breaks none.",
            read_by=("cluster_lock_unlock",),
        ),
    ),
    "Objects of AWX": (
        dictionary(
            "openshift_awx_project",
            "The git repository with the playbooks and the inventory, from which AWX fetches the project of awx.yml.",
            expression="openshift_awx_project | default({})",
            computed="that of the existing project; required for a new one",
            example={"url": "https://git.example.com/openshift.git"},
            suboptions=(
                Variable("url", "str", "Address of the repository."),
                Variable("branch", "str", "Branch or tag, C(main) for a new project."),
                Variable("credential", "str", "Name of a credential of the type Source Control, for a private repository."),
            ),
        ),
        string(
            "openshift_awx_image",
            "Image of the execution environment, made of execution-environment.yml.",
            expression="openshift_awx_image | default('')",
            computed="that of the existing execution environment, or `localhost/equinix-metal-openshift-ee:latest`",
        ),
        string(
            "openshift_awx_organization",
            "Organization of AWX that the objects are in. It is created, and not deleted.",
            default="OpenShift",
        ),
        string("openshift_awx_prefix", "Prefix of the names of the objects.", default="OpenShift"),
        strings("openshift_awx_credentials", "Names of the credentials of the job templates.", example=["Metal API of production"]),
        string(
            "openshift_awx_inventory_credential",
            "Name of the credential with the Metal API's token, for the inventory of existing devices.",
        ),
        dictionary("openshift_awx_extra_vars", "Variables of all job templates, such as O(openshift_directory)."),
        dictionary(
            "openshift_awx_notification",
            "Notification that failed jobs send, with C(notification_type) and C(notification_configuration) as in the module "
            "C(awx.awx.notification_template). Empty sends none.",
            no_log=True,
            example={"notification_type": "webhook", "notification_configuration": {"url": "https://chat.example.com/hook"}},
        ),
        string(
            "openshift_awx_state", "Whether awx.yml creates the objects or deletes them.", default="present", choices=("present", "absent")
        ),
    ),
    "Timeouts and limits": (
        Variable("metal_api_timeout", "float", "Timeout in seconds of one request to the Metal API.", default=30, unit="seconds"),
        number("metal_api_retries", "Maximum number of retries of one request to the Metal API.", default=8),
        seconds(
            "openshift_join_window",
            "Time in seconds after the creation of a device within which its first CSR is accepted; V(0) is without limit.",
            default=7200,
            read_by=("csr_approval_window", "__gather_window", "__validate_window", PREFLIGHT),
        ),
        seconds(
            "openshift_join_timeout",
            "Timeout in seconds until all machines have joined and all nodes are Ready.",
            default=5400,
            read_by=("csr_approval_wait_timeout", "__cluster_nodes_timeout"),
        ),
        seconds(
            "openshift_drain_timeout",
            "Timeout in seconds for the eviction of the pods of removed workers.",
            default=600,
            read_by=("__node_removal_drain_timeout", "__control_plane_drain_timeout"),
        ),
        flag(
            "openshift_etcd_backup",
            "Whether replace.yml backs up etcd before it replaces a control plane machine, to C(/home/core/assets/backup) on another one. "
            "The user of the kubeconfig needs the right to create privileged pods in C(openshift-etcd).",
            read_by=("__control_plane_backup",),
        ),
        flag(
            "openshift_etcd_backup_force",
            "Whether the backup of O(openshift_etcd_backup) is made while operators of the control plane are progressing, as after the "
            "failure of a machine. C(cluster-backup.sh) refuses that otherwise.",
            read_by=("__control_plane_backup_force",),
        ),
        Variable("openshift_wait_interval", "float", "Interval in seconds between two polls.", default=5, unit="seconds"),
        Variable(
            "openshift_progress_interval",
            "float",
            "Interval in seconds between two progress messages; V(0) prints none.",
            default=15,
            unit="seconds",
        ),
        Variable(
            "openshift_time_scale",
            "float",
            "Factor for all timeouts of waits, for machines, networks or a Metal API that are slower than usual. Example: V(2).",
            default=1,
        ),
    ),
}

VARIABLES: Mapping[str, Variable] = {variable.name: variable for variables in SECTIONS.values() for variable in variables}
"""All variables by name."""

COMPUTED_OPTIONS = (
    string(
        "cluster",
        "The cluster, C(<name>.<domain>). Everything created for it carries the tag C(openshift-cluster=<name>.<domain>).",
        expression="{{ openshift_cluster_name }}.{{ openshift_base_domain }}",
        computed="`<openshift_cluster_name>.<openshift_base_domain>`",
        read_by=(
            *("boot_files_cluster", "bootstrap_teardown_cluster", "cluster_lock_cluster", "csr_approval_cluster", "dns_cluster"),
            *("destroy_cluster", "network_cluster", "provision_cluster"),
            *("__cluster_name", "__gather_cluster", "__node_removal_cluster", "__control_plane_cluster", "__power_cluster"),
            *("__load_balancer_cluster", "__project_cluster", "__report_cluster", "__services_cluster", "__state_store_cluster"),
        ),
    ),
    string(
        "job",
        "ID of the AWX job of this run.",
        expression="awx_job_id | default(tower_job_id | default(''))",
        computed="`awx_job_id` or `tower_job_id`, which AWX sets",
        read_by=("__cluster_lock_job", "__destroy_job", "__orphans_job", "__validate_job"),
    ),
    flag(
        "unattended",
        "Whether nobody is asked: in a job only workers that are named are removed.",
        expression="awx_job_id | default(tower_job_id | default('')) | string | length > 0"
        " or not (openshift_interactive | default(true) | bool)",
        computed="in a job of AWX, or with `openshift_interactive=false`",
        read_by=("__node_removal_unattended",),
    ),
    dictionary(
        "connection",
        "Options of the Metal API's modules: C(metal_api_url), C(metal_api_token), C(project_id) and others of the action group C(metal).",
        expression="connection_metal | default({'metal_api_url': metal_api_url | default(omit, true), 'metal_api_token': metal_api_token "
        "| default(omit, true), 'project_id': metal_project_id | default(omit, true), 'metal_api_timeout': metal_api_timeout "
        "| default(omit), 'metal_api_retries': metal_api_retries | default(omit), 'cluster_lock': cluster_lock_run | default(omit)})",
        computed="those of `metal_api_url`, `metal_api_token` and `metal_project_id`, else of the environment",
        no_log=True,
        read_by=("bootstrap_teardown_connection", "csr_approval_connection", "ignition_connection", "provision_connection"),
    ),
    flag(
        "artifact",
        "Whether the report is an artifact of the job (M(ansible.builtin.set_stats)), which AWX keeps for who approves a workflow and for "
        "other automation.",
        expression="awx_job_id | default(tower_job_id | default('')) | string | length > 0",
        computed="in a job of AWX",
        read_by=("validate_artifact",),
    ),
    dictionary(
        "variables",
        "All variables of the collection that are set, by name.",
        expression="dict(query('ansible.builtin.varnames', *__validate_patterns) "
        "| zip(query('ansible.builtin.vars', *query('ansible.builtin.varnames', *__validate_patterns))))",
        computed="all that are set",
        no_log=True,
        read_by=("__validate_variables",),
    ),
    seconds(
        "bootstrap_lifetime",
        "Time in seconds after which the Metal API deletes the bootstrap device by itself (C(termination_time)), counted from its creation "
        "or from the last extension and rounded up to a quarter of this time; V(0) is never. Has to be more than the timeouts of the "
        "waits. The default is the time for which the Ignition files of the bootstrap device are valid, times C(openshift_time_scale). No "
        "other device gets a termination time.",
        expression="0 if openshift_bootstrap_becomes | default('', true) else (86400 * openshift_time_scale | default(1) | float) | int",
        computed="`86400`, and `0` with `openshift_bootstrap_becomes`",
        read_by=("provision_bootstrap_lifetime",),
    ),
)
"""Options of roles that carry no single variable, and whose defaults are computed."""
