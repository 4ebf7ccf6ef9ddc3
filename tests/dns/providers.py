"""Each DNS provider with a zone at a real or imitated service on loopback: BIND, moto's Route 53, and the API of Cloudflare."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import dns.rdatatype
import dns.zone
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from tests import named
from tests.unit.test_publish import write_certificate

from . import cloudflare

ZONE = named.ZONE
Records = dict[str, list[str]]
"""Values by name and type, such as ``api.demo.metal.test A``, but SOA and NS of the zone itself."""


@dataclass
class Place:
    """A zone: module options that reach it, the collection's variables that do, and what the test itself reads and writes there."""

    options: dict[str, Any]
    variables: dict[str, Any]
    records: Callable[[], Records]
    write: Callable[..., None]
    environment: dict[str, str] = field(default_factory=dict)
    inside: Any = None
    """Of the imitated service, for a test of this provider alone."""


@contextmanager
def bind(folder: Path) -> Iterator[Place]:
    folder.mkdir()
    with named.started(folder) as running:
        options = {"server": "127.0.0.1", "port": running.port, "key_name": named.WRITER, "key_secret": named.SECRET}

        def records() -> Records:
            zone = dns.zone.from_text(running.zone(), origin=f"{ZONE}.", relativize=False)
            return {
                f"{str(name).rstrip('.')} {dns.rdatatype.to_text(found.rdtype)}": sorted(rdata.to_text() for rdata in found)
                for name, found in zone.iterate_rdatasets()
                if str(name) not in (f"{ZONE}.", f"ns.{ZONE}.")
            }

        variables = {f"openshift_dns_{name}": value for name, value in options.items()}
        yield Place({"zone": ZONE, **options}, {"openshift_dns_provider": "rfc2136", **variables}, records, running.update)


@dataclass
class Throttle:
    """What stands before moto: it refuses the next ``times`` requests as the service does when there are too many."""

    application: Any
    times: int = 0
    requests: list[str] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        if self.times:
            self.times -= 1
            start("400 Bad Request", [("Content-Type", "text/xml")])
            return [
                b'<ErrorResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Error><Type>Sender</Type><Code>Throttling</Code>'
                b"<Message>Rate exceeded</Message></Error><RequestId>b25f48e8-84fd-11e6-80d9-574e0c4664cb</RequestId></ErrorResponse>"
            ]
        return self.application(environ, start)


@contextmanager
def route53(folder: Path) -> Iterator[Place]:
    folder.mkdir()
    throttle = Throttle(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, throttle, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    keys = {"access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
    endpoint = f"http://127.0.0.1:{server.server_port}"
    api = boto3.client(
        "route53",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=keys["access_key"],
        aws_secret_access_key=keys["secret_key"],
    )
    try:
        for zone in api.list_hosted_zones()["HostedZones"]:
            _empty(api, zone["Id"])
            api.delete_hosted_zone(Id=zone["Id"])
        main = api.create_hosted_zone(Name=ZONE, CallerReference="main")["HostedZone"]["Id"]
        # Names that contain each other, and a private zone of the same name.
        api.create_hosted_zone(Name=f"other-{ZONE}", CallerReference="other")
        private = {"VPC": {"VPCRegion": "us-east-1", "VPCId": "vpc-1"}, "HostedZoneConfig": {"PrivateZone": True}}
        api.create_hosted_zone(Name=ZONE, CallerReference="private", **private)

        def records() -> Records:
            pages = api.get_paginator("list_resource_record_sets").paginate(HostedZoneId=main)
            found = [each for page in pages for each in page["ResourceRecordSets"] if each["Name"].rstrip(".") != ZONE]
            return {
                f"{_name(each['Name'])} {each['Type']}": sorted(value["Value"] for value in each.get("ResourceRecords", []))
                for each in found
            }

        def write(name: str, kind: str, *values: str) -> None:
            old = [
                each
                for each in api.list_resource_record_sets(HostedZoneId=main, StartRecordName=name, StartRecordType=kind)[
                    "ResourceRecordSets"
                ]
                if _name(each["Name"]) == name and each["Type"] == kind
            ]
            new = {"Name": name, "Type": kind, "TTL": 300, "ResourceRecords": [{"Value": value} for value in values]}
            change = (
                {"Action": "UPSERT", "ResourceRecordSet": new} if values else {"Action": "DELETE", "ResourceRecordSet": (old or [None])[0]}
            )
            if values or old:
                api.change_resource_record_sets(HostedZoneId=main, ChangeBatch={"Changes": [change]})

        options = {"endpoint": endpoint, **keys}
        yield Place(
            {"provider": "route53", "zone": ZONE, **options},
            {"openshift_dns_provider": "route53", "openshift_dns_route53": options},
            records,
            write,
            inside=(api, throttle),
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _name(text: str) -> str:
    return text.replace("\\052", "*").rstrip(".")


def _empty(api: Any, zone: str) -> None:
    for page in api.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone):
        changes = [
            {"Action": "DELETE", "ResourceRecordSet": each} for each in page["ResourceRecordSets"] if each["Type"] not in ("SOA", "NS")
        ]
        if changes:
            api.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": changes})


@contextmanager
def octodns(folder: Path) -> Iterator[Place]:
    write_certificate(folder)
    account = cloudflare.Account()
    # The zone is on the second page.
    for number in range(60):
        account.add_zone(f"other-{number}.test")
    account.add_zone(ZONE)
    with cloudflare.started(folder, account) as url:
        (identifier,) = (key for key, name in account.zones.items() if name == ZONE)

        def records() -> Records:
            found: Records = {}
            for each in account.records[identifier]:
                found.setdefault(f"{each['name']} {each['type']}", []).append(each["content"])
            return {key: sorted(values) for key, values in found.items()}

        def write(name: str, kind: str, *values: str) -> None:
            kept = [each for each in account.records[identifier] if (each["name"], each["type"]) != (name, kind)]
            account.records[identifier] = kept
            for value in values:
                content = value.rstrip(".") if kind == "CNAME" else value
                record = {"type": kind, "name": name, "content": content, "ttl": 300}
                account._records("POST", identifier, "", {}, record)

        options = {"api_url": url, "min_ttl": 60, "pagerules": False, "retry_period": 0}
        yield Place(
            {"provider": "octodns", "zone": ZONE, "service": "cloudflare", "options": options, "secrets": {"token": cloudflare.TOKEN}},
            {
                "openshift_dns_provider": "octodns",
                "openshift_dns_octodns": {"service": "cloudflare", "options": options, "secrets": {"token": cloudflare.TOKEN}},
            },
            records,
            write,
            environment={"REQUESTS_CA_BUNDLE": str(folder / "server.crt")},
            inside=account,
        )


PLACES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {"rfc2136": bind, "route53": route53, "octodns": octodns}
