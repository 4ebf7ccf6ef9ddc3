"""The role dns at each provider: an install's records, an idle second run, and a destroy that leaves foreign records."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.contract.environment import call
from tests.named import Named, started
from tests.role_play import PACED

from .providers import PLACES, ZONE, Place

CLUSTER = f"demo.{ZONE}"
On = Mapping[str, Callable[[str], None]]
INFRA_ID = "demo-x7k2p"
ROLES = {"control-plane": 3, "worker": 2, "bootstrap": 1}


@dataclass
class Cluster:
    """Devices of a cluster in a sandbox, the folder of its install, and plays of the role."""

    sandbox: RunningSandbox
    folder: Path

    def play(self, place: Place, *verbs: str, arguments: tuple[str, ...] = (), on: On | None = None, **variables: Any) -> tuple[int, str]:
        """Run tasks files of the role, one after the other; return how the play ended and what was printed.

        ``on``: what is done, with all that was printed so far, when a text is printed for the first time.
        """
        tasks = [
            {"name": f"Run {verb}", "ansible.builtin.include_role": {"name": "equinix_metal.openshift.dns", "tasks_from": verb}}
            for verb in verbs
        ]
        given = {
            "openshift_cluster_name": "demo",
            "openshift_base_domain": ZONE,
            "openshift_directory": str(self.folder / "cluster"),
            "ansible_python_interpreter": sys.executable,
            **place.variables,
            **variables,
        }
        content = [
            {"name": "DNS", "hosts": "localhost", "connection": "local", "gather_facts": False, "vars": given, **PACED, "tasks": tasks}
        ]
        playbook = self.folder / "play.json"
        playbook.write_text(json.dumps(content), encoding="utf-8")
        process = subprocess.Popen(
            [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", playbook, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                **self.sandbox.environment,
                **place.environment,
                "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        limit = threading.Timer(300, process.kill)
        limit.start()
        output, pending = "", dict(on or {})
        assert process.stdout is not None
        try:
            for line in process.stdout:
                output += line
                for text in [text for text in pending if text in line]:
                    pending.pop(text)(output)
            return process.wait(), output
        finally:
            limit.cancel()
            process.kill()
            process.wait()

    def well(self, place: Place, *verbs: str, **more: Any) -> str:
        """The same for a play that ends well; return what was printed."""
        code, output = self.play(place, *verbs, **more)
        assert code == 0, output[-4000:]
        return output


@pytest.fixture
def cluster(sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Cluster]:
    made: list[str] = []
    (tmp_path / "cluster" / "ignition").mkdir(parents=True)
    (tmp_path / "cluster" / "ignition" / "metadata.json").write_text(json.dumps({"infraID": INFRA_ID}), encoding="utf-8")
    for role, count in ROLES.items():
        tags = [f"openshift-cluster={CLUSTER}", f"openshift-role={role}", f"openshift-infra-id={INFRA_ID}"]
        for number in range(count):
            body = {"count": 1, "hostname": f"{role}-{number}.{CLUSTER}", "tags": tags}
            made += sandbox.call("POST", "devices", json=body)["ids"]
    yield Cluster(sandbox, tmp_path)
    for each in made:
        call(sandbox, "DELETE", f"devices/{each}")


def test_the_role_sets_the_records_and_destroy_deletes_exactly_them(place: Place, cluster: Cluster) -> None:
    place.write(f"decoy.{CLUSTER}", "A", "203.0.113.1")
    decoys = place.records()
    cluster.well(place, "main")
    records = place.records()
    assert len(records[f"api.{CLUSTER} A"]) == 4, "the bootstrap device serves until the bootstrap is complete"
    assert len(records[f"*.apps.{CLUSTER} A"]) == 2
    assert records[f"api.{CLUSTER} A"] == records[f"api-int.{CLUSTER} A"]
    texts = {value for key, values in records.items() if key.endswith(" TXT") for value in values}
    assert texts == {f'"heritage=equinix_metal.openshift,openshift-cluster={CLUSTER},openshift-infra-id={INFRA_ID}"'}
    (cluster.folder / "cluster" / "kubeconfig").touch()
    cluster.well(place, "main")
    assert len(place.records()[f"api.{CLUSTER} A"]) == 3
    assert not [key for key in place.records() if "bootstrap-0" in key]
    assert "changed=0" in cluster.well(place, "main")
    # Another owner's record of a host in the inventory stays, and is named.
    place.write(f"worker-9.{CLUSTER}", "A", "203.0.113.9")
    output = cluster.well(place, "remove", dns_removed_hosts=[f"worker-9.{CLUSTER}"])
    assert f"worker-9.{CLUSTER} 203.0.113.9" in " ".join(output.split())
    assert place.records() == decoys | {f"worker-9.{CLUSTER} A": ["203.0.113.9"]}


def test_destroy_fails_if_no_record_is_ours(place: Place, cluster: Cluster) -> None:
    place.write(f"api.{CLUSTER}", "A", "203.0.113.7")
    before = place.records()
    code, output = cluster.play(place, "remove")
    assert code != 0
    assert (
        f"Nothing was deleted. These DNS records of {CLUSTER} are not of the cluster in this project: api.{CLUSTER} 203.0.113.7"
        in " ".join(output.split())
    )
    assert place.records() == before
    cluster.well(place, "remove", openshift_destroy_foreign_names=True)
    assert place.records() == {}


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with PLACES["route53"](tmp_path_factory.mktemp("aws") / "service") as found:
        yield found


def test_a_zone_of_the_cluster_is_delegated_and_its_hosts_have_ptr_records(aws: Place, cluster: Cluster) -> None:
    api = aws.inside[0]
    zones = {name: api.create_hosted_zone(Name=name, CallerReference=name)["HostedZone"]["Id"] for name in (CLUSTER, "in-addr.arpa")}

    def values(zone: str, kind: str) -> dict[str, str]:
        found = api.list_resource_record_sets(HostedZoneId=zones[zone])["ResourceRecordSets"]
        return {each["Name"]: each["ResourceRecords"][0]["Value"] for each in found if each["Type"] == kind}

    settings: dict[str, Any] = {
        "openshift_dns_zone": CLUSTER,
        "openshift_dns_parent_zone": ZONE,
        "openshift_dns_name_servers": ["ns1.example.net", "ns2.example.net."],
        "openshift_dns_reverse_zones": ["in-addr.arpa"],
    }
    aws.write(f"decoy.{ZONE}", "A", "203.0.113.1")
    cluster.well(aws, "main", **settings)
    assert aws.records()[f"{CLUSTER} NS"] == ["ns1.example.net.", "ns2.example.net."]
    address = values(CLUSTER, "A")[f"worker-0.{CLUSTER}."]
    reverse = f"{ip_address(address).reverse_pointer}."
    assert values("in-addr.arpa", "PTR")[reverse] == f"worker-0.{CLUSTER}."
    assert sorted(values("in-addr.arpa", "PTR").values()) == sorted(
        name for name in values(CLUSTER, "A") if name.startswith(("worker-", "control-plane-", "bootstrap-"))
    )
    (cluster.folder / "cluster" / "kubeconfig").touch()
    cluster.well(aws, "main", **settings)
    assert f"bootstrap-0.{CLUSTER}." not in values("in-addr.arpa", "PTR").values()
    assert "changed=0" in cluster.well(aws, "main", **settings)
    cluster.well(aws, "remove", **settings)
    assert aws.records() == {f"decoy.{ZONE} A": ["203.0.113.1"]}
    assert values(CLUSTER, "A") == {}
    assert values("in-addr.arpa", "PTR") == values("in-addr.arpa", "TXT") == {}
    for zone in zones.values():
        api.delete_hosted_zone(Id=zone)


def test_a_zone_is_created_delegated_and_deleted_with_the_cluster(aws: Place, cluster: Cluster) -> None:
    api = aws.inside[0]

    def zones() -> dict[str, str]:
        return {each["Name"].rstrip("."): each["Id"] for each in api.list_hosted_zones()["HostedZones"] if each["Name"] == f"{CLUSTER}."}

    def names() -> set[str]:
        return {
            each["Name"].replace("\\052", "*")
            for each in api.list_resource_record_sets(HostedZoneId=zones()[CLUSTER])["ResourceRecordSets"]
        }

    before = aws.records()
    settings: dict[str, Any] = {
        "openshift_dns_zone": CLUSTER,
        "openshift_dns_parent_zone": ZONE,
        "openshift_dns_route53": aws.variables["openshift_dns_route53"] | {"create_zone": True},
    }
    cluster.well(aws, "main", arguments=("--check",), **settings)
    assert (zones(), aws.records()) == ({}, before)
    cluster.well(aws, "main", **settings)
    assert {f"api.{CLUSTER}.", f"*.apps.{CLUSTER}."} <= names()
    servers = api.get_hosted_zone(Id=zones()[CLUSTER])["DelegationSet"]["NameServers"]
    assert aws.records()[f"{CLUSTER} NS"] == sorted(f"{server.rstrip('.')}." for server in servers)
    assert "changed=0" in cluster.well(aws, "main", **settings)
    # A record of another owner keeps the zone.
    foreign = {"Name": f"other.{CLUSTER}", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "203.0.113.1"}]}

    def change(action: str) -> None:
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": foreign}]}
        api.change_resource_record_sets(HostedZoneId=zones()[CLUSTER], ChangeBatch=batch)

    change("CREATE")
    cluster.well(aws, "remove", **settings)
    assert names() == {f"{CLUSTER}.", f"other.{CLUSTER}."}
    change("DELETE")
    cluster.well(aws, "remove", **settings)
    assert (zones(), aws.records()) == ({}, before)
    # Without the zone there is nothing to delete.
    assert "changed=0" in cluster.well(aws, "remove", **settings)
    # A zone of somebody else is used, and stays.
    api.create_hosted_zone(Name=CLUSTER, CallerReference="theirs")
    for verb in ("main", "remove"):
        cluster.well(aws, verb, **settings)
    assert names() == {f"{CLUSTER}."}
    api.delete_hosted_zone(Id=zones()[CLUSTER])


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    with started(tmp_path_factory.mktemp("named")) as running:
        yield running


@pytest.mark.debian("bind9")
def test_a_run_waits_until_records_made_by_hand_resolve_and_again_when_the_bootstrap_device_leaves_them(
    named: Named, cluster: Cluster
) -> None:
    """A user reads the lines of the zone file from the output and enters them while the run waits."""
    by_hand = {"openshift_resolver": "127.0.0.1", "openshift_resolver_port": named.port}
    paces = {"openshift_wait_interval": 1, "openshift_progress_interval": 1, "openshift_dns_wait_timeout": 120}
    place = Place({}, {"openshift_dns_provider": "none", **by_hand, **paces}, dict, named.update)
    output = cluster.well(place, "main", on={f"api.{CLUSTER} resolves to nothing, and should to": lambda said: enter(named, said)})
    first = addresses(output, "api")
    assert len(first) == 4
    (cluster.folder / "cluster" / "kubeconfig").touch()
    pending = f"api.{CLUSTER} resolves to {', '.join(first)}, and should to"
    output = cluster.well(place, "main", on={pending: lambda said: enter(named, said)})
    assert len(addresses(output, "api")) == 3
    assert f"; delete bootstrap-0.{CLUSTER}." in output
    # All is there: nothing to wait for.
    output = cluster.well(place, "main")
    assert "waiting since" not in output
    for line in LINE.findall(output):
        named.update(line[0], line[1])


@pytest.mark.debian("bind9")
def test_the_wait_for_records_made_by_hand_has_a_limit_and_none_in_check_mode(named: Named, cluster: Cluster) -> None:
    by_hand = {"openshift_resolver": "127.0.0.1", "openshift_resolver_port": named.port, "openshift_wait_interval": 1}
    place = Place({}, {"openshift_dns_provider": "none", "openshift_dns_wait_timeout": 2, **by_hand}, dict, named.update)
    code, output = cluster.play(place, "main")
    assert code != 0
    assert (
        f"The creation of the printed DNS records was not completed within wait_timeout. Pending: api.{CLUSTER} resolves to nothing"
        in " ".join(output.split())
    )
    cluster.well(place, "main", arguments=("--check",), openshift_dns_wait_timeout=100000)


LINE = re.compile(r"^\s*(\S+)\. 60 IN (A|AAAA) (\S+)$", re.MULTILINE)


def addresses(output: str, name: str) -> list[str]:
    return sorted({address for found, _kind, address in LINE.findall(output) if found == f"{name}.{CLUSTER}"})


def enter(named: Named, output: str) -> None:
    records: dict[tuple[str, str], list[str]] = {}
    for name, kind, address in LINE.findall(output):
        records.setdefault((name, kind), []).append(address)
    for (name, kind), values in records.items():
        named.update(name, kind, *values)
