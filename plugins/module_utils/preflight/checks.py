# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is checked before the first order: one table, in the order of the report. How is told by what is looked at, beside this file.

The role ``validate`` reads the world and hands it in; nothing here asks anybody. So a check is what it says: what was found, what was
expected, what to do.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_state import CHOICES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight import (
    balancer,
    capacity,
    controller,
    credentials,
    devices,
    install_config,
    inventory,
    metal,
    mirror,
    names,
    networks,
    plans,
    publishing,
    settings,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation


@dataclass(frozen=True)
class Check:
    """One check: ``find`` looks, ``expected`` is what it wants, ``advice`` what to do when it is not so."""

    name: str
    find: Callable[[Situation], Finding]
    expected: str
    advice: str


CHECKS: tuple[Check, ...] = (
    Check(
        "variables",
        inventory.variables,
        expected="every openshift_* and metal_* variable known, and of the type its role wants",
        advice="correct them in the inventory; docs/generated/variables.md has all of them",
    ),
    Check(
        "host variables",
        inventory.host_variables,
        expected="what each host says of its machine can be read",
        advice="correct these variables on the host or its group",
    ),
    Check(
        "cluster name",
        settings.cluster_name,
        expected="1 to 54 lower case letters, digits and dashes, no dash at the ends and no dot: '*.apps' takes nine of a DNS label's"
        " 63 characters",
        advice="set openshift_cluster_name to such a name",
    ),
    Check(
        "base domain",
        settings.base_domain,
        expected="a DNS domain of lower case labels without a dot at its end, 246 characters at most with the cluster's name before it",
        advice="set openshift_base_domain to a domain like example.com",
    ),
    Check(
        "version",
        settings.version,
        expected="a release like 4.20.33, or a channel like stable-4.20",
        advice="set openshift_version to one release (a channel shows another one tomorrow)",
    ),
    Check(
        "bootstrap machine",
        inventory.bootstrap,
        expected="one host in the group bootstrap",
        advice="have exactly one host in the group bootstrap",
    ),
    Check(
        "control plane",
        inventory.control_plane,
        expected="3 to 5 hosts in the group control_plane, or 1 for a cluster that may fail with its machine; with 2 the bootstrap never"
        " ends, since etcd waits for a third member",
        advice="have 3 hosts in the group control_plane, or 1",
    ),
    Check(
        "workers",
        inventory.workers,
        expected="none, or two or more in the groups below workers; one only beside a control plane of one",
        advice="with one worker the second router has no place: have two or more, or none, and the control plane does their work",
    ),
    Check(
        "bootstrap machine afterwards",
        inventory.reuse,
        expected="openshift_bootstrap_becomes empty; or a worker's host, and then the bootstrap machine is what and where it may be,"
        " and no end is set for it",
        advice="give both hosts the same plan, metro, disk rule and keys, and set no lifetime;"
        " or leave openshift_bootstrap_becomes out, and the machine is given back",
    ),
    Check(
        "worker quorum",
        inventory.quorum,
        expected="openshift_worker_quorum not above the number of workers",
        advice="set openshift_worker_quorum to fewer, or to 0 for all of them",
    ),
    Check(
        "every host once",
        inventory.once,
        expected="every host in one of the groups bootstrap, control_plane, workers and load_balancer, each name once",
        advice="two hosts have the same name, or one is in more than one of the groups bootstrap, control_plane, workers and load_balancer",
    ),
    Check(
        "host names",
        inventory.host_names,
        expected="lower case letters, digits, dashes and dots, 63 at most with the cluster's name behind it: it is the node's name",
        advice="rename these hosts, or shorten the cluster's name or domain",
    ),
    Check(
        "plan and metro of every host",
        inventory.planned,
        expected="metal_plan and metal_metro given",
        advice="set metal_plan and metal_metro for them, on the host, on its group, or for all",
    ),
    Check(
        "placement",
        inventory.placement,
        expected="metal_placement a list of alternatives, each with metro, plan or both",
        advice="write it as [{metro: da}, {metro: ny, plan: c3.medium.x86}], in order of preference",
    ),
    Check(
        "architecture",
        settings.architecture,
        expected="openshift_architecture of every host x86_64 or aarch64; left out, it follows the plan",
        advice="leave openshift_architecture out, or set it as the mirror spells it: x86_64 or aarch64",
    ),
    Check(
        "platform",
        settings.platform,
        expected="openshift_platform none or external, and nothing of another platform in openshift_install_config;"
        " openshift_cloud_controller_manager External or left out",
        advice="set openshift_platform to none, or to external with openshift_platform_name",
    ),
    Check(
        "networks of the cluster",
        networks.networks,
        expected="cluster, service and machine networks that the installer takes, apart from each other and from those of OVN-Kubernetes,"
        " with a share of the first for every node",
        advice="correct openshift_cluster_networks, openshift_service_networks, openshift_machine_networks or openshift_network_type",
    ),
    Check(
        "pull secret",
        credentials.pull_secret,
        expected='a JSON object with "auths", each with an "auth" of user and password in base64',
        advice="set openshift_pull_secret to the JSON text that https://console.redhat.com/openshift/install/pull-secret gives",
    ),
    Check(
        "registries of the pull secret",
        credentials.registries,
        expected=f"with OpenShift's own mirror: {', '.join(credentials.REGISTRIES)}",
        advice="take the whole pull secret of https://console.redhat.com/openshift/install/pull-secret",
    ),
    Check(
        "SSH key",
        credentials.ssh_key,
        expected='public halves as authorized_keys has them: lines like "ssh-ed25519 AAAA...", options before and comments between them',
        advice="set openshift_ssh_public_key to what is in the file that ends in .pub",
    ),
    Check(
        "install-config",
        install_config.rules,
        expected="fields and values that openshift-install takes on this platform, and a cluster comes of; docs/ignition.md has the rules",
        advice="correct the variable of the field (docs/generated/variables.md), or openshift_install_config",
    ),
    Check(
        "load balancer",
        balancer.choice,
        expected="dns with no host in the group load_balancer, or haproxy with one and openshift_dns_provider rfc2136",
        advice="set openshift_load_balancer to dns or haproxy, and its group to fit; a balancer learns its machines from DNS",
    ),
    Check(
        "DNS settings",
        names.settings,
        expected="openshift_dns_provider none, or rfc2136 with server, key and a zone that the base domain is in",
        advice="set openshift_dns_server, openshift_dns_key_name, openshift_dns_key_secret; openshift_dns_zone if it is another",
    ),
    Check(
        "Metal API settings",
        metal.settings,
        expected="address, token and project",
        advice="set metal_api_url, metal_api_token and metal_project_id, or METAL_API_URL, METAL_AUTH_TOKEN, "
        "METAL_PROJECT_ID as environment",
    ),
    Check(
        "Metal API, token and project",
        metal.project,
        expected="the project can be read",
        advice="see that metal_api_url answers, that the token is right, and that the project's id is right and the token may see it",
    ),
    Check(
        "rights of the token",
        metal.rights,
        expected="a token that may write",
        advice="take a key that was not made read-only: this one can look, and order nothing",
    ),
    Check(
        "plans",
        plans.known,
        expected="plans of the service, for each machine that is missing and each of its alternatives",
        advice="set metal_plan to a plan of the service",
    ),
    Check(
        "plans are big enough",
        plans.big_enough,
        expected="cores, memory and disk: "
        + ", ".join(f"{group} {n.cores}, {n.memory} GB, {n.disk} GB" for group, n in plans.SIZES.items()),
        advice="take a bigger plan for these machines",
    ),
    Check(
        "architecture of the plans",
        plans.architecture,
        expected="plans of the architecture of their machine, as all its alternatives: it boots images for that one",
        advice="take other plans, or leave openshift_architecture out for these hosts: it follows the plan",
    ),
    Check(
        "metros",
        metal.metros,
        expected="metros of the service, for each machine that is missing and each of its alternatives",
        advice="set metal_metro to a metro of the service",
    ),
    Check(
        "operating systems",
        plans.operating_systems,
        expected="the service offers custom_ipxe, with which the machines boot what we give them, on these plans",
        advice="take plans on which the service offers custom_ipxe",
    ),
    Check(
        "addresses of the machines",
        devices.addresses,
        expected="metal_ip_addresses not set, or with a public and a private IPv4 address: DNS records lead to the public one, and the"
        " cluster is reached by it",
        advice="leave metal_ip_addresses out, or add {address_family: 4, public: true} and {address_family: 4, public: false}",
    ),
    Check(
        "options of the machines",
        devices.options,
        expected="no option with which a machine is delivered, but the install cannot be completed: custom_ipxe on all nodes, a bootstrap"
        " machine that can be deleted, no end of a machine during the run",
        advice="leave these options of the host or its group out",
    ),
    Check(
        "capacity",
        capacity.capacity,
        expected="room for all machines that are missing at once, each where metal_placement allows it",
        advice="take another plan or metro for these, name more in metal_placement, or want fewer of them; nothing was ordered",
    ),
    Check(
        "device quota of the project",
        metal.quota,
        expected="max_devices of the project not below what it has, of this cluster and of others, and what is missing",
        advice="have the quota raised, give back machines of the project, or order fewer",
    ),
    Check(
        "hardware reservations",
        capacity.reservations,
        expected="the reserved machines that hosts name are there, free, sound, of their plan and metro",
        advice="correct metal_hardware_reservation_id, or wait until the hardware is free",
    ),
    Check(
        "networks beside the project's",
        networks.private_blocks,
        expected="cluster and service networks apart from the private blocks of the project in 10.0.0.0/8",
        advice="take others for openshift_cluster_networks or openshift_service_networks: machines could not tell "
        "pods from their neighbours",
    ),
    Check(
        "clock",
        metal.clock,
        expected="this computer's clock within validate_clock_tolerance seconds of the Metal API's",
        advice="set the clock of this computer (chrony, systemd-timesyncd): certificates made by a wrong one are "
        "not valid where machines boot",
    ),
    Check(
        "mirror",
        mirror.mirror,
        expected="the checksums of the version, with the installer's archive",
        advice="see that openshift_mirror_url is right and that this computer may reach it",
    ),
    Check(
        "release signature",
        mirror.signature,
        expected="the checksums' signature is good by openshift_release_keyring",
        advice="do not use this mirror before you know why: the checksums are not what was signed, or the keyring is another's",
    ),
    Check(
        "installer's architecture",
        mirror.installer_architecture,
        expected="an installer that runs on this computer",
        advice="run the playbook on a computer of that architecture",
    ),
    Check(
        "own installer",
        mirror.own_installer,
        expected="openshift_installer runs here, and is of openshift_version if that is given",
        advice="set openshift_installer to an openshift-install of that version for this computer, or leave it out",
    ),
    Check(
        "installer's answer",
        install_config.answer,
        expected="an installer that is at hand makes manifests of the install-config, in a folder that is removed again",
        advice="correct the variable of the field that it names; it says the same when the Ignition files are made",
    ),
    Check(
        "architecture of the release",
        mirror.release_architecture,
        expected="a release for the machines: multi for both architectures; bootstrap machine and control plane of the same",
        advice="leave openshift_release_architecture out, or take an installer of a multi release; a cluster that stands has to become one",
    ),
    Check(
        "disk space",
        controller.disk_space,
        expected="validate_disk_needed gigabytes free where the cluster's folder is",
        advice="make room, or set openshift_directory to a folder on another disk",
    ),
    Check(
        "cluster's folder",
        controller.directory,
        expected="a folder that this user may write, and nobody else may read: it has secrets",
        advice="chmod 700 it, or set openshift_directory to another",
    ),
    Check(
        "project of the cluster's files",
        controller.files,
        expected="files that are there were made for this project",
        advice="set metal_project_id to the project that the cluster is in; if nothing of it is there, delete project in its folder",
    ),
    Check(
        "install of what exists",
        controller.install,
        expected="nothing of the cluster exists, or all of it is of the install whose files are in the cluster's folder",
        advice=CHOICES,
    ),
    Check(
        "cluster of the kubeconfig",
        controller.kubeconfig,
        expected="the kubeconfig in the cluster's folder leads to the cluster whose files are beside it (ClusterVersion, clusterID)",
        advice="put the kubeconfig of this cluster back: ignition/auth/kubeconfig in the folder is the one that its installer made",
    ),
    Check(
        "control plane that exists",
        controller.control_plane,
        expected="a cluster that stands has all devices of its control plane: another one in its place would be no member of etcd",
        advice="replace it by OpenShift's procedure for a control plane node (take the lost member out of etcd first); these playbooks"
        " order no control plane machine for a cluster that stands. If it was renamed in the inventory, name it as it was",
    ),
    Check(
        "publishing address",
        publishing.place,
        expected="an address that machines reach, of this computer or of who else publishes; or a bucket",
        advice="set openshift_publish_address to the address at which the machines reach who publishes, without scheme and port",
    ),
    Check(
        "publishing ports",
        publishing.ports,
        expected="free, or those of this cluster's own server",
        advice="end what listens there, which may be another cluster's server,"
        " or set openshift_publish_http_port and openshift_publish_https_port",
    ),
    Check(
        "DNS zone takes updates",
        names.zone,
        expected="the server lets the key update the names that the cluster will have; nothing is changed by asking",
        advice="see that the server answers for this zone and takes updates signed with openshift_dns_key_name",
    ),
    Check(
        "no stale DNS records",
        names.stale_records,
        expected="no name of a cluster that does not exist yet leads anywhere",
        advice="another cluster may have this name: take another openshift_cluster_name, or remove these records",
    ),
    Check(
        "DNS as nodes ask it",
        names.resolver,
        expected="the resolver that nodes use finds the base domain where the names are kept",
        advice="delegate the zone to the server, or give the nodes a resolver that asks it",
    ),
    Check(
        "balancer's ports",
        balancer.ports,
        expected="6443, 22623, 80 and 443 answer at a balancer that exists",
        advice="look at haproxy on the balancer: its journal tells what became of it",
    ),
    Check("price", capacity.price, expected="what an hour of all that is missing costs", advice="look the prices up"),
)
