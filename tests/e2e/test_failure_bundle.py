"""A failed run writes a bundle with the evidence, and with none of the secrets in the files it reads."""

import base64
import json
import stat
import tarfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import NAME, User

pytestmark = pytest.mark.e2e


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PULL_SECRET = json.dumps({"auths": {name: {"auth": b64("open:pl4nted-pull-secret")} for name in ("quay.io", "registry.redhat.io")}})
BODY = "MHcCAQEEIPl4ntedKeyPl4ntedKeyPl4ntedKeyPl4ntedKey"
KEY = f"-----BEGIN EC PRIVATE KEY-----\n{BODY}\n-----END EC PRIVATE KEY-----\n"
# Each secret as it must not be found, and the line of a log that has it. More forms are in tests/unit/test_bundle.py.
PLANTED = {
    "SSH key": (BODY, KEY),
    "password of kubeadmin": (
        "pl4nt-edKub-eadmi-nPass",
        'level=info msg="Login to the console with user: \\"kubeadmin\\", and password: \\"pl4nt-edKub-eadmi-nPass\\""',
    ),
    "file within Ignition": (
        "pl4nted-file",
        'Ignition: {"source": "data:;base64,' + b64("[Service]\nEnvironment=DB_PASSWORD=pl4nted-file\n") + '"}',
    ),
}
# Secrets without a recognizable form: environment of the user, and variables of the inventory.
GIVEN = {
    name: f"pl4nted {name.lower()}"
    for name in (
        *("METAL_API_TOKEN", "PACKET_API_TOKEN", "PACKET_AUTH_TOKEN", "PACKET_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("openshift_publish_access_key", "openshift_publish_secret_key", "openshift_publish_session_token"),
    )
}
PROXY = "pl4nted@the proxy"
ADDRESS = f"http://user:{urllib.parse.quote(PROXY)}@127.0.0.1:3128"
VARIABLES = json.dumps(
    {name: secret for name, secret in GIVEN.items() if name.islower()}
    | {"openshift_proxy": {"httpProxy": ADDRESS, "httpsProxy": ADDRESS, "noProxy": "127.0.0.0/8"}, "openshift_wait_interval": 1}
)
HARMLESS = "2026-11-21T07:10:00Z level=info msg=Waiting up to 20m0s for the Kubernetes API"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("failure"), speed=1800)
    user.variables |= {"OPENSHIFT_PULL_SECRET": PULL_SECRET} | {name: secret for name, secret in GIVEN.items() if name.isupper()}
    with user.at_work():
        yield user
        user.destroy()


REFUSAL = "Not today, says the service"
LISTED = {
    *("failure.json", "versions.json", "inventory.json", "belongings.json", "devices.json", "consoles.txt", "events.json"),
    *("cluster.json", "nodes.json", "pods.json", "certificate-requests.json"),
}
"""The files of every failure bundle."""


def refused(method: str, path: str) -> dict[str, Any]:
    return {"method": method, "path": path, "status": 403, "body": json.dumps({"errors": [REFUSAL]})}


def bundles(user: User) -> list[Path]:
    return sorted(user.cluster.parent.glob(f"{NAME}-failed-*.tar.gz"))


def unpacked(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2]: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]


def spellings(secret: str) -> set[str]:
    return {secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1], b64(secret).rstrip("=")}


def test_a_failure_bundle_has_the_evidence_and_no_secrets(user: User) -> None:
    # Everything is checked and the files are made; then no machine can be had.
    user.sandbox.call("POST", "faults", json=refused("POST", "/devices$"))
    user.cluster.mkdir(parents=True, mode=0o700)
    (user.cluster / "notes.log").write_text(
        "\n".join([HARMLESS, *(line for unused, line in PLANTED.values()), *GIVEN.values(), PROXY, HARMLESS]), encoding="utf-8"
    )
    run = user.play("install.yml", "-e", VARIABLES, "-e", "openshift_gather_logs=true")
    user.sandbox.call("DELETE", "faults")
    assert run.code != 0

    (path,) = bundles(user)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    result = run.output[run.output.rindex("fatal:") :]
    assert str(path) in result, "the path is printed last"
    assert REFUSAL in result, "and so is the first error"

    entries = unpacked(path)
    everything = "\n".join([*entries, *entries.values()])
    secrets = {name: secret for name, (secret, unused) in PLANTED.items()}
    secrets |= GIVEN | {"password of the cluster's proxy": PROXY}
    secrets["token of the API"] = user.environment["METAL_AUTH_TOKEN"]
    secrets["key of the DNS server"] = user.environment["OPENSHIFT_DNS_KEY_SECRET"]
    secrets["pull secret"] = b64("open:pl4nted-pull-secret")
    found = [name for name, secret in secrets.items() for spelling in spellings(secret) if spelling in everything]
    assert not found
    assert "pl4nted" not in everything
    assert entries["notes.log"].count(HARMLESS) == 2
    assert REFUSAL in entries["failure.json"]
    assert set(entries) >= LISTED
    assert ".openshift_install.log" in entries
    assert f"master-0.{NAME}" in json.loads(entries["inventory.json"])["missing"]
    assert "no cluster to ask yet" in json.loads(entries["certificate-requests.json"])["not_judged"]


@pytest.mark.long
def test_a_successful_run_leaves_no_bundle(user: User) -> None:
    before = bundles(user)
    user.destroy().ended_well()
    assert bundles(user) == before, "and the failure bundle is kept when the cluster is deleted"
