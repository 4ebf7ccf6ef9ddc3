"""What a running cluster reports about itself, read from its objects."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.boot.info import (
    boot_images,
    cluster_domain,
    installed_version,
    machine_architectures,
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


def test_a_proxy_is_kept() -> None:
    proxy = {"httpsProxy": "https://proxy.test", "noProxy": [".demo.test"]}
    assert pointer("worker", user_data(proxy=proxy))["ignition"]["proxy"] == proxy


def test_the_spec_of_the_first_releases_is_read() -> None:
    config = {"append": [{"source": URL, "verification": {}}]}
    assert pointer("worker", user_data(version="2.2.0", config=config))["ignition"]["config"] == {"merge": [{"source": URL}]}


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        (None, "does not exist.*oc get machineconfigpool"),
        ({"data": {}}, "no Ignition config"),
        ({"data": {"userData": "e30="}}, "no Ignition config"),
        (user_data(security=security()), "has no CA"),
        (user_data(config={"merge": []}), "no Ignition config"),
        (user_data(config={"merge": [{"source": "http://api-int.demo.test:22624/config/worker"}]}), "not an https URL"),
    ],
)
def test_user_data_that_cannot_boot_a_machine_is_refused(secret: Any, reason: str) -> None:
    with pytest.raises(CollectionError, match=reason):
        pointer("worker", secret)


@pytest.mark.parametrize(
    ("dns", "url", "domain"),
    [
        ({"spec": {"baseDomain": "demo.test"}}, "https://api.other.test:6443", "demo.test"),
        (None, "https://api.demo.test:6443", "demo.test"),
        (None, "https://a-load-balancer.test:6443", ""),
        (None, "", ""),
    ],
)
def test_the_name_is_of_the_dns_config_or_the_api(dns: Any, url: str, domain: str) -> None:
    assert cluster_domain(dns, {"status": {"apiServerURL": url}}) == domain


def node(architecture: str, *roles: str) -> dict[str, Any]:
    labels = {f"node-role.kubernetes.io/{role}": "" for role in roles}
    return {"metadata": {"labels": labels}, "status": {"nodeInfo": {"architecture": architecture}}}


def test_a_release_for_one_architecture_is_that_of_the_control_plane() -> None:
    nodes = [node("arm64", "master", "control-plane"), node("amd64", "worker")]
    assert machine_architectures({"status": {"desired": {"version": "4.20.1"}}}, nodes) == ["aarch64"]
    assert machine_architectures({"status": {"desired": {"architecture": "Multi"}}}, nodes) == ["aarch64", "x86_64"]


def test_during_an_upgrade_the_finished_release_is_known() -> None:
    history = [
        {"state": "Partial", "version": "4.20.34"},
        {"state": "Completed", "version": "4.20.33"},
        {"state": "Completed", "version": "1"},
    ]
    assert installed_version({"status": {"history": history}}) == "4.20.33"
    assert installed_version({"status": {"history": history[:1]}}) == ""


def test_boot_images_are_the_stream_of_the_cluster() -> None:
    data = {"stream": '{"stream": "rhcos-4.20"}', "releaseVersion": "4.20.33"}
    assert boot_images({"data": data}) == ({"stream": "rhcos-4.20"}, "4.20.33")
    assert boot_images({"data": {}}) == boot_images(None) == ({}, "")
    with pytest.raises(CollectionError, match="no JSON"):
        boot_images({"data": {"stream": "{"}})


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
