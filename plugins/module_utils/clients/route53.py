# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of hosted zones in Amazon Route 53.

The modules of ``amazon.aws`` change one record set for each call, and the service accepts five calls a second of a whole account. This
sends all changes of a run in batches, each of which the service applies as a whole or not at all.
"""

from __future__ import annotations

import re
import traceback
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..base.errors import CollectionError
from ..base.record_set import Found
from .dns import normal

try:
    import boto3
    import botocore.config
    import botocore.exceptions

    BOTO3_IMPORT_ERROR: str | None = None
except ImportError:
    BOTO3_IMPORT_ERROR = traceback.format_exc()

VALUES_AT_ONCE = 450
"""A batch has at most 1000 values, and those of an upsert count twice (API reference, ChangeResourceRecordSets)."""
TRIES = 10
"""Of a call that the service throttles, with growing pauses in between: about a minute."""
REGION = "us-east-1"
"""Route 53 is one service for all regions, and its requests are signed for this one."""
ADVICE = {
    "AccessDenied": "allow the actions that docs/dns.md lists for this user or role",
    "InvalidClientTokenId": "check access_key in openshift_dns_route53",
    "SignatureDoesNotMatch": "check secret_key in openshift_dns_route53",
    "ExpiredToken": "renew session_token in openshift_dns_route53",
    "NoSuchHostedZone": "check zone_id in openshift_dns_route53",
}

OWNER_TAG = "openshift-cluster"
"""Tag of a hosted zone that was created for a cluster."""

Key = tuple[str, str]


class Route53Client:
    """One hosted zone. Raises CollectionError for a zone that does not exist and for each call that fails.

    With ``create_zone`` a zone that does not exist is read as one without records.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._may_create, self._owner = bool(params.get("create_zone")), str(params.get("owner") or "")
        self._name = str(params["zone"]).rstrip(".").lower()
        self._id, self._private = str(params.get("zone_id") or ""), bool(params.get("zone_private"))
        self._sets: dict[Key, Mapping[str, Any]] = {}
        self._aliases: set[str] = set()
        with self._calling("use the credentials"):
            self._api = boto3.client(
                "route53",
                aws_access_key_id=params.get("access_key") or None,
                aws_secret_access_key=params.get("secret_key") or None,
                aws_session_token=params.get("session_token") or None,
                endpoint_url=params.get("endpoint") or None,
                region_name=REGION,
                verify=params.get("ca") or None,
                config=botocore.config.Config(
                    retries={"mode": "standard", "max_attempts": TRIES},
                    connect_timeout=float(params["timeout"]),
                    read_timeout=float(params["timeout"]),
                ),
            )

    def find(self, records: Sequence[Mapping[str, Any]]) -> list[Found]:
        aliases: dict[str, str] = {}
        values: dict[Key, list[str]] = {}
        self._sets = {}
        if self._may_create and not self.exists():
            return [_found(record, values, aliases) for record in records]
        with self._calling("list the records"):
            pages = self._api.get_paginator("list_resource_record_sets").paginate(HostedZoneId=self._zone_id())
            for record_set in (record_set for page in pages for record_set in page["ResourceRecordSets"]):
                name, kind = _name(record_set["Name"]), record_set["Type"]
                stored = [entry["Value"] for entry in record_set.get("ResourceRecords") or []]
                if "AliasTarget" in record_set:
                    aliases[name] = f"{_name(record_set['AliasTarget']['DNSName'])} (alias of Route 53)"
                elif "SetIdentifier" in record_set:
                    aliases[name] = f"{' '.join(stored)} (routing policy {record_set['SetIdentifier']})"
                elif kind == "CNAME":
                    aliases[name] = "".join(stored)
                else:
                    self._sets[name, kind] = record_set
                    values[name, kind] = stored
        self._aliases = {*aliases}
        return [_found(record, values, aliases) for record in records]

    def set(self, changes: Sequence[Mapping[str, Any]], ttl: int) -> None:
        batch: list[dict[str, Any]] = []
        size = 0
        for change in changes:
            size += max(1, len(change["values"]))
            if batch and size > VALUES_AT_ONCE:
                self._change(batch)
                batch, size = [], max(1, len(change["values"]))
            batch.append(self._action(change, ttl))
        if batch:
            self._change(batch)

    def exists(self) -> bool:
        return bool(self._id or self._zones())

    def create(self) -> None:
        with self._calling("create the zone"):
            zone = self._api.create_hosted_zone(
                Name=f"{self._name}.",
                CallerReference=str(uuid.uuid4()),
                HostedZoneConfig={"Comment": f"{OWNER_TAG}={self._owner}", "PrivateZone": False},
            )["HostedZone"]
        self._id = str(zone["Id"]).rpartition("/")[2]
        with self._calling("tag the zone"):
            self._api.change_tags_for_resource(
                ResourceType="hostedzone", ResourceId=self._id, AddTags=[{"Key": OWNER_TAG, "Value": self._owner}]
            )

    def is_own(self) -> bool:
        """Return whether the zone exists and was created for the owner."""
        if not self.exists():
            return False
        with self._calling("read the tags of the zone"):
            tags = self._api.list_tags_for_resource(ResourceType="hostedzone", ResourceId=self._zone_id())["ResourceTagSet"]["Tags"]
        return bool(self._owner) and {"Key": OWNER_TAG, "Value": self._owner} in tags

    def others(self, changes: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the names of the record sets, as ``find`` has read them, that would be left after these deletions."""
        deleted = {(change["name"].lower(), change["type"]) for change in changes}
        own = {(self._name, "SOA"), (self._name, "NS")}
        return sorted({name for name, kind in self._sets.keys() - deleted - own} | self._aliases)

    def delete(self) -> None:
        with self._calling("delete the zone"):
            self._api.delete_hosted_zone(Id=self._zone_id())
        self._id = ""

    def name_servers(self) -> list[str]:
        """Return the name servers of the zone; none if it does not exist."""
        if not self.exists():
            return []
        with self._calling("read the zone"):
            delegation = self._api.get_hosted_zone(Id=self._zone_id()).get("DelegationSet") or {}
        return sorted(delegation.get("NameServers") or [])

    def _action(self, change: Mapping[str, Any], ttl: int) -> dict[str, Any]:
        if not change["values"]:
            return {"Action": "DELETE", "ResourceRecordSet": self._sets[change["name"].lower(), change["type"]]}
        desired = {
            "Name": f"{change['name'].rstrip('.')}.",
            "Type": change["type"],
            "TTL": ttl,
            "ResourceRecords": [{"Value": value} for value in change["values"]],
        }
        return {"Action": "UPSERT", "ResourceRecordSet": desired}

    def _change(self, batch: Sequence[Mapping[str, Any]]) -> None:
        names = ", ".join(_name(change["ResourceRecordSet"]["Name"]) for change in batch[:3]) + (" and others" if len(batch) > 3 else "")
        with self._calling(f"set {names}"):
            self._api.change_resource_record_sets(HostedZoneId=self._zone_id(), ChangeBatch={"Changes": list(batch)})

    def _zones(self) -> list[Mapping[str, Any]]:
        with self._calling("find the zone"):
            pages = self._api.get_paginator("list_hosted_zones").paginate()
            zones = [zone for page in pages for zone in page["HostedZones"] if _name(zone["Name"]) == self._name]
        matching = [zone for zone in zones if bool((zone.get("Config") or {}).get("PrivateZone")) == self._private]
        return [zone for zone in matching if not self._id or zone["Id"].rpartition("/")[2] == self._id]

    def _zone_id(self) -> str:
        if self._id:
            with self._calling("read the zone"):
                zone = self._api.get_hosted_zone(Id=self._id)["HostedZone"]
            if _name(zone["Name"]) != self._name:
                raise CollectionError(
                    f"The hosted zone {self._id} is {_name(zone['Name'])}, not {self._name}. Check zone_id in openshift_dns_route53."
                )
            return self._id
        zones = self._zones()
        kind = "private" if self._private else "public"
        if not zones:
            raise CollectionError(
                f"Route 53 has no {kind} hosted zone {self._name} for these credentials. Create the zone, or set "
                "create_zone in openshift_dns_route53, or check openshift_dns_zone and zone_private in openshift_dns_route53."
            )
        ids = [str(zone["Id"]).rpartition("/")[2] for zone in zones]
        if len(ids) > 1:
            raise CollectionError(
                f"Route 53 has {len(ids)} {kind} hosted zones {self._name}: {', '.join(sorted(ids))}. "
                "Choose one with zone_id in openshift_dns_route53."
            )
        self._id = ids[0]
        return self._id

    @contextmanager
    def _calling(self, attempt: str) -> Iterator[None]:
        try:
            yield
        except botocore.exceptions.ClientError as problem:
            error = problem.response.get("Error", {})
            code = str(error.get("Code", ""))
            advice = f" Next step: {ADVICE[code]}." if code in ADVICE else ""
            raise CollectionError(f"Cannot {attempt} in Route 53, zone {self._name}: {code}: {error.get('Message')}.{advice}") from problem
        except (botocore.exceptions.BotoCoreError, ValueError) as problem:
            raise CollectionError(f"Cannot {attempt} in Route 53, zone {self._name}: {problem}.") from problem


def _found(record: Mapping[str, Any], values: Mapping[Key, list[str]], aliases: Mapping[str, str]) -> Found:
    name = record["name"].rstrip(".").lower()
    desired = {"name": name, "type": record["type"], "values": values.get((name, record["type"]), [])}
    return Found(normal(desired), aliases.get(name, ""))


def _name(text: str) -> str:
    r"""Return a name as the rest of the code has it: the service writes ``*`` as ``\052``, and a dot at the end."""
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text).rstrip(".").lower()
