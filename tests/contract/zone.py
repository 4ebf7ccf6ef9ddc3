"""Scenarios of dns_records, and the zone as its server returns it: as a program, it writes the zone into a file."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import dns.query
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.zone

DOMAIN = "contract.metal.test"
SERIAL = "INFO sandbox.dns: zone "


@dataclass(frozen=True)
class ZoneScenario:
    """The lifecycle of a few records: the options of each step beside those of :func:`reach`."""

    module: str
    create: Mapping[str, Any]
    change: Mapping[str, Any]
    absent: Mapping[str, Any]
    never: Mapping[str, Any]

    @property
    def title(self) -> str:
        return self.module


def records(**values: list[str]) -> dict[str, Any]:
    return {"records": [{"name": f"{name}.{DOMAIN}", "values": given} for name, given in values.items()]}


ZONE_SCENARIOS = [
    ZoneScenario(
        module="dns_records",
        create=records(api=["192.0.2.2", "192.0.2.1"], node=["192.0.2.3"], gone=[]),
        change=records(api=["192.0.2.1"], node=["192.0.2.3", "192.0.2.3"], gone=["192.0.2.4"]),
        absent=records(api=[], node=[], gone=[]),
        never=records(never=[]),
    ),
]


def reach(environment: Mapping[str, str]) -> dict[str, Any]:
    """The options by which the sandbox's server is reached."""
    return {
        "server": environment["OPENSHIFT_DNS_SERVER"],
        "port": int(environment["OPENSHIFT_DNS_PORT"]),
        "zone": environment["OPENSHIFT_BASE_DOMAIN"],
        "key_name": environment["OPENSHIFT_DNS_KEY_NAME"],
        "key_secret": environment["OPENSHIFT_DNS_KEY_SECRET"],
    }


def names(environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the records of the contract tests, as the module's diff has them."""
    given = reach(environment)
    keyring = dns.tsigkeyring.from_text({given["key_name"]: given["key_secret"]})
    messages = dns.query.xfr(
        given["server"], given["zone"], port=given["port"], keyring=keyring, keyalgorithm=dns.tsig.HMAC_SHA256, relativize=False
    )
    zone = dns.zone.from_xfr(messages, relativize=False)
    return {
        f"{str(name).rstrip('.')} {dns.rdatatype.to_text(found.rdtype)}": sorted(rdata.to_text() for rdata in found)
        for name, found in zone.iterate_rdatasets()
        if str(name).endswith(f".{DOMAIN}.")
    }


def updates(log: Path) -> list[dict[str, Any]]:
    """Each change of the zone that the sandbox wrote into its log, as an entry of a journal."""
    return [
        {"time": datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp(), "method": "UPDATE", "path": line[24:]}
        for line in log.read_text(encoding="utf-8").splitlines()
        if SERIAL in line
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(names(os.environ)), encoding="utf-8")
