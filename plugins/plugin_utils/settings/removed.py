# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What replaces the variables and the options of roles that earlier versions had. docs/coming-from.md lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .variable import PRIVATE
from .variables import COMPUTED_OPTIONS, VARIABLES

CONSTANT = "remove it, it is a constant"
TIME = "remove it, it is a constant that openshift_time_scale stretches"

FIELDS: Mapping[str, str] = {
    "platform_name": "platform.external.platformName",
    "network_type": "networking.networkType",
    "trust_bundle_policy": "additionalTrustBundlePolicy",
    "capabilities": "capabilities",
    "fips": "fips",
    "os_image_stream": "osImageStream",
    "cpu_partitioning": "cpuPartitioningMode",
    "feature_set": "featureSet",
    "feature_gates": "featureGates",
}
"""Variables that repeated a field of install-config.yaml, without their prefix."""

KEYS: Mapping[str, Mapping[str, str]] = {
    **{
        variable: {f"{prefix}_{key.name}": key.name for key in VARIABLES[variable].suboptions}
        for variable, prefix in (("openshift_dns_route53", "dns"), ("openshift_dns_octodns", "dns"), ("openshift_drain_options", "drain"))
    },
    "openshift_awx_project": {"awx_project_url": "url", "awx_branch": "branch", "awx_project_credential": "credential"},
}
"""Keys of dictionaries that were variables, by the dictionary: the former name, without its prefix, and the key."""

OPTIONS_OF_ROLES: Mapping[str, tuple[str, ...]] = {
    "bootstrap_lifetime": ("provision_bootstrap_lifetime",),
    "bootstrap_timeout": ("cluster_bootstrap_timeout", "provision_bootstrap_timeout"),
    "drain_unreachable_grace": ("node_removal_unreachable_grace",),
    "provision_timeout": ("provision_wait_timeout",),
    "stable_for": ("cluster_stable_for",),
}
"""Variables that are options of a role alone, without their prefix."""

TIMES = (
    *("answer_timeout", "api_timeout", "awx_sync_timeout", "balancer_timeout", "boot_timeout", "console_timeout", "dns_timeout"),
    *("dns_wait_interval", "download_delay", "download_timeout", "etcd_timeout", "eviction_window", "gather_logs_timeout"),
    *("ignition_max_age", "ignition_min_validity", "image_timeout", "install_timeout", "installer_timeout", "join_second_key_after"),
    *("join_watch_timeout", "leave_timeout", "lock_lifetime", "lock_timeout", "network_timeout", "operator_timeout", "power_timeout"),
    *("publish_least_validity", "publish_lifetime", "publish_timeout", "quorum_join_wait", "quorum_wait", "routers_timeout"),
    *("stale_node_timeout", "teardown_timeout"),
)
"""Settings of time that are constants, without their prefix."""

CONSTANTS = ("download_retries", "gather_keep", "join_pending_limit", "metallb_channel", "report_keep", "status_certificate_days")
"""Other variables that are constants, without their prefix."""

CONSTANT_OPTIONS = (
    *("boot_files_host_folder", "boot_files_host_unit_folder", "control_plane_suspend_timeout", "csr_approval_history"),
    *("gather_api_retries", "gather_api_timeout", "gather_event_count", "gather_history", "gather_write_timeout"),
    *("validate_clock_tolerance", "validate_connect_timeout", "validate_disk_needed", "validate_history", "validate_metal_api_retries"),
    *("validate_run_hours", "validate_signature_timeout", "validate_timeout"),
)
"""Options of roles that are constants."""

NAMES_OF_OTHERS = frozenset({"cluster_directory", "cluster_name", "project_create", "project_id", "project_name", "report_file"})
"""Former options whose names playbooks and inventories use for their own variables."""

REMOVED_VARIABLES: Mapping[str, str] = {
    f"openshift_{name}": place
    for name, place in {
        **{name: f"set {field} in openshift_install_config" for name, field in FIELDS.items()},
        **{
            f"state_{key}": f"set openshift_publish_{key}"
            for key in ("region", "endpoint", "ca", "access_key", "secret_key", "session_token")
        },
        **{name: f"set {key} in {variable}" for variable, keys in KEYS.items() for name, key in keys.items()},
        **{name: f"set the role option {' and '.join(options)}" for name, options in OPTIONS_OF_ROLES.items()},
        **dict.fromkeys(TIMES, TIME),
        **dict.fromkeys(CONSTANTS, CONSTANT),
    }.items()
}
"""What to do about a variable that is gone, by its name."""

REMOVED_OPTIONS: Mapping[str, str] = {
    **{
        option.removeprefix(PRIVATE): f"set {variable.name}" if variable.name in VARIABLES else "remove it, it is computed"
        for variable in (*VARIABLES.values(), *COMPUTED_OPTIONS)
        for option in variable.options
        if option.startswith(PRIVATE) and option.removeprefix(PRIVATE) not in NAMES_OF_OTHERS
    },
    **{
        name: f"set {key} in {variable.removeprefix('openshift_')}"
        for variable, keys in KEYS.items()
        if variable.startswith("openshift_dns_")
        for name, key in keys.items()
    },
    **{
        f"{role}_{key}": f"set {key} in openshift_drain_options"
        for role in ("node_removal", "control_plane")
        for key in KEYS["openshift_drain_options"].values()
    },
    "validate_load_balancer_operating_system": "set load_balancer_operating_system",
    **dict.fromkeys(CONSTANT_OPTIONS, CONSTANT),
}
"""What to do about an option of a role that is gone, by its name."""

REMOVED: Mapping[str, str] = {**REMOVED_VARIABLES, **REMOVED_OPTIONS}

OPTIONS_PATTERN = f"^({'|'.join(map(re.escape, sorted(REMOVED_OPTIONS)))})$"
"""Matches the names of options of roles that are gone."""
