"""A playbook of the collection that is run in part refuses in one sentence, by a real ansible-playbook, before anything is changed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.control_plane import environment

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
INVENTORY = {
    "openshift": {
        "children": {
            "control_plane": {"hosts": {"master-0": {}}},
            "workers": {"children": {"worker": {"hosts": {"worker-0": {}, "worker-1": {}}}}},
        }
    }
}
# Nobody is to be asked for anything.
NOWHERE = {"METAL_API_URL": "http://127.0.0.1:9/metal/v1", "METAL_AUTH_TOKEN": "t", "METAL_PROJECT_ID": "p"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(INVENTORY), encoding="utf-8")
    return tmp_path


def play(folder: Path, playbook: str, *arguments: str, **settings: str) -> tuple[int, str]:
    """Exit code and output of a run with this inventory, and these settings in the environment."""
    known = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "COLUMNS": "10000"}
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", folder / "hosts.yml", playbook, *arguments],
        cwd=folder,
        env={**environment(), **NOWHERE, **known, **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def refused(result: tuple[int, str], restriction: str) -> None:
    code, output = result
    assert code != 0, output
    assert f"Cannot run with {restriction}: this playbook compares the whole inventory with the existing devices" in output, output
    assert "TASK" not in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "restriction"),
    [
        (("--limit", "worker-0"), "--limit worker-0"),
        # It takes localhost from a play for localhost.
        (("--limit", "all"), "--limit all"),
        (("--tags", "network"), "--tags network"),
        (("--skip-tags", "drain"), "--skip-tags drain"),
        (("--start-at-task", "Delete the removed workers"), "--start-at-task 'Delete the removed workers'"),
    ],
)
def test_every_way_to_run_a_part(folder: Path, arguments: tuple[str, ...], restriction: str) -> None:
    refused(play(folder, str(ROOT / "scale.yml"), *arguments), restriction)


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_by_its_full_name(folder: Path, playbook: Path) -> None:
    refused(play(folder, f"equinix_metal.openshift.{playbook.stem}", "--limit", "worker-0"), "--limit worker-0")


@pytest.mark.parametrize("pattern", ["no-such-host", "localhost"])
def test_a_limit_that_leaves_no_host_of_the_inventory(folder: Path, pattern: str) -> None:
    """Refused by ansible-core itself."""
    code, output = play(folder, str(ROOT / "destroy.yml"), "--limit", pattern)
    assert code != 0
    assert "no hosts" in output


def test_localhost_of_an_inventory_is_no_exception(folder: Path) -> None:
    known: dict[str, Any] = {**INVENTORY, "ungrouped": {"hosts": {"localhost": {"ansible_connection": "local"}}}}
    (folder / "hosts.yml").write_text(yaml.safe_dump(known), encoding="utf-8")
    refused(play(folder, str(ROOT / "install.yml"), "--limit", "localhost"), "--limit localhost")


def test_a_whole_run_is_not_refused(folder: Path) -> None:
    code, output = play(folder, str(ROOT / "playbooks" / "orphans.yml"), "--tags", "all")
    assert "Cannot run with" not in output
    assert "TASK" in output
    assert code != 0, "nobody answers there"


def test_every_play_is_guarded() -> None:
    for path in PLAYBOOKS:
        for each in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert each["hosts"] == "{{ 'localhost' | equinix_metal.openshift.rule('play.unrestricted') }}", path.name


def test_tags_of_the_environment_count_as_well(folder: Path) -> None:
    """Nobody sees them on the command line."""
    refused(play(folder, str(ROOT / "destroy.yml"), ANSIBLE_RUN_TAGS="x"), "--tags x")
