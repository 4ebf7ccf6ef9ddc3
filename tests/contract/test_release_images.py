"""The module release_images_info as a program: it only reads, meets faults of a registry, and reports those that last."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.openshift import registry
from sandbox.openshift.installer import catalogue
from tests.contract.environment import run
from tests.registries import Registries, served

RELEASE = catalogue.release("4.20.33", "x86_64")
QUAY = "quay.io/openshift-release-dev"
ALL = {"images": 1 + len(RELEASE.payload.components), "missing": [], "messages": [], "commands": []}


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[Registries]:
    with served(tmp_path) as made:
        yield made


def checked(registries: Registries, **others: Any) -> dict[str, Any]:
    """Return the result of the module for a mirror registry."""
    auth = base64.b64encode(":".join(registry.MIRROR_LOGIN).encode()).decode()
    options = {
        "image": RELEASE.image,
        "sources": [
            {"source": f"{QUAY}/ocp-release", "mirrors": [f"{registries.mirror}/{registry.RELEASE_REPOSITORY}"]},
            {"source": f"{QUAY}/ocp-v4.0-art-dev", "mirrors": [f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"]},
        ],
        "pull_secret": json.dumps({"auths": {registries.mirror: {"auth": auth}}}),
        "trust_bundle": registries.private.certificate_file.read_text(encoding="ascii"),
        "delay": 0,
        "retries": 2,
        **others,
    }
    result = run("release_images_info", options, os.environ, without_pauses=True)
    assert auth not in json.dumps({name: value for name, value in result.items() if name != "invocation"})
    return result


def reported(result: dict[str, Any]) -> dict[str, Any]:
    assert not result.get("failed"), result
    assert not result["changed"]
    return {name: result[name] for name in ALL}


def test_only_reads_are_sent_in_check_mode_too(registries: Registries) -> None:
    for check in (False, True):
        assert reported(checked(registries, _ansible_check_mode=check)) == ALL
    assert set(registries.methods) == {"GET", "HEAD"}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_passes_changes_nothing(registries: Registries, status: int) -> None:
    registries.instead = [status, status]
    assert reported(checked(registries)) == ALL
    assert registries.instead == []


def test_half_an_answer_is_read_again(registries: Registries) -> None:
    # After the challenge and the HEAD request of the release image comes its manifest.
    registries.instead = [200, 200, None]
    assert reported(checked(registries)) == ALL
    assert registries.instead == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_lasts_is_reported(registries: Registries, status: int) -> None:
    registries.instead = [status] * 3
    found = reported(checked(registries, components=False))
    assert found["messages"] == [
        f"{registries.mirror}/{registry.RELEASE_REPOSITORY} does not serve release image: {found['missing'][0]['problem']}"
    ]
    assert found["missing"][0]["problem"].startswith(f"HTTP {status}")


def test_a_login_that_is_refused_is_not_repeated(registries: Registries) -> None:
    registries.instead = [403]
    found = reported(checked(registries, components=False))
    assert found["missing"][0]["problem"].startswith("HTTP 403")
    assert registries.methods == ["HEAD"]
