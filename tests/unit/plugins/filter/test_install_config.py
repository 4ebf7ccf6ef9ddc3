"""Fields of an install-config from variables, and further ones of the user's."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.install_config import install_config

FIELDS: dict[str, Any] = {
    "baseDomain": "metal.test",
    "compute": [{"name": "worker", "replicas": 0}],
    "networking": {"networkType": "OVNKubernetes", "serviceNetwork": ["172.30.0.0/16"]},
    "pullSecret": "a secret",
}


def test_further_fields_are_added_however_deep() -> None:
    further = {"publish": "Internal", "networking": {"ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}}}}
    assert install_config(FIELDS, further) == FIELDS | {"publish": "Internal", "networking": FIELDS["networking"] | further["networking"]}


def test_pools_are_merged_by_their_names() -> None:
    further = {"compute": [{"name": "worker", "hyperthreading": "Disabled"}, {"name": "edge", "replicas": 0}]}
    assert install_config(FIELDS, further)["compute"] == [
        {"name": "worker", "replicas": 0, "hyperthreading": "Disabled"},
        {"name": "edge", "replicas": 0},
    ]


@pytest.mark.parametrize("empty", [None, "", [], {}, False])
def test_what_is_empty_is_left_to_the_installer_or_to_the_further_fields(empty: object) -> None:
    assert "fips" not in install_config(FIELDS | {"fips": empty}, None)
    assert install_config(FIELDS | {"fips": empty}, {"fips": True})["fips"] is True


def test_the_same_twice_is_no_contradiction() -> None:
    assert install_config(FIELDS, {"baseDomain": "metal.test", "compute": [{"name": "worker", "replicas": 0}]}) == FIELDS


def test_every_contradiction_is_told_and_no_secret() -> None:
    further = {
        "baseDomain": "other.test",
        "compute": [{"name": "worker", "replicas": 2}],
        "networking": {"serviceNetwork": ["10.9.0.0/16"]},
        "pullSecret": "other words",
    }
    with pytest.raises(AnsibleFilterError, match="4 problems") as told:
        install_config(FIELDS, further)
    for path in ("baseDomain", "compute.worker.replicas", "networking.serviceNetwork", "pullSecret"):
        assert f") {path} is " in str(told.value)
    assert "a secret" not in str(told.value)
    assert "other words" not in str(told.value)


def test_the_inputs_stay_as_they_are() -> None:
    fields, further = {"a": {"b": 1}}, {"a": {"c": 2}}
    install_config(fields, further)
    assert (fields, further) == ({"a": {"b": 1}}, {"a": {"c": 2}})


@pytest.mark.parametrize(("fields", "further"), [([], {}), (FIELDS, ["publish"]), (FIELDS, "publish: Internal")])
def test_only_mappings(fields: object, further: object) -> None:
    with pytest.raises(AnsibleFilterError, match="have to be a mapping"):
        install_config(fields, further)
