# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the collection's variables.

``python -m tools.variables`` writes from it the options and defaults of roles, the tables in their READMEs and docs/generated/variables.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils.machines.set import MACHINE_OPTIONS
from .variable import Variable

REFUSED_DEVICE_OPTIONS: Mapping[str, str] = {
    "userdata": "the userdata of a node is its Ignition pointer: add MachineConfigs with openshift_manifests",
    "ipxe_script_url": "the role boot_files publishes the iPXE script and sets its address: use openshift_publish",
    "always_pxe": "a node that always boots over the network would be installed again at each reboot",
    "power_state": "nodes are switched off and on by playbooks/stop.yml and playbooks/start.yml",
}
"""Options of ``metal_device_set`` for one machine that no variable of a host sets, each with the reason. Preflight refuses them."""

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
        Variable(
            "openshift_cluster_name",
            "str",
            "Name of the cluster, the first label of C(<name>.<domain>). Everything created for the cluster carries the "
            "tag C(openshift-cluster=<name>.<domain>).",
            required=True,
            example="demo",
            options=("ignition_cluster_name",),
            in_preflight=True,
        ),
        Variable(
            "openshift_base_domain",
            "str",
            "Domain below which the DNS records of the cluster are created.",
            required=True,
            example="example.com",
            options=("ignition_base_domain",),
            in_preflight=True,
        ),
        Variable(
            "openshift_version",
            "str",
            "OpenShift release, or a channel of the mirror such as V(stable-4.20). A channel is resolved once; the "
            "release and the digest of its payload are kept in C(<directory>/release.json), and the installer has to be "
            "of that payload. May be empty with O(openshift_installer).",
            default="",
            example="4.20.33",
            options=("ignition_version", "__gather_version"),
            in_preflight=True,
        ),
        Variable(
            "openshift_distribution",
            "str",
            "V(ocp) is Red Hat OpenShift. V(okd) is the community distribution, which has releases but no channels, and "
            "boots CentOS Stream CoreOS.",
            default="ocp",
            choices=("ocp", "okd"),
            options=("ignition_distribution",),
            in_preflight=True,
        ),
        Variable(
            "openshift_installer",
            "str",
            "Path of an C(openshift-install) on the controller, which is used instead of a downloaded one. Its version "
            "has to be O(openshift_version), unless that is empty, and it has to be for the architecture of the "
            "machines.",
            default="",
            options=("ignition_installer",),
            in_preflight=True,
        ),
        Variable(
            "openshift_installer_cache",
            "str",
            "Folder on the controller that keeps each downloaded C(openshift-install). Preflight and all clusters share one download.",
            computed="`equinix_metal.openshift/installers` in the cache folder of the user (`XDG_CACHE_HOME`); if that cannot be "
            "written, a folder for the time of the run",
            expression="openshift_installer_cache | default('') | equinix_metal.openshift.rule('folders.installer_cache')",
            options=("ignition_installer_cache",),
            in_preflight=True,
        ),
        Variable(
            "openshift_architecture",
            "str",
            "CPU architecture of the machines, as the mirror spells it. The architecture of the control "
            "plane is that of the cluster; workers may have the other one.",
            default="x86_64",
            choices=("x86_64", "aarch64"),
            options=("ignition_architecture", "provision_architecture", "boot_files_architecture"),
            has_check=True,
            is_of_host=True,
        ),
        Variable(
            "openshift_release_architecture",
            "str",
            "Architecture of the release payload, V(x86_64), V(aarch64), or V(multi) for both. Empty is what the machines need.",
            default="",
            options=("ignition_release_architecture",),
            in_preflight=True,
        ),
        Variable(
            "openshift_mirror_url",
            "str",
            "URL of a mirror of the OpenShift clients, up to C(/pub/openshift-v4). For OKD, the URL below which each release has a folder.",
            expression="openshift_mirror_url | default('') | equinix_metal.openshift.rule('ignition.mirror_url', "
            "openshift_distribution | default('ocp'))",
            computed="`https://mirror.openshift.com/pub/openshift-v4`; for OKD `https://github.com/okd-project/okd/releases/download`",
            options=("ignition_mirror_url",),
            in_preflight=True,
        ),
        Variable(
            "openshift_release_keyring",
            "str",
            "OpenPGP keyring with the key that signs the releases, for C(gpgv), a path on the controller or armored text. "
            "With a keyring, a mirror without the signature is refused. Without one, the signature is not checked, and the "
            "run prints that.",
            default="",
            options=("ignition_keyring",),
            in_preflight=True,
        ),
        Variable(
            "openshift_pull_secret",
            "raw",
            "Pull secret, a JSON text, or the path of its file on the controller. Optional with O(openshift_distribution=okd).",
            default="",
            expression="openshift_pull_secret | default('') | equinix_metal.openshift.file_text('openshift_pull_secret')",
            no_log=True,
            options=("ignition_pull_secret",),
            in_preflight=True,
        ),
        Variable(
            "openshift_ssh_public_key",
            "str",
            "Public SSH key for the user C(core), or the path of its file on the controller.",
            default="",
            expression="openshift_ssh_public_key | default('') | equinix_metal.openshift.file_text('openshift_ssh_public_key')",
            no_log=False,
            options=("ignition_ssh_public_key",),
            in_preflight=True,
        ),
        Variable(
            "openshift_platform",
            "str",
            "Platform in install-config.yaml.",
            default="none",
            choices=("none", "external"),
            options=("ignition_platform",),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_cloud_controller_manager",
            "str",
            "V(External) if O(openshift_manifests) contain a cloud controller manager: a workload that tolerates the taint "
            "C(node.cloudprovider.kubernetes.io/uninitialized). Only with O(openshift_platform=external).",
            default="",
            choices=("", "External"),
            options=("ignition_cloud_controller_manager",),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_cluster_networks",
            "list",
            "Networks of the pods, C(clusterNetwork) in install-config.yaml.",
            default=[{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
            elements="dict",
            options=("ignition_cluster_networks",),
            in_preflight=True,
        ),
        Variable(
            "openshift_service_networks",
            "list",
            "Networks of the services, C(serviceNetwork) in install-config.yaml.",
            default=["172.30.0.0/16"],
            elements="str",
            options=("ignition_service_networks", "dns_service_networks"),
            in_preflight=True,
        ),
        Variable(
            "openshift_machine_networks",
            "list",
            "Networks of the machines, C(machineNetwork) in install-config.yaml.",
            default=["10.0.0.0/16"],
            elements="str",
            options=("ignition_machine_networks",),
            in_preflight=True,
        ),
        Variable(
            "openshift_proxy",
            "dict",
            "Proxy of the nodes and of the cluster, with the keys C(httpProxy), C(httpsProxy) and C(noProxy).",
            default={},
            no_log=True,
            example={"httpProxy": "http://proxy.example.com:3128", "noProxy": ".example.com"},
            options=("ignition_proxy",),
            in_preflight=True,
        ),
        Variable(
            "openshift_trust_bundle",
            "str",
            "CA certificates that the nodes trust in addition to the usual ones, in PEM format, or the path of their file on "
            "the controller.",
            default="",
            expression="openshift_trust_bundle | default('') | equinix_metal.openshift.file_text('openshift_trust_bundle')",
            options=("ignition_trust_bundle",),
            in_preflight=True,
        ),
        Variable(
            "openshift_image_digest_sources",
            "list",
            "Mirrors of container images, entries with C(source) and C(mirrors).",
            default=[],
            elements="dict",
            example=[{"source": "quay.io/openshift-release-dev/ocp-release", "mirrors": ["registry.example.com/ocp-release"]}],
            options=("ignition_image_digest_sources",),
            in_preflight=True,
        ),
        Variable(
            "openshift_default_catalogs",
            "bool",
            "Whether OperatorHub has the catalogues of Red Hat and of the community. Their images are of registries on the "
            "internet: set it to V(false) without access to them, and add catalogues of your mirror with O(openshift_manifests).",
            default=True,
            options=("ignition_default_catalogs",),
            in_preflight=True,
        ),
        Variable(
            "openshift_install_config",
            "dict",
            "Further fields of install-config.yaml, merged into those of the other variables. A field with another "
            "value than that of its variable is refused.",
            default={},
            no_log=True,
            options=("ignition_install_config",),
            in_preflight=True,
        ),
        Variable(
            "openshift_manifests",
            "list",
            "Additional manifests, paths of files or folders on the controller, or texts. Each has to contain Kubernetes "
            "objects in YAML or JSON.",
            default=[],
            elements="str",
            options=("ignition_manifests",),
            in_preflight=True,
        ),
        Variable(
            "openshift_time_servers",
            "list",
            "Time servers of all machines, names or addresses, for chrony: of the nodes, the bootstrap device and the live system. Without "
            "them they use those of the operating system. A change reboots the nodes one by one.",
            default=[],
            elements="str",
            example=["ntp1.example.com", "ntp2.example.com"],
            options=("ignition_time_servers", "__cluster_time_servers", "boot_files_time_servers"),
            in_preflight=True,
        ),
        Variable(
            "openshift_kubeconfig",
            "raw",
            "Kubeconfig of the running cluster, with the rights of a cluster administrator: a path on the controller, or its text as AWX "
            "injects it. With it, playbooks after the install need no file of the install: they read what they need from the cluster, and "
            "write it to O(openshift_directory). A path at which no file is counts as none, so it can be set before the install.",
            default="",
            no_log=True,
            options=("ignition_kubeconfig",),
        ),
        Variable(
            "openshift_directory",
            "str",
            "Folder of the cluster's files on the controller. It contains secrets and is accessible to its owner only.",
            expression=(
                "ignition_check_directory | default(openshift_directory | default('')) | equinix_metal.openshift.cluster_directory("
                "openshift_cluster_name | default(''), openshift_base_domain | default(''), openshift_clusters_directory | default(''))"
            ),
            computed="`<name>.<domain>` in `openshift_clusters_directory`",
            options=(
                "dns_directory",
                "ignition_directory",
                "provision_directory",
                "boot_files_directory",
                "csr_approval_directory",
                "bootstrap_teardown_directory",
                "__cluster_directory",
                "__services_directory",
                "__destroy_directory",
                "__node_removal_directory",
                "__control_plane_directory",
                "__gather_directory",
                "__report_directory",
                "__validate_directory",
                "__power_directory",
                "__state_store_directory",
                "__load_balancer_directory",
            ),
        ),
    ),
    "Machines": (
        Variable(
            "metal_api_url",
            "str",
            "URL of the Metal API.",
            expression="metal_api_url | default(lookup('ansible.builtin.env', 'METAL_API_URL'), true)",
            computed="`METAL_API_URL` of the environment",
            in_preflight=True,
        ),
        Variable(
            "metal_api_token",
            "str",
            "Token for the Metal API.",
            expression="metal_api_token | default('') | equinix_metal.openshift.rule('variables.or_environment', 'metal_api_token')",
            computed="`METAL_AUTH_TOKEN`, `METAL_API_TOKEN`, `PACKET_API_TOKEN`, `PACKET_AUTH_TOKEN` or `PACKET_TOKEN` of the environment",
            no_log=True,
            in_preflight=True,
        ),
        Variable(
            "metal_project_id",
            "str",
            "ID of the project of the devices. It is stored with the cluster's files, and runs for another project are refused.",
            expression="metal_project_id | default(lookup('ansible.builtin.env', 'METAL_PROJECT_ID'), true)",
            computed="`METAL_PROJECT_ID` of the environment",
            options=("ignition_project_id", "__project_id"),
            in_preflight=True,
        ),
        Variable(
            "metal_project_name",
            "str",
            "Name of the project, without O(metal_project_id). Needs a user's token.",
            default="",
            example="demo",
            options=("__project_name",),
        ),
        Variable(
            "metal_organization_id",
            "str",
            "ID of the organization in which O(metal_project_name) is searched and created. Without it, every project of the token is"
            " searched, and the Metal API creates the project in the user's default organization.",
            default="",
            options=("__project_organization_id",),
        ),
        Variable(
            "metal_project_create",
            "bool",
            "Whether install.yml creates the project O(metal_project_name) if it does not exist, before the preflight checks. destroy.yml"
            " deletes a project that was created for the cluster, unless anything is left in it.",
            default=False,
            options=("__project_create",),
        ),
        Variable(
            "openshift_role",
            "str",
            "Role of the machine, if its groups do not determine it.",
            choices=("bootstrap", "control-plane", "worker", "load-balancer"),
            is_of_host=True,
        ),
        Variable(
            "openshift_pool",
            "str",
            "Machine pool of the worker, if its group below C(workers) does not determine it.",
            is_of_host=True,
        ),
        Variable(
            "openshift_node_labels",
            "dict",
            "Labels of the nodes of a pool. A label that is removed from the inventory is removed from its nodes by the next run.",
            example={"example.com/zone": "a"},
            is_of_host=True,
        ),
        Variable(
            "openshift_node_annotations",
            "dict",
            "Annotations of the nodes of a pool. They follow the inventory as labels do.",
            example={"example.com/rack": "r7"},
            is_of_host=True,
        ),
        Variable(
            "openshift_node_taints",
            "list",
            "Taints of the nodes of a pool, entries with C(key), C(effect) and optionally C(value). They follow the inventory as "
            "labels do.",
            elements="dict",
            example=[{"key": "infra", "effect": "NoSchedule"}],
            is_of_host=True,
        ),
        Variable(
            "openshift_pool_machine_config",
            "bool",
            "Whether the pool has a MachineConfigPool of its own, of the pool's name. Its nodes boot with its configuration, carry the "
            "label C(node-role.kubernetes.io/<pool>), and get the MachineConfigs of workers and those of the pool.",
            default=False,
            is_of_host=True,
        ),
        Variable(
            "openshift_kernel_arguments",
            "list",
            "Kernel arguments of the installed system, set by a MachineConfig. The same for the whole control plane, and for all workers "
            "whose pool has no MachineConfigPool of its own (O(openshift_pool_machine_config)). A change reboots the nodes one by one.",
            default=[],
            elements="str",
            example=["hugepagesz=1G", "hugepages=16"],
            is_of_host=True,
        ),
        Variable(
            "openshift_pool_sizes",
            "raw",
            "Number of machines by pool, in place of the number of hosts in the inventory. Missing hosts are added with the "
            "variables of the pool's group and the next numbers, and the hosts with the highest numbers are left out. In place of a "
            "number a list of the hosts that stay, which leaves out any other. A mapping, its JSON text, or a text like "
            "V(worker=3, storage=storage-0 storage-2).",
            default={},
            example={"worker": 3},
            options=("__node_removal_pool_sizes",),
            in_preflight=True,
        ),
        Variable(
            "openshift_spread",
            "bool",
            "Whether machines whose C(metal_placement) lists several metros are spread evenly over them. Otherwise all "
            "machines with the same list are created in its first entry that has capacity for all of them.",
            default=False,
            options=("provision_spread",),
            in_preflight=True,
        ),
        Variable(
            "openshift_replace_failed",
            "int",
            "Maximum number of failed devices that one run replaces, each by another of the same host name. The failed "
            "devices are deleted. Machines that stopped in their installation or first boot are failed, too.",
            default=0,
            options=("provision_replace_failed",),
            in_preflight=True,
        ),
        Variable(
            "openshift_worker_quorum",
            "int",
            "Number of workers with which a run continues; V(0) is all of them. The run prints a warning for each "
            "worker that failed, is gone or is not Ready in time.",
            default=0,
            options=("provision_worker_quorum", "__cluster_worker_quorum", "csr_approval_worker_quorum"),
            in_preflight=True,
        ),
        *(Variable(f"metal_{name}", is_of_host=True) for name in HOST_DEVICE_OPTIONS),
    ),
    "Boot files": (
        Variable(
            "openshift_ignition_platform",
            "str",
            "Where installed machines get their Ignition config. V(metal) writes it to the disk at the installation, for any Metal API. "
            "V(packet) lets machines read it as userdata from C(https://metadata.packet.net), for services that answer at that name.",
            default="metal",
            choices=("metal", "packet"),
            options=("boot_files_ignition_platform", "provision_ignition_platform", "bootstrap_teardown_ignition_platform"),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish",
            "str",
            "Method of publishing boot files. V(controller) is a server on the controller, V(host) a systemd unit on "
            "another host of the inventory, V(object_storage) a bucket of an S3 service with signed URLs, for machines that join a running "
            "cluster or with O(openshift_ignition_platform=packet).",
            default="controller",
            choices=("controller", "host", "object_storage"),
            options=("provision_publish", "boot_files_publish", "__destroy_publish"),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_address",
            "str",
            "IPv4 address at which machines reach the server of the boot files.",
            default="",
            options=("provision_publish_address", "boot_files_address", "bootstrap_teardown_publish_address"),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_bind_address",
            "str",
            "IPv4 address that the server of the boot files listens on.",
            expression="openshift_publish_bind_address | default(openshift_publish_address | default(''))",
            computed="`openshift_publish_address`",
            options=("boot_files_bind_address",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_http_port",
            "int",
            "TCP port of boot scripts and live configurations, which have no secrets.",
            expression=f"openshift_publish_http_port | default({PUBLISH_PORT}))",
            computed="computed from the cluster's name and project, from 20000 to 29999",
            options=("provision_publish_http_port", "boot_files_http_port", "bootstrap_teardown_publish_http_port"),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_https_port",
            "int",
            "TCP port of bootstrap.ign.",
            expression=f"openshift_publish_https_port | default({PUBLISH_PORT}, https=true))",
            computed="computed from the cluster's name and project, from 20000 to 29999",
            options=("boot_files_https_port",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_allow_list",
            "bool",
            "Whether bootstrap.ign is restricted to the addresses that the Metal API reports of the bootstrap device. "
            "Set it to V(false) where addresses are translated on the way, which needs O(openshift_ignition_platform=packet). "
            "Object storage has no such list.",
            default=True,
            options=("boot_files_allow_list",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_host",
            "str",
            "With O(openshift_publish=host), the inventory host that serves the boot files. Its user has to be root or to become root.",
            default="",
            options=("boot_files_host",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_host_user",
            "str",
            "User that the server runs as on O(openshift_publish_host). Empty, a user is created and deleted again.",
            default="",
            options=("boot_files_host_user",),
        ),
        Variable(
            "openshift_publish_bucket",
            "str",
            "With O(openshift_publish=object_storage), the bucket. It has to exist and must not be readable without a signature.",
            default="",
            options=("boot_files_object_storage_bucket",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_prefix",
            "str",
            "Prefix of the names of objects in the bucket. The name of the cluster follows.",
            default="openshift/",
            options=("boot_files_object_storage_prefix",),
        ),
        Variable(
            "openshift_publish_region",
            "str",
            "Region of the bucket.",
            default="",
            options=("boot_files_object_storage_region", "__state_store_region"),
        ),
        Variable(
            "openshift_publish_endpoint",
            "str",
            "URL of the S3 service. Empty is Amazon S3.",
            default="",
            options=("boot_files_object_storage_endpoint", "__state_store_endpoint"),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_open_endpoint",
            "str",
            "URL of the same S3 service over plain HTTP, for what firmware and the live system download. Needed if they "
            "do not trust the CA of O(openshift_publish_endpoint).",
            default="",
            options=("boot_files_object_storage_open_endpoint",),
            in_preflight=True,
        ),
        Variable(
            "openshift_publish_ca",
            "path",
            "Path of a PEM file with the CA of the S3 service, unless it is a public one.",
            default="",
            options=("boot_files_object_storage_ca", "__state_store_ca"),
        ),
        Variable(
            "openshift_publish_access_key",
            "str",
            "Access key of the S3 service. Empty, credentials are found as boto3 finds them.",
            default="",
            no_log=True,
            options=("boot_files_object_storage_access_key", "__state_store_access_key"),
        ),
        Variable(
            "openshift_publish_secret_key",
            "str",
            "Secret key of the S3 service.",
            default="",
            no_log=True,
            options=("boot_files_object_storage_secret_key", "__state_store_secret_key"),
        ),
        Variable(
            "openshift_publish_session_token",
            "str",
            "Session token of the S3 service. It makes URLs too long for the command line of some kernels; prefer keys "
            "without a session token.",
            default="",
            no_log=True,
            options=("boot_files_object_storage_session_token", "__state_store_session_token"),
        ),
        Variable(
            "openshift_install_device",
            "str",
            "Disk to install on, a path below C(/dev), V(smallest) or V(largest), or one of these two followed by "
            "V(nvme), V(ssd) or V(hdd).",
            default="smallest",
            example="smallest nvme",
            options=("boot_files_install_device",),
            is_of_host=True,
        ),
        Variable(
            "openshift_root_device_hints",
            "dict",
            "Attributes of the disk to install on, as in OpenShift's C(rootDeviceHints), C(deviceName), C(hctl), "
            "C(model), C(vendor), C(serialNumber), C(minSizeGigabytes), C(wwn), C(wwnWithExtension), "
            "C(wwnVendorExtension), C(rotational). A disk has to match all of them.",
            default={},
            example={"minSizeGigabytes": 400},
            options=("boot_files_root_device_hints",),
            is_of_host=True,
        ),
        Variable(
            "openshift_wipe_disks",
            "bool",
            "Whether all disks are wiped before the install. Their data is lost.",
            default=False,
            options=("boot_files_wipe_disks",),
        ),
        Variable(
            "openshift_consoles",
            "list",
            "Kernel consoles of the live and the installed system; C(/dev/console) is the last one. Empty, with "
            "O(openshift_ignition_platform=metal) they are the usual ones of the architecture: serial ports and the screen. With V(packet) "
            "it is the port that the Metal API shows over SSH.",
            default=[],
            elements="str",
            options=("boot_files_consoles",),
            is_of_host=True,
        ),
        Variable(
            "openshift_live_kernel_arguments",
            "list",
            "Additional kernel arguments of the live system.",
            default=[],
            elements="str",
            options=("boot_files_kernel_arguments",),
        ),
        Variable(
            "openshift_image_mirror_url",
            "str",
            "URL of a mirror of kernel, initramfs and root file system, a folder with the file names of the installer's "
            "stream data. Empty, machines download them from the URLs of the stream data.",
            default="",
            options=("boot_files_image_mirror_url", "ignition_image_mirror_url"),
            in_preflight=True,
        ),
        Variable(
            "openshift_image_verify",
            "str",
            "Check of the boot images from the controller before devices are created. V(sha256) downloads them and "
            "compares checksums with the stream data, V(head) sends HEAD requests, V(none) checks nothing. Done once "
            "for each set of Ignition files.",
            expression=("openshift_image_verify | default('sha256' if openshift_image_mirror_url | default('') | length > 0 else 'none')"),
            computed="`sha256` with `openshift_image_mirror_url`, otherwise `none`",
            choices=("sha256", "head", "none"),
            options=("boot_files_image_verify", "ignition_image_verify"),
        ),
        Variable(
            "openshift_metadata_url",
            "str",
            "URL of the metadata service, which returns the URL for events of a machine. Machines report there that no disk matches, and "
            "with O(openshift_ignition_platform=metal) their first boot. Empty, they report nothing. Nodes with a bond read their "
            "addresses there, and two load balancers the routers to which they announce their address: O(openshift_machine_network) other "
            "than V(layer3) and two hosts with O(openshift_load_balancer=haproxy) need it.",
            expression=(
                "openshift_metadata_url | default('https://metadata.packet.net/metadata' "
                "if openshift_ignition_platform | default('metal') == 'packet' else '', true)"
            ),
            computed="`https://metadata.packet.net/metadata` with `openshift_ignition_platform: packet`, otherwise empty",
            options=("boot_files_metadata_url", "ignition_metadata_url", "__load_balancer_metadata_url"),
            in_preflight=True,
        ),
    ),
    "State store": (
        Variable(
            "openshift_state_store",
            "str",
            "Where the files that an interrupted install needs to continue are saved. V(folder) is O(openshift_directory) alone. With "
            "V(object_storage) they are also in a bucket of an S3 service, as an encrypted archive, which a run in an empty folder "
            "restores. With V(cluster) they are also in a Secret of the cluster, once its bootstrap is complete.",
            default="folder",
            choices=("folder", "object_storage", "cluster"),
            options=("__state_store_kind", "__cluster_state_store"),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_state_password",
            "str",
            "Password of the archive, required with V(object_storage) and V(cluster). Nobody can read the archive without it.",
            default="",
            no_log=True,
            options=("__state_store_password",),
            in_preflight=True,
        ),
        Variable(
            "openshift_state_bucket",
            "str",
            "With O(openshift_state_store=object_storage), the bucket. It has to exist.",
            expression="openshift_state_bucket | default(openshift_publish_bucket | default(''), true)",
            computed="`openshift_publish_bucket`",
            options=("__state_store_bucket",),
            in_preflight=True,
        ),
        Variable(
            "openshift_state_prefix",
            "str",
            "Prefix of the names of objects in the bucket. The name of the cluster follows.",
            default="openshift-state/",
            options=("__state_store_prefix",),
        ),
    ),
    "DNS and load balancer": (
        Variable(
            "openshift_dns_provider",
            "str",
            "Provider of the DNS records. V(rfc2136) is a DNS server that accepts signed updates, V(route53) Amazon Route 53, V(octodns) "
            "one of the services for which octoDNS has a provider. V(none) prints the records "
            "and waits until they resolve.",
            default="none",
            choices=("none", "rfc2136", "route53", "octodns"),
            options=("dns_provider", "bootstrap_teardown_dns_provider", "__load_balancer_dns_provider"),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_dns_server",
            "str",
            "Address of the DNS server that accepts updates.",
            default="",
            options=("dns_server", "__load_balancer_dns_server", "bootstrap_teardown_dns_server"),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_port",
            "int",
            "Port of the DNS server.",
            default=53,
            expression="openshift_dns_port | default(53, true)",
            options=("dns_port", "__load_balancer_dns_port", "bootstrap_teardown_dns_port"),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_zone",
            "str",
            "Zone that is updated, the base domain, one above it, or C(<name>.<domain>) of the cluster.",
            expression="openshift_dns_zone | default(openshift_base_domain, true)",
            computed="`openshift_base_domain`",
            options=("dns_zone",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_key_name",
            "str",
            "Name of the TSIG key.",
            default="",
            options=("dns_key_name",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_key_secret",
            "str",
            "TSIG key, in base64.",
            default="",
            no_log=True,
            options=("dns_key_secret",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_key_algorithm",
            "str",
            "Algorithm of the TSIG key.",
            default="hmac-sha256",
            options=("dns_key_algorithm",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_route53",
            "dict",
            "Settings of the provider V(route53).",
            default={},
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
            options=("dns_route53",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_octodns",
            "dict",
            "Settings of the provider V(octodns).",
            default={},
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
            options=("dns_octodns",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_reverse_zones",
            "list",
            "Reverse zones at the provider, such as V(2.0.192.in-addr.arpa). Each device gets a PTR record for each of its addresses in "
            "one of them.",
            default=[],
            elements="str",
            options=("dns_reverse_zones",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_parent_zone",
            "str",
            "Zone at the same provider in which the cluster's zone O(openshift_dns_zone) is delegated to O(openshift_dns_name_servers). "
            "The zone has to be of this cluster alone, C(<name>.<domain>).",
            default="",
            options=("dns_parent_zone",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_name_servers",
            "list",
            "Names of the name servers of O(openshift_dns_zone), for its delegation. With C(create_zone) of O(openshift_dns_route53) the "
            "default is those of the zone in Route 53.",
            default=[],
            elements="str",
            options=("dns_name_servers",),
            in_preflight=True,
        ),
        Variable(
            "openshift_dns_wait_timeout",
            "int",
            "Time in seconds for which a run waits, with the provider V(none), until the records that it has printed resolve at "
            "O(openshift_resolver). 0 does not wait.",
            default=3600,
            unit="seconds",
            options=("dns_resolution_timeout",),
        ),
        Variable(
            "openshift_dns_ttl",
            "int",
            "TTL of the records in seconds. Keep it short, since machines are taken out of service by changes of records.",
            default=60,
            unit="seconds",
            options=("dns_ttl",),
            in_preflight=True,
        ),
        Variable(
            "openshift_destroy_foreign_names",
            "bool",
            "Whether destroy also deletes the records of the cluster's names that have another owner or none, such as records of "
            "devices that no longer exist. Another cluster of this name may depend on them.",
            default=False,
            options=("dns_foreign_names",),
        ),
        Variable(
            "openshift_load_balancer",
            "str",
            "Load balancer of the API and of ingress. V(dns) is round robin DNS, V(haproxy) one or two devices with HAProxy, V(kube_vip) "
            "an elastic address of the API that the control plane nodes announce by BGP, with round robin DNS for ingress, V(external) the "
            "user's own.",
            default="dns",
            choices=("dns", "haproxy", "kube_vip", "external"),
            options=("__load_balancer_kind", "dns_load_balancer", "ignition_load_balancer"),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_kube_vip_image",
            "str",
            "Image of kube-vip for O(openshift_load_balancer=kube_vip), at least of version 1.2. It is not in a release, so a cluster "
            "without access to the internet needs the address of a copy in its mirror. Has an effect when the Ignition files are created.",
            default="ghcr.io/kube-vip/kube-vip:v1.2.2",
            options=("ignition_kube_vip_image",),
        ),
        Variable(
            "openshift_api_address",
            "str",
            "Address of the external load balancer for ports 6443 and 22623. The records of the API lead to it.",
            default="",
            options=("__load_balancer_api_address", "dns_api_address"),
            in_preflight=True,
        ),
        Variable(
            "openshift_ingress_address",
            "str",
            "Address of the external load balancer for ports 80 and 443. The records of V(*.apps) lead to it.",
            default="",
            options=("__load_balancer_ingress_address", "dns_ingress_address"),
            in_preflight=True,
        ),
        Variable(
            "openshift_ingress_pool",
            "str",
            "Pool whose nodes run the routers of ingress: its group below C(workers), or V(control_plane) in a cluster without workers. "
            "Routers tolerate the taints of the pool, and DNS records and load balancers follow. Empty, routers run on workers without "
            "taints.",
            default="",
            example="infra",
            options=("__cluster_ingress_pool", "ignition_ingress_pool"),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_ingress_replicas",
            "str",
            "Number of routers, each on a node of its own. Empty is OpenShift's default, two, or one in a cluster of one control plane "
            "machine.",
            default="",
            example=3,
            options=("__cluster_ingress_replicas", "ignition_ingress_replicas"),
            in_preflight=True,
            has_check=True,
        ),
    ),
    "Network": (
        Variable(
            "openshift_machine_network",
            "str",
            "Which addresses of the devices the nodes use. V(layer3) is the public one of the first port, V(bond) the same on a bond "
            "of all ports that has the private one and IPv6 too, V(private) the private one on that bond, V(vlan) that of "
            "O(openshift_vlan_address) in a VLAN on that bond.",
            default="layer3",
            choices=("layer3", "bond", "private", "vlan"),
            options=(
                "ignition_machine_network",
                "bootstrap_teardown_machine_network",
                "__cluster_machine_network",
                "__control_plane_machine_network",
                "csr_approval_machine_network",
                "dns_machine_network",
                "__gather_machine_network",
                "__node_removal_machine_network",
                "__network_machine_network",
                "__power_machine_network",
                "provision_machine_network",
            ),
            in_preflight=True,
            has_check=True,
        ),
        Variable(
            "openshift_node_firewall",
            "bool",
            "Whether the nodes accept connections to ports that only nodes use, among them 22623, 10250 and 2379, from machines of the "
            "cluster alone, and so do the bootstrap device and the load balancer devices. They read the addresses of these machines from "
            "the DNS record C(nodes.<name>.<domain>). Has an effect when the Ignition files and the load balancer devices are created.",
            default=True,
            options=("ignition_node_firewall", "__load_balancer_node_firewall"),
            in_preflight=True,
        ),
        Variable(
            "openshift_node_firewall_sources",
            "list",
            "Further addresses and networks that the firewall of the nodes accepts. With O(openshift_load_balancer=external) they have to "
            "contain the addresses from which that load balancer connects to the nodes, also for its health checks.",
            default=[],
            elements="str",
            example=["198.51.100.0/24"],
            options=("ignition_node_firewall_sources", "__load_balancer_node_firewall_sources"),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_id",
            "str",
            "Id of an existing VLAN for O(openshift_machine_network=vlan), in the metro of the machines. It is never deleted. Empty, the "
            "cluster gets a VLAN of its own.",
            default="",
            example="5f1d3910-2059-4737-8e7d-d4907cfbf27f",
            options=("__network_vlan_id", "provision_vlan_id"),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_mode",
            "str",
            "How the machines are in the VLAN. V(hybrid) keeps the public address of the bond beside the VLAN. With "
            "V(layer2) the nodes have "
            "the address in the VLAN alone, and O(openshift_vlan_gateway) is their default gateway.",
            default="hybrid",
            choices=("hybrid", "layer2"),
            options=("ignition_vlan_mode", "provision_vlan_mode", "__cluster_vlan_mode"),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_gateway",
            "str",
            "Gateway of the VLAN. V(none) is no gateway, V(private) and V(public) create a Metal gateway of the cluster "
            "with a private or a "
            "public subnet. The id of a Metal gateway in O(openshift_vlan_id), or the address of a router of yours in the VLAN, names an "
            "existing one, which is never deleted.",
            default="none",
            example="public",
            options=("__network_vlan_gateway", "provision_vlan_gateway"),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_gateway_size",
            "int",
            "How many addresses the subnet of the cluster's own gateway has: 8, 16, 32, 64 or 128. Three of them are no addresses of "
            "machines.",
            default=32,
            options=("__network_vlan_gateway_size",),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_reservation_id",
            "str",
            "Id of an existing IP reservation, a public block of 8 to 128 addresses in the metro of the machines, for "
            "O(openshift_vlan_gateway=public). It is never deleted. Empty, the cluster reserves a block of its own.",
            default="",
            example="9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10",
            options=("__network_vlan_reservation_id",),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_subnet",
            "str",
            "IPv4 network of the node addresses with O(openshift_machine_network=vlan). It has to be in one of "
            "O(openshift_machine_networks). With a Metal gateway the network is that of the gateway, and this stays empty.",
            default="",
            example="192.168.40.0/24",
            options=("provision_vlan_subnet",),
            in_preflight=True,
        ),
        Variable(
            "openshift_vlan_address",
            "str",
            "IPv4 address of a machine in the VLAN, which no other one has, or its number in the network of the VLAN; "
            "V(11) is 192.168.40.11 "
            "of 192.168.40.0/24. Each node and the bootstrap host need one with O(openshift_machine_network=vlan).",
            example="192.168.40.11",
            is_of_host=True,
        ),
        Variable(
            "openshift_private_access",
            "bool",
            "Whether the controller reaches the private addresses of the devices, for example through a VPN. "
            "O(openshift_machine_network=private) needs it with O(openshift_load_balancer=external).",
            default=False,
            in_preflight=True,
        ),
    ),
    "CSR approval": (
        Variable(
            "openshift_additional_addresses",
            "list",
            "Addresses that nodes have in addition to those of their device, for example virtual ones.",
            default=[],
            elements="str",
            options=("csr_approval_additional_addresses", "__gather_additional_addresses", "__validate_additional_addresses"),
        ),
        Variable(
            "openshift_join_short_names",
            "bool",
            "Whether a serving certificate may also contain the first label of the node's name.",
            default=False,
            options=("csr_approval_short_names", "__gather_short_names", "__validate_short_names"),
        ),
        Variable(
            "openshift_recover_nodes",
            "bool",
            "Whether NotReady nodes whose certificates expired while they were off may get new certificates. Set it for "
            "one run, with all machines powered on.",
            default=False,
            options=("csr_approval_recover_nodes", "__gather_recover_nodes", "__validate_recover_nodes"),
        ),
        Variable(
            "openshift_deny_refused",
            "bool",
            "Whether CSRs that a rule refuses are denied. Otherwise they remain pending.",
            default=False,
            options=("csr_approval_deny_refused", "__gather_deny_refused"),
        ),
    ),
    "Bootstrap, day 2 and deletion": (
        Variable(
            "openshift_bootstrap_becomes",
            "str",
            "Inventory host or host name of the worker that the bootstrap device is reinstalled as. Empty, the "
            "bootstrap device is deleted.",
            default="",
            options=("bootstrap_teardown_becomes",),
            in_preflight=True,
        ),
        Variable(
            "openshift_least_workers",
            "int",
            "Minimum number of workers that are Ready and not cordoned after a removal.",
            default=2,
            options=("__node_removal_least_workers",),
            in_preflight=True,
        ),
        Variable(
            "openshift_remove",
            "raw",
            "Workers that scale.yml removes, a list of inventory names or host names that are not in the inventory any more, "
            "or a text with commas. With it exactly these are removed. In a job of AWX no other worker is removed, unless "
            "O(openshift_pool_sizes) has its pool, since a host can be absent there without being removed.",
            default=[],
            example=["worker-3", "worker-4"],
            options=("__node_removal_names",),
            in_preflight=True,
        ),
        Variable(
            "openshift_remove_at_most",
            "int",
            "Maximum number of workers that one run removes because they are not in the inventory. Workers in O(openshift_remove) and of "
            "pools in O(openshift_pool_sizes) do not count.",
            default=5,
            options=("__node_removal_at_most",),
            in_preflight=True,
        ),
        Variable(
            "openshift_replace",
            "list",
            "Inventory hosts or host names of the machines that replace.yml replaces.",
            default=[],
            elements="str",
            in_preflight=True,
        ),
        Variable(
            "openshift_replace_pool",
            "str",
            "Pool whose workers replace.yml replaces, one after the other, instead of O(openshift_replace).",
            default="",
            in_preflight=True,
        ),
        Variable(
            "openshift_replace_older_than",
            "str",
            "A time in ISO 8601, such as V(2026-05-04T10:00:00Z). replace.yml skips machines whose device was provisioned later, so an "
            "interrupted replacement of a pool continues where it ended.",
            default="",
            in_preflight=True,
        ),
        Variable(
            "openshift_replace_at_most",
            "int",
            "Number of workers that replace.yml replaces at the same time, and maximum number of unhealthy workers that "
            "one run of scale.yml replaces.",
            default=1,
            in_preflight=True,
        ),
        Variable(
            "openshift_replace_not_ready_after",
            "int",
            "Time in seconds for which the node of a running worker may be not Ready before scale.yml replaces the worker. scale.yml then "
            "replaces workers with a failed device, too; V(0) is never, unhealthy machines are only reported by preflight.",
            default=0,
            unit="seconds",
            in_preflight=True,
        ),
        Variable(
            "openshift_drain_options",
            "dict",
            "How the pods of a node are evicted.",
            default={},
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
            options=("__node_removal_drain_options", "__control_plane_drain_options"),
        ),
        Variable(
            "openshift_leave_undrained",
            "bool",
            "Whether a device is deleted even if pods remain on its node after O(openshift_drain_timeout). The run "
            "prints a warning that lists them.",
            default=False,
            options=(
                "__node_removal_undrained",
                "__control_plane_undrained",
            ),
        ),
        Variable(
            "openshift_destroy_confirm",
            "str",
            "Name of the cluster, C(<name>.<domain>), to delete it without a prompt.",
            default="",
            options=("__destroy_confirm",),
        ),
        Variable(
            "openshift_destroy_without_state",
            "bool",
            "Whether destroy deletes what has the ownership tag of the cluster even if the files of that install are "
            "not in O(openshift_directory). It may be a cluster of this name of another owner in the project, and the "
            "files with its keys are not here.",
            default=False,
            options=("__destroy_without_state",),
        ),
        Variable(
            "openshift_stop_min_age",
            "int",
            "Time in seconds since the installation before stop.yml switches a cluster off. The first node certificates are "
            "valid for a day, and nodes whose certificates have expired join again only with O(openshift_recover_nodes).",
            default=90000,
            unit="seconds",
            options=("__power_min_age",),
        ),
        Variable(
            "openshift_orphans_project_ids",
            "list",
            "IDs of the projects that orphans.yml lists instead of the project of the run; V(all) is all projects that the token can read.",
            default=[],
            elements="str",
            options=("__orphans_project_ids",),
        ),
        Variable(
            "openshift_clusters_directory",
            "str",
            "Folder on the controller with the folders of its clusters. The default does not depend on the folder that a playbook is "
            "started from, unless the C(ansible.cfg) in use is C(~/.ansible.cfg) or below C(/etc/ansible), or there is none: then it is "
            "C(clusters) in the current folder.",
            expression="openshift_clusters_directory | default('') | equinix_metal.openshift.rule('folders.clusters_directory')",
            computed="`clusters` beside the `ansible.cfg` in use",
            options=("__orphans_clusters_directory",),
        ),
        Variable(
            "openshift_orphans_delete",
            "list",
            "Clusters that orphans.yml deletes, each as C(<name>.<domain>), or V(all) that can be deleted, which a job of AWX refuses. "
            "They have no folder in O(openshift_clusters_directory).",
            default=[],
            elements="str",
            options=("__orphans_delete",),
        ),
        Variable(
            "openshift_orphans_confirm",
            "list",
            "The names of the clusters that O(openshift_orphans_delete) deletes, to delete them without a prompt.",
            default=[],
            elements="str",
            options=("__orphans_confirm",),
        ),
        Variable(
            "openshift_orphans_min_age",
            "int",
            "Time in seconds since the creation of the newest object of a cluster that orphans.yml deletes.",
            default=86400,
            unit="seconds",
            options=("__orphans_min_age",),
        ),
        Variable(
            "openshift_orphans_expected",
            "list",
            "Clusters that orphans.yml expects, each as C(<name>.<domain>). If set, it fails when another cluster has something in the "
            "project: for a scheduled job with a notification. These clusters are not deleted.",
            default=[],
            elements="str",
            example=["demo.example.com"],
            options=("__orphans_expected",),
        ),
        Variable(
            "openshift_interactive",
            "bool",
            "Whether playbooks may ask for a confirmation. Otherwise, in jobs of AWX and without a terminal they fail at once, with the "
            "variable that answers.",
            default=True,
            options=(
                "__destroy_interactive",
                "__orphans_interactive",
            ),
        ),
        Variable(
            "openshift_orphans_file",
            "str",
            "File on the controller that orphans.yml writes its result to, as JSON.",
            default="",
            options=("__orphans_report_file",),
        ),
        Variable(
            "openshift_gather_logs",
            "bool",
            "Whether the failure bundle contains logs of programs, redacted, those in the cluster's folder and those of "
            "the bootstrap device over SSH, with the keys of the SSH agent or the key that the installer created. Logs "
            "of the control plane need a key of the agent. Also what the serial consoles at O(metal_console_host) show.",
            default=False,
            options=("__gather_logs",),
        ),
        Variable(
            "openshift_gather_files",
            "list",
            "Additional files and folders on the controller for the failure bundle.",
            default=[],
            elements="str",
            options=("__gather_files",),
        ),
        Variable(
            "openshift_gather_secrets",
            "list",
            "Texts, or lists and dictionaries of texts, that are removed from the failure bundle in addition to "
            "the secrets of other variables and of the environment.",
            default=[],
            elements="raw",
            no_log=True,
            options=("__gather_secrets",),
        ),
        Variable(
            "metal_console_host",
            "str",
            "SSH host of the serial consoles, with its port after a colon if it is not 22; C(METRO) stands for the metro code "
            "of the device. The user is the id of the device. Empty if there are none.",
            default="",
            example="sos.METRO.example.com",
            options=("__gather_console_host",),
        ),
        Variable(
            "metal_console_key",
            "str",
            "File of the private key for the serial consoles, whose public key is an SSH key of the project or of a user with "
            "access to it. Empty is the SSH agent and the usual files.",
            default="",
            options=("__gather_console_key",),
        ),
    ),
    "Services of the cluster": (
        Variable(
            "openshift_registry",
            "str",
            "The internal image registry, which builds and image streams need. V(emptydir) keeps images in its pod, where they are lost "
            "when it restarts; V(pvc) in a PersistentVolumeClaim; V(removed) is no registry. Empty leaves it as it is, and a new cluster "
            "on bare metal has none.",
            default="",
            choices=("", "removed", "emptydir", "pvc"),
            options=("__services_registry",),
            in_preflight=True,
        ),
        Variable(
            "openshift_registry_size",
            "str",
            "Size of the PersistentVolumeClaim of the image registry, with O(openshift_registry=pvc).",
            default="100Gi",
            example="500Gi",
            options=("__services_registry_size",),
            in_preflight=True,
        ),
        Variable(
            "openshift_registry_storage_class",
            "str",
            "Storage class of the PersistentVolumeClaim of the image registry. Empty is the default class of the cluster.",
            default="",
            example="lvms-vg1",
            options=("__services_registry_storage_class",),
            in_preflight=True,
        ),
        Variable(
            "openshift_local_storage",
            "str",
            "Local storage for volumes. V(lvms) installs LVM Storage, with the storage class C(lvms-vg1) on the empty disks of nodes. "
            "Empty is none.",
            default="",
            choices=("", "lvms"),
            options=("__services_local_storage",),
            in_preflight=True,
        ),
        Variable(
            "openshift_local_storage_paths",
            "list",
            "Disks for O(openshift_local_storage), names below C(/dev/disk). A node uses those that it has. Without paths it uses all its "
            "empty disks.",
            default=[],
            elements="str",
            example=["/dev/disk/by-path/pci-0000:04:00.0-nvme-1"],
            options=("__services_local_storage_paths",),
            in_preflight=True,
        ),
        Variable(
            "openshift_local_storage_node_labels",
            "dict",
            "Labels of the nodes whose disks O(openshift_local_storage) uses. Without labels, nodes without NoSchedule taints.",
            default={},
            example={"node-role.kubernetes.io/storage": ""},
            options=("__services_local_storage_node_labels",),
            in_preflight=True,
        ),
        Variable(
            "openshift_local_storage_channel",
            "str",
            "Channel of the operator of O(openshift_local_storage). Empty is C(stable-<minor version of the cluster>).",
            default="",
            example="stable-4.20",
            options=("__services_local_storage_channel",),
        ),
        Variable(
            "openshift_metallb",
            "bool",
            "Whether MetalLB is installed. It gives Services of type LoadBalancer an address, and announces that by BGP to the routers of "
            "the Metal API.",
            default=False,
            options=("__services_metallb",),
            in_preflight=True,
        ),
        Variable(
            "openshift_metallb_addresses",
            "list",
            "Addresses for Services, with O(openshift_metallb), as networks in CIDR notation or ranges C(first-last). They have to be "
            "elastic addresses of the project.",
            default=[],
            elements="str",
            example=["198.51.100.8/29"],
            options=("__services_metallb_addresses",),
            in_preflight=True,
        ),
        Variable(
            "openshift_metallb_reservation",
            "str",
            "ID of a block of elastic addresses of the project. All its addresses are for Services, with O(openshift_metallb). It is never "
            "deleted.",
            default="",
            example="e1ff9c2b-051a-4688-965f-153e274f77e0",
            options=("__services_metallb_reservation",),
            in_preflight=True,
        ),
        Variable(
            "openshift_metallb_password",
            "str",
            "MD5 password of the project's BGP configuration, if that has one. The Metal API returns it to no client of this collection.",
            default="",
            no_log=True,
            options=("__services_metallb_password",),
            in_preflight=True,
        ),
        Variable(
            "openshift_operator_catalog",
            "str",
            "CatalogSource in the namespace C(openshift-marketplace) with the operators of O(openshift_local_storage) and "
            "O(openshift_metallb).",
            default="redhat-operators",
            example="cs-redhat-operator-index-v4-20",
            options=("__services_operator_catalog",),
            in_preflight=True,
        ),
    ),
    "Status": (
        Variable(
            "openshift_status_file",
            "str",
            "File on the controller that status.yml writes the status to, as JSON. Empty writes none.",
            default="",
            example="/var/lib/node_exporter/demo.json",
            options=("__validate_status_file",),
        ),
        Variable(
            "openshift_status_page",
            "str",
            "File on the controller that status.yml writes the status to, as one HTML page without scripts. Empty writes none.",
            default="",
            example="/var/www/html/demo.html",
            options=("__validate_status_page",),
        ),
        Variable(
            "openshift_status_fail_on",
            "list",
            "Groups of findings with which status.yml fails, for monitoring: machines that differ from the inventory, Nodes and "
            "operators that are degraded, certificates that were not renewed, pending CSRs, or an API that does not answer. V(any) "
            "is all groups, V(none) no group.",
            default=["none"],
            elements="str",
            choices=("none", "any", "unreachable", "differences", "degraded", "certificates", "csrs"),
            options=("__validate_fail_on",),
        ),
        Variable(
            "openshift_status_server_certificates",
            "bool",
            "Whether status.yml connects to the API servers, machine config servers and kubelets to read their certificates.",
            default=True,
            options=("__validate_server_certificates",),
        ),
    ),
    "Run report": (
        Variable(
            "openshift_plan_file",
            "str",
            "File on the controller that install.yml, scale.yml, replace.yml and destroy.yml write their plan to as JSON, in check mode "
            "too. The plan is printed in any case.",
            default="",
            options=("__validate_plan_file", "__destroy_plan_file"),
        ),
        Variable(
            "openshift_report_file",
            "str",
            "File on the controller for the report of a run, an HTML page. Empty is C(reports/<playbook>-<time>.html) in the "
            "cluster's folder, if that exists.",
            default="",
            options=("__report_file",),
        ),
    ),
    "Preflight checks": (
        Variable(
            "openshift_resolver",
            "str",
            "Address of the resolver of the nodes, which preflight asks for the records. Without it the resolver of the "
            "controller is used, which may see other records than the devices.",
            default="",
            options=("dns_resolver", "__load_balancer_resolver"),
            in_preflight=True,
        ),
        Variable(
            "openshift_resolver_port",
            "int",
            "Port of O(openshift_resolver).",
            default=53,
            options=("dns_resolver_port", "__load_balancer_resolver_port"),
            in_preflight=True,
        ),
    ),
    "Cluster lock": (
        Variable(
            "openshift_lock",
            "bool",
            "Whether runs take the cluster lock. Without the lock, two runs may create the same devices, or one may "
            "delete what the other creates.",
            default=True,
            options=("__cluster_lock_enabled",),
        ),
        Variable(
            "openshift_unlock",
            "str",
            "ID of a cluster lock to break. Only for the lock of a run that has certainly ended, where the controller "
            "cannot verify that. Empty breaks none.",
            default="",
            options=("cluster_lock_unlock",),
        ),
    ),
    "Objects of AWX": (
        Variable(
            "openshift_awx_project",
            "dict",
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
        Variable(
            "openshift_awx_image",
            "str",
            "Image of the execution environment, made of execution-environment.yml.",
            expression="openshift_awx_image | default('')",
            computed="that of the existing execution environment, or `localhost/equinix-metal-openshift-ee:latest`",
        ),
        Variable(
            "openshift_awx_organization",
            "str",
            "Organization of AWX that the objects are in. It is created, and not deleted.",
            default="OpenShift",
        ),
        Variable(
            "openshift_awx_prefix",
            "str",
            "Prefix of the names of the objects.",
            default="OpenShift",
        ),
        Variable(
            "openshift_awx_credentials",
            "list",
            "Names of the credentials of the job templates.",
            default=[],
            elements="str",
            example=["Metal API of production"],
        ),
        Variable(
            "openshift_awx_inventory_credential",
            "str",
            "Name of the credential with the Metal API's token, for the inventory of existing devices.",
            default="",
        ),
        Variable(
            "openshift_awx_extra_vars",
            "dict",
            "Variables of all job templates, such as O(openshift_directory).",
            default={},
        ),
        Variable(
            "openshift_awx_notification",
            "dict",
            "Notification that failed jobs send, with C(notification_type) and C(notification_configuration) as in the module "
            "C(awx.awx.notification_template). Empty sends none.",
            default={},
            no_log=True,
            example={"notification_type": "webhook", "notification_configuration": {"url": "https://chat.example.com/hook"}},
        ),
        Variable(
            "openshift_awx_state",
            "str",
            "Whether awx.yml creates the objects or deletes them.",
            default="present",
            choices=("present", "absent"),
        ),
    ),
    "Timeouts and limits": (
        Variable(
            "metal_api_timeout",
            "float",
            "Timeout in seconds of one request to the Metal API.",
            default=30,
            unit="seconds",
        ),
        Variable(
            "metal_api_retries",
            "int",
            "Maximum number of retries of one request to the Metal API.",
            default=8,
        ),
        Variable(
            "openshift_join_window",
            "int",
            "Time in seconds after the creation of a device within which its first CSR is accepted; V(0) is without limit.",
            default=7200,
            unit="seconds",
            options=("csr_approval_window", "__gather_window", "__validate_window"),
            in_preflight=True,
        ),
        Variable(
            "openshift_join_timeout",
            "int",
            "Timeout in seconds until all machines have joined and all nodes are Ready.",
            default=5400,
            unit="seconds",
            options=("csr_approval_wait_timeout", "__cluster_nodes_timeout"),
        ),
        Variable(
            "openshift_drain_timeout",
            "int",
            "Timeout in seconds for the eviction of the pods of removed workers.",
            default=600,
            unit="seconds",
            options=(
                "__node_removal_drain_timeout",
                "__control_plane_drain_timeout",
            ),
        ),
        Variable(
            "openshift_etcd_backup",
            "bool",
            "Whether replace.yml backs up etcd before it replaces a control plane machine, to C(/home/core/assets/backup) on another one. "
            "The user of the kubeconfig needs the right to create privileged pods in C(openshift-etcd).",
            default=False,
            options=("__control_plane_backup",),
        ),
        Variable(
            "openshift_etcd_backup_force",
            "bool",
            "Whether the backup of O(openshift_etcd_backup) is made while operators of the control plane are progressing, as after the "
            "failure of a machine. C(cluster-backup.sh) refuses that otherwise.",
            default=False,
            options=("__control_plane_backup_force",),
        ),
        Variable(
            "openshift_wait_interval",
            "float",
            "Interval in seconds between two polls.",
            default=5,
            unit="seconds",
        ),
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
    Variable(
        "cluster",
        "str",
        "The cluster, C(<name>.<domain>). Everything created for it carries the tag C(openshift-cluster=<name>.<domain>).",
        expression="{{ openshift_cluster_name }}.{{ openshift_base_domain }}",
        computed="`<openshift_cluster_name>.<openshift_base_domain>`",
        options=(
            "boot_files_cluster",
            "bootstrap_teardown_cluster",
            "__cluster_name",
            "cluster_lock_cluster",
            "csr_approval_cluster",
            "dns_cluster",
            "__gather_cluster",
            "destroy_cluster",
            "__node_removal_cluster",
            "__control_plane_cluster",
            "__power_cluster",
            "__load_balancer_cluster",
            "network_cluster",
            "__project_cluster",
            "provision_cluster",
            "__report_cluster",
            "__services_cluster",
            "__state_store_cluster",
        ),
    ),
    Variable(
        "job",
        "str",
        "ID of the AWX job of this run.",
        expression="awx_job_id | default(tower_job_id | default(''))",
        computed="`awx_job_id` or `tower_job_id`, which AWX sets",
        options=("__cluster_lock_job", "__destroy_job", "__orphans_job", "__validate_job"),
    ),
    Variable(
        "unattended",
        "bool",
        "Whether nobody is asked: in a job only workers that are named are removed.",
        expression=(
            "awx_job_id | default(tower_job_id | default('')) | string | length > 0 or not (openshift_interactive | default(true) | bool)"
        ),
        computed="in a job of AWX, or with `openshift_interactive=false`",
        options=("__node_removal_unattended",),
    ),
    Variable(
        "connection",
        "dict",
        "Options of the Metal API's modules: C(metal_api_url), C(metal_api_token), C(project_id) and others of the action group C(metal).",
        expression=(
            "connection_metal | default({'metal_api_url': metal_api_url | default(omit, true), 'metal_api_token': metal_api_token "
            "| default(omit, true), 'project_id': metal_project_id | default(omit, true), 'metal_api_timeout': metal_api_timeout "
            "| default(omit), 'metal_api_retries': metal_api_retries | default(omit), 'cluster_lock': cluster_lock_run | default(omit)})"
        ),
        computed="those of `metal_api_url`, `metal_api_token` and `metal_project_id`, else of the environment",
        no_log=True,
        options=("bootstrap_teardown_connection", "csr_approval_connection", "ignition_connection", "provision_connection"),
    ),
    Variable(
        "artifact",
        "bool",
        "Whether the report is an artifact of the job (M(ansible.builtin.set_stats)), which AWX keeps for who approves a workflow and for "
        "other automation.",
        expression="awx_job_id | default(tower_job_id | default('')) | string | length > 0",
        computed="in a job of AWX",
        options=("validate_artifact",),
    ),
    Variable(
        "variables",
        "dict",
        "All variables of the collection that are set, by name.",
        expression=(
            "dict(query('ansible.builtin.varnames', *__validate_patterns) "
            "| zip(query('ansible.builtin.vars', *query('ansible.builtin.varnames', *__validate_patterns))))"
        ),
        computed="all that are set",
        no_log=True,
        options=("__validate_variables",),
    ),
    Variable(
        "bootstrap_lifetime",
        "int",
        "Time in seconds after which the Metal API deletes the bootstrap device by itself (C(termination_time)), counted from its creation "
        "or from the last extension and rounded up to a quarter of this time; V(0) is never. Has to be more than the timeouts of "
        "the waits. The default is the time for which the Ignition files of the "
        "bootstrap device are valid, times C(openshift_time_scale). No other device gets a termination time.",
        expression="0 if openshift_bootstrap_becomes | default('', true) else (86400 * openshift_time_scale | default(1) | float) | int",
        computed="`86400`, and `0` with `openshift_bootstrap_becomes`",
        unit="seconds",
        options=("provision_bootstrap_lifetime",),
    ),
)
"""Options of roles that carry no single variable, and whose defaults are computed."""
