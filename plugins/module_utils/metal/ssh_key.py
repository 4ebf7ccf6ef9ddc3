# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH keys of a project and of the token's user. They are public keys: nothing here is secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError
from . import attribute
from .attribute import Attribute, options_of
from .resource import Resource, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found


def normal_key(key: Any) -> str:
    """Return type and data of a public key, without its comment."""
    return " ".join(key.split()[:2]) if isinstance(key, str) else ""


ATTRIBUTES = (
    Attribute(name="label", option={"type": "str", "aliases": ["name"]}, required=True),
    Attribute(name="key", option={"type": "str", "no_log": False}, normal=lambda key: normal_key(key) or None, required=True),
    attribute.tags(),
)

OWNER_OPTIONS = Options({"owner": {"type": "str", "choices": ["project", "user"], "default": "project"}})

SSH_KEY_OPTIONS = Options({"id": identifier(), **options_of(ATTRIBUTES)}, required_one_of=[["id", "label", "key"]]).merge(
    OWNER_OPTIONS, STATE_OPTIONS
)

SSH_KEY_INFO_OPTIONS = Options(
    {
        "labels": {"type": "list", "elements": "str", "aliases": ["label", "names"]},
        "ids": identifiers(),
        "fingerprints": {"type": "list", "elements": "str"},
        "tags": {"type": "list", "elements": "str"},
    }
).merge(OWNER_OPTIONS)


def keys_path(params: Mapping[str, Any]) -> str:
    """Return the path of the owner's list of keys. Raises CollectionError without a project."""
    if params["owner"] == "user":
        return "ssh-keys"
    if not params["project_id"]:
        raise CollectionError(
            "No project is set: set project_id or the environment variable METAL_PROJECT_ID, or owner=user for the user's own keys"
        )
    return f"projects/{params['project_id']}/ssh-keys"


class SshKey(Resource):
    """A key of its owner: by its id, else by its label, else by the key itself."""

    result_key = "ssh_key"
    kind = "SSH key"
    path = "ssh-keys"
    created_by = "its label and key"
    attributes = ATTRIBUTES
    returned = ("id", "fingerprint", "created_at", "updated_at")

    @property
    def title(self) -> str:
        params = self.params
        name = params["label"] or params["id"] or f"...{normal_key(params['key'])[-12:]}"
        return f"SSH key {name} of the {params['owner']}"

    def _check_key(self) -> None:
        """Raise CollectionError for a private or malformed key: a private key must never leave this host."""
        problem = None
        if "PRIVATE KEY" in (self.params["key"] or ""):
            problem = "it is a private key. Set the public key (usually the file ending in .pub)"
        elif self.params["key"] is not None and len(self.params["key"].split()) < 2:
            problem = "it needs type and data, as in a file ending in .pub"
        if problem:
            raise CollectionError(f"Cannot use key as {self.title}: {problem}")

    @property
    def list_path(self) -> str:
        return keys_path(self.params)

    def find(self) -> Found | None:
        self._check_key()
        return super().find()

    def find_by_options(self) -> Found | None:
        params = self.params
        keys = self.client.read_list(self.list_path, "ssh_keys", doing=f"read {self.title}")
        labelled = [key for key in keys if params["label"] and key.get("label") == params["label"]]
        if len(labelled) > 1 and params["key"]:
            labelled = [key for key in labelled if normal_key(key.get("key")) == normal_key(params["key"])] or labelled
        named = only_one(labelled, f"keys are {self.title}", "its id")
        same = [key for key in keys if params["key"] and normal_key(key.get("key")) == normal_key(params["key"])]
        if params["state"] == "absent" and params["label"]:
            # The same key with another label is another key.
            return named
        if named and same and named is not same[0]:
            raise CollectionError(
                f"Cannot change {self.title} ({named.get('id')}): the key {same[0].get('label')!r} ({same[0].get('id')}) has this value"
                ", and an owner cannot have it twice. Delete one of the two",
                {"ids": sorted([str(named.get("id")), str(same[0].get("id"))])},
            )
        return named or (same[0] if same else None)


def find_ssh_keys(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_ssh_key_info`` returns: the owner's keys with one of these labels, ids, fingerprints, and all these tags."""
    listed = client.read_list(keys_path(params), "ssh_keys", doing=f"list the SSH keys of the {params['owner']}")
    filters = {"label": params["labels"], "id": params["ids"], "fingerprint": params["fingerprints"], "tags": params["tags"]}
    results = [result for result in map(SshKey.result, listed) if matches(result, filters)]
    return {"ssh_keys": sorted(results, key=lambda key: (str(key["label"]), str(key["id"])))}
