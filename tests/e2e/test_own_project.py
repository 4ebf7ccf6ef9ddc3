"""A cluster in a project that install.yml creates, of machines without plans: the least that an inventory can say about both."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.harness import NAME, Run, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

CHEAPEST = "t3.small.x86"
NEXT = "c3.small.x86"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKjUXG9UCv2NJ0NB4fGX0B3iFCcBNoX5V8w+TzYQXH3H operator"


class Owner(User):
    """A user without a project."""

    def play(self, playbook: str, *arguments: str, **more: Any) -> Run:
        return super().play(playbook, *arguments, without=("METAL_PROJECT_ID",), **more)

    def projects(self) -> list[dict[str, Any]]:
        return [project for project in self.ask("GET", "projects")["projects"] if project["name"] == "demo"]

    def plans(self) -> dict[str, str]:
        """Return the plan of each device of the project, by the short name of its host."""
        (project,) = self.projects()
        found = self.ask("GET", f"projects/{project['id']}/devices")["devices"]
        return {device["hostname"].removesuffix(f".{NAME}"): device["plan"]["slug"] for device in found}

    def capacity(self, number: int | None) -> None:
        """Set how many servers of the cheapest plan the metro has; None: enough."""
        self.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": {CHEAPEST: number}}}})


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    user = Owner(tmp_path_factory.mktemp("own"), speed=600)
    with user.at_work():
        desired = user.inventory / "01-cluster.yml"
        text = desired.read_text(encoding="utf-8")
        text, plans = re.subn(r"^    metal_plan: .*\n", "", text, flags=re.MULTILINE)
        text, ids = re.subn(
            r"^    metal_project_id: .*\n", "    metal_project_name: demo\n    metal_project_create: true\n", text, flags=re.MULTILINE
        )
        assert (plans, ids) == (1, 1)
        text = text.replace("master-[0:2]", "master-[0:0]").replace("worker-[0:1]", "worker-[0:0]")
        desired.write_text(text, encoding="utf-8")
        keys = {"all": {"vars": {"metal_ssh_keys": [{"label": "operator", "key": KEY}]}}}
        (user.inventory / "03-keys.yml").write_text(json.dumps(keys), encoding="utf-8")
        yield user


def test_install_creates_the_project_and_chooses_the_plans(user: Owner) -> None:
    # Bootstrap and control plane have the same plan, so two servers are needed at least.
    user.capacity(1)
    run = user.play("install.yml").ended_well()
    output = run.flat
    assert f"default plan {NEXT} for 1 control plane machine, 0.75 US dollars per hour" in output
    assert f"default plan {CHEAPEST} for 1 worker of pool worker, 0.35 US dollars per hour" in output
    assert user.plans() == {"master-0": NEXT, "worker-0": CHEAPEST}
    (project,) = user.projects()
    assert sorted(project["tags"]) == [f"openshift-cluster={NAME}", "openshift-role=project"]


def test_the_plans_stay_when_the_capacity_changes(user: Owner) -> None:
    user.capacity(None)
    user.play("install.yml").changed_nothing()
    # The pool's plan has no capacity for another worker, which no cheaper plan replaces.
    user.capacity(1)
    user.edit_workers(1)
    user.play("scale.yml").refused(f"no capacity for 1 server of plan {CHEAPEST}")
    user.capacity(None)
    user.play("scale.yml").ended_well()
    assert user.plans() == {"master-0": NEXT, "worker-0": CHEAPEST, "worker-1": CHEAPEST}


def test_destroy_lists_and_deletes_the_project(user: Owner) -> None:
    (project,) = user.projects()
    # The API has added the key of the orders to the project.
    labels = [key["label"] for key in user.ask("GET", f"projects/{project['id']}/ssh-keys")["ssh_keys"]]
    assert labels == ["operator"]
    output = " ".join(user.destroy().ended_well().output.split())
    assert "- project demo since" in output
    assert f"({project['id']}): unless something else is in it" in output
    assert "is kept" not in output
    assert user.projects() == []
