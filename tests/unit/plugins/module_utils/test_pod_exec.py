"""How the end of a command in a pod is read. Against a real API server: tests/sandbox/openshift/test_etcd.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterRefusedError, ClusterUnreachableError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients import pod_exec
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.pod_exec import STATUS, STDERR, STDOUT, Execution

PATH = "/api/v1/namespaces/openshift-etcd/pods/etcd-a/exec?container=etcdctl"
SUCCESS = {"metadata": {}, "status": "Success"}


def failure(reason: str, message: str, *causes: tuple[str, str]) -> dict[str, Any]:
    details = {"causes": [{"reason": cause, "message": text} for cause, text in causes]}
    return {"status": "Failure", "reason": reason, "message": message, "details": details}


class Stream:
    """The messages of a session, then its end."""

    def __init__(self, *messages: tuple[int, bytes]) -> None:
        self._messages = [bytes([channel]) + content for channel, content in messages]

    def recv(self) -> bytes:
        return self._messages.pop(0) if self._messages else b""


def read(*messages: tuple[int, bytes]) -> Execution:
    return pod_exec._output(Stream(*messages), PATH)


def test_output_is_collected_by_channel_until_the_status() -> None:
    begun = [(STDOUT, b""), (STDERR, b""), (STATUS, b"")]
    said = [(STDOUT, b"one "), (STDERR, b"warning"), (STDOUT, b"two"), (9, b"unknown channel")]
    assert read(*begun, *said, (STATUS, json.dumps(SUCCESS).encode())) == Execution(0, "one two", "warning")


def test_an_exit_code_is_no_error() -> None:
    status = failure("NonZeroExitCode", "exit status 3", ("ExitCode", "3"))
    assert read((STDERR, b"Error: no"), (STATUS, json.dumps(status).encode())) == Execution(3, "", "Error: no")


def test_a_command_that_cannot_be_run_is_refused() -> None:
    status = failure("InternalError", "executable file not found in $PATH")
    with pytest.raises(ClusterRefusedError, match=r"in the pod etcd-a: executable file not found"):
        read((STATUS, json.dumps(status).encode()))


@pytest.mark.parametrize("end", [[], [(STATUS, b"not JSON")], [(STATUS, b'{"metadata": {}}')]])
def test_without_a_status_it_is_unknown_what_happened(end: list[tuple[int, bytes]]) -> None:
    with pytest.raises(ClusterUnreachableError, match="without a status"):
        read((STDOUT, b"Member removed"), *end)


def test_the_proxy_is_that_of_the_other_calls() -> None:
    options = {"http_proxy_host": "proxy", "http_proxy_port": 3128, "proxy_type": "http"}
    assert pod_exec._proxy("http://proxy:3128") == options
