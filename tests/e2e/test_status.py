"""status.yml of a running cluster, without changes to anything: healthy, with a lost device, and with an exit code for monitoring."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import NAME, User
from tests.status import page

pytestmark = [pytest.mark.e2e, pytest.mark.long]

CALLS = 40


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("status"), speed=page.SPEED)
    with user.at_work():
        absent = user.play("status.yml")
        assert absent.code != 0
        assert f"{NAME} does not exist" in absent.output
        assert not user.cluster.exists()
        user.play("install.yml", timeout=1800).ended_well()
        yield user
        user.destroy(timeout=1200).ended_well()


def read(user: User, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run status.yml, check that it changed nothing, and return the file it wrote."""
    report, html = user.folder / "status.json", user.folder / "status.html"
    before = files(user.cluster)
    run = user.play("status.yml", "-e", f"openshift_status_file={report}", "-e", f"openshift_status_page={html}", *arguments)
    assert run.code == code, run.tail
    assert run.writes == []
    assert len(run.requests) < CALLS
    assert files(user.cluster) == before
    status: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert status["verdict"] in html.read_text(encoding="utf-8")
    return status


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def test_a_finished_cluster_is_healthy(user: User) -> None:
    status = read(user, "-e", '{"openshift_status_fail_on": ["any"]}')
    assert status["findings"] == []
    kinds = {certificate["kind"] for certificate in status["certificates"]}
    # The firewall of the nodes closes the ports of machine config servers and kubelets to the controller.
    assert kinds == {"API server", "kubeconfig", "kubelet client", "signer"}
    signers = {certificate["subject"] for certificate in status["certificates"] if certificate["kind"] == "signer"}
    assert "openshift-kube-controller-manager-operator/csr-signer" in signers
    assert status["price_per_hour"] > 0


def test_check_mode_writes_no_file(user: User) -> None:
    target = user.folder / "checked.html"
    user.play("status.yml", "--check", "-e", f"openshift_status_page={target}").ended_well()
    assert not target.exists()


def test_a_lost_device_is_a_difference_with_an_exit_code(user: User) -> None:
    page.lose_a_device(user, "worker-1")
    status = read(user, "-e", '{"openshift_status_fail_on": ["differences"]}', code=2)
    assert (status["counts"]["differences"], status["counts"]["degraded"]) == (1, 1)
    assert {finding["subject"] for finding in status["findings"] if finding["group"] != "csrs"} == {f"worker-1.{NAME}"}
    read(user, "-e", '{"openshift_status_fail_on": ["certificates"]}')
    shown, written = (labels(lines) for lines in (page.example(user), page.written()))
    assert {"Differences", "Machines", "Certificates"} <= shown
    assert shown - {"Pending CSRs", "CSRs"} == written - {"Pending CSRs", "CSRs"}


def labels(lines: list[str]) -> set[str]:
    """Return the headings and the labels of rows."""
    return {found[1] for line in lines if (found := re.match(r"(?:  )?([A-Z][A-Za-z ]+):(?: |$)", line)) and found[1] != "Note"}


def test_the_other_half_is_shown_when_one_api_does_not_answer(user: User) -> None:
    without_metal = read(user, "-e", "metal_api_url=http://127.0.0.1:1/metal", "-e", "metal_api_retries=1")
    assert (without_metal["metal_api"]["answers"], without_metal["cluster_api"]["answers"]) == (False, True)
    assert without_metal["counts"]["differences"] == 0
    without_cluster = read(user, "-e", f"openshift_directory={user.folder / 'nothing'}")
    assert (without_cluster["metal_api"]["answers"], without_cluster["cluster_api"]["answers"]) == (True, False)
