"""The issue time and the expiry of a bootstrap.ign, from its certificates."""

import base64
import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.ignition import lifetime as ignition_lifetime

NOON = datetime(2026, 8, 22, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KEY = ec.generate_private_key(ec.SECP256R1())


def pem(begin: datetime, lifetime: timedelta) -> bytes:
    name = x509.Name([])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(KEY.public_key()).serial_number(1)
    made = builder.not_valid_before(begin).not_valid_after(begin + lifetime).sign(KEY, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def entry(path: str, content: bytes, *, compressed: bool = False) -> dict[str, Any]:
    data = base64.b64encode(gzip.compress(content) if compressed else content).decode()
    return {"path": path, "contents": {"source": f"data:;base64,{data}"} | ({"compression": "gzip"} if compressed else {})}


def config(*files: dict[str, Any]) -> str:
    return json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"files": files}})


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_the_first_to_begin_and_the_first_to_end(compressed: bool) -> None:
    text = config(
        entry("/opt/openshift/tls/root-ca.crt", pem(NOON, 3650 * DAY)),
        entry("/opt/openshift/tls/aggregator-signer.crt", pem(NOON + timedelta(seconds=3), DAY), compressed=compressed),
        entry("/opt/openshift/tls/root-ca.key", b"no certificate"),
    )
    assert ignition_lifetime(text, now=NOON.timestamp()) == {
        "born": int(NOON.timestamp()),
        "born_at": "2026-08-22T12:00:00+00:00",
        "ends": int((NOON + DAY).timestamp()) + 3,
        "ends_at": "2026-08-23T12:00:03+00:00",
        "first_to_end": "/opt/openshift/tls/aggregator-signer.crt",
        "problem": "",
    }


@pytest.mark.parametrize(
    ("hours", "problem"),
    [
        (
            -1,
            "their certificates are not valid before 2026-08-22T12:00:00+00:00: the controller's clock was set back after they were issued",
        ),
        (0, ""),
        (12, ""),
        (13, "they are 13.0 hours old, the limit is 12.0 hours"),
        (
            23,
            "their first certificate expires at 2026-08-23T12:00:00+00:00 (/opt/openshift/tls/a.crt), and an installation needs 2.0 hours",
        ),
        (24, "their first certificate expired at 2026-08-23T12:00:00+00:00 (/opt/openshift/tls/a.crt)"),
    ],
)
def test_whether_an_installation_can_begin(hours: int, problem: str) -> None:
    now = (NOON + timedelta(hours=hours)).timestamp()
    # Variables given on the command line are text.
    found = ignition_lifetime(config(entry("/opt/openshift/tls/a.crt", pem(NOON, DAY))), max_age="43200", min_validity="7200", now=now)
    assert found["problem"] == problem


def test_a_trust_bundle_of_the_user_is_ignored() -> None:
    text = config(
        entry("/opt/openshift/tls/root-ca.crt", pem(NOON, DAY)),
        entry("/opt/openshift/manifests/user-ca.crt", pem(NOON - 900 * DAY, 30 * DAY)),
        entry("/etc/pki/ca-trust/source/anchors/ca.crt", pem(NOON - 900 * DAY, 30 * DAY)),
    )
    assert ignition_lifetime(text)["born"] == int(NOON.timestamp())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"storage": {"files": null}}',
        config(entry("/opt/openshift/tls/root-ca.crt", b"secret words")),
        config({"path": "/opt/openshift/tls/root-ca.crt", "contents": {"source": "https://elsewhere.test/"}}),
    ],
)
def test_what_is_none_is_told_without_its_words(text: str) -> None:
    with pytest.raises(CollectionError, match=r"not a bootstrap\.ign of openshift-install") as result:
        ignition_lifetime(text)
    assert "secret" not in str(result.value)
