"""cluster_boot_info against a real API server. tests/e2e/test_elsewhere.py runs it against a cluster with all objects."""

from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, ControlPlane


def test_a_cluster_without_cluster_version_is_no_openshift(cluster: ControlPlane, run: Play) -> None:
    result = run("cluster_boot_info", kubeconfig=str(cluster.kubeconfig), api_addresses=[ADDRESS])
    assert result["failed"]
    assert "without a ClusterVersion, so it is not OpenShift" in result["msg"]
