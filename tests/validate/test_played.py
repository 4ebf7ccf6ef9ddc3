"""Runs with the inventories of played.yml against a sandbox, several at a time, report the findings of the tables."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dns.query
import dns.tsigkeyring
import dns.update
import httpx
import pytest
import yaml

from sandbox.testing.process import REPOSITORY, RunningSandbox, is_write
from tests.conftest import fresh_sandbox, user_environment
from tests.validate.cases import GROUPS, PLAYED, Case, read
from tests.validate.test_cases import SECRET, STOCK

pytestmark = pytest.mark.debian("gpgv")

NAMES = {"api.gone": "192.0.2.7", "api.hand": "127.0.0.1", "api.lost": "192.0.2.9"}
"""Existing records, below the sandbox's domain."""


@dataclass(frozen=True)
class Played:
    """The result of a run: exit code, output and report."""

    code: int
    output: str
    report: Mapping[str, Any]

    @property
    def lines(self) -> dict[str, Mapping[str, str]]:
        return {line["check"]: line for line in self.report["checks"]}


@pytest.fixture(scope="module")
def sandbox_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """A sandbox of its own, since reports include objects of other tests."""
    with fresh_sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture(scope="module")
def world(sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The values of the tables' names, from a sandbox with all objects of the cases."""
    folder, given = tmp_path_factory.mktemp("played"), sandbox_process.environment
    with ExitStack() as stack:
        taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        api = stack.enter_context(
            httpx.Client(base_url=given["METAL_API_URL"], headers={"X-Auth-Token": given["METAL_AUTH_TOKEN"]}, timeout=30)
        )
        stock = {code: {"c3.small.x86": number} for code, number in STOCK.items()}
        sandbox_process.call("PUT", "settings", json={"capacity": {"metros": stock}})
        stack.callback(sandbox_process.call, "PUT", "settings", json={"capacity": {"metros": dict.fromkeys(STOCK)}})
        key = api.post("/user/api-keys", json={"description": "reads", "read_only": True}).json()
        stack.callback(api.delete, f"/user/api-keys/{key['id']}")
        # With the first machine in a metro comes the project's private block there.
        (device,) = sandbox_process.call("POST", "devices", json={"count": 1, "metro": "am"})["ids"]
        stack.callback(api.delete, f"/devices/{device}", params={"force_delete": True})
        blocks = api.get(f"/projects/{given['METAL_PROJECT_ID']}/ips", params={"types": "private_ipv4"}).json()["ip_addresses"]
        reserved = {
            name: sandbox_process.call("POST", "hardware_reservations", json=desired)["ids"]
            for name, desired in {
                "reserved": {"count": 2, "metro": "da"},
                "broken": {"need_of_service": True, "metro": "da"},
                "elsewhere": {"metro": "am", "plan": "c3.medium.x86"},
            }.items()
        }
        _keep(given, NAMES)
        stack.callback(_keep, given, dict.fromkeys(NAMES))
        (folder / "other.gpg").touch()
        (folder / "open").mkdir(mode=0o755)
        (folder / "other").mkdir(mode=0o700)
        (folder / "other" / "project").write_text("2b70eb8f-fa18-47c0-aba7-222a842362fd\n", encoding="utf-8")
        yield {
            "mirror": given["OPENSHIFT_MIRROR_URL"],
            "keyring": given["OPENSHIFT_RELEASE_KEYRING"],
            "other_keyring": str(folder / "other.gpg"),
            "pull_secret": json.dumps({"auths": {"registry.example": {"auth": "dXNlcjp3b3Jk"}}}),
            "folder": str(folder),
            "open_folder": str(folder / "open"),
            "other_folder": str(folder / "other"),
            "dns_port": given["OPENSHIFT_DNS_PORT"],
            "dns_key_name": given["OPENSHIFT_DNS_KEY_NAME"],
            "dns_key_secret": given["OPENSHIFT_DNS_KEY_SECRET"],
            "api": given["METAL_API_URL"],
            "token": given["METAL_AUTH_TOKEN"],
            "reading_token": key["token"],
            "project": given["METAL_PROJECT_ID"],
            "private_block": min(f"{block['network']}/{block['cidr']}" for block in blocks),
            "taken_port": str(taken.getsockname()[1]),
            "closed_port": str(_closed_port()),
            **{name: ids[0] for name, ids in reserved.items()},
        }


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _keep(given: Mapping[str, str], records: Mapping[str, str | None]) -> None:
    """Set these records in the sandbox's zone; a name that ends with a dot is an alias, None deletes the record."""
    keyring = dns.tsigkeyring.from_text({given["OPENSHIFT_DNS_KEY_NAME"]: given["OPENSHIFT_DNS_KEY_SECRET"]})
    update = dns.update.UpdateMessage(given["OPENSHIFT_BASE_DOMAIN"], keyring=keyring)
    for name, address in records.items():
        update.delete(name)
        if address:
            update.add(name, 60, "CNAME" if address.endswith(".") else "A", address)
    dns.query.tcp(update, given["OPENSHIFT_DNS_SERVER"], port=int(given["OPENSHIFT_DNS_PORT"]), timeout=10)


@pytest.fixture(scope="module")
def played(
    sandbox_process: RunningSandbox,
    world: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> dict[str, tuple[Case, Played]]:
    """The selected cases, each with its run. Cases with sandbox settings run one by one, the others in parallel."""
    base, cases = read(world, PLAYED)
    selected = {item.callspec.params["name"] for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec")}
    cases = [case for case in cases if case.name in selected]
    folder = tmp_path_factory.mktemp("inventories")
    sandbox_process.forget()

    def play(case: Case) -> Played:
        return _play(case, base, folder / str(case.number), user_environment(sandbox_process))

    runs: dict[str, tuple[Case, Played]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        together = [case for case in cases if "settings" not in case.entry]
        runs |= {case.name: (case, run) for case, run in zip(together, pool.map(play, together), strict=True)}
    for case in cases:
        if "settings" in case.entry:
            before = sandbox_process.call("GET", "settings")
            sandbox_process.call("PUT", "settings", json=case.entry["settings"])
            runs[case.name] = (case, play(case))
            sandbox_process.call("PUT", "settings", json={group: before[group] for group in case.entry["settings"]})
    return runs


def _play(case: Case, base: Mapping[str, Any], folder: Path, environment: dict[str, str]) -> Played:
    folder.mkdir()
    report = folder / "report.json"
    (folder / "inventory.yml").write_text(yaml.safe_dump(_inventory(case, base)), encoding="utf-8")
    done = subprocess.run(
        [
            *("ansible-playbook", "-i", str(folder / "inventory.yml"), str(REPOSITORY / "playbooks" / "validate.yml")),
            *("-e", f"validate_report_file={report}", "-e", "validate_artifact=true"),
        ],
        cwd=folder,
        # All settings are in the inventory.
        env={name: value for name, value in environment.items() if not name.startswith(("METAL_", "OPENSHIFT_"))}
        | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_SHOW_CUSTOM_STATS": "1", "PWD": str(folder)},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert report.is_file(), done.stdout
    output, _heading, left = done.stdout.partition("CUSTOM STATS: ")
    assert "validate_report:" in left, "what an artifact of the job is made of"
    return Played(done.returncode, output, json.loads(report.read_text(encoding="utf-8")))


def _inventory(case: Case, base: Mapping[str, Any]) -> dict[str, Any]:
    hosts, own = case.hosts(base), case.entry.get("host_variables", {})
    groups = {group: {"hosts": {host: own.get(host, {}) for host in hosts[group]}} for group in GROUPS}
    groups["workers"] = {"children": {"worker": groups["workers"]}}
    return {"all": {"vars": case.inventory(base), "children": groups}}


@pytest.mark.parametrize("name", [*PLAYED["cases"], *(entry["name"] for entry in PLAYED["worlds"])])
def test_the_run_has_the_findings_of_the_table(name: str, played: dict[str, tuple[Case, Played]]) -> None:
    case, run = played[name]
    for check, expected in case.expected.items():
        assert run.lines[check]["verdict"] == expected.verdict, run.lines[check]
        assert expected.found in run.lines[check]["found"], run.lines[check]
    failures = {check: line for check, line in run.lines.items() if line["verdict"] == "failed"}
    assert set(failures) == case.failures, failures
    assert run.code == (2 if case.failures else 0), run.output
    # The advice of every failure is printed; lines may be wrapped anywhere.
    shown = "".join(run.output.split())
    for line in failures.values():
        assert "".join(line["advice"].split()) in shown, line["advice"]
    assert SECRET not in run.output
    assert SECRET not in json.dumps(run.report)


def test_nothing_was_changed_and_no_request_sent_twice(sandbox_process: RunningSandbox, played: dict[str, tuple[Case, Played]]) -> None:
    journal = sandbox_process.journal()
    assert len(journal) > len(played)
    assert not [entry for entry in journal if is_write(entry)]
    ended_well = [run for case, run in played.values() if run.report["machines_to_order"] and not case.failures]
    asked = [entry["path"] for entry in journal if entry["path"].startswith("/metal/v1/plans")]
    # The default plans are chosen before the checks.
    chosen = [case for case, _run in played.values() if "metal_plan" in case.entry.get("without", [])]
    assert len(ended_well) <= len(asked) <= len(played) + len(chosen), "each run asks for the plans once"
