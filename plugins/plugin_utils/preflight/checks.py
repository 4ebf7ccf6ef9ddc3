# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All preflight checks: one table, in the order of the report. The functions are in the files beside this one, by subject.

The checks send no request: the lookup ``preflight`` reads the state of APIs, mirror, DNS and controller, and the checks get its readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..boot.files import METADATA_HOST
from ..cluster_folder.ownership import CHOICES
from ..machines.default_plans import SIZES
from . import (
    capacity,
    controller,
    credentials,
    devices,
    disconnected,
    install_config,
    inventory,
    load_balancer,
    metal,
    mirror,
    names,
    networks,
    plain_network,
    planning,
    plans,
    publishing,
    services,
    settings,
    vlan,
)
from .context import Context
from .findings import Finding


@dataclass(frozen=True)
class Check:
    """One check: ``find`` makes the finding, ``expected`` is the requirement, ``advice`` what to do unless the finding has its own."""

    find: Callable[[Context], Finding]
    expected: str
    advice: str = ""


CHECKS: Mapping[str, Check] = {
    "variables": Check(
        inventory.variables,
        expected="known openshift_* and metal_* variables, each of the type in its argument spec, and set for all hosts unless they are"
        " read from hosts",
        advice="correct these variables in the inventory, or set them in the group all; docs/generated/variables.md lists all variables",
    ),
    "host variables": Check(
        inventory.host_variables,
        expected="valid openshift_* and metal_* variables on every host",
        advice="correct these variables on the host or its group",
    ),
    "cluster name": Check(
        settings.cluster_name,
        expected="1 to 54 lower case letters, digits and dashes, with a letter or digit at both ends and no dot: '*.apps' takes nine of"
        " the 63 characters of a DNS label",
        advice="set openshift_cluster_name to a name of this form",
    ),
    "base domain": Check(
        settings.base_domain,
        expected="a DNS domain of lower case labels, without a dot at its end, at most 246 characters together with the cluster name",
        advice="set openshift_base_domain to a domain like example.com",
    ),
    "version": Check(
        settings.version,
        expected="a release like 4.20.33, or a channel like stable-4.20",
        advice="set openshift_version to a release (the release of a channel changes over time)",
    ),
    "bootstrap machine": Check(
        inventory.bootstrap,
        expected="exactly one host in the group bootstrap",
        advice="put exactly one host into the group bootstrap",
    ),
    "control plane": Check(
        inventory.control_plane,
        expected="3 to 5 hosts in the group control_plane, or 1 for a cluster without high availability; with 2 hosts bootstrap never"
        " completes, since etcd waits for a third member",
        advice="put 3 hosts into the group control_plane, or 1",
    ),
    "workers": Check(
        inventory.workers,
        expected="no workers, or at least two; a single worker only with a control plane of one host",
        advice="put at least two hosts into the groups below workers, since a single worker has no place for the second router; or none,"
        " and the control plane runs the workloads",
    ),
    "machine config pools": Check(
        inventory.machine_config_pools,
        expected="openshift_pool_machine_config for whole pools, and the same openshift_kernel_arguments for all machines of a"
        " MachineConfigPool",
        advice="set both variables on groups, and openshift_pool_machine_config on each pool with kernel arguments of its own",
    ),
    "workers to remove": Check(
        planning.removals,
        expected="every existing worker in the inventory, or its removal by scale.yml intended",
        advice="put workers that are missing by mistake back into the inventory (in AWX: enable them, and update the inventory's sources)",
    ),
    "machines to replace": Check(
        planning.replacement,
        expected="openshift_replace or openshift_replace_pool names machines of the inventory",
        advice="correct openshift_replace, openshift_replace_pool, openshift_replace_older_than or openshift_replace_at_most",
    ),
    "health of machines": Check(
        planning.health,
        expected="every machine of an installed cluster with a device that runs and a Node that is Ready",
        advice="repair or replace these machines",
    ),
    "bootstrap machine reuse": Check(
        inventory.reuse,
        expected="openshift_bootstrap_becomes empty, or a worker that may be ordered wherever the bootstrap device may, with the same"
        " device options; and no termination time of the bootstrap device",
        advice="give both hosts the same plan, metro, install disk and keys, and set no lifetime; or leave openshift_bootstrap_becomes"
        " empty, and the bootstrap device is deleted when bootstrap is complete",
    ),
    "worker quorum": Check(
        inventory.quorum,
        expected="openshift_worker_quorum at most the number of workers",
        advice="lower openshift_worker_quorum, or set it to 0, which requires all workers",
    ),
    "unique hosts": Check(
        inventory.unique_hosts,
        expected="every host in exactly one of the groups bootstrap, control_plane, workers and load_balancer, and every host name once",
        advice="rename the hosts that have the same name, or remove the host from all but one of the groups bootstrap, control_plane,"
        " workers and load_balancer",
    ),
    "host names": Check(
        inventory.host_names,
        expected="lower case letters, digits, dashes and dots, at most 63 characters together with the cluster's domain: this is the"
        " name of the node",
        advice="rename these hosts, or shorten the cluster name or the base domain",
    ),
    "plan and metro": Check(
        inventory.plan_and_metro,
        expected="metal_metro set for every host, and metal_plan for every host without a default plan",
        advice="set metal_plan and metal_metro on these hosts, on their groups or for all hosts",
    ),
    "default plans": Check(
        plans.defaults,
        expected="for hosts without metal_plan the plan of their pool's devices, else the cheapest one that is large enough for their role",
        advice="set metal_plan for hosts that are to have another plan",
    ),
    "placement": Check(
        inventory.placement,
        expected="metal_placement a list of alternatives, each with metro, plan or both",
        advice="write metal_placement as [{metro: da}, {metro: ny, plan: c3.medium.x86}], in order of preference",
    ),
    "architecture": Check(
        settings.architecture,
        expected="openshift_architecture of every host x86_64 or aarch64; the default is the architecture of the plan",
        advice="leave openshift_architecture unset, or set it to x86_64 or aarch64",
    ),
    "platform": Check(
        settings.platform,
        expected="openshift_platform none or external, and no settings of another platform in openshift_install_config;"
        " openshift_cloud_controller_manager External or unset",
        advice="set openshift_platform to none or external",
    ),
    "manifests": Check(
        settings.manifests,
        expected="manifests that can be read, each with Kubernetes objects; among them a cloud controller manager with"
        " openshift_cloud_controller_manager=External",
        advice="correct the files of openshift_manifests",
    ),
    "image registry": Check(
        services.registry,
        expected="an image registry with storage that outlives its pod, or none by choice",
        advice="set openshift_registry to pvc with a storage class, or leave it empty",
    ),
    "time servers": Check(
        services.time_servers,
        expected="openshift_time_servers a list of host names and addresses",
        advice="correct openshift_time_servers",
    ),
    "local storage": Check(
        services.local_storage,
        expected="with openshift_local_storage, an empty disk in each machine with storage besides the one on which CoreOS is installed",
        advice="choose a plan with two disks, or leave openshift_local_storage empty",
    ),
    "MetalLB": Check(
        services.metallb,
        expected="with openshift_metallb, addresses for Services, and for BGP nodes with private addresses and the project's password",
    ),
    "cluster networks": Check(
        networks.networks,
        expected="cluster, service and machine networks that openshift-install accepts, which overlap neither each other nor the"
        " internal networks of OVN-Kubernetes, with a host subnet for every node",
        advice="correct openshift_cluster_networks, openshift_service_networks, openshift_machine_networks or openshift_install_config",
    ),
    "machine network": Check(
        networks.machine_network,
        expected="openshift_machine_network layer3, bond, private or vlan, and addresses, metadata and load balancer that it needs",
        advice="docs/networks.md lists what each machine network needs",
    ),
    "VLAN": Check(
        vlan.vlan,
        expected="with openshift_machine_network vlan machines in one metro, each with an address of its own in the subnet of the VLAN, an"
        " existing VLAN, gateway and IP reservation in that metro or none, and in layer 2 a gateway by which machines reach the API and the"
        " images; no such variable with another machine network",
        advice="docs/networks.md has examples of inventories for a VLAN",
    ),
    "node firewall": Check(
        networks.node_firewall,
        expected="openshift_node_firewall_sources a list of addresses and networks, with an external load balancer those from which it"
        " connects to the nodes",
        advice="write each entry of openshift_node_firewall_sources as 198.51.100.7 or 198.51.100.0/24",
    ),
    "pull secret": Check(
        credentials.pull_secret,
        expected='a JSON object with "auths", each with an "auth" of user and password in base64',
        advice="set openshift_pull_secret to the JSON text from https://console.redhat.com/openshift/install/pull-secret",
    ),
    "pull secret registries": Check(
        credentials.registries,
        expected=f"with OpenShift's own mirror: {', '.join(credentials.REGISTRIES)}",
        advice="set openshift_pull_secret to the complete pull secret from https://console.redhat.com/openshift/install/pull-secret",
    ),
    "SSH key": Check(
        credentials.ssh_key,
        expected='public keys in the format of authorized_keys: lines like "ssh-ed25519 AAAA...", also with options and comments',
        advice="set openshift_ssh_public_key to the content of the file whose name ends in .pub",
    ),
    "install-config": Check(
        install_config.consistent,
        expected="openshift_install_config does not contradict the variables, and no value makes a cluster that cannot work although"
        " openshift-install accepts it; docs/ignition.md lists them",
        advice="correct the variable of the field (docs/generated/variables.md), or openshift_install_config",
    ),
    "load balancer": Check(
        load_balancer.kind,
        expected="openshift_load_balancer dns with no host in the group load_balancer, haproxy with one or two hosts in one metro"
        " (two need openshift_metadata_url), kube_vip with no host, and openshift_api_address (and openshift_ingress_address) or the"
        " control plane in one metro and openshift_machine_network bond, or external with no host and both addresses",
        advice="set openshift_load_balancer to dns, kube_vip or external without a host in the group load_balancer, or to haproxy with one"
        " or two hosts",
    ),
    "BGP": Check(
        load_balancer.bgp,
        expected="no BGP configuration of the project, or one that is enabled, if devices announce an address: kube_vip, haproxy with two"
        " hosts, or openshift_metallb",
        advice="wait until the service has approved the request for BGP, or request local BGP, which needs no approval (module"
        " metal_bgp_config)",
    ),
    "ingress": Check(
        load_balancer.ingress,
        expected="a worker whose taints let routers run on it, or no worker; with openshift_ingress_pool a pool with a machine for each"
        " router (openshift_ingress_replicas); with openshift_load_balancer haproxy a slot for each machine that may run a router"
        " (load_balancer_ingress_slots)",
        advice="set openshift_ingress_pool to a pool, whose taints routers then tolerate, or leave out openshift_node_taints for a pool;"
        " without routers the installation does not complete",
    ),
    "DNS settings": Check(
        names.settings,
        expected="openshift_dns_provider none, or rfc2136, route53 or octodns with its settings and a zone that contains"
        " the cluster's names",
        advice="set openshift_dns_server, openshift_dns_key_name and openshift_dns_key_secret for rfc2136, both AWS keys or none in"
        " openshift_dns_route53, service in openshift_dns_octodns, and openshift_dns_zone if the zone is not the base domain",
    ),
    "DNS delegation": Check(
        names.delegation,
        expected="no delegation, or openshift_dns_zone <name>.<domain> below openshift_dns_parent_zone, with openshift_dns_name_servers"
        " or create_zone in openshift_dns_route53",
        advice="create the cluster's own zone and set all three variables, or none of openshift_dns_parent_zone and"
        " openshift_dns_name_servers, since other clusters in the zone would lose their names with the delegation",
    ),
    "DNS record sizes": Check(
        names.record_sizes,
        expected="no record of the cluster has more values than the DNS provider accepts",
        advice="choose another openshift_dns_provider for the cluster's zone, or fewer machines",
    ),
    "Metal API settings": Check(
        metal.settings,
        expected="address, token and project of the Metal API",
        advice="set metal_api_url, metal_api_token and metal_project_id, or the environment variables METAL_API_URL, METAL_AUTH_TOKEN"
        " and METAL_PROJECT_ID; or metal_project_name in place of the project's id",
    ),
    "Metal API access": Check(
        metal.project,
        expected="a project that can be read with this token",
        advice="check that metal_api_url is reachable, that metal_api_token is valid, and that the token has access to the project"
        " metal_project_id",
    ),
    "token permissions": Check(
        metal.permissions,
        expected="a token with write permission",
        advice="use a token that is not read-only: a read-only token cannot create devices",
    ),
    "plans": Check(
        plans.known,
        expected="metal_plan and every plan of metal_placement available at the Metal API, for all machines to order",
        advice="set metal_plan to a plan of the Metal API",
    ),
    "plan sizes": Check(
        plans.big_enough,
        expected="cores, memory and disk: " + ", ".join(f"{group} {n.cores}, {n.memory} GB, {n.disk} GB" for group, n in SIZES.items()),
        advice="set metal_plan to a larger plan for these machines",
    ),
    "plan architectures": Check(
        plans.architecture,
        expected="plans of the same architecture as the machine, in every alternative: the boot images are for one architecture",
        advice="choose other plans, or leave openshift_architecture unset for these hosts, which makes it the architecture of the plan",
    ),
    "metros": Check(
        metal.metros,
        expected="metal_metro and every metro of metal_placement available at the Metal API, for all machines to order",
        advice="set metal_metro to a metro of the Metal API",
    ),
    "plain network": Check(
        plain_network.plain_network,
        expected="no setting that needs VLANs, private or elastic addresses, BGP, or boot scripts or images over HTTPS,"
        " in metros without them, such as a rack of your own",
        advice="change these settings as the finding says; docs/your-own-rack.md lists what a rack of your own does not have",
    ),
    "operating systems": Check(
        plans.operating_systems,
        expected="the operating system custom_ipxe, which runs the iPXE script of this collection, available on these plans",
        advice="choose plans on which custom_ipxe is available",
    ),
    "device addresses": Check(
        devices.addresses,
        expected="metal_ip_addresses unset, or with a public and a private IPv4 address: DNS records and clients of the cluster use the"
        " public one; every IP reservation in its ip_reservations exists, is approved and in the metro of the machine",
        advice="leave metal_ip_addresses unset, or add {address_family: 4, public: true} and {address_family: 4, public: false}; correct"
        " ip_reservations, or wait until the IP reservation is approved",
    ),
    "device options": Check(
        devices.options,
        expected="no option that makes the install fail after the devices are delivered: custom_ipxe on all nodes, a bootstrap device"
        " that can be deleted, no termination time during the run",
        advice="remove these options from the host or its group",
    ),
    "SSH keys of devices": Check(
        devices.ssh_keys,
        expected="an SSH key of the project or of the token's user, keys in the options of the machine, or metal_no_ssh_keys: the Metal API"
        " refuses an order without",
        advice="add an SSH key to the project with the module metal_ssh_key, or set metal_no_ssh_keys to true; neither changes who can log"
        " in to the nodes, which openshift_ssh_public_key sets",
    ),
    "capacity": Check(
        capacity.capacity,
        expected="capacity for all machines to order at once, each in one of the places of metal_placement",
        advice="choose another plan or metro for these machines, add alternatives to metal_placement, or order fewer machines; nothing"
        " was ordered",
    ),
    "device quota": Check(
        metal.quota,
        expected="max_devices of the project at least the devices of the project, of all clusters, plus the machines to order",
        advice="ask for a higher quota, delete devices of the project, or order fewer machines",
    ),
    "hardware reservations": Check(
        capacity.reservations,
        expected="every reservation in metal_hardware_reservation_id exists, is free and in service, and has the plan and metro of its"
        " host",
        advice="correct metal_hardware_reservation_id, or wait until the hardware is free; a machine that is ordered before one with a"
        " given reservation needs a given one too",
    ),
    "project private networks": Check(
        networks.private_blocks,
        expected="cluster and service networks that do not overlap the private IPv4 blocks of the project in 10.0.0.0/8",
        advice="choose other openshift_cluster_networks or openshift_service_networks: with an overlap, nodes cannot route to both pods"
        " and devices",
    ),
    "clock": Check(
        metal.clock,
        expected="the controller's clock within 60 seconds of the Metal API's",
        advice="synchronize the controller's clock (chrony, systemd-timesyncd): certificates that are created with a wrong clock are not"
        " valid on the nodes",
    ),
    "mirror": Check(
        mirror.mirror,
        expected="the checksums of the release on the mirror, with the archive of openshift-install",
        advice="check that openshift_mirror_url is right and reachable from the controller",
    ),
    "release signature": Check(
        mirror.signature,
        expected="a signature of the checksums by a key in openshift_release_keyring",
        advice="do not use this mirror until the cause is known: either the checksums are not the signed ones, or the keyring does not"
        " belong to this mirror",
    ),
    "proxy": Check(disconnected.proxy, expected="a proxy for https, and the cluster's own names in noProxy"),
    "image mirrors": Check(
        disconnected.image_mirrors,
        expected="mirrors of the release image and of its components, or none; each has the release image",
    ),
    "default catalogues": Check(
        disconnected.default_catalogs,
        expected="openshift_default_catalogs false only for clusters with the capability marketplace",
    ),
    "catalogue images": Check(
        disconnected.catalogs,
        expected="registries that serve the image of each CatalogSource in openshift_manifests; with services that OLM installs, the"
        " CatalogSource openshift_operator_catalog",
    ),
    "openshift_installer": Check(
        mirror.own_installer,
        expected="an openshift-install that runs on the controller, of the version openshift_version if that is set",
        advice="set openshift_installer to an openshift-install of that version for the controller, or leave it unset",
    ),
    "installer validation": Check(
        install_config.validation,
        expected="the openshift-install of the release creates manifests from the install-config, and Ignition files with the manifests of"
        " openshift_manifests (in a temporary folder)",
        advice="correct the variable of the field that openshift-install names; the creation of the Ignition files would fail with the"
        " same error",
    ),
    "release architecture": Check(
        mirror.release_architecture,
        expected="a release for the architecture of all machines, multi if there are two; bootstrap machine and control plane of one"
        " architecture",
        advice="leave openshift_release_architecture unset, or use an openshift-install of a multi release; migrate an installed cluster"
        " to a multi release first",
    ),
    "Python libraries": Check(
        controller.libraries,
        expected="the libraries of requirements.txt, for the Python that runs modules on this computer",
        advice="install requirements.txt for that Python, or set ansible_python_interpreter of localhost to the one that runs the playbook,"
        ' "{{ ansible_playbook_python }}"',
    ),
    "cluster folder": Check(
        controller.directory,
        expected="a folder that the user can write and no other user can read, since it contains secrets",
        advice="run chmod 700 on the folder, or set openshift_directory to another folder",
    ),
    "cluster folder of a job": Check(
        controller.job_folder,
        expected="in a job of AWX, a cluster folder outside the private folder of the job, or a copy of it in object storage, or the"
        " kubeconfig of an installed cluster",
        advice="set openshift_state_store to object_storage, or openshift_directory to a folder below a path that the job's container has"
        " from outside (Paths to expose to isolated jobs, or a volume of the container group); for an installed cluster"
        " openshift_kubeconfig is sufficient",
    ),
    "state store": Check(
        controller.state_store,
        expected="openshift_state_store folder; or object_storage with a bucket, or cluster, both with openshift_state_password",
        advice="set openshift_state_bucket to the name of a bucket; docs/recovery.md describes the stores",
    ),
    "project of the cluster folder": Check(
        controller.files,
        expected="no files in the cluster folder, or files of this project",
        advice="set metal_project_id to the project of the cluster; if nothing of the cluster exists there, delete the file project from"
        " the cluster folder",
    ),
    "existing cluster objects": Check(
        controller.install,
        expected="nothing of the cluster exists, or all of it belongs to the install whose files are in the cluster folder",
        advice=CHOICES,
    ),
    "cluster lock": Check(controller.lock, expected="no other run writes to the cluster"),
    "kubeconfig": Check(
        controller.kubeconfig,
        expected="the kubeconfig in the cluster folder is for the cluster whose files are beside it (clusterID of ClusterVersion)",
        advice="restore the kubeconfig of this cluster: the installer wrote it to ignition/auth/kubeconfig in the cluster folder",
    ),
    "existing control plane": Check(
        controller.control_plane,
        expected="an installed cluster has the control plane machines of the inventory, no more and no fewer, each with its device: a new"
        " device would not be a member of etcd",
        advice="replace a lost machine with replace.yml; restore the number and the names of the hosts in the inventory",
    ),
    "devices of nodes": Check(
        controller.node_devices,
        expected="each node of an installed cluster on a device that has its name; the device is known by its id, which the node records",
        advice="restore the names of the devices (docs/day2.md); nothing was ordered or deleted",
    ),
    "publishing address": Check(
        publishing.address,
        expected="an address of the controller, or of the host that publishes, that machines can reach; or a bucket",
        advice="set openshift_publish_address to the address that machines reach the publishing host at, without scheme and port",
    ),
    "Ignition platform": Check(
        publishing.ignition_platform,
        expected="metal with a boot server that sees the addresses of the devices, so that no secret travels over plain HTTP; or packet"
        f" with a service that answers at https://{METADATA_HOST} with a certificate of a public CA",
    ),
    "publishing from a job": Check(
        publishing.job,
        expected="in a job of AWX, boot files published by a host, since machines do not reach the job's container; or in object storage,"
        " for machines that join a running cluster or with openshift_ignition_platform packet",
        advice="set openshift_publish to host, and openshift_publish_host to a Linux host that both reach (docs/publishing.md); to"
        " object_storage only where openshift_ignition_platform is packet, or for machines that join a running cluster",
    ),
    "publishing ports": Check(
        publishing.ports,
        expected="free ports, or ports of the boot file server of this cluster",
        advice="stop the program that listens on these ports, which may be the boot file server of another cluster, or set"
        " openshift_publish_http_port and openshift_publish_https_port",
    ),
    "DNS updates": Check(
        names.zone,
        expected="the provider has the zone and accepts the credentials; a DNS server lets the key update the records"
        " (checked without a change)",
        advice="check zone and credentials: a DNS server has to be authoritative and to accept updates signed with openshift_dns_key_name",
    ),
    "foreign DNS records": Check(
        names.foreign_records,
        expected="no record of the cluster's names that another owner has, or nobody (docs/dns.md)",
        advice="choose another openshift_cluster_name if another cluster has this one, or delete these records; destroy.yml -e"
        " openshift_destroy_foreign_names=true deletes those that an earlier install of it has left",
    ),
    "DNS resolver of the nodes": Check(
        names.resolver,
        expected="the resolver of the nodes finds the zone of the base domain on the DNS server",
        advice="delegate the zone to the DNS server, or give the nodes a resolver that forwards to it",
    ),
    "wildcard DNS record": Check(
        names.wildcard,
        expected="a name below the cluster's domain that nobody has does not resolve",
        advice="delete the wildcard record above the cluster's names, or choose another openshift_base_domain: nodes search the cluster's"
        " domain, so pods would reach the address of the wildcard instead of other hosts",
    ),
    "load balancer ports": Check(
        load_balancer.ports,
        expected="ports 6443, 80 and 443 of an existing load balancer are open, and port 22623 of one of another owner is closed to the"
        " controller",
        advice="check haproxy on the load balancer: journalctl -u haproxy",
    ),
    "price": Check(capacity.price, expected="the price per hour of all machines to order"),
}
