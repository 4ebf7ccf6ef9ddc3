"""cluster_boot_info against a real API server. tests/e2e/test_elsewhere.py runs it against a cluster with all objects."""

from __future__ import annotations

from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, ControlPlane


def test_a_cluster_without_cluster_version_is_no_openshift(cluster: ControlPlane, run: Play) -> None:
    result = run("cluster_boot_info", kubeconfig=str(cluster.kubeconfig), api_addresses=[ADDRESS])
    assert result["failed"]
    assert "without a ClusterVersion, so it is not OpenShift" in result["msg"]


def test_it_fails_when_the_api_does_not_answer(cluster: ControlPlane, run: Play) -> None:
    reach = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": ["127.64.250.99"]}
    for waiting in ({"wait": False}, {"wait_timeout": 2, "wait_interval": 0.5}):
        result = run("cluster_boot_info", **reach, **waiting)
        assert result["failed"]
        assert "127.64.250.99" in result["msg"]
