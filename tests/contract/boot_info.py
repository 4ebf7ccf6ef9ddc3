"""The scenario of ``cluster_boot_info``: what a running OpenShift cluster reports about itself, in the test's API server."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.cluster.control_plane import NODES
from tests.contract.scenario import ClusterScenario

if TYPE_CHECKING:
    from tests.contract.subjects import Testbed

DOMAIN = "contract.metal.test"
CONFIG = "config.openshift.io"
MACHINES = "openshift-machine-api"
MACHINE_CONFIGS = "openshift-machine-config-operator"
USER_DATA = "worker-user-data-managed"
IMAGES = "coreos-bootimages"

KINDS = {
    "clusterversions": "ClusterVersion",
    "dnses": "DNS",
    "infrastructures": "Infrastructure",
    "networks": "Network",
}
CUSTOM: dict[tuple[str, str], dict[str, Any]] = {
    ("clusterversions", "version"): {
        "spec": {"clusterID": "3a2f0c1e-6a1b-4a55-9d3c-0f6c7c1b2d4e", "channel": "stable-4.20"},
        "status": {
            "desired": {"version": "4.20.33", "image": "quay.io/openshift-release-dev/ocp-release@sha256:0123"},
            "history": [{"state": "Completed", "version": "4.20.33"}],
        },
    },
    ("dnses", "cluster"): {"spec": {"baseDomain": DOMAIN}},
    ("infrastructures", "cluster"): {
        "spec": {"platformSpec": {"type": "None"}},
        "status": {
            "infrastructureName": "contract-x7k2p",
            "apiServerURL": f"https://api.{DOMAIN}:6443",
            "platform": "None",
            "platformStatus": {"type": "None"},
        },
    },
    ("networks", "cluster"): {"spec": {"networkType": "OVNKubernetes"}, "status": {"networkType": "OVNKubernetes"}},
}
"""Custom resources by plural and name."""

POINTER = {
    "ignition": {
        "version": "3.5.0",
        "config": {"merge": [{"source": f"https://api-int.{DOMAIN}:22623/config/worker"}]},
        "security": {"tls": {"certificateAuthorities": [{"source": "data:text/plain;charset=utf-8;base64,Q0E="}]}},
    }
}
STREAM = {"stream": "rhcos-4.20", "architectures": {"x86_64": {"artifacts": {"metal": {"release": "9.6.20250826-1"}}}}}


def lay_cluster(testbed: Testbed) -> None:
    """A cluster of two control plane nodes that runs a release."""
    cluster = testbed.cluster
    cluster.clear()
    for number in range(2):
        cluster.register(f"master-{number}.{DOMAIN}", labels={"node-role.kubernetes.io/master": ""}, status={"nodeInfo": NODE_INFO})
    for (plural, name), content in CUSTOM.items():
        cluster.define(CONFIG, plural, KINDS[plural])
        body = {"apiVersion": f"{CONFIG}/v1", "kind": KINDS[plural], "metadata": {"name": name}, **content}
        cluster.create_object(f"/apis/{CONFIG}/v1/{plural}", body)
    for namespace in (MACHINES, MACHINE_CONFIGS):
        cluster.ensure_namespace(namespace)
    user_data = base64.b64encode(json.dumps(POINTER).encode()).decode()
    cluster.create_object(f"/api/v1/namespaces/{MACHINES}/secrets", {"metadata": {"name": USER_DATA}, "data": {"userData": user_data}})
    images = {"stream": json.dumps(STREAM), "releaseVersion": "4.20.33"}
    cluster.create_object(f"/api/v1/namespaces/{MACHINE_CONFIGS}/configmaps", {"metadata": {"name": IMAGES}, "data": images})


NODE_INFO = {
    "architecture": "amd64",
    **dict.fromkeys(
        (
            "bootID",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ),
        "",
    ),
}


def nothing(_testbed: Testbed) -> Any:
    """The module only reads."""
    return None


BOOT_INFO_SCENARIOS = [
    ClusterScenario(
        module="cluster_boot_info",
        create={"pools": ["worker"]},
        change=None,
        worlds={"create": None},
        meetings=(("read", "create"),),
        lay=lay_cluster,
        read_state=nothing,
        listing=NODES,
        view=lambda answer: answer,
        returned=("boot",),
    ),
]
