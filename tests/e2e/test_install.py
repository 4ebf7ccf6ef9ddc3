"""A cluster's life in the sandbox, and what must hold on the way. The tests of this file build on each other's world, in this order.

What a user is promised: check mode changes nothing; invalid settings fail before any order; no machine joins that the inventory does not
have; the bootstrap device is deleted completely; a second run changes nothing; no secret is printed; scaling follows the inventory; destroy
everything back and nothing else. An install that is killed and goes on where it was is in test_resume.py, which compares with the worlds
that are met here.
"""

import json
import re
import socket
import stat
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.e2e.chaos import world
from tests.e2e.conftest import Worlds
from tests.e2e.harness import NAME, Run, User, until
from tests.e2e.test_repair import changed_ids, ids, replace
from tests.secrets.keeping import Keeper, keeping

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("undisturbed")]

# A pull secret whose text is found again wherever it leaks.
PLANTED = "planted-pull-secret-3f9a1c"
PULL_SECRET = json.dumps({"auths": {"quay.io": {"auth": "cGxhbnRlZDpwbGFudGVkLXB1bGwtc2VjcmV0LTNmOWExYw==", "email": PLANTED}}})
MOST_REQUESTS = 40
"""Of a run with nothing to do."""
# A manifest of the user's own that is a Secret.
PLANTED_MANIFEST = "planted-manifest-7d20b4"
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "ours", "namespace": "openshift-config"},
    "stringData": {"key": PLANTED_MANIFEST},
}


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    # Any loopback address will do: Linux connects to this one from 127.0.0.1, and the parts have to know each other all the same.
    # With a blank in the path of everything.
    user = User(tmp_path_factory.mktemp("first light"), speed=180, listen="127.5.0.1:0")
    user.variables["OPENSHIFT_PULL_SECRET"] = PULL_SECRET
    # Modules as users run them (see tests/connection/local.py), and what users see.
    user.variables |= {"TESTS_CONNECTION": "", "ANSIBLE_STDOUT_CALLBACK": "equinix_metal.openshift.steps"}
    with user.at_work():
        yield user


# --- before anything exists ----------------------------------------------------------------------------------------------------


def test_check_mode_changes_nothing_and_predicts_the_install(user: User) -> None:
    run = user.play("install.yml", "--check", "--diff").ended_well()
    assert run.writes == []
    assert user.sandbox.inventory_is_empty()
    assert not user.cluster.exists()
    assert run.plan is not None
    assert run.plan["counts"] == {"create": 6, "change": 0, "replace": 0, "remove": 1}
    for name in ("bootstrap-0", "master-0", "master-2", "worker-0", "worker-1"):
        assert f"{name}.{NAME}" in run.output, name


def refused(run: Run, *messages: str) -> None:
    assert run.code not in {0, -9}, run.tail
    assert "Traceback" not in run.output
    failures = "\n".join(line for line in run.output.splitlines() if not line.startswith(("TASK", "ok:", "PLAY")))
    for pattern in messages:
        assert re.search(pattern, failures), f"{pattern!r} is not printed:\n{run.tail}"
    bought = [request for request in run.changes if "/metal/" in request["path"]]
    assert bought == []


# Each further one is a case of tests/validate: here it is that install.yml ends with any of them.
def test_invalid_settings_fail_and_nothing_is_ordered(user: User) -> None:
    arguments = ("-e", "metal_plan=c9.enormous", "-e", "openshift_version=4.99.9")
    run = user.play("install.yml", *arguments, timeout=120, variables={"OPENSHIFT_PULL_SECRET": "no json, planted-bad"})
    refused(run, "c9.enormous", "pull secret|openshift_pull_secret", r"4\.99\.9")
    assert "planted-bad" not in run.output


def test_too_little_capacity_fails_and_nothing_is_ordered(user: User) -> None:
    user.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 3}}}})
    run = user.play("install.yml", timeout=120)
    user.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": None}}})
    refused(run, "c3.small.x86", r"\bda\b", "capacity")


# --- the install ---------------------------------------------------------------------------------------------------------------


@dataclass
class Installed:
    """A finished install, and all that callbacks and logs have kept of it."""

    run: Run
    keeper: Keeper


def keep_world(user: User, undisturbed: Worlds) -> None:
    """Keep what exists now, once everything that the run has started has ended."""
    until(lambda: not user.processes(), what="the end of everything that the run has started")
    workers = sum(name.startswith("worker") for name in user.hostnames())
    undisturbed[workers] = world(user)


@pytest.fixture(scope="module")
def installed(user: User, undisturbed: Worlds) -> Installed:
    """An install with -vvv, and two unauthorized clients that file CSRs once the bootstrap device is gone."""

    def file_csrs() -> None:
        user.unauthorized_client.file("made-up", f"made-up.{NAME}")
        known = f"worker-0.{NAME}"
        user.unauthorized_client.file("foreign-address", known, serving=True, dns_names=(known,), addresses=("127.99.1.1",))

    manifest = user.folder / "99-ours.json"
    manifest.write_text(json.dumps(MANIFEST), encoding="utf-8")
    arguments = ("install.yml", "-vvv", "--diff", "-e", json.dumps({"openshift_manifests": [str(manifest)]}))
    with keeping(user.folder / "kept") as keeper:
        run = user.play(*arguments, variables=dict(keeper.environment), after={"bootstrap_teardown": file_csrs}).ended_well()
    keep_world(user, undisturbed)
    return Installed(run, keeper)


def test_the_cluster_matches_the_inventory(user: User, installed: Installed) -> None:
    assert user.hostnames() == ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
    nodes = sorted(node["metadata"]["name"] for node in user.kube("/api/v1/nodes")["items"])
    assert nodes == [f"{name}.{NAME}" for name in user.hostnames()]
    created = [request for request in installed.run.writes if request["method"] == "POST" and request["path"].endswith("/devices")]
    assert len(created) == 6, "one order a device: five that stay and the bootstrap device"


def test_only_machines_of_the_inventory_joined(user: User, installed: Installed) -> None:
    machines = {f"system:node:{name}.{NAME}" for name in user.hostnames()}
    for request in user.kube("/apis/certificates.k8s.io/v1/certificatesigningrequests")["items"]:
        conditions = {condition["type"] for condition in request.get("status", {}).get("conditions", [])}
        name = request["metadata"]["name"]
        if name in {"made-up", "foreign-address"}:
            assert conditions == set(), f"{name} was decided on: {conditions}"
            assert name in installed.run.output, f"{name} was not named"
        elif "Approved" in conditions and request["spec"]["username"].startswith("system:node:"):
            assert request["spec"]["username"] in machines


def test_ports_of_nodes_are_closed_to_the_controller(user: User, installed: Installed) -> None:
    """An install needs no access to them: the firewall of the nodes is the default."""
    for name in ("master-0", "worker-0"):
        (address,) = user.names.addresses(f"{name}.{NAME}")
        for port in (10250, *([22623] if name == "master-0" else [])):
            with pytest.raises(TimeoutError):
                socket.create_connection((address, port), timeout=1)
            socket.create_connection((address, port), timeout=5, source_address=(address, 0)).close()


def test_the_api_answers_after_the_bootstrap_device_is_deleted(user: User, installed: Installed) -> None:
    assert "bootstrap-0" not in user.hostnames()
    masters = {
        address["address"]
        for device in user.devices()
        if "/master-" in f"/{device['hostname']}"
        for address in device["ip_addresses"]
        if address["public"] and address["address_family"] == 4
    }
    for name in ("api", "api-int"):
        assert set(user.names.addresses(f"{name}.{NAME}")) == masters
    assert user.names.addresses(f"bootstrap-0.{NAME}") == []
    assert user.kube("/version")["major"] == "1"
    config = json.loads((user.cluster / "ignition" / "bootstrap.ign").read_text(encoding="utf-8"))
    assert config["ignition"]["version"].startswith("3.")
    published = re.findall(r"https://[^\s\"']+bootstrap\.ign", installed.run.output)
    for url in set(published):
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=False)  # noqa: S501  (nothing must answer, whatever its certificate)


def test_an_install_prints_its_plan(installed: Installed) -> None:
    assert f"{NAME}, install.yml: 6 to create, 1 to remove; 0.00 -> 3.75 USD an hour" in installed.run.output.splitlines()


@pytest.mark.parametrize("playbook", ["approve", "evictions", "install", "orphans", "scale", "status", "validate"])
def test_a_second_run_changes_nothing_and_only_reads(user: User, installed: Installed, playbook: str) -> None:
    """Those of the other playbooks are in test_adopt.py, test_destroy.py, test_disconnected.py and test_repair.py."""
    run = user.play(f"playbooks/{playbook}.yml").ended_well()
    assert (run.changed, run.writes) == (0, [])
    assert len(run.requests) < MOST_REQUESTS
    if run.plan:
        assert run.plan["steps"] == []
        assert len(run.output.splitlines()) <= 12, "a run with nothing to do says that, and no more"


def test_a_kubeconfig_of_another_cluster_is_refused(user: User, installed: Installed) -> None:
    metadata = user.cluster / "ignition" / "metadata.json"
    before = metadata.read_text(encoding="utf-8")
    metadata.write_text(json.dumps({**json.loads(before), "clusterID": str(uuid.UUID(int=5))}), encoding="utf-8")
    try:
        run = user.play("scale.yml")
    finally:
        metadata.write_text(before, encoding="utf-8")
    refused(run, f"cluster {json.loads(before)['clusterID']}", str(uuid.UUID(int=5)))


def secrets_of(user: User) -> dict[str, str]:
    """What nobody may read anywhere but in the files kept for it: name to text."""
    environment = user.sandbox.environment
    ignition = (user.cluster / "ignition" / "bootstrap.ign").read_text(encoding="utf-8")
    kubeconfig = (user.cluster / "kubeconfig").read_text(encoding="utf-8")
    key = re.search(r"client-key-data: (\S+)", kubeconfig)
    assert key is not None
    password = next(user.cluster.rglob("kubeadmin-password")).read_text(encoding="utf-8").strip()
    return {
        "Metal token": environment["METAL_AUTH_TOKEN"],
        "pull secret": PLANTED,
        "TSIG secret": environment["OPENSHIFT_DNS_KEY_SECRET"],
        "kubeadmin password": password,
        "admin key": key[1][:80],
        "bootstrap.ign": ignition[200:280],
        "own manifest": PLANTED_MANIFEST,
        "a private key": "PRIVATE KEY",
    }


def test_no_secret_is_printed(user: User, installed: Installed) -> None:
    inventory = user.play("install.yml", "--list-hosts").output
    output, journal = installed.run.output, json.dumps(installed.run.requests)
    log = user.sandbox.log.read_text(encoding="utf-8", errors="replace")
    for name, secret in secrets_of(user).items():
        for where, text in (("output of -vvv", output), ("journal", journal), ("host list", inventory), ("sandbox's log", log)):
            found = text.find(secret)
            assert found < 0, f"{name} stands in the {where}: ...{text[max(0, found - 300) : found + 20]}"
    # Callbacks that write files, the system's log, and one that reads every event: as json, junit and AWX do.
    assert installed.keeper.revealed(secrets_of(user)) == []


def test_files_with_secrets_are_readable_by_the_user_only(user: User, installed: Installed) -> None:
    secrets = [secret.encode() for secret in secrets_of(user).values()]
    for path in (user.folder / "clusters").rglob("*"):
        if path.is_file() and not path.is_symlink() and readable_by_others(path, user.folder / "clusters"):
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret in content], f"{path} is readable by others"


def readable_by_others(path: Path, top: Path) -> bool:
    """Whether another user of this computer could open ``path``, below ``top`` (above it the tests' own folder denies access)."""
    folders = [parent for parent in path.parents if parent.is_relative_to(top)]
    others = stat.S_IROTH | stat.S_IRGRP
    return bool(path.stat().st_mode & others) and all(folder.stat().st_mode & (stat.S_IXOTH | stat.S_IXGRP) for folder in folders)


# --- day 2 ---------------------------------------------------------------------------------------------------------------------


def test_scaling_is_refused_while_the_bootstrap_device_exists(user: User, installed: Installed) -> None:
    infra_id = json.loads((user.cluster / "ignition" / "metadata.json").read_text(encoding="utf-8"))["infraID"]
    tags = [f"openshift-cluster={NAME}", f"openshift-infra-id={infra_id}", "openshift-role=bootstrap"]
    left = {"hostname": f"bootstrap-0.{NAME}", "tags": tags}
    (device,) = user.sandbox.call("POST", "devices", json=left)["ids"]
    try:
        user.play("scale.yml").refused(f"bootstrap-0.{NAME} of {NAME} is still its bootstrap device. Run install.yml first")
    finally:
        user.ask("DELETE", f"devices/{device}")


def assert_workers(user: User, *names: str) -> None:
    assert [name for name in user.hostnames() if name.startswith("worker")] == list(names)
    nodes = sorted(node["metadata"]["name"] for node in user.kube("/api/v1/nodes")["items"])
    assert nodes == [f"{name}.{NAME}" for name in user.hostnames()]


def test_scaling_up_follows_the_inventory(user: User, installed: Installed, undisturbed: Worlds) -> None:
    user.edit_workers(3)
    up = user.play("scale.yml").ended_well()
    assert up.changed > 0
    assert_workers(user, "worker-0", "worker-1", "worker-2", "worker-3")
    keep_world(user, undisturbed)


def test_what_others_have_changed_is_planned_and_mended(user: User, installed: Installed) -> None:
    (worker,) = [device for device in user.devices() if device["hostname"] == f"worker-1.{NAME}"]
    user.ask("PUT", f"devices/{worker['id']}", json={"tags": [*worker["tags"], "by-hand"]})
    user.change_zone((f"worker-2.{NAME}", "A", ""))
    lines = ["~ worker-1 tags -by-hand: set in the inventory", "+ record worker-2 "]
    planned = user.play("scale.yml", "--check").ended_well()
    assert [line for line in lines if line not in planned.flat] == []
    assert planned.writes == []
    mended = user.play("scale.yml").ended_well()
    assert [line for line in lines if line not in mended.flat] == []
    (found,) = [device for device in user.devices() if device["id"] == worker["id"]]
    assert sorted(found["tags"]) == sorted(worker["tags"])
    assert user.names.addresses(f"worker-2.{NAME}") != []
    # Phases in which nothing had drifted were not begun.
    assert "Publish boot files" not in mended.output


def test_a_healthy_worker_is_replaced(user: User, installed: Installed) -> None:
    """What is unhealthy: test_repair.py."""
    before = ids(user)
    planned = replace(user, "openshift_replace=worker-1", check=True).ended_well()
    assert f"Would replace worker-1.{NAME}: drain, DNS records, device, node" in planned.flat
    assert planned.writes == []
    replace(user, "openshift_replace=worker-1").ended_well()
    after = ids(user)
    assert changed_ids(before, after) == ["worker-1"]
    assert_workers(user, "worker-0", "worker-1", "worker-2", "worker-3")
    address = next(device["ip_addresses"][0]["address"] for device in user.devices() if device["id"] == after["worker-1"])
    assert user.names.addresses(f"worker-1.{NAME}") == [address]


def test_scaling_down_follows_the_inventory(user: User, installed: Installed) -> None:
    user.edit_workers(1)
    user.play("scale.yml").ended_well()
    assert_workers(user, "worker-0", "worker-1")
    assert user.names.addresses(f"worker-2.{NAME}") == []


def test_destroy_deletes_only_the_clusters_resources(user: User, installed: Installed) -> None:
    other = {"count": 2, "plan": "c3.small.x86", "metro": "da", "tags": [f"openshift-cluster=other-{NAME}", "openshift-role=worker"]}
    user.sandbox.call("POST", "devices", json=other)
    before = len(user.devices())
    (user.cluster / "notes.txt").write_text("mine", encoding="utf-8")
    run = user.destroy().ended_well()
    assert [path.name for path in user.cluster.iterdir()] == ["notes.txt"]
    assert "is kept, since it has other files: notes.txt." in re.sub(r"\s+", " ", run.output)
    (user.cluster / "notes.txt").unlink()
    user.cluster.rmdir()
    left = user.devices()
    assert before - len(left) == 5
    assert len(left) == 2
    assert all(user.names.addresses(f"{name}.{NAME}") == [] for name in ("api", "api-int", "console.apps", "master-0", "worker-0"))
