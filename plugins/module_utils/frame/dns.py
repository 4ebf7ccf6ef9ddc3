# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of a module that speaks to a DNS server: its options and its client.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import shown
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.dns import DNSPYTHON_IMPORT_ERROR, DNSClient, normal
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.base import ModuleFrame

DNS_OPTIONS = Options(
    {
        "server": {"type": "str", "required": True},
        "port": {"type": "int", "default": 53},
        "zone": {"type": "str", "required": True},
        "key_name": {"type": "str", "required": True, "no_log": False},
        "key_secret": {"type": "str", "required": True, "no_log": True},
        "key_algorithm": {
            "type": "str",
            "choices": ["hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha1", "hmac-md5"],
            "default": "hmac-sha256",
            "no_log": False,
        },
        "timeout": {"type": "float", "default": 10},
    }
)


class DNSModule(ModuleFrame):
    """A module that speaks to a DNS server; used as ``with DNSModule(OPTIONS) as module``."""

    def __init__(self, options: Options) -> None:
        super().__init__(DNS_OPTIONS.merge(options))
        self.result["records"] = []
        if DNSPYTHON_IMPORT_ERROR:
            self.module.fail_json(msg=missing_required_lib("dnspython"), exception=DNSPYTHON_IMPORT_ERROR)

    def keep(self, records: Sequence[Mapping[str, Any]], ttl: int) -> None:
        """Make each of these sets of records (``name``, ``type``, ``values``) what it says; in check mode only predict the changes."""
        client = DNSClient(self.params)
        desired = [{**record, "values": normal(record)} for record in records]
        pairs = list(zip(desired, client.find(desired), strict=True))
        client.refuse_aliases({record["name"]: found.alias for record, found in pairs if record["values"] and found.alias})
        different = [
            {"name": record["name"], "type": record["type"], "before": found.values, "after": record["values"]}
            for record, found in pairs
            if found.values != record["values"]
        ]
        # What a wildcard above a name answers is not the name's to keep, nor to take away.
        answered = [change for change in different if change["before"]]
        for change, own in zip(answered, client.own([change["name"] for change in answered]), strict=True):
            change["before"] = change["before"] if own else []
        different = [change for change in different if change["before"] != change["after"]]
        if different and not self.check_mode:
            client.set([{**change, "values": change["after"]} for change in different], ttl)
        before, after = ({f"{change['name']} {change['type']}": change[when] for change in different} for when in ("before", "after"))
        self.result.update(changed=bool(different), records=different, diff=shown(before, after, f"zone {self.params['zone']}"))
