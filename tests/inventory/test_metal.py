"""The inventory plugin as a user has it: `ansible-inventory --list` on the sandbox's Metal API."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT
from sandbox.testing.process import RunningSandbox

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


@pytest.fixture(scope="module")
def api(sandbox: RunningSandbox) -> Iterator[httpx.Client]:
    environment = sandbox.environment
    with httpx.Client(base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}) as client:
        yield client


@pytest.fixture
def second_project(sandbox: RunningSandbox, api: httpx.Client) -> Iterator[str]:
    """A project with one device, of a name that is in the first one too."""
    project: str = api.post("/projects", json={"name": "second"}).raise_for_status().json()["id"]
    ids = sandbox.call("POST", "devices", json={"count": 1, "hostname": "worker-1.demo.metal.test", "project_id": project})["ids"]
    yield project
    sandbox.call("PUT", "settings", json={"speed": 100_000})
    for id_ in ids:
        api.delete(f"/devices/{id_}").raise_for_status()
        while api.get(f"/devices/{id_}").status_code != 404:
            time.sleep(0.05)
    api.delete(f"/projects/{project}").raise_for_status()


@pytest.fixture
def listed(sandbox: RunningSandbox, tmp_path: Path) -> Listed:
    """Run ansible-inventory on a source with these options; returns its output, the messages as `output`, and the number of calls."""

    def run(
        *arguments: str,
        beside: str = "",
        behind: str = "",
        without: tuple[str, ...] = (),
        around: Mapping[str, str] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        source = tmp_path / "02.metal.yml"
        (tmp_path / "09-behind.yml").write_text(behind or "all: {}\n", encoding="utf-8")
        source.write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")
        (tmp_path / "01-cluster.yml").write_text(beside or "all: {}\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")} | sandbox.environment
        environment |= {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **(around or {})}
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
        result = " ".join((done.stderr + done.stdout * bool(arguments)).split())
        asked = [parse_qs(urlsplit(entry["path"]).query) for entry in sandbox.journal()]
        return {**answer, "output": result, "calls": len(asked), "asked": asked, "code": done.returncode}

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
    assert "'twin.metal.test' is the name of another device" in answer["output"]
    assert not (tmp_path / "evaluated").exists()
    variables = hosts(answer)["worker-1.demo.metal.test"]
    assert plain(variables["ansible_host"]) == plain(variables["metal_public_ipv4"])


def test_tags_are_never_evaluated_as_templates(listed: Listed, tmp_path: Path) -> None:
    answer = listed(filters={"tag": ["rack=7"]}, compose={"all_tags": "metal_tags | join(',')"}, hostnames=["short_id"])
    assert len(hosts(answer)) == 2
    assert all("touch evaluated" in plain(variables["all_tags"]) for variables in hosts(answer).values())
    assert not (tmp_path / "evaluated").exists()


def test_only_text_that_could_be_a_template_is_marked(listed: Listed) -> None:
    """AWX reads this output, and has filters, smart inventories and ``enabled_var`` of text alone."""
    answer = listed("--export", compose={"where_it_is": "metal_metro ~ '-' ~ metal_plan", "all_tags": "metal_tags | join(',')"})
    exported = json.loads(answer["output"][answer["output"].index("{") : answer["output"].rindex("}") + 1])
    marked = {name for name, variables in hosts(exported).items() if "__ansible_unsafe" in json.dumps(variables)}
    assert marked == {name for name in hosts(exported) if name.startswith("twin")}
    ordinary, dangerous = (hosts(exported)[name] for name in ("worker-1.demo.metal.test", "twin.metal.test"))
    assert (ordinary["metal_state"], ordinary["where_it_is"]) == ("active", "da-c3.small.x86")
    assert ordinary["metal_tags"] == [CLUSTER, "openshift-role=worker"]
    assert dangerous["metal_tags"][1] == {"__ansible_unsafe": "{{ lookup('pipe', 'touch evaluated') }}"}
    assert "__ansible_unsafe" in dangerous["all_tags"]
    assert (dangerous["metal_state"], dangerous["metal_tags"][0]) == ("active", "rack=7")


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


def test_the_service_applies_what_it_has_a_parameter_for(listed: Listed) -> None:
    answer = listed(
        filters={
            "tag": ["openshift-role=worker", CLUSTER],
            "metro": "DA",
            "hostname": "WORKER-1",
            "categories": ["compute"],
            "plan": "c3.small.x86",
            "state": ["active", "failed"],
        },
        groups_by=["state", "tag"],
    )
    # worker-1, worker-10 to 19, worker-100 to 199
    assert len(hosts(answer)) == 111
    (asked,) = answer["asked"]
    sent = {"tag": ["openshift-role=worker"], "metro": ["da"], "hostname": ["WORKER-1"], "categories": ["compute"]}
    assert sent.items() <= asked.items()
    # No parameter of the vendor's text: chosen here.
    assert {"plan", "state"}.isdisjoint(asked)
    assert len(answer["metal_state_active"]["hosts"]) == len(answer["metal_tag_openshift_role_worker"]["hosts"]) == 111


def test_several_projects_and_all(listed: Listed, sandbox: RunningSandbox, second_project: str) -> None:
    first = sandbox.environment["METAL_PROJECT_ID"]
    choice = {"filters": {"hostname": "worker-1.demo"}, "groups_by": ["project"]}
    both = listed(project_ids=[first, second_project], **choice)
    every = listed(project_ids=["all"], **choice)
    # The same name in two projects: both are hosts, the older one has the name.
    names = sorted(hosts(both))
    assert names[0] == "worker-1.demo.metal.test"
    assert names[1].startswith("worker-1.demo.metal.test-")
    assert plain(hosts(both)[names[0]]["metal_project_id"]) == first
    assert plain(hosts(both)[names[1]]["metal_project_id"]) == second_project
    assert hosts(every) == hosts(both)
    assert (both["calls"], every["calls"]) == (2, 3)
    assert both[f"metal_project_{second_project.replace('-', '_')}"]["hosts"] == [names[1]]


def beside(tmp_path: Path, **options: Any) -> None:
    """Another source in the same folder, which is read after the other."""
    (tmp_path / "03.metal.yml").write_text(json.dumps({"plugin": "equinix_metal.openshift.metal", **options}), encoding="utf-8")


def test_two_devices_of_one_name_in_two_files_are_two_hosts(
    listed: Listed, sandbox: RunningSandbox, second_project: str, tmp_path: Path
) -> None:
    first = sandbox.environment["METAL_PROJECT_ID"]
    choice = {"filters": {"hostname": "worker-1.demo"}, "groups_by": ["project"]}
    beside(tmp_path, project_id=second_project, **choice)
    # The name stays with whom it has by the file that was read before, also when it is that of a desired machine.
    for desired in ("", "worker:\n  hosts:\n    worker-1.demo.metal.test: {metal_project_id: wanted}\n"):
        both = listed(beside=desired, project_id=first, **choice)
        name, other = sorted(hosts(both))
        assert (name, other) == ("worker-1.demo.metal.test", f"{name}-{plain(hosts(both)[other]['metal_short_id'])}")
        assert f"'{name}' is the name of another device" in both["output"]
        assert plain(hosts(both)[name]["metal_existing_project_id" if desired else "metal_project_id"]) == first
        assert plain(hosts(both)[other]["metal_project_id"]) == second_project
        for project, host in ((first, name), (second_project, other)):
            assert both[f"metal_project_{project.replace('-', '_')}"]["hosts"] == [host]


def test_a_device_in_two_files_is_one_host(listed: Listed, tmp_path: Path) -> None:
    beside(tmp_path, filters={"plan": "s3.xlarge.x86"}, groups_by=["plan"])
    sv = {"filters": {"metro": "sv"}, "groups_by": ["metro"]}
    answer = listed(**sv)
    assert sorted(hosts(answer)) == [f"big-{number}.metal.test" for number in (1, 2, 3)]
    assert answer["metal_metro_sv"]["hosts"] == answer["metal_plan_s3_xlarge_x86"]["hosts"]
    assert "another device" not in answer["output"]
    assert "metal_existing_plan" not in hosts(answer)["big-1.metal.test"]
    # Desired values from before either of them was read stay unchanged.
    answer = listed(beside="worker:\n  hosts:\n    big-1.metal.test: {metal_plan: wanted}\n", **sv)
    assert [plain(hosts(answer)["big-1.metal.test"][f"metal_{name}"]) for name in ("plan", "existing_plan")] == ["wanted", "s3.xlarge.x86"]


def test_a_malformed_device_affects_no_other(listed: Listed, sandbox: RunningSandbox, api: httpx.Client) -> None:
    project = sandbox.environment["METAL_PROJECT_ID"]
    page = api.get(f"/projects/{project}/devices", params={"hostname": "big-"}).raise_for_status().json()
    malformed: list[Any] = [
        {"id": "0d000000-0000-4000-8000-000000000001", "hostname": None, "tags": None, "ip_addresses": None, "network_ports": None},
        {"id": "0d000000-0000-4000-8000-000000000002", "hostname": {"a": 1}, "plan": 5, "metro": [], "tags": "x", "created_at": 7},
        {"hostname": None},
        {},
        None,
    ]
    page["devices"] += malformed
    page["meta"]["total"] = len(page["devices"])
    fault = {"method": "GET", "path": "/projects/.*/devices", "status": 200, "body": page}
    sandbox.call("POST", "faults", json=fault)
    try:
        answer = listed(where="id")
        # An expression that cannot be evaluated for a device leaves out that device, or is an error with strict.
        chosen = listed(where="starts_with(hostname, 'big-')")
        strict = listed(where="starts_with(hostname, 'big-')", strict=True)
    finally:
        sandbox.call("DELETE", "faults")
    big = {f"big-{number}.metal.test" for number in (1, 2, 3)}
    assert set(hosts(answer)) == {*big, malformed[0]["id"], malformed[1]["id"]}
    assert set(hosts(chosen)) == big
    # Two of them have the same name, so one warning is for both.
    assert chosen["output"].count("where cannot be evaluated for device") == 3
    assert "where cannot be evaluated for device" in strict["output"]
    assert "_meta" not in strict or not hosts(strict)
    assert "Traceback" not in answer["output"] + chosen["output"] + strict["output"]


def test_awx_gives_address_and_token_as_the_documentation_says(listed: Listed, sandbox: RunningSandbox) -> None:
    """The credential type in the documentation is one, and with what it puts into the environment the source works."""
    text = (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")
    inputs, injectors = (yaml.safe_load(block.split("```")[0]) for block in text.split("```yaml\n")[-2:])
    names = {field["id"] for field in inputs["fields"]}
    assert set(inputs["required"]) <= names
    secret = {field["id"] for field in inputs["fields"] if field.get("secret")}
    assert secret == {"token"}
    variables = set(injectors["env"])
    assert {value.strip("{} ") for value in injectors["env"].values()} == names
    assert variables <= set(sandbox.environment)
    others = tuple(name for name in sandbox.environment if name not in variables)
    assert len(hosts(listed("--export", without=others, filters={"hostname": "big-"}))) == 3


def test_the_cache_answers_without_a_call_and_says_its_age(listed: Listed, tmp_path: Path) -> None:
    cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache"), "cache_timeout": 600}
    first = listed(**cache)
    second = listed(**cache)
    assert (first["calls"], second["calls"]) == (1, 0)
    assert hosts(first) == hosts(second)
    assert "205 devices from the cache" in listed("-v", **cache)["output"]
    # Another question is not answered by what is stored for this one; a choice made here is.
    assert listed(**cache, filters={"metro": ["sv"]})["calls"] == 1
    assert listed(**cache, where="metro == 'sv'")["calls"] == 0
    assert "planted" not in "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "cache").iterdir())
    assert listed("--flush-cache", **cache)["calls"] == 1


def test_the_cache_shows_nobody_the_machines_of_another_account(listed: Listed, sandbox: RunningSandbox, tmp_path: Path) -> None:
    every: dict[str, Any] = {"project_ids": ["all"], "cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_timeout": 600}
    every["cache_connection"] = str(tmp_path / "cache")
    other = {"METAL_AUTH_TOKEN": sandbox.call("POST", "users", json={"name": "Other"})["token"]}
    assert len(hosts(listed(**every))) == 205
    theirs = listed(**every, around=other)
    assert theirs["calls"] > 0
    assert "metal" in theirs["all"]["children"], theirs["output"]
    assert not theirs.get("_meta", {}).get("hostvars")
    # Each is answered by what is stored for it.
    assert (listed(**every)["calls"], listed(**every, around=other)["calls"]) == (0, 0)
    stored = "".join(path.name + path.read_text(encoding="utf-8") for path in (tmp_path / "cache").iterdir())
    assert other["METAL_AUTH_TOKEN"] not in stored
    assert sandbox.environment["METAL_AUTH_TOKEN"] not in stored


def test_desired_values_are_kept_beside_existing_ones(listed: Listed) -> None:
    desired = "worker:\n  hosts:\n    worker-1:\n    worker-201:\n  vars: {metal_plan: m3.large.x86, metal_metro: ny}\n"
    answer = listed(beside=desired, hostnames=["short_hostname"])
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
    given = {
        "metal_api_token": sandbox.environment["METAL_AUTH_TOKEN"],
        "metal_api_url": "{{ lookup('ansible.builtin.env', 'SANDBOX_URL') }}/metal/v1",
        "project_id": sandbox.environment["METAL_PROJECT_ID"],
    }
    without = ("METAL_API_URL", "METAL_PROJECT_ID", "METAL_AUTH_TOKEN")
    assert len(hosts(listed(**given, without=without, filters={"hostname": "big-"}))) == 3


TOKENS = ENVIRONMENT["metal_api_token"]


@pytest.mark.parametrize("place", range(len(TOKENS)), ids=TOKENS)
def test_the_environment_means_the_same_to_inventory_and_modules(
    place: int, listed: Listed, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """The first variable of a token that is not empty, whatever the ones after it hold; others that are empty are none."""
    around = dict.fromkeys(TOKENS[:place], "") | dict.fromkeys(TOKENS[place + 1 :], "stale")
    around |= {TOKENS[place]: sandbox.environment["METAL_AUTH_TOKEN"]}
    around |= dict.fromkeys(("METAL_API_CA_PATH", "METAL_API_PROXY", "METAL_UA_PREFIX"), "")
    answer = listed(around=around, filters={"hostname": "big-"})
    assert len(hosts(answer)) == 3, answer["output"]
    module = subprocess.run(
        [str(Path(sys.executable).parent / "ansible"), "localhost", "-m", "equinix_metal.openshift.metal_device_info"],
        cwd=tmp_path,
        env={**os.environ, **sandbox.environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_INVENTORY": "localhost,", **around},
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert module.returncode == 0, module.stdout + module.stderr
    # A project that is there, but empty, is none for both of them.
    assert "no project is set" in listed(around={**around, "METAL_PROJECT_ID": ""})["output"]


@pytest.mark.parametrize(
    ("options", "without", "words"),
    [
        ({}, ("METAL_AUTH_TOKEN",), "metal_api_token"),
        ({}, ("METAL_PROJECT_ID",), "no project is set"),
        ({"metal_api_token": "wrong"}, (), "401"),
        ({"project_id": "00000000-0000-4000-8000-000000000000"}, (), "404"),
        ({"metal_api_url": "http://127.0.0.1:9/metal/v1", "metal_api_retries": 0}, (), "127.0.0.1:9"),
        ({"filters": {"tags": ["x"]}}, (), "'tags' is not one of"),
        ({"compose": {"size": "metal_nothing.at_all"}, "strict": True}, (), "Could not set size"),
    ],
)
def test_problems_are_reported(listed: Listed, options: dict[str, Any], without: tuple[str, ...], words: str) -> None:
    answer = listed(**options, without=without)
    assert words in answer["output"], answer["output"]
    assert "Traceback" not in answer["output"]


HOSTILE = "-oProxyCommand=touch ${HOME}/ran #"
HOSTILE_ADDRESS = {"address": HOSTILE, "address_family": 4, "public": True, "management": True}
HOSTILE_DEVICES: list[dict[str, Any]] = [
    {"id": "0d000000-0000-4000-8000-00000000000a", "hostname": HOSTILE, "tags": [f"reach={HOSTILE}"]},
    {"id": "0d000000-0000-4000-8000-00000000000b", "hostname": "{{ lookup('pipe', 'touch ran') }}", "tags": ["reach=2130706433"]},
    {"id": "0d000000-0000-4000-8000-00000000000c", "hostname": "good\nPLAY RECAP", "tags": ["reach=root@host"]},
    {"id": "0d000000-0000-4000-8000-00000000000d", "hostname": "good", "ip_addresses": [HOSTILE_ADDRESS]},
]


@pytest.fixture
def hostile(sandbox: RunningSandbox) -> Iterator[None]:
    """The service returns devices with hostile names, tags and addresses."""
    page = {"devices": HOSTILE_DEVICES, "meta": {"total": len(HOSTILE_DEVICES), "next": None}}
    sandbox.call("POST", "faults", json={"method": "GET", "path": "/projects/.*/devices", "status": 200, "body": page})
    yield
    sandbox.call("DELETE", "faults")


@pytest.mark.usefixtures("hostile")
def test_an_address_that_is_an_option_of_ssh_is_not_used(listed: Listed, sandbox: RunningSandbox, tmp_path: Path) -> None:
    answer = listed(
        addresses=["tag:reach", "public_ipv4", "hostname"], keyed_groups=[{"key": "metal_hostname", "prefix": ""}], groups_by=["tag"]
    )
    names = [device["id"] for device in HOSTILE_DEVICES[:3]]
    assert sorted(hosts(answer)) == sorted([*names, "good"])
    assert {plain(variables.get("ansible_host")) for variables in hosts(answer).values()} == {None, "good"}
    for name in names:
        assert name in answer["output"]
    assert "is no host name and no IP address that can be used as ansible_host" in answer["output"]
    # Facts are data: what the service says stays to be read, and runs nowhere.
    assert plain(hosts(answer)[names[0]]["metal_hostname"]) == HOSTILE
    assert all(group.replace("_", "").isalnum() for group in answer if group not in {"output", "calls", "asked", "code", "_meta"})
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible"), "-i", str(tmp_path / "02.metal.yml"), "all", "-m", "ansible.builtin.ping"],
        env={**os.environ, **sandbox.environment, "HOME": str(tmp_path), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert "UNREACHABLE" in done.stdout
    assert not (tmp_path / "ran").exists()


NAMED = "worker-1.demo.metal.test"
WORKER = {"filters": {"hostname": "worker-1.demo"}}
BY_HAND = {
    "host": f"publisher:\n  hosts:\n    {NAMED}: {{ansible_host: 192.0.2.99, metal_state: mine, metal_description: mine}}\n",
    "group": f"publisher:\n  hosts:\n    {NAMED}:\n  vars: {{ansible_host: 192.0.2.99, metal_description: mine, metal_locked: mine}}\n",
    "name alone": f"publisher:\n  hosts:\n    {NAMED}:\n",
}


@pytest.mark.parametrize("place", ["beside", "behind"])
@pytest.mark.parametrize("how", BY_HAND)
def test_a_host_of_another_source_keeps_its_variables(listed: Listed, place: str, how: str) -> None:
    answer = listed(**{place: BY_HAND[how]}, **WORKER)
    variables = {name: plain(value) for name, value in hosts(answer)[NAMED].items()}
    assert variables.get("ansible_host") == (None if how == "name alone" else "192.0.2.99")
    assert variables.get("metal_description") == (None if how == "name alone" else "mine")
    assert variables["metal_state"] == ("mine" if how == "host" else "active")
    assert variables["metal_existing_plan"] == "c3.small.x86"
    assert variables["metal_id"] and variables["metal_public_ipv4"]
    assert f"has the name of the host '{NAMED}' of another inventory source" in answer["output"]
    assert NAMED in answer["metal_state_active"]["hosts"]
    # Others are not concerned.
    assert all(variables.get("ansible_host") for name, variables in hosts(answer).items() if name != NAMED)


def test_a_second_file_of_the_plugin_changes_such_a_host_no_more_than_the_first(listed: Listed, tmp_path: Path) -> None:
    beside(tmp_path, **WORKER)
    answer = listed(behind=BY_HAND["host"], **WORKER)
    variables = {name: plain(value) for name, value in hosts(answer)[NAMED].items()}
    assert (variables["ansible_host"], variables["metal_state"], variables["metal_existing_state"]) == ("192.0.2.99", "mine", "active")


@pytest.mark.parametrize("place", ["beside", "behind"])
def test_a_device_joins_no_group_of_another_source_by_its_tags(listed: Listed, place: str) -> None:
    keyed = [{"key": "metal_tags", "prefix": "", "separator": ""}]
    answer = listed(**{place: "rack_7:\n  hosts:\n    worker-0:\n"}, filters={"tag": ["rack=7"]}, keyed_groups=keyed)
    assert answer["rack_7"]["hosts"] == ["worker-0"]
    assert "host 'twin.metal.test' is not added to the group 'rack_7' of another inventory source" in answer["output"]
    assert "twin.metal.test" in listed(filters={"tag": ["rack=7"]}, keyed_groups=keyed)["rack_7"]["hosts"]


@pytest.mark.parametrize("place", ["beside", "behind"])
def test_a_device_with_the_name_of_a_group_of_another_source_is_a_host_of_another_name(listed: Listed, place: str) -> None:
    answer = listed(**{place: "big-1.metal.test:\n  hosts:\n    worker-0:\n"}, filters={"hostname": "big-1"})
    (name,) = set(hosts(answer)) - {"worker-0"}
    assert name == f"big-1.metal.test-{plain(hosts(answer)[name]['metal_short_id'])}"


@pytest.mark.parametrize("option", ["project_id", "project_ids"])
def test_a_project_that_is_no_id_is_refused_before_a_call(listed: Listed, option: str) -> None:
    id_ = "../projects/x"
    answer = listed(**{option: [id_] if option == "project_ids" else id_})
    assert f"{option} has to be an id (a UUID like " in answer["output"]
    assert answer["calls"] == 0
