"""The pointer to a pool's Ignition config, and whether a cluster is that of the inventory."""

import json
from base64 import b64encode
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.boot.info import (
    pointer,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.cluster_folder.ownership import identity_problem
from sandbox.openshift.resources import user_data_secret

CA = "data:text/plain;charset=utf-8;base64,Q0E="
URL = "https://api-int.demo.test:22623/config/worker"


def user_data(**ignition: Any) -> dict[str, Any]:
    config = {"ignition": {"version": "3.5.0", "config": {"merge": [{"source": URL}]}, "security": security(CA), **ignition}}
    return {"data": {"userData": b64encode(json.dumps(config).encode()).decode()}}


def security(*sources: str) -> dict[str, Any]:
    return {"tls": {"certificateAuthorities": [{"source": source} for source in sources]}}


def test_the_pointer_is_of_a_spec_that_all_boot_images_read() -> None:
    ignition = pointer("worker", user_data_secret("worker", "demo.test", b"CA"))["ignition"]
    assert ignition == {"version": "3.2.0", "config": {"merge": [{"source": URL}]}, "security": security(CA)}


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        (None, "does not exist.*oc get machineconfigpool"),
        ({"data": {"userData": "e30="}}, "no Ignition config"),
        (user_data(security=security()), "has no CA"),
        (user_data(config={"merge": [{"source": "http://api-int.demo.test:22624/config/worker"}]}), "not an https URL"),
    ],
)
def test_user_data_that_cannot_boot_a_machine_is_refused(secret: Any, reason: str) -> None:
    with pytest.raises(CollectionError, match=reason):
        pointer("worker", secret)


RUNNING = {"domain": "demo.test", "infra_id": "demo-x7k2p"}
OWN, FOREIGN, BALANCER = (
    {"hostname": "worker-0", "state": "active", "tags": [f"openshift-infra-id={name}"] if name else ["openshift-role=load-balancer"]}
    for name in ("demo-x7k2p", "demo-aaaaa", "")
)


@pytest.mark.parametrize(
    ("running", "devices", "folder", "named"),
    [
        (RUNNING, [OWN, BALANCER], "demo-x7k2p", ()),
        (RUNNING, [], "", ()),
        ({**RUNNING, "domain": "other.test"}, [OWN], "", ("other.test", "demo.test")),
        ({**RUNNING, "infra_id": ""}, [OWN], "", ("infrastructureName",)),
        (RUNNING, [OWN, FOREIGN], "", ("demo-x7k2p", "demo-aaaaa", "worker-0")),
        (RUNNING, [{**FOREIGN, "state": "deprovisioning"}], "", ()),
        (RUNNING, [OWN], "demo-bbbbb", ("demo-x7k2p", "demo-bbbbb")),
    ],
)
def test_another_cluster_is_named_beside_the_inventorys(running: Any, devices: Any, folder: str, named: tuple[str, ...]) -> None:
    problem = identity_problem(running, "demo.test", devices, folder)
    assert bool(problem) == bool(named)
    assert all(name in problem for name in named)
