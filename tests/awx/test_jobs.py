"""The playbooks as jobs of AWX, without a cluster: what a job prints and refuses before anything is ordered."""

from collections.abc import Iterator

import httpx
import pytest

from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.awx.jobs import Awx, Inventory, imported, slice_of, without
from tests.e2e.harness import until

# Preflight checks the signature of the release.
pytestmark = pytest.mark.debian("gpgv")

NAME = "demo.metal.test"
OURS = [f"openshift-cluster={NAME}"]


@pytest.fixture(scope="module")
def awx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Awx]:
    folder = tmp_path_factory.mktemp("awx")
    with RunningSandbox(folder / "state", log=folder / "log", speed=3600) as sandbox:
        yield Awx(folder, sandbox)


@pytest.fixture(scope="module")
def inventory(awx: Awx) -> Inventory:
    """The example inventory as AWX has imported it. Templates stay text, which the job evaluates."""
    found = imported(REPOSITORY / "inventory" / "sandbox" / "01-cluster.yml", awx.sandbox)
    assert "lookup(" in str(found)
    return found


@pytest.fixture
def workers(awx: Awx) -> Iterator[None]:
    """Two workers of a cluster in the project."""
    tags = [*OURS, "openshift-role=worker"]
    seeds = [{"count": 1, "hostname": f"worker-{number}.{NAME}", "tags": tags} for number in range(2)]
    made = [awx.sandbox.call("POST", "devices", json=seed)["ids"][0] for seed in seeds]
    yield
    url, token = (awx.sandbox.environment[name] for name in ("METAL_API_URL", "METAL_AUTH_TOKEN"))
    for device in made:
        httpx.delete(f"{url}/devices/{device}", headers={"X-Auth-Token": token}, timeout=30).raise_for_status()
    until(
        lambda: all(httpx.get(f"{url}/devices/{device}", headers={"X-Auth-Token": token}).status_code == 404 for device in made),
        what="gone",
    )


def test_validate_in_a_job_names_what_ends_with_the_job(awx: Awx, inventory: Inventory) -> None:
    """The default folder is below the private copy of the project."""
    job = awx.run("playbooks/validate.yml", inventory, timeout=300)
    job.refused(
        "which AWX removes at its end",
        "set openshift_state_store to object_storage, or openshift_directory to a folder below a path that",
    )
    assert "the server ends with the job" in job.flat
    assert "set openshift_publish to host" in job.flat
    assert not job.private.exists()


def test_validate_in_a_job_passes_with_an_exposed_folder(awx: Awx, inventory: Inventory) -> None:
    """Survey answers are text that is no template. Keyring, pull secret and SSH keys have several lines."""
    extra = {"openshift_directory": str(awx.exposed / NAME)}
    survey = {"openshift_pool_sizes": '{"worker": 4}'}
    keys = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGWFZIHYyBY5qDyuxDJmKKGNGrQYf1iYFfoWSF4bFzLl {}\n"
    inputs = {"ssh_public_key": keys.format("me") + keys.format("you")}
    job = awx.run("playbooks/validate.yml", inventory, survey=survey, extra=extra, inputs=inputs, timeout=300).ended_well()
    assert "the pull secret has 127.0.0.1" in job.flat
    assert "openshift_release_keyring is not set" not in job.flat
    # Bootstrap, three control plane machines, four workers.
    assert "8 machines to order" in job.flat
    assert job.writes == []
    report = job.artifacts["validate_report"]
    assert (report["failed"], report["machines_to_order"]) == (0, 8)


@pytest.mark.parametrize("playbook", ["status.yml", "playbooks/validate.yml", "playbooks/unlock.yml", "playbooks/evictions.yml"])
def test_an_inventory_that_was_not_synchronized_is_named(awx: Awx, playbook: str) -> None:
    empty = {"all": {"children": ["ungrouped"]}, "_meta": {"hostvars": {}}}
    job = awx.run(playbook, empty, has_survey=False, extra={"openshift_unlock": "an id"}, timeout=300)
    job.refused("The inventory of this job has no hosts", "Synchronize the source of the inventory")


def test_an_answer_is_text_and_no_template(awx: Awx, inventory: Inventory) -> None:
    job = awx.run("scale.yml", inventory, survey={"openshift_pool_sizes": "{{ lookup('pipe', 'id') }}"}, timeout=300)
    job.refused("openshift_pool_sizes", "which is not a number for each pool")


@pytest.mark.usefixtures("workers")
def test_a_host_that_is_disabled_or_of_another_slice_is_kept(awx: Awx, inventory: Inventory) -> None:
    extra = {"openshift_directory": str(awx.exposed / NAME), "openshift_destroy_without_state": True}
    disabled = awx.run("playbooks/validate.yml", without(inventory, "worker-1"), extra=extra, timeout=300)
    assert f"worker-1.{NAME} is kept (not in the inventory of this job, and not named)" in disabled.flat
    named = awx.run(
        "playbooks/validate.yml", without(inventory, "worker-1"), extra=extra, survey={"openshift_remove": "worker-1"}, timeout=300
    )
    assert f"scale.yml removes worker-1.{NAME} (named in openshift_remove)" in named.flat
    awx.run("scale.yml", slice_of(inventory, 1, 3), extra=extra, timeout=300).refused("Nothing was ordered or changed")


@pytest.mark.usefixtures("workers")
def test_the_schedule_of_orphans_ends_well(awx: Awx, inventory: Inventory) -> None:
    """A schedule answers no question, so AWX passes an empty text."""
    listed = awx.run("playbooks/orphans.yml", inventory, timeout=300).ended_well().flat
    assert f"1 of 1 clusters are not in openshift_orphans_expected, and a job of AWX has no folders of clusters: {NAME}" in listed


@pytest.mark.usefixtures("workers")
def test_destroy_without_a_confirmation_fails_at_once(awx: Awx, inventory: Inventory) -> None:
    """There is a terminal in a job, and nobody who types."""
    extra = {"openshift_directory": str(awx.exposed / NAME), "openshift_destroy_without_state": True}
    job = awx.run("destroy.yml", inventory, extra=extra, has_survey=False, timeout=120)
    job.refused(f"openshift_destroy_confirm={NAME}")
    assert [request["path"] for request in job.requests if request["path"].startswith("/metal/")] == []
