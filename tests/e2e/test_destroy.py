"""Destroy selects by ownership tag: the cluster's resources are deleted in every metro, and similar ones stay unchanged.

No cluster runs here: the resources are ordered by the API, and only their deletion is tested.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.harness import NAME, Moment, User, until

pytestmark = pytest.mark.e2e

MARK = f"openshift-cluster={NAME}"
CONFIRMED = ("-e", f"openshift_destroy_confirm={NAME}", "-e", "openshift_destroy_without_state=true")
OTHER = "openshift-cluster=demo2.metal.test"
MACHINE = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "master": ("devices", {**MACHINE, "hostname": f"master-0.{NAME}", "tags": [MARK, "openshift-role=control-plane"]}),
    "worker in a metro the inventory does not have": (
        "devices",
        {**MACHINE, "metro": "am", "hostname": f"worker-9.{NAME}", "tags": ["a", MARK, "openshift-role=worker"]},
    ),
    "machine whose name was changed": ("devices", {**MACHINE, "hostname": "nobody-knows", "tags": [MARK]}),
    "block": ("ips", {"type": "public_ipv4", "quantity": 2, "metro": "da", "tags": [MARK]}),
    "block elsewhere": ("ips", {"type": "public_ipv4", "quantity": 1, "metro": "am", "tags": [MARK]}),
    "network": ("virtual-networks", {"metro": "da", "vxlan": 1100, "tags": [MARK]}),
    "second network of the metro": ("virtual-networks", {"metro": "da", "vxlan": 1101, "tags": [MARK]}),
    "network elsewhere": ("virtual-networks", {"metro": "am", "vxlan": 1100, "tags": [MARK]}),
}


def machine(hostname: str, *tags: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "devices", {**MACHINE, "hostname": hostname, "tags": list(tags), **more}


DECOYS: dict[str, tuple[str, dict[str, Any]]] = {
    "no tags, our name": machine(f"worker-0.{NAME}"),
    "our name, another's mark": machine(f"worker-2.{NAME}", "openshift-cluster=other.metal.test", "openshift-role=worker"),
    "longer name of a cluster": machine("worker-0.demo2.metal.test", OTHER),
    "longer domain": machine(f"worker-0.{NAME}.org", f"{MARK}.org"),
    "only the name": machine("worker-3", "openshift-cluster=demo"),
    "upper case value": machine("case-0", f"openshift-cluster={NAME.upper()}"),
    "blank before": machine("blank-0", f" {MARK}"),
    "blank after": machine("blank-1", f"{MARK} "),
    "only the key": machine("key-0", "openshift-cluster="),
    "the mark in a longer tag": machine("longer-0", f"was {MARK} once"),
    "a final dot": machine("dot-0", f"{MARK}."),
    "the mark as description": machine("text-0", description=MARK),
    "the mark as customdata": machine("text-1", customdata={"tags": [MARK]}),
    "our name in another metro": machine(f"master-0.{NAME}", metro="am"),
    "block with our details": ("ips", {"type": "public_ipv4", "quantity": 1, "metro": "da", "details": MARK}),
    "block of another cluster": (
        "ips",
        {"type": "public_ipv4", "quantity": 4, "metro": "am", "tags": ["openshift-cluster=demo2.metal.test"]},
    ),
    "our network's number elsewhere": ("virtual-networks", {"metro": "sv", "vxlan": 1100, "description": NAME}),
    "network with our name": ("virtual-networks", {"metro": "da", "vxlan": 1102, "description": MARK}),
    "network of another cluster": ("virtual-networks", {"metro": "da", "vxlan": 1103, "tags": ["openshift-cluster=demo.metal.tes"]}),
}
NAMES = ("api.demo2.metal.test", f"www.{NAME}", f"worker-0.{NAME}.metal.test", "demo.apps.metal.test")
OUR_NAMES = (f"api.{NAME}", f"worker-0.{NAME}")


class Project:
    """The project as any client of the API sees it."""

    def __init__(self, user: User) -> None:
        self._user = user

    def _create(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        made = self._user.ask("POST", f"projects/{self._user.sandbox.environment['METAL_PROJECT_ID']}/{kind}", json=body)
        return {"path": f"{kind}/{made['id']}", **made}

    def order(self, things: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
        return {name: self._create(*thing) for name, thing in things.items()}

    def connect(self, network: dict[str, Any]) -> dict[str, Any]:
        """Create a gateway in a network, as a user may have done."""
        return self._create("metal-gateways", {"virtual_network_id": network["id"], "private_ipv4_subnet_size": 8})

    def lock(self, device: dict[str, Any], locked: bool) -> None:
        self._user.ask("PUT", device["path"], json={"locked": locked})

    def settle(self, things: dict[str, dict[str, Any]]) -> None:
        """Wait until all devices are active, so that later comparisons see their final state."""
        paths = [thing["path"] for thing in things.values() if thing["path"].startswith("devices/")]
        until(lambda: all(self.read(path)["state"] == "active" for path in paths), every=0.1, what="the devices are active")

    def read(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self._user.ask("GET", path)
        return found

    def has(self, path: str) -> bool:
        try:
            self.read(path)
        except httpx.HTTPStatusError as refused:
            assert refused.response.status_code == httpx.codes.NOT_FOUND
            return False
        return True


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("destroy"), speed=3600)
    with user.at_work():
        yield user


@pytest.fixture(scope="module")
def project(user: User) -> Project:
    return Project(user)


@pytest.fixture(scope="module")
def decoys(user: User, project: Project) -> dict[str, dict[str, Any]]:
    ordered = project.order(DECOYS)
    project.settle(ordered)
    ordered["gateway of a network with our name"] = project.connect(ordered["network with our name"])
    write_names(user, "192.0.2.99")
    return {name: project.read(thing["path"]) | {"path": thing["path"]} for name, thing in ordered.items()}


@pytest.fixture(scope="module")
def ours(project: Project) -> dict[str, dict[str, Any]]:
    ordered = project.order(OURS)
    project.settle(ordered)
    ordered["gateway of our network"] = project.connect(ordered["network"])
    return ordered


def left(project: Project, things: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, thing in things.items() if project.has(thing["path"])]


def write_owner(user: User, name: str, infra_id: str = "") -> None:
    """Have an ownership record of a cluster of our name beside this name, of an install with this infraID."""
    text = f"heritage=equinix_metal.openshift,openshift-cluster={NAME}" + (f",openshift-infra-id={infra_id}" if infra_id else "")
    user.change_zone((f"_openshift-owner.{name}", "TXT", f'"{text}"'))


def write_names(user: User, address: str, names: Iterable[str] = NAMES) -> None:
    """Have these names lead there; without an address nowhere, and without an ownership record."""
    owners = () if address else [(f"_openshift-owner.{name}", "TXT", "") for name in names]
    user.change_zone(*[(name, "A", address) for name in names], *owners)


def write_own_names(user: User, project: Project, ours: dict[str, dict[str, Any]]) -> str:
    """Write the records of the cluster, also that of a worker that a user deleted; return the address of the API."""
    api, worker = OUR_NAMES
    (address,) = [
        each["address"] for each in project.read(ours["master"]["path"])["ip_addresses"] if each["public"] and each["address_family"] == 4
    ]
    write_names(user, address, [api])
    # Of a device that is gone: its ownership record says whose it is.
    write_names(user, "203.0.113.7", [worker])
    write_owner(user, worker)
    return str(address)


def test_check_mode_lists_what_destroy_deletes_and_changes_nothing(
    user: User, project: Project, decoys: dict[str, Any], ours: dict[str, dict[str, Any]]
) -> None:
    address = write_own_names(user, project, ours)
    run = user.play("destroy.yml", "--check").ended_well()
    listed = run.flat
    for name, value in zip(OUR_NAMES[:2], (address, "203.0.113.7"), strict=True):
        assert f"- {name.removesuffix(f'.{NAME}')} {value}" in listed
    assert run.writes == []
    for name, thing in ours.items():
        assert thing["id"] in run.output, f"{name} is not printed:\n{run.tail}"
    for name, thing in decoys.items():
        assert thing["id"] not in run.output, f"{name} is listed for deletion:\n{run.tail}"


def test_destroy_without_confirmation_changes_nothing(user: User, ours: dict[str, Any]) -> None:
    for answer in ((), ("-e", "openshift_destroy_confirm=demo2.metal.test")):
        user.play("destroy.yml", *answer).refused("Nothing was deleted")


def test_destroy_without_the_install_files_needs_more_than_the_name(user: User, ours: dict[str, Any]) -> None:
    """Another user of the project may have a cluster of this name."""
    user.play("destroy.yml", "-e", f"openshift_destroy_confirm={NAME}").refused(
        f"Nothing was deleted. {NAME} exists and its files are not in {user.cluster}: ",
        f"master-0.{NAME} (infra id unknown, created 20",
        "openshift_destroy_without_state=true",
    )


def test_a_locked_device_fails_destroy_before_any_deletion(user: User, project: Project, ours: dict[str, dict[str, Any]]) -> None:
    project.lock(ours["master"], True)
    run = user.play("destroy.yml", *CONFIRMED)
    project.lock(ours["master"], False)
    run.refused(f"Locked against deletion: master-0.{NAME}")


def test_dns_records_with_foreign_addresses_fail_destroy_before_any_deletion(user: User, ours: dict[str, dict[str, Any]]) -> None:
    """A cluster of this name in another project: all that it is reached by, with and without ownership records."""
    names = (f"api.{NAME}", f"ingress.apps.{NAME}", f"worker-0.{NAME}")
    write_names(user, "203.0.113.7", names)
    write_owner(user, f"worker-0.{NAME}", infra_id="demo-other")
    user.play("destroy.yml", *CONFIRMED).refused(f"api.{NAME} 203.0.113.7", "openshift_destroy_foreign_names")
    assert user.names.addresses(f"api.{NAME}") == ["203.0.113.7"]
    write_names(user, "", names)


def test_destroy_refuses_another_project_than_that_of_the_install_files(user: User, ours: dict[str, Any]) -> None:
    """What it does not find there is not gone, and these may be the only keys."""
    user.cluster.mkdir(parents=True)
    for name, content in {"project": "2b70eb8f-fa18-47c0-aba7-222a842362fd\n", "kubeconfig": "the only one"}.items():
        (user.cluster / name).write_text(content, encoding="utf-8")
    user.play("destroy.yml", *CONFIRMED).refused("in the project 2b70eb8f-fa18-47c0-aba7-222a842362fd")
    assert (user.cluster / "kubeconfig").is_file()
    shutil.rmtree(user.cluster)


def test_orphans_are_listed_by_cluster_and_not_changed(user: User, decoys: dict[str, Any], ours: dict[str, dict[str, Any]]) -> None:
    report = user.folder / "orphans.json"
    run = user.play("playbooks/orphans.yml", "-e", '{"openshift_orphans_project_ids": ["all"]}', "-e", f"openshift_orphans_file={report}")
    run.ended_well()
    assert run.writes == []
    clusters = {cluster["name"]: cluster for cluster in json.loads(report.read_text(encoding="utf-8"))["clusters"]}
    assert clusters[NAME]["count"] == len(ours)
    assert clusters[NAME]["price_per_hour"] == pytest.approx(3 * clusters[NAME]["devices"][0]["price_per_hour"])
    assert {gateway["id"] for gateway in clusters[NAME]["metal_gateways"]} == {ours["gateway of our network"]["id"]}
    assert clusters["demo2.metal.test"]["count"] == 2
    assert NAME.upper() in clusters, "tags keep their case"
    assert "-e openshift_cluster_name=demo2 -e openshift_base_domain=metal.test -e openshift_destroy_without_state=true" in run.output


def test_orphans_fails_for_a_cluster_that_is_not_expected(user: User, decoys: dict[str, Any]) -> None:
    report = user.folder / "orphans.json"
    user.play("playbooks/orphans.yml", "-e", f"openshift_orphans_file={report}").ended_well()
    names = [cluster["name"] for cluster in json.loads(report.read_text(encoding="utf-8"))["clusters"]]
    for expected, words in (
        ([name for name in names if name != "demo2.metal.test"], "demo2.metal.test are not in openshift_orphans_expected"),
        # A tag that is no cluster name cannot be expected.
        (names, "demo.metal.test is not in openshift_orphans_expected"),
    ):
        run = user.play("playbooks/orphans.yml", "-e", json.dumps({"openshift_orphans_expected": expected}))
        assert run.code != 0
        assert words in re.sub(r"[\s']+", " ", run.output), run.tail


def test_an_interrupted_destroy_changed_only_the_clusters_resources(
    user: User, project: Project, decoys: dict[str, dict[str, Any]], ours: dict[str, dict[str, Any]]
) -> None:
    write_own_names(user, project, ours)
    user.sandbox.call("POST", "faults", json={"method": "DELETE", "path": "^/metal/v1/devices/", "delay": 30, "skip": 1})
    run = user.play(
        "destroy.yml", *CONFIRMED, kill=Moment("destroy", occurrence=2, once=lambda _user: len(left(project, ours)) < len(ours))
    )
    user.sandbox.call("DELETE", "faults")
    assert run.cut
    assert left(project, ours), "it was over"
    for name, before in decoys.items():
        assert {**project.read(before["path"]), "path": before["path"]} == before, name


def test_destroy_deletes_only_owned_resources(
    user: User, project: Project, decoys: dict[str, dict[str, Any]], ours: dict[str, dict[str, Any]]
) -> None:
    run = user.play("destroy.yml", *CONFIRMED).ended_well()
    assert f"Of {NAME} nothing is left" in run.output
    assert [user.names.addresses(name) for name in OUR_NAMES] == [[], []]
    assert left(project, ours) == []
    for name, before in decoys.items():
        assert {**project.read(before["path"]), "path": before["path"]} == before, name
    for name in NAMES:
        assert user.names.addresses(name) == ["192.0.2.99"], name


def test_another_destroy_finds_and_changes_nothing(user: User, ours: dict[str, Any]) -> None:
    run = user.play("destroy.yml", *CONFIRMED).ended_well()
    assert run.changed == 0
    assert run.writes == []


@pytest.mark.long
def test_destroy_completes_a_partial_deletion(user: User, project: Project) -> None:
    """A device that a user deletes during destroy, and a network whose gateway is already deleting."""
    half = project.order({name: OURS[name] for name in ("master", "network", "block")})
    gateway = project.connect(half["network"])
    project.settle(half)
    for path in (half["master"]["path"], gateway["path"]):
        user.ask("DELETE", path)
    user.play("destroy.yml", *CONFIRMED).ended_well()
    assert not any(project.has(thing["path"]) for thing in half.values())
