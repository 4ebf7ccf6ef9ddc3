"""A cluster that was installed in another way is adopted: workers join it, and nothing else of it is changed or deleted."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SPEED = 1200
GIVEN = ("-e", "@given.json")
WORKERS: dict[str, Any] = {"openshift": {"children": {"workers": {"children": {"worker": {"hosts": {"worker-9": {}}}}}}}}


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Somebody else's cluster: none of its devices has a tag of these playbooks."""
    user = User(tmp_path_factory.mktemp("adopt") / "foreign", speed=SPEED)
    user.folder.mkdir()
    with user.at_work():
        # Theirs has no firewall whose addresses only our playbooks keep.
        user.play("install.yml", "-e", "openshift_node_firewall=false", timeout=1800).ended_well()
        for device in user.devices():
            user.ask("PUT", f"devices/{device['id']}", json={"tags": ["team=other"]})
        yield user


@pytest.fixture(scope="module")
def user(foreign: User) -> User:
    """The user who adopts it has an inventory with workers only, and its kubeconfig."""
    folder = foreign.folder.with_name("own")
    folder.mkdir()
    user = foreign.beside(folder)
    text = (foreign.cluster / "kubeconfig").read_text(encoding="utf-8")
    (folder / "given.json").write_text(json.dumps({"openshift_kubeconfig": text}), encoding="utf-8")
    return user


def only_workers(user: User) -> None:
    path = user.inventory / "01-cluster.yml"
    inventory = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**WORKERS, "all": inventory["all"]}), encoding="utf-8")


def untouched(user: User) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """The foreign cluster's devices and DNS records."""
    devices = [{key: each[key] for key in ("id", "tags", "state")} for each in user.devices() if "worker-9" not in each["hostname"]]
    records = {name: values for name, values in user.names_in_zone().items() if "worker-9" not in name}
    return sorted(devices, key=lambda each: str(each["id"])), records


def test_an_inventory_with_a_control_plane_is_refused(user: User) -> None:
    user.play("adopt.yml", *GIVEN).refused("leave the groups bootstrap and control_plane empty")


def test_adopt_prints_what_is_managed_and_changes_nothing(user: User) -> None:
    only_workers(user)
    before = untouched(user)
    run = user.play("adopt.yml", *GIVEN).ended_well()
    assert run.writes == []
    assert untouched(user) == before
    assert re.search(rf"master-0\.{NAME} +control plane +device \S+, without the ownership tag, not managed", run.output)
    assert f"To be added:  worker-9.{NAME}, with scale.yml" in run.output
    user.play("adopt.yml", *GIVEN).changed_nothing()


def test_a_worker_joins_and_nothing_else_is_changed(foreign: User, user: User) -> None:
    before = untouched(user)
    nodes = foreign.nodes()
    user.play("scale.yml", *GIVEN, timeout=1800).ended_well()
    assert foreign.nodes() == sorted([*nodes, "worker-9"])
    assert untouched(user) == before
    again = user.play("scale.yml", *GIVEN).ended_well()
    assert (again.changed, again.writes) == (0, [])
    assert again.plan is not None
    assert again.plan["steps"] == [], "the nodes of the other workers are not ours to remove"


def test_it_is_not_installed(user: User) -> None:
    refused = user.play("install.yml", *GIVEN)
    assert refused.code != 0
    assert "install.yml would install a second cluster of its name" in refused.flat
    assert refused.changes == []


def test_destroy_deletes_the_own_workers_only(user: User) -> None:
    before = untouched(user)
    user.play("destroy.yml", *GIVEN, "-e", f"openshift_destroy_confirm={NAME}", timeout=1200).ended_well()
    assert untouched(user) == before
    assert not [device for device in user.devices() if "worker-9" in device["hostname"]]
    assert not [name for name in user.names_in_zone() if "worker-9" in name]
