"""A project by its name: created on request, found again by other controllers, and deleted by destroy.yml only if it is ours and empty."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.testing.process import REPOSITORY, RunningSandbox, write_ansible_config
from tests.contract.environment import call
from tests.role_play import played

NAME = "of a cluster"
CLUSTER = "named.metal.test"
KEYS = {
    name: f"ssh-ed25519 {data} {name}"
    for name, data in {
        "ordered": "AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH",
        "other": "AAAAC3NzaC1lZDI1NTE5AAAAIKjUXG9UCv2NJ0NB4fGX0B3iFCcBNoX5V8w+TzYQXH3H",
    }.items()
}


class Controller:
    """A computer with an inventory that names the project, and has no id."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        folder.mkdir()
        self.folder = folder
        self.environment = {name: value for name, value in environment.items() if name != "METAL_PROJECT_ID"}
        self.environment["ANSIBLE_CONFIG"] = str(write_ansible_config(folder))
        settings = {
            "openshift_cluster_name": "named",
            "openshift_base_domain": "metal.test",
            "openshift_dns_provider": "none",
            "openshift_clusters_directory": str(folder / "clusters"),
            "metal_project_name": NAME,
            "metal_project_create": True,
            "ansible_python_interpreter": sys.executable,
        }
        bootstrap = {"bootstrap-0": {"metal_ssh_keys": [{"label": "ordered", "key": KEYS["ordered"]}]}}
        inventory = {"all": {"vars": settings, "children": {"bootstrap": {"hosts": bootstrap}}}}
        (folder / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        tasks = [
            {"ansible.builtin.import_tasks": str(REPOSITORY / "playbooks" / "tasks" / "project.yml")},
            {"ansible.builtin.copy": {"content": "{{ metal_project_id }}", "dest": str(folder / "found"), "mode": "0600"}},
        ]
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
        (folder / "find.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")

    def play(self, playbook: str | Path, **variables: Any) -> tuple[int, str]:
        given = yaml.safe_dump(variables, default_flow_style=True, width=1000)
        return played(Path(playbook), "-i", self.folder / "inventory.yml", "-e", given, environment=self.environment)

    def find(self, **variables: Any) -> str:
        """Return the id that a play uses, empty when it ended before."""
        (self.folder / "found").unlink(missing_ok=True)
        code, output = self.play(self.folder / "find.yml", **variables)
        assert code == 0, output
        return (self.folder / "found").read_text(encoding="utf-8") if (self.folder / "found").exists() else ""

    def refused(self, playbook: Path, **variables: Any) -> str:
        code, output = self.play(playbook, **variables)
        assert code not in {0, -9}, output
        return " ".join(output.split())

    def destroy(self) -> str:
        code, output = self.play(REPOSITORY / "destroy.yml", openshift_destroy_confirm=CLUSTER)
        assert code == 0, output
        return " ".join(output.split())


def named(sandbox: RunningSandbox) -> list[dict[str, Any]]:
    return [project for project in call(sandbox, "GET", "projects")["projects"] if project["name"] == NAME]


@pytest.fixture
def controllers(sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path) -> Iterator[list[Controller]]:
    yield [Controller(tmp_path / name, sandbox_environment) for name in ("one", "other")]
    for project in named(sandbox):
        for network in call(sandbox, "GET", f"projects/{project['id']}/virtual-networks")["virtual_networks"]:
            call(sandbox, "DELETE", f"virtual-networks/{network['id']}")
        call(sandbox, "DELETE", f"projects/{project['id']}")


def test_a_project_lives_as_long_as_its_cluster(controllers: list[Controller], sandbox: RunningSandbox) -> None:
    one, other = controllers
    # Only install.yml creates it. Without it nothing can be deleted.
    assert "no cluster folder is left: nothing to delete." in one.destroy()
    assert named(sandbox) == []

    made = one.find(play_creates_project=True)
    (project,) = named(sandbox)
    assert (project["id"], sorted(project["tags"])) == (made, [f"openshift-cluster={CLUSTER}", "openshift-role=project"])
    sandbox.forget()
    assert other.find(play_creates_project=True) == other.find() == made
    assert {each["method"] for each in sandbox.journal()} == {"GET"}

    network = call(sandbox, "POST", f"projects/{made}/virtual-networks", {"metro": "da", "vxlan": 1077})
    output = one.destroy()
    assert "- project of a cluster since" in output
    assert f"({made}): unless something else is in it" in output
    assert "The project of a cluster is kept: it has 1 VLAN." in output
    call(sandbox, "DELETE", f"virtual-networks/{network['id']}")
    one.destroy()
    assert named(sandbox) == []
    assert "no cluster folder is left: nothing to delete." in one.destroy()


def test_destroy_fails_without_the_project_of_a_cluster_folder(controllers: list[Controller]) -> None:
    (one, _other) = controllers
    folder = one.folder / "clusters" / CLUSTER
    folder.mkdir(parents=True)
    (folder / "project").write_text("of-the-cluster\n", encoding="utf-8")
    text = one.refused(REPOSITORY / "destroy.yml")
    assert "in the project of-the-cluster, and this run is for no project: check metal_project_id, metal_project_name" in text


def test_ssh_keys_of_orders_are_deleted_with_the_project(controllers: list[Controller], sandbox: RunningSandbox) -> None:
    (one, _other) = controllers
    made = one.find(play_creates_project=True)
    # As the API does with the keys of an order.
    for label, key in KEYS.items():
        call(sandbox, "POST", f"projects/{made}/ssh-keys", {"label": label, "key": key})
    assert "The project of a cluster is kept: it has 1 SSH key." in one.destroy()
    (left,) = call(sandbox, "GET", f"projects/{made}/ssh-keys")["ssh_keys"]
    assert left["label"] == "other"
    call(sandbox, "DELETE", f"ssh-keys/{left['id']}")
    one.destroy()
    assert named(sandbox) == []


def test_a_project_of_another_owner_is_used_and_kept(controllers: list[Controller], sandbox: RunningSandbox) -> None:
    (one, _other) = controllers
    project = call(sandbox, "POST", "projects", {"name": NAME, "tags": ["openshift-cluster=other.metal.test", "openshift-role=project"]})
    assert one.find(play_creates_project=True) == project["id"]
    output = one.destroy()
    assert f"The project of a cluster is kept: it was not created for {CLUSTER}." in output
    assert "unless something else is in it" not in output
    assert [each["id"] for each in named(sandbox)] == [project["id"]]
