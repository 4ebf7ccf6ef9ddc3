"""What the rules of services read from the results of a loop of ``k8s_info``."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.rule import rule
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.cluster import pool_changes
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.services import operator_subscription, registry_changes

VERSION: dict[str, Any] = {"resources": [{"status": {"desired": {"version": "4.20.4"}}}]}
SUBSCRIPTION = {"kind": "Subscription", "metadata": {"name": "mine", "namespace": "elsewhere"}, "spec": {"name": "lvms-operator"}}
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "image-registry-storage"}}


def test_an_operator_stays_in_the_namespace_of_its_subscription() -> None:
    new = operator_subscription("lvms", [VERSION, {"resources": []}, {"skipped": True}], "redhat-operators")
    assert (new["namespace"], new["subscription"]) == ("openshift-lvm-storage", "lvms-operator")
    kept = operator_subscription("lvms", [VERSION, {"resources": [SUBSCRIPTION]}], "redhat-operators")
    assert (kept["namespace"], kept["subscription"]) == ("elsewhere", "mine")


def test_without_the_version_of_the_cluster_the_rule_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^services\.operator_subscription: "):
        rule("lvms", "services.operator_subscription", [{"resources": []}], "redhat-operators")


def test_a_claim_of_the_registry_is_created_once() -> None:
    assert [each["kind"] for each in registry_changes("pvc", [{"resources": []}], "100Gi")] == ["PersistentVolumeClaim", "Config"]
    assert [each["kind"] for each in registry_changes("pvc", [{"resources": []}, {"resources": [CLAIM]}], "100Gi")] == ["Config"]


def test_no_pool_is_written_without_settings() -> None:
    assert pool_changes([], [], [{"resources": []}, {"failed": True}]) == {"present": [], "absent": []}
