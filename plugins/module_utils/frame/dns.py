# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of a module that manages DNS records: the table of the providers, and comparing and setting records at one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

from ansible.module_utils.basic import missing_required_lib

from ..base.argspec import WAIT_OPTIONS, Options
from ..base.diff import shown
from ..base.errors import CollectionError, together
from ..base.play import find_play
from ..base.wait import Waiter
from ..clients.dns import DNSPYTHON_IMPORT_ERROR, DNSClient, normal, resolve
from ..clients.octodns import OCTODNS_IMPORT_ERROR, OctoDNSClient
from ..clients.route53 import BOTO3_IMPORT_ERROR, Route53Client
from ..cluster.dns import Owner, expanded, ownership_name, planned, probe, to_read, unresolved
from ..lock.cluster_lock import Gate
from .base import ModuleFrame


class Provider(NamedTuple):
    """``client``: its class; ``library``: the Python library that it needs, and ``import_error``; ``required``: its options."""

    client: type[Any]
    library: str
    import_error: str | None
    required: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]


PROVIDERS = {
    "rfc2136": Provider(
        DNSClient,
        "dnspython",
        DNSPYTHON_IMPORT_ERROR,
        ("server", "key_name", "key_secret"),
        {
            "server": {"type": "str"},
            "port": {"type": "int", "default": 53},
            "key_name": {"type": "str", "no_log": False},
            "key_secret": {"type": "str", "no_log": True},
            "key_algorithm": {
                "type": "str",
                "choices": ["hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha1", "hmac-md5"],
                "default": "hmac-sha256",
                "no_log": False,
            },
        },
    ),
    "route53": Provider(
        Route53Client,
        "boto3",
        BOTO3_IMPORT_ERROR,
        (),
        {
            "access_key": {"type": "str", "no_log": True},
            "secret_key": {"type": "str", "no_log": True},
            "session_token": {"type": "str", "no_log": True},
            "endpoint": {"type": "str"},
            "ca": {"type": "path"},
            "zone_id": {"type": "str"},
            "zone_private": {"type": "bool", "default": False},
            "create_zone": {"type": "bool", "default": False},
        },
    ),
    "octodns": Provider(
        OctoDNSClient,
        "octodns",
        OCTODNS_IMPORT_ERROR,
        ("service",),
        {"service": {"type": "str"}, "options": {"type": "dict"}, "secrets": {"type": "dict", "no_log": True}},
    ),
}

DNS_OPTIONS = Options(
    {
        "provider": {"type": "str", "choices": list(PROVIDERS), "default": "rfc2136"},
        "zone": {"type": "str", "required": True},
        "timeout": {"type": "float", "default": 10},
        **{name: dict(option) for provider in PROVIDERS.values() for name, option in provider.options.items()},
    },
    required_if=[("provider", name, provider.required) for name, provider in PROVIDERS.items() if provider.required],
)


class DNSModule(ModuleFrame):
    """A module that manages records at a provider; used as ``with DNSModule(OPTIONS) as module``."""

    def __init__(self, options: Options) -> None:
        super().__init__(DNS_OPTIONS.merge(options))
        self.result.update(records=[], foreign=[], name_servers=[])
        provider = PROVIDERS[self.params["provider"]]
        if self.params["create_zone"] and (self.params["provider"] != "route53" or self.params["zone_private"] or not self.params["owner"]):
            self.module.fail_json(msg="create_zone needs the provider route53, a public zone and an owner")
        if provider.import_error:
            self.module.fail_json(msg=missing_required_lib(provider.library), exception=provider.import_error)
        self._provider = provider

    def keep(self, records: Sequence[Mapping[str, Any]], ttl: int) -> None:
        """Make each of these sets of records (``name``, ``type``, ``values``) what it says; in check mode only predict the changes."""
        client: DNSClient | Route53Client | OctoDNSClient = self._provider.client(self.params)
        desired = [{**record, "name": record["name"].rstrip("."), "values": normal(record)} for record in expanded(records)]
        owner = Owner(self.params["owner"], self.params["infra_id"] or "") if self.params["owner"] else None
        requested: list[dict[str, Any]] = [{"name": record["name"], "type": record["type"]} for record in desired]
        if owner:
            # Of a PTR or NS record the addresses of the name say nothing.
            hosts = [record["name"] for record in desired if record["type"] in ("A", "AAAA")]
            others = [record for record in requested if record["type"] not in ("A", "AAAA", "TXT")]
            marks = [{"name": ownership_name(record["name"]), "type": "TXT"} for record in others]
            requested = [*to_read(hosts), *others, *marks, *(record for record in requested if record["type"] == "TXT")]
        current = {
            (record["name"], record["type"]): record_set for record, record_set in zip(requested, client.find(requested), strict=True)
        }
        plan = planned(desired, current, owner, adoptable=self.params["adoptable_values"], takes_foreign=self.params["foreign"] == "take")
        set_names = {record["name"] for record in desired if record["values"]}
        blocking = [foreign for foreign in plan.foreign if foreign.name in set_names]
        if blocking and self.params["foreign"] == "fail":
            raise CollectionError(
                together(f"Cannot set records in zone {self.params['zone']} that another owner has", [str(record) for record in blocking])
                + ". Delete these records, or choose other names."
            )
        aliases = {
            record["name"]: alias for record in desired if record["values"] and (alias := current[record["name"], record["type"]].alias)
        }
        if aliases and not owner:
            # A server ignores other records beside an alias and returns NOERROR (RFC 2136, 3.4.2.2).
            texts = [f"{name} is an alias (CNAME) of {target.rstrip('.')}" for name, target in aliases.items()]
            raise CollectionError(
                together(f"Cannot update zone {self.params['zone']}: an alias (CNAME) cannot have other records", texts)
                + ". Remove the alias, or choose another name."
            )
        hosted = client if isinstance(client, Route53Client) and self.params["create_zone"] else None
        creates = bool(hosted and set_names and not hosted.exists())
        # A zone that was created for the owner is deleted with its last record.
        deletes = bool(hosted and not set_names and hosted.is_own() and not hosted.others(plan.changes))
        if hosted and creates and not self.check_mode:
            hosted.create()
        if plan.changes and not self.check_mode:
            client.set([{**change, "values": change["after"]} for change in plan.changes], ttl)
        if hosted and deletes and not self.check_mode:
            hosted.delete()
        before, after = ({f"{change['name']} {change['type']}": change[when] for change in plan.changes} for when in ("before", "after"))
        if creates or deletes:
            before["zone"], after["zone"] = (["exists"] if there else [] for there in (deletes, creates))
        if hosted:
            self.result["name_servers"] = hosted.name_servers()
        self.result.update(
            changed=bool(plan.changes) or creates or deletes,
            records=plan.changes,
            foreign=[{"name": record.name, "addresses": record.values, "owner": record.owner} for record in plan.foreign],
            diff=shown(before, after, f"zone {self.params['zone']}"),
        )


class DNSWaitModule(ModuleFrame):
    def __init__(self, options: Options) -> None:
        super().__init__(WAIT_OPTIONS.merge(options))
        if DNSPYTHON_IMPORT_ERROR:
            self.module.fail_json(msg=missing_required_lib("dnspython"), exception=DNSPYTHON_IMPORT_ERROR)

    def wait(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Wait until each name resolves to its values and to no other; without ``wait`` and in check mode only report the pending names."""
        desired = [{**record, "values": [str(ip_address(value)) for value in record["values"]]} for record in records]

        def pending() -> list[str]:
            names = [probe(record["name"]) for record in desired if record["values"]]
            try:
                texts = unresolved(desired, resolve(self.params["server"] or "", self.params["port"], names, self.params["timeout"]))
            except CollectionError as problem:
                texts = [problem.message]
            self.result["pending"] = texts
            return texts

        if self.check_mode or not self.params["wait"]:
            pending()
            return
        gate = Gate(find_play())
        waiter = Waiter.by_options(self.params, sleep=gate.sleep, tick=gate.tick, report=self.report_progress)
        waiter.until_nothing_pending(pending, "The creation of the printed DNS records")
