"""dns_records at each provider: one rule of ownership, record sets of both families, wildcards, and what only one of them does."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.environment import run

from .providers import PLACES, ZONE, Place

CLUSTER = f"demo.{ZONE}"
OURS = {"owner": CLUSTER, "infra_id": "demo-x7k2p"}
TEXT = f'"heritage=equinix_metal.openshift,openshift-cluster={CLUSTER},openshift-infra-id=demo-x7k2p"'
ELSE = '"heritage=equinix_metal.openshift,openshift-cluster=else.metal.test,openshift-infra-id=else-1"'


def record(name: str, *values: str, kind: str = "addresses") -> dict[str, Any]:
    return {"name": f"{name}.{CLUSTER}", "type": kind, "values": list(values)}


def mark(name: str) -> str:
    return f"_openshift-owner.{name}.{CLUSTER} TXT"


def play(place: Place, *records: dict[str, Any], **options: Any) -> dict[str, Any]:
    return run("dns_records", {**place.options, "records": list(records), **OURS, **options}, place.environment)


def test_records_of_both_families_are_set_changed_and_deleted_with_their_ownership_records(place: Place) -> None:
    place.write(f"decoy.{CLUSTER}", "A", "203.0.113.1")
    decoys = place.records()
    wanted = [record("api", "192.0.2.2", "192.0.2.1", "2001:DB8:0::1"), record("*.apps", "192.0.2.3"), record("gone")]
    predicted = play(place, *wanted, _ansible_check_mode=True)
    assert predicted["changed"], predicted
    assert place.records() == decoys
    made = play(place, *wanted)
    assert made["changed"], made
    expected = {
        f"api.{CLUSTER} A": ["192.0.2.1", "192.0.2.2"],
        f"api.{CLUSTER} AAAA": ["2001:db8::1"],
        mark("api"): [TEXT],
        f"*.apps.{CLUSTER} A": ["192.0.2.3"],
        mark("_wildcard.apps"): [TEXT],
    }
    assert place.records() == decoys | expected
    assert not play(place, *wanted)["changed"]
    changed = play(place, record("api", "192.0.2.2", "192.0.2.9"))
    assert [(each["type"], each["before"], each["after"]) for each in changed["records"]] == [
        ("A", ["192.0.2.1", "192.0.2.2"], ["192.0.2.2", "192.0.2.9"]),
        ("AAAA", ["2001:db8::1"], []),
    ]
    assert play(place, record("api"), record("*.apps"), record("decoy"))["changed"]
    assert place.records() == decoys
    assert not play(place, record("api"), record("*.apps"))["changed"]


@pytest.mark.parametrize("owner", ["", ELSE])
def test_a_foreign_record_fails_before_any_change_and_is_not_deleted(place: Place, owner: str) -> None:
    place.write(f"api.{CLUSTER}", "A", "203.0.113.7")
    if owner:
        place.write(mark("api").removesuffix(" TXT"), "TXT", owner)
    before = place.records()
    result = play(place, record("worker-0", "192.0.2.5"), record("api", "192.0.2.1"), adoptable_values=["192.0.2.1"])
    whose = "belongs to else.metal.test with the infraID else-1" if owner else "has no ownership record"
    assert f"api.{CLUSTER} (203.0.113.7) {whose}" in result["msg"]
    assert place.records() == before
    gone = play(place, record("api"))
    assert not gone["changed"]
    assert gone["foreign"] == [
        {"name": f"api.{CLUSTER}", "addresses": ["203.0.113.7"], "owner": "else.metal.test with the infraID else-1" * bool(owner)}
    ]
    kept = play(place, record("worker-0", "192.0.2.5"), record("api", "192.0.2.1"), foreign="keep")
    assert {each["name"] for each in kept["records"]} == {f"worker-0.{CLUSTER}", mark("worker-0").removesuffix(" TXT")}
    assert play(place, record("api"), record("worker-0"), foreign="take")["changed"]
    assert place.records() == {}


def test_records_of_an_earlier_version_are_adopted_only_with_addresses_of_our_devices(place: Place) -> None:
    place.write(f"api.{CLUSTER}", "A", "192.0.2.1", "192.0.2.2")
    refused = play(place, record("api", "192.0.2.1"), adoptable_values=["192.0.2.1"])
    assert "(192.0.2.1, 192.0.2.2) has no ownership record" in refused["msg"]
    assert play(place, record("api", "192.0.2.1"), adoptable_values=["192.0.2.1", "192.0.2.2"])["changed"]
    assert place.records() == {f"api.{CLUSTER} A": ["192.0.2.1"], mark("api"): [TEXT]}


def test_an_alias_is_foreign_wherever_it_leads(place: Place) -> None:
    place.write(f"api.{CLUSTER}", "CNAME", "lb.elsewhere.example.")
    before = place.records()
    assert "lb.elsewhere.example" in play(place, record("api", "192.0.2.1"))["msg"]
    assert not play(place, record("api"), foreign="take")["changed"]
    assert place.records() == before


def test_many_records_over_several_pages(place: Place) -> None:
    many = [record(f"worker-{number}", f"192.0.2.{number}") for number in range(120)]
    assert len(play(place, *many)["records"]) == 240
    assert len(place.records()) == 240
    assert not play(place, *many)["changed"]
    assert play(place, *(record(f"worker-{number}") for number in range(120)))["changed"]
    assert place.records() == {}


def test_a_zone_that_does_not_exist_is_named(place: Place) -> None:
    result = play(place, record("api", "192.0.2.1"), zone="missing.test")
    assert result["failed"]
    assert "missing.test" in result["msg"]


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with PLACES["route53"](tmp_path_factory.mktemp("aws") / "service") as found:
        yield found


@pytest.fixture(scope="module")
def cloudflare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with PLACES["octodns"](tmp_path_factory.mktemp("cloudflare") / "service") as found:
        yield found


def test_route53_retries_what_is_throttled_and_sets_all_records_in_one_request(aws: Place) -> None:
    throttle = aws.inside[1]
    throttle.requests.clear()
    throttle.times = 2
    assert play(aws, *(record(f"worker-{number}", f"192.0.2.{number}") for number in range(50)))["changed"]
    assert throttle.times == 0
    assert sum(request.startswith("POST") and request.endswith("rrset/") for request in throttle.requests) == 1


def test_route53_chooses_between_zones_of_one_name(aws: Place) -> None:
    api = aws.inside[0]
    (private,) = [zone["Id"] for zone in api.list_hosted_zones()["HostedZones"] if zone["Config"].get("PrivateZone")]
    assert play(aws, record("inside", "10.0.0.1"), zone_private=True)["changed"]
    names = [each["Name"] for each in api.list_resource_record_sets(HostedZoneId=private)["ResourceRecordSets"]]
    assert f"inside.{CLUSTER}." in names
    assert f"inside.{CLUSTER} A" not in aws.records()
    second = api.create_hosted_zone(Name=ZONE, CallerReference="second")["HostedZone"]["Id"].rpartition("/")[2]
    result = play(aws, record("api", "192.0.2.1"))
    assert f"2 public hosted zones {ZONE}" in result["msg"]
    assert second in result["msg"]
    assert play(aws, record("second", "192.0.2.1"), zone_id=second)["changed"]
    assert f"second.{CLUSTER} A" not in aws.records()
    wrong = play(aws, record("api", "192.0.2.1"), zone_id=second, zone=f"other-{ZONE}")
    assert f"is {ZONE}, not other-{ZONE}" in wrong["msg"]


def test_route53_zones_are_created_for_owners_and_public_only(aws: Place) -> None:
    new = {"zone": CLUSTER, "create_zone": True}
    server = {"provider": "rfc2136", "server": "127.0.0.1", "key_name": "a", "key_secret": "YQ=="}
    for others in ({"owner": ""}, {"zone_private": True}, server):
        failed = play(aws, record("inside", "10.0.0.1"), **new, **others)
        assert "create_zone needs the provider route53, a public zone and an owner" in failed["msg"]
    assert CLUSTER not in [zone["Name"].rstrip(".") for zone in aws.inside[0].list_hosted_zones()["HostedZones"]]


def test_a_route53_zone_lives_as_long_as_the_records_of_its_owner(aws: Place) -> None:
    api = aws.inside[0]
    new = {"zone": CLUSTER, "create_zone": True}

    def zones() -> list[str]:
        return [zone["Id"] for zone in api.list_hosted_zones()["HostedZones"] if zone["Name"].rstrip(".") == CLUSTER]

    predicted = play(aws, record("api", "192.0.2.1"), **new, _ansible_check_mode=True)
    assert (predicted["changed"], predicted["name_servers"], zones()) == (True, [], [])
    made = play(aws, record("api", "192.0.2.1"), **new)
    assert made["changed"], made
    (zone,) = zones()
    assert made["name_servers"] == sorted(api.get_hosted_zone(Id=zone)["DelegationSet"]["NameServers"])
    again = play(aws, record("api", "192.0.2.1"), **new)
    assert (again["changed"], again["name_servers"]) == (False, made["name_servers"])
    # Another record, whose owner is unknown, keeps the zone.
    batch = {"Name": f"other.{CLUSTER}", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "203.0.113.1"}]}
    api.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": [{"Action": "CREATE", "ResourceRecordSet": batch}]})
    assert play(aws, record("api"), **new)["changed"]
    assert zones() == [zone]
    assert not play(aws, record("api"), **new)["changed"]
    api.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": [{"Action": "DELETE", "ResourceRecordSet": batch}]})
    # The zone of another owner stays.
    assert not play(aws, record("api"), **new, owner="another.metal.test")["changed"]
    assert play(aws, record("api"), **new, _ansible_check_mode=True)["changed"]
    assert zones() == [zone]
    assert play(aws, record("api"), **new)["changed"]
    assert zones() == []
    assert not play(aws, record("api"), **new)["changed"]


def test_route53_alias_and_weighted_records_are_foreign(aws: Place) -> None:
    api = aws.inside[0]
    third = api.create_hosted_zone(Name="policies.test", CallerReference="policies")["HostedZone"]["Id"]
    weighted = {
        "Name": "w.policies.test",
        "Type": "A",
        "SetIdentifier": "blue",
        "Weight": 1,
        "TTL": 60,
        "ResourceRecords": [{"Value": "192.0.2.1"}],
    }
    target = {"HostedZoneId": "Z35SXDOTRQ7X7K", "DNSName": "lb.elsewhere.example", "EvaluateTargetHealth": False}
    alias = {"Name": "a.policies.test", "Type": "A", "AliasTarget": target}
    changes = [{"Action": "CREATE", "ResourceRecordSet": each} for each in (weighted, alias)]
    api.change_resource_record_sets(HostedZoneId=third, ChangeBatch={"Changes": changes})
    desired = [{"name": f"{name}.policies.test", "type": "addresses", "values": ["192.0.2.1"]} for name in "wa"]
    result = play(aws, *desired, zone="policies.test", adoptable_values=["192.0.2.1"])
    assert "routing policy blue" in result["msg"]
    assert "lb.elsewhere.example (alias of Route 53)" in result["msg"]


@pytest.mark.parametrize(
    ("wrong", "returned"),
    [
        ({"secrets": {"token": "another"}}, "CloudflareAuthenticationError: Invalid access"),
        ({"ttl": 30, "options": {"min_ttl": 30}}, "Invalid TTL"),
        ({"service": "nothing"}, "pip install octodns-nothing"),
    ],
)
def test_cloudflare_refuses(cloudflare: Place, wrong: dict[str, Any], returned: str) -> None:
    options = {**cloudflare.options["options"], **wrong.pop("options", {})}
    result = play(cloudflare, record("refused", "192.0.2.1"), options=options, **wrong)
    assert result["failed"]
    assert returned in result["msg"]
    assert "Sn3lZ" not in str(result)
    assert f"refused.{CLUSTER} A" not in cloudflare.records()
