"""How the end of a command in a pod is read. Against a real API server: tests/sandbox/openshift/test_etcd.py."""

import json

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterUnreachableError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients import pod_exec
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.pod_exec import STATUS, STDERR, STDOUT, Execution

PATH = "/api/v1/namespaces/openshift-etcd/pods/etcd-a/exec?container=etcdctl"


class Stream:
    """The messages of a session, then its end."""

    def __init__(self, *messages: tuple[int, bytes]) -> None:
        self._messages = [bytes([channel]) + content for channel, content in messages]

    def recv(self) -> bytes:
        return self._messages.pop(0) if self._messages else b""


def read(*messages: tuple[int, bytes]) -> Execution:
    return pod_exec._output(Stream(*messages), PATH)


def test_an_exit_code_is_no_error() -> None:
    details = {"causes": [{"reason": "ExitCode", "message": "3"}]}
    status = {"status": "Failure", "reason": "NonZeroExitCode", "message": "exit status 3", "details": details}
    assert read((STDERR, b"Error: no"), (STATUS, json.dumps(status).encode())) == Execution(3, "", "Error: no")


@pytest.mark.parametrize("end", [[], [(STATUS, b"not JSON")], [(STATUS, b'{"metadata": {}}')]])
def test_without_a_status_it_is_unknown_what_happened(end: list[tuple[int, bytes]]) -> None:
    with pytest.raises(ClusterUnreachableError, match="without a status"):
        read((STDOUT, b"Member removed"), *end)
