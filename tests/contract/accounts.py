"""Scenarios of accounts: projects, and keys of projects and users."""

from typing import Any

from tests.contract.scenario import Scenario, of_one

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICRw0Pjkcx8Ergp5px+1NK09ErEdFd38EdiCpSPgDkti"
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICIwcIi5KAp5fBXopqscB+18PzO52/mQySq0ye/UA7hS"


@of_one(lambda entry: entry["name"].startswith("contract"))
def one_project(project: dict[str, Any]) -> dict[str, Any]:
    return {"name": project["name"], "tags": sorted(project["tags"])}


@of_one(lambda entry: "contract" in entry["label"])
def one_key(key: dict[str, Any]) -> dict[str, Any]:
    return {"label": key["label"], "key": " ".join(key["key"].split()[:2]), "tags": sorted(key["tags"])}


def ssh_key(owner: str, listing: str) -> Scenario:
    return Scenario(
        module="metal_ssh_key",
        name=owner,
        create={"owner": owner, "label": "contract", "key": f"{KEY} contract@example.com"},
        change={"owner": owner, "label": "contract", "key": f"{OTHER_KEY} contract", "tags": ["b", "a", "b"]},
        absent={"owner": owner, "label": "contract", "state": "absent"},
        never={"owner": owner, "label": "never", "state": "absent"},
        listing=listing,
        key="ssh_keys",
        view=one_key,
    )


ACCOUNT_SCENARIOS = [
    Scenario(
        module="metal_project",
        create={"name": "contract", "customdata": {"a": 1}},
        change={"name": "contract", "tags": ["b", "a"], "backend_transfer_enabled": True, "customdata": {"a": 2}},
        absent={"name": "contract", "state": "absent"},
        never={"name": "never", "state": "absent"},
        listing="projects",
        key="projects",
        view=one_project,
    ),
    ssh_key("project", "projects/{project}/ssh-keys"),
    ssh_key("user", "ssh-keys"),
]
