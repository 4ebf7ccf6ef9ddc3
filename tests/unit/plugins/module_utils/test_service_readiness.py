"""When the objects of cluster services are ready, what is reported until then, and when a wait for them ends early."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.readiness import (
    FAILED_FOR_GOOD,
    ObjectWatch,
)

SUBSCRIPTION = "/apis/operators.coreos.com/v1alpha1/namespaces/n/subscriptions/s"
VERSION = "/apis/operators.coreos.com/v1alpha1/namespaces/n/clusterserviceversions/p.v1"
REGISTRY = "/apis/imageregistry.operator.openshift.io/v1/configs/s"

UNRESOLVED = {"type": "ResolutionFailed", "status": "True", "reason": "ConstraintsNotSatisfiable", "message": "no channel x"}
UNHEALTHY = {"type": "CatalogSourcesUnhealthy", "status": "True", "reason": "UnhealthyCatalogSourceFound", "message": "not ready"}


def reference(path: str) -> dict[str, str]:
    parts = path.split("/")
    return {"resource": f"{parts[-2]}.{parts[2]}", "name": "s", "namespace": "n" if "namespaces" in parts else ""}


def poll(found: dict[str, Any], path: str, **options: Any) -> list[str]:
    return ObjectWatch([reference(path)], **options).poll(found.get, gives_up=True)


def subscription(**status: Any) -> dict[str, Any]:
    return {SUBSCRIPTION: {"metadata": {"name": "s", "namespace": "n"}, "status": status}}


def csv(phase: str) -> dict[str, Any]:
    return {VERSION: {"status": {"phase": phase, "message": "m"}}}


@pytest.mark.parametrize(
    ("found", "report"),
    [
        ({}, "it does not exist"),
        (subscription(conditions=[UNHEALTHY]), "CatalogSourcesUnhealthy: not ready"),
        (subscription(conditions=[UNRESOLVED]), "ResolutionFailed: no channel x"),
        (subscription(installedCSV="p.v1"), "p.v1 is pending: no message"),
        (subscription(installedCSV="p.v1") | csv("Installing"), "p.v1 is Installing: m"),
        (subscription(installedCSV="p.v1", conditions=[UNRESOLVED]) | csv("Succeeded"), ""),
        (subscription(installedCSV="p.v2") | csv("Succeeded"), "p.v2 is pending: no message"),
    ],
)
def test_an_operator_runs_if_its_installed_version_does(found: dict[str, Any], report: str) -> None:
    assert poll(found, SUBSCRIPTION) == ([f"Subscription s in the namespace n is not ready: {report}"] if report else [])


@pytest.mark.parametrize(
    ("observed", "conditions", "report"),
    [
        (1, {"Available": "True", "Progressing": "False"}, "the operator has not read its Config yet"),
        (2, {"Available": "False", "Progressing": "True"}, "Available=False: m; Progressing=True: m"),
        (2, {"Available": "True", "Progressing": "False"}, ""),
    ],
)
def test_a_registry_is_ready_when_its_changed_config_is_applied(observed: int | None, conditions: dict[str, str], report: str) -> None:
    listed = [{"type": kind, "status": value, "message": "m"} for kind, value in conditions.items()]
    config = {"metadata": {"generation": 2}, "status": {"observedGeneration": observed, "conditions": listed}}
    assert poll({REGISTRY: config}, REGISTRY) == ([f"Config s is not ready: {report}"] if report else [])


def test_a_wait_ends_when_a_subscription_stays_unresolved() -> None:
    time = [100.0]
    watch = ObjectWatch([reference(SUBSCRIPTION)], now=lambda: time[0])
    found = subscription(conditions=[UNRESOLVED])
    assert watch.poll(found.get, gives_up=True), "the status may be about the Subscription before its change"
    time[0] += FAILED_FOR_GOOD
    assert watch.poll(found.get, gives_up=False), "without a wait it is reported only"
    with pytest.raises(CollectionError, match=r"Giving up: Subscription s .* no channel x\. Run: oc -n n describe subscriptions"):
        watch.poll(found.get, gives_up=True)
    watch.poll(subscription().get, gives_up=True)
    assert watch.poll(found.get, gives_up=True), "OLM has resolved it meanwhile: the time begins again"
