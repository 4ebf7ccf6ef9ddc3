"""The inventory plugin as a user has it: `ansible-inventory --list` on the sandbox's Metal API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.running import RunningSandbox

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = "openshift-cluster=demo.metal.test"
Listed = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("sandbox")
    with RunningSandbox(folder / "state", log=folder / "log") as running:
        seeds = (
            {"count": 200, "hostname": "worker-{{index}}.demo.metal.test", "tags": [CLUSTER, "openshift-role=worker"]},
            {"count": 2, "hostname": "twin.metal.test", "tags": ["rack=7", "{{ lookup('pipe', 'touch evaluated') }}"]},
            {
                "count": 3,
                "hostname": "big-{{index}}.metal.test",
                "plan": "s3.xlarge.x86",
                "metro": "sv",
                "customdata": {"token": "planted"},
            },
        )
        for seed in seeds:
            running.call("POST", "devices", json=seed)
        yield running


@pytest.fixture
def listed(sandbox: RunningSandbox, tmp_path: Path) -> Listed:
    """Run ansible-inventory on a source with these options; returns its output, what it said as `told`, and the number of calls."""

    def run(*arguments: str, beside: str = "", without: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
        source = tmp_path / "02.metal.yml"
        source.write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")
        (tmp_path / "01-cluster.yml").write_text(beside or "all: {}\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")} | sandbox.environment
        environment |= {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        sandbox.forget()
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-inventory"), "-i", str(tmp_path), "--list", *arguments],
            cwd=tmp_path,
            env={name: value for name, value in environment.items() if name not in without},
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        # Long messages are wrapped at the width of the terminal.
        return {**answer, "told": " ".join((done.stderr + done.stdout * bool(arguments)).split()), "calls": len(sandbox.journal())}

    return run


def hosts(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["_meta"]["hostvars"]
    return found


def plain(value: Any) -> Any:
    return value["__ansible_unsafe"] if isinstance(value, dict) and "__ansible_unsafe" in value else value


def test_all_devices_in_few_calls_with_their_groups(listed: Listed, tmp_path: Path) -> None:
    answer = listed()
    assert len(hosts(answer)) == 205
    assert answer["calls"] <= 2
    assert len(answer["metal_role_worker"]["hosts"]) == len(answer["metal_cluster_demo_metal_test"]["hosts"]) == 200
    assert len(answer["metal_metro_sv"]["hosts"]) == len(answer["metal_plan_s3_xlarge_x86"]["hosts"]) == 3
    assert "metal_tag_rack_7" not in answer
    assert "planted" not in json.dumps(answer)
    twins = sorted(name for name in hosts(answer) if name.startswith("twin"))
    assert twins[0] == "twin.metal.test"
    assert twins[1] == f"twin.metal.test-{plain(hosts(answer)[twins[1]]['metal_short_id'])}"
    assert "'twin.metal.test' is the name of another device" in answer["told"]
    assert not (tmp_path / "evaluated").exists()
    variables = hosts(answer)["worker-1.demo.metal.test"]
    assert plain(variables["ansible_host"]) == plain(variables["metal_public_ipv4"])


def test_what_somebody_wrote_into_a_tag_is_never_evaluated(listed: Listed, tmp_path: Path) -> None:
    answer = listed(filters={"tag": ["rack=7"]}, compose={"all_tags": "metal_tags | join(',')"}, hostnames=["short_id"])
    assert len(hosts(answer)) == 2
    assert all("touch evaluated" in plain(variables["all_tags"]) for variables in hosts(answer).values())
    assert not (tmp_path / "evaluated").exists()


def test_filters_choice_of_name_and_address_and_where(listed: Listed) -> None:
    answer = listed(
        filters={"metro": ["sv"], "state": ["active"], "hostname": "big"},
        where="ends_with(hostname, 'big-2.metal.test') || id == 'x'",
        hostnames=["tag:none", "short_hostname"],
        addresses=["private_ipv4"],
        variable_prefix="device_",
        groups_by=["metro", "project"],
    )
    assert list(hosts(answer)) == ["big-2"]
    variables = hosts(answer)["big-2"]
    assert plain(variables["ansible_host"]) == plain(variables["device_private_ipv4"])
    assert answer["calls"] == 1


def test_composed_variables_make_groups(listed: Listed) -> None:
    answer = listed(
        filters={"plan": ["s3.xlarge.x86"]},
        compose={"size": "'large' if 'xlarge' in metal_plan else 'small'"},
        groups={"large_ones": "size == 'large'"},
        keyed_groups=[{"key": "size", "prefix": "size"}],
    )
    assert len(answer["large_ones"]["hosts"]) == len(answer["size_large"]["hosts"]) == 3


def test_the_cache_answers_without_a_call_and_says_its_age(listed: Listed, tmp_path: Path) -> None:
    cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache"), "cache_timeout": 60}
    first = listed(**cache)
    second = listed(**cache)
    assert (first["calls"], second["calls"]) == (1, 0)
    assert hosts(first) == hosts(second)
    assert "205 devices from the cache" in listed("-v", **cache)["told"]
    # Another question is not answered by what is stored for this one; a choice made here is.
    assert listed(**cache, filters={"metro": ["sv"]})["calls"] == 1
    assert listed(**cache, where="metro == 'sv'")["calls"] == 0
    assert "planted" not in "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "cache").iterdir())
    assert listed("--flush-cache", **cache)["calls"] == 1


def test_wanted_values_are_not_hidden_by_what_exists(listed: Listed) -> None:
    wanted = "worker:\n  hosts:\n    worker-1:\n    worker-201:\n  vars: {metal_plan: m3.large.x86, metal_metro: ny}\n"
    answer = listed(beside=wanted, hostnames=["short_hostname"])
    assert plain(hosts(answer)["worker-1"]["metal_plan"]) == "m3.large.x86"
    assert plain(hosts(answer)["worker-1"]["metal_existing_plan"]) == "c3.small.x86"
    assert plain(hosts(answer)["worker-1"]["metal_state"]) == "active"
    assert plain(hosts(answer)["worker-2"]["metal_plan"]) == "c3.small.x86"
    assert "metal_state" not in hosts(answer)["worker-201"]


def test_token_and_address_as_templates(listed: Listed, sandbox: RunningSandbox) -> None:
    given = {
        "metal_api_token": "{{ lookup('ansible.builtin.env', 'METAL' ~ '_AUTH_TOKEN') }}",
        "metal_api_url": sandbox.environment["METAL_API_URL"],
        "project_ids": ["all"],
    }
    assert len(hosts(listed(**given, without=("METAL_API_URL", "METAL_PROJECT_ID")))) == 205


@pytest.mark.parametrize(
    ("options", "without", "words"),
    [
        ({}, ("METAL_AUTH_TOKEN",), "metal_api_token"),
        ({}, ("METAL_PROJECT_ID",), "No project is given"),
        ({"metal_api_token": "wrong"}, (), "401"),
        ({"project_id": "00000000-0000-4000-8000-000000000000"}, (), "404"),
        ({"metal_api_url": "http://127.0.0.1:9/metal/v1", "metal_api_retries": 0}, (), "127.0.0.1:9"),
        ({"filters": {"tags": ["x"]}}, (), "'tags' is not one of"),
        ({"where": "a ==="}, (), "where"),
        ({"hostnames": ["name"]}, (), "'name' is not one of"),
    ],
)
def test_problems_are_told(listed: Listed, options: dict[str, Any], without: tuple[str, ...], words: str) -> None:
    answer = listed(**options, without=without)
    assert words in answer["told"], answer["told"]
    assert "Traceback" not in answer["told"]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "headers": {"Retry-After": "1"}, "times": 1},
        {"status": 500, "times": 1},
        {"cut": "body", "times": 1},
    ],
    ids=["429", "500", "cut"],
)
def test_a_passing_fault_does_not_end_it(listed: Listed, sandbox: RunningSandbox, fault: dict[str, Any]) -> None:
    sandbox.call("POST", "faults", json={"method": "GET", "path": "/projects/.*/devices", **fault})
    try:
        assert len(hosts(listed())) == 205
    finally:
        sandbox.call("DELETE", "faults")
