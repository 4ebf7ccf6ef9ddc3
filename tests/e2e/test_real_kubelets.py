"""A cluster of real kubelets, in the order of its life: installed, scaled, started again while one waits, destroyed.

What pretended kubelets cannot show: that what is approved is what Kubernetes' own program asks for, and that it is content with it.
"""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sandbox.demo import processes_of
from sandbox.openshift import NamespacesError, require_namespaces
from sandbox.testing.observer import REQUESTS
from tests.e2e.harness import NAME, Moment, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    try:
        require_namespaces()
    except NamespacesError as error:
        pytest.skip(f"no real kubelet can run here: {error}")
    user = User(tmp_path_factory.mktemp("real"), speed=600, kubelets="real")
    with user.at_work():
        yield user


def kubelets(user: User) -> list[int]:
    return sorted(number for number, command in processes_of(user.folder) if command.startswith("/var/kubelet "))


def requests_of(user: User, node: str, signer: str = "") -> list[dict[str, Any]]:
    """The certificate requests for a node, oldest first."""
    found = []
    for item in user.kube(REQUESTS)["items"]:
        subject = x509.load_pem_x509_csr(base64.b64decode(item["spec"]["request"])).subject.rfc4514_string()
        if subject == f"CN=system:node:{node}.{NAME},O=system:nodes" and item["spec"]["signerName"].endswith(signer):
            found.append(item)
    return sorted(found, key=lambda item: int(item["metadata"]["resourceVersion"]))


def key_of(request: dict[str, Any]) -> bytes:
    parsed = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
    return parsed.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def pending(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [request for request in requests if not request.get("status", {}).get("conditions")]


def test_install(user: User) -> None:
    user.play("install.yml", timeout=1800).ended_well()
    names = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
    assert user.nodes() == names
    assert len(kubelets(user)) == len(names)
    assert pending(user.kube(REQUESTS)["items"]) == []
    for name in names:
        assert [item["spec"]["signerName"] for item in requests_of(user, name)] == [
            "kubernetes.io/kube-apiserver-client-kubelet",
            "kubernetes.io/kubelet-serving",
        ]


def test_a_kubelet_restarted_while_it_waits_joins(user: User) -> None:
    """Nobody answers the first request of a new worker, its machine is rebooted, and the kubelet has forgotten its key."""
    user.edit_workers(2)
    user.play("scale.yml", kill=Moment("csr_approval"))
    (first,) = until(lambda: pending(requests_of(user, "worker-2")), what="worker-2 asks")
    user.switch("reboot", "worker-2")
    second = until(lambda: pending(requests_of(user, "worker-2"))[1:], what="worker-2 asks again")[0]
    assert key_of(first) != key_of(second)
    run = user.play("scale.yml", timeout=1800).ended_well()
    assert "worker-2" in user.nodes()
    states = {item["metadata"]["name"]: bool(item.get("status", {}).get("certificate")) for item in requests_of(user, "worker-2")}
    assert states[second["metadata"]["name"]]
    assert not states[first["metadata"]["name"]], f"nobody has its key any more:\n{run.tail}"
    # A rogue CSR would be the same, so the alarm is printed.
    alarm = run.output.partition("ALARM ")[2]
    assert first["metadata"]["name"] in alarm
    assert second["metadata"]["name"] in alarm


def test_destroy_deletes_the_devices_of_real_kubelets(user: User) -> None:
    user.leaves_nothing()
    assert kubelets(user) == []
