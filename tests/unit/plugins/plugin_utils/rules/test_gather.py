"""What a failure bundle contains: the attributes that are listed, whatever else was collected."""

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.gather import (
    SECRETS_OF_ENVIRONMENT,
    failure_contents,
    secret_variables,
    secrets,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES

PLANTED = "pl4nted"
DEVICE: dict[str, Any] = {
    "id": "7f4a",
    "hostname": "worker-0.demo.metal.test",
    "state": "provisioning",
    "metro": "da",
    "tags": ["openshift-cluster=demo.metal.test", "openshift-role=worker", f"note={PLANTED}"],
    "description": PLANTED,
    "customdata": {"key": PLANTED},
    "userdata": PLANTED,
}
COLLECTED: dict[str, Any] = {
    "failure": {
        "report": {"task": "Create devices", "reasons": ["no capacity"], "other": PLANTED},
        "result": {
            "msg": "no capacity",
            "stdout": PLANTED,
            "stderr": PLANTED,
            "invocation": {"module_args": {"userdata": PLANTED}},
            "failure": {"type": "ValidationError", "status": 422, "body": PLANTED},
            "outcomes": {"worker-0": {"status": "failed", "error": "no capacity", "device": {"userdata": PLANTED}}},
            "results": [{"failed": True, "msg": "one", "item": PLANTED}, {"failed": False, "msg": PLANTED}],
        },
    },
    "versions": {"openshift": "4.20.4"},
    "hostnames": ["worker-0.demo.metal.test", "worker-1.demo.metal.test"],
    "belongings": {
        "clusters": [
            {
                "name": "demo.metal.test",
                "count": 1,
                "devices": [{"id": "7f4a", "hostname": "worker-0.demo.metal.test", "price_per_hour": 0.5, "note": PLANTED}],
                "virtual_networks": [{"id": "1a", "vxlan": 1000, "description": PLANTED}],
            }
        ]
    },
    "devices": {"devices": [DEVICE, {**DEVICE, "id": "8c", "hostname": "worker-9.demo.metal.test"}], "changed": False},
    "events": {
        "events": [
            {"id": "1", "created_at": "t1", "type": "provisioning.101", "body": "first", "device_id": "7f4a", "ip": PLANTED},
            {"id": "2", "created_at": "t2", "type": "x", "body": "of another device", "device_id": "foreign"},
            {"id": "3", "created_at": "t3", "type": "x", "body": "newest", "device_id": "gone"},
        ]
    },
    "event_count": 1,
    "cluster": {
        "api_answers": True,
        "waiting": ["operator ingress is not available"],
        "operators": [],
        "ingress_ca": PLANTED,
        "nodes": [{"name": "worker-0"}],
        "pods": [{"name": "router-0", "phase": "Pending"}],
    },
    "verdicts": {
        "verdicts": [{"name": "csr-1", "verdict": "approved", "reason": "expected", "request": PLANTED}],
        "refused": [{"name": "csr-2", "requestor": "system:node:x", "reason": "no machine", "request": PLANTED}],
    },
    "logs": {"skipped": True},
    "console_host": "sos.METRO.example.com",
    "failed": [],
}


def contents(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = failure_contents({**COLLECTED, **changes})["contents"]
    return found


def test_contents_have_only_listed_attributes() -> None:
    assert PLANTED not in json.dumps(contents())


def test_contents_have_all_listed_attributes() -> None:
    found = contents()
    assert found["failure.json"]["result"] == {
        "msg": "no capacity",
        "failure": {"type": "ValidationError", "status": 422},
        "results": [{"msg": "one"}],
        "outcomes": {"worker-0": {"status": "failed", "error": "no capacity"}},
    }
    assert found["inventory.json"] == {
        "desired": ["worker-0.demo.metal.test", "worker-1.demo.metal.test"],
        "missing": ["worker-1.demo.metal.test"],
        "undesired": ["worker-9.demo.metal.test"],
    }
    assert found["devices.json"][0]["ownership_tags"] == ["openshift-cluster=demo.metal.test", "openshift-role=worker"]
    assert found["belongings.json"]["clusters"][0]["virtual_networks"] == [{"id": "1a", "vxlan": 1000}]
    assert found["consoles.txt"].splitlines()[0] == "worker-0.demo.metal.test (provisioning): ssh 7f4a@sos.da.example.com"
    assert [event["body"] for event in found["events.json"]] == ["first", "newest"], "of the cluster's devices, and the newest one"
    assert [event.get("hostname") for event in found["events.json"]] == ["worker-0.demo.metal.test", None]
    assert found["nodes.json"] == [{"name": "worker-0"}]
    assert found["pods.json"] == [{"name": "router-0", "phase": "Pending"}]
    assert found["certificate-requests.json"]["refused"] == [{"name": "csr-2", "requestor": "system:node:x", "reason": "no machine"}]
    assert "gather-bootstrap.json" not in found


@pytest.mark.parametrize(
    ("template", "host", "port", "line"),
    [
        ("127.0.0.1:8810", "127.0.0.1", 8810, "ssh -p 8810 7f4a@127.0.0.1"),
        ("2001:db8::1", "2001:db8::1", 0, "ssh 7f4a@2001:db8::1"),
    ],
)
def test_addresses_of_serial_consoles(template: str, host: str, port: int, line: str) -> None:
    found = failure_contents({**COLLECTED, "console_host": template})
    assert found["consoles"][0] == {
        "hostname": "worker-0.demo.metal.test",
        "state": "provisioning",
        "user": "7f4a",
        "host": host,
        "port": port,
    }
    assert line in found["contents"]["consoles.txt"]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"devices": {"failed": True, "msg": "503"}}, ["devices"]),
        ({"cluster": {"api_answers": False}}, ["cluster"]),
        ({"verdicts": {"verdicts": [], "failure": {"type": "ClusterError"}}}, ["certificate_requests"]),
        ({"logs": {"rc": 124}}, ["bootstrap_logs"]),
        ({"failed": ["cluster"], "cluster": {}}, ["cluster"]),
    ],
)
def test_collectors_without_an_answer_are_named(changes: dict[str, Any], missing: list[str]) -> None:
    assert failure_contents({**COLLECTED, **changes})["missing"] == missing


@pytest.mark.parametrize("name", COLLECTED)
@pytest.mark.parametrize(
    "value", [None, "text", 3, [], [3], {"devices": [3], "events": {}, "clusters": [[]], "results": 3, "outcomes": []}]
)
def test_malformed_results_are_no_error(name: str, value: Any) -> None:
    if name != "failed" or isinstance(value, list):
        failure_contents({**COLLECTED, name: value})


WITHOUT_SECRETS_OF_A_BUNDLE = {
    "openshift_kubeconfig": "a path, or a text whose keys the redactor knows",
    "openshift_awx_notification": "of awx.yml, which writes no bundle",
    "openshift_gather_secrets": "the further ones",
    "openshift_ssh_public_key": "public",
}


def test_the_secrets_of_a_bundle_are_those_of_all_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    names = secret_variables(["other"])
    assert {name for name, variable in VARIABLES.items() if variable.is_secret} - set(names) <= WITHOUT_SECRETS_OF_A_BUNDLE.keys()
    assert names[-1] == "other"
    for name in SECRETS_OF_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("METAL_AUTH_TOKEN", "t0ken")
    monkeypatch.setenv("METAL_API_PROXY", "http://user:of%2Fenvironment@proxy.test:3128")
    found = secrets(
        {
            "openshift_state_password": "of-archive",
            "openshift_dns_route53": {"secret_key": "of-aws", "zone_id": "Z1"},
            "openshift_dns_octodns": {"service": "cloudflare", "secrets": {"token": "of-cloudflare"}},
            "openshift_proxy": {"httpProxy": "http://user:of-proxy@proxy.test:3128", "noProxy": ".test"},
            "openshift_install_config": {"proxy": {"httpsProxy": "http://user:of-fields@proxy.test:3128"}, "fips": True},
            "openshift_publish_access_key": "",
        },
        ["further", {"a": "b"}],
    )
    expected = ["of-archive", "of-aws", "of-cloudflare", "t0ken", "of-proxy", "of-fields", "of/environment", "further", {"a": "b"}]
    assert found == expected


@pytest.mark.parametrize("form", ["text", "path", "missing", "dict"])
def test_a_pull_secret_is_read_where_it_is_a_path(form: str, tmp_path: Path) -> None:
    (tmp_path / "pull").write_text("of-the-file", encoding="utf-8")
    given: Any = {"text": "of-the-text", "path": str(tmp_path / "pull"), "missing": "/nonexistent/pull", "dict": {"auths": {}}}[form]
    found = secrets({"openshift_pull_secret": given}, [])
    assert given in found
    assert ("of-the-file" in found) == (form == "path")
