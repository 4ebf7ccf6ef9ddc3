# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH keys of a project and of the user the token belongs to. They are public keys: nothing here is secret.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import normal_tags
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

OWNER_OPTIONS = Options({"owner": {"type": "str", "choices": ["project", "user"], "default": "project"}})

SSH_KEY_OPTIONS = Options(
    {
        "id": identifier(),
        "label": {"type": "str", "aliases": ["name"]},
        "key": {"type": "str", "no_log": False},
        "tags": {"type": "list", "elements": "str"},
    },
    required_one_of=[["id", "label", "key"]],
).merge(OWNER_OPTIONS, STATE_OPTIONS)

SSH_KEY_INFO_OPTIONS = Options(
    {
        "labels": {"type": "list", "elements": "str", "aliases": ["label", "names"]},
        "ids": identifiers(),
        "fingerprints": {"type": "list", "elements": "str"},
        "tags": {"type": "list", "elements": "str"},
    }
).merge(OWNER_OPTIONS)


def normal_key(key: Any) -> str:
    """Kind and body of a public key: what follows is a comment, and spaces mean nothing."""
    return " ".join(key.split()[:2]) if isinstance(key, str) else ""


def ssh_key_facts(key: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_ssh_key`` returns of a key."""
    return {
        **{name: key.get(name) for name in ("id", "label", "key", "fingerprint", "created_at", "updated_at")},
        "tags": normal_tags(key.get("tags") or []),
    }


def keys_path(params: Mapping[str, Any]) -> str:
    """The list the keys of this owner are in. Raises CollectionError when the project is not given."""
    if params["owner"] == "user":
        return "ssh-keys"
    if not params["project_id"]:
        raise CollectionError(
            "No project is given: set project_id or the environment variable METAL_PROJECT_ID, or owner=user for the user's own keys"
        )
    return f"projects/{params['project_id']}/ssh-keys"


class SshKey:
    """A key of its owner: by its id, else by its label, else by the key itself."""

    result_key = "ssh_key"
    immutable: Mapping[str, str] = {}
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        params = self._params
        mark = params["label"] or params["id"] or f"...{normal_key(params['key'])[-12:]}"
        return f"SSH key {mark} of the {params['owner']}"

    def _check_key(self) -> None:
        """Also before an update: a private key must never leave this host."""
        problem = None
        if "PRIVATE KEY" in (self._params["key"] or ""):
            problem = "it is a private key. Give the public one (usually the file ending in .pub), and keep this one to yourself"
        elif self._params["key"] is not None and len(self._params["key"].split()) < 2:
            problem = "it has no kind and body, like in a file ending in .pub"
        if problem:
            raise CollectionError(f"key cannot be the {self.title}: {problem}")

    def find(self) -> Found | None:
        params = self._params
        self._check_key()
        if params["id"]:
            try:
                return self._client.read(f"ssh-keys/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                text = f"There is no SSH key with the id {params['id']}. One is created by its label and key: leave id out for that"
                raise CollectionError(text, error.details) from error
        keys = self._client.read_list(keys_path(params), "ssh_keys", doing=f"look for {self.title}")
        labelled = [key for key in keys if params["label"] and key.get("label") == params["label"]]
        if len(labelled) > 1 and params["key"]:
            labelled = [key for key in labelled if normal_key(key.get("key")) == normal_key(params["key"])] or labelled
        if len(labelled) > 1:
            ids = ", ".join(sorted(str(key.get("id")) for key in labelled))
            raise CollectionError(f"{len(labelled)} keys are {self.title}: {ids}. Say which one is meant by its id")
        same = [key for key in keys if params["key"] and normal_key(key.get("key")) == normal_key(params["key"])]
        if params["state"] == "absent" and params["label"]:
            # Another's label for the same key says that it is another's key.
            return labelled[0] if labelled else None
        if labelled and same and labelled[0] is not same[0]:
            raise CollectionError(
                f"Cannot make this the {self.title} ({labelled[0].get('id')}): it is the key {same[0].get('label')!r} ({same[0].get('id')})"
                " already, and an owner has a key once. Delete one of the two",
                {"ids": sorted([str(labelled[0].get("id")), str(same[0].get("id"))])},
            )
        return next(iter(labelled or same), None)

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {
            "label": params["label"],
            "key": normal_key(params["key"]) or None,
            "tags": None if params["tags"] is None else normal_tags(params["tags"]),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {"label": found.get("label"), "key": normal_key(found.get("key")), "tags": normal_tags(found.get("tags") or [])}

    def result(self, found: Found) -> dict[str, Any]:
        return ssh_key_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**(found or {}), **changes, **({"key": self._params["key"]} if "key" in changes else {})}

    def check_creation(self) -> None:
        params = self._params
        missing = [name for name in ("label", "key") if not params[name]]
        if missing:
            raise CollectionError(f"Cannot create {self.title}: {' and '.join(missing)} must be given")

    def create(self) -> Found:
        body = self._body([name for name in ("label", "key", "tags") if self._params[name] is not None])
        return self._client.write_one("POST", keys_path(self._params), body, doing=f"create {self.title}", again=False)

    def _body(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: normal_tags(self._params[name]) if name == "tags" else self._params[name] for name in names}

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        body = self._body(changes)
        return self._client.write_one("PUT", f"ssh-keys/{found['id']}", body, doing=f"change {', '.join(sorted(body))} of {self.title}")

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"ssh-keys/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        """Devices keep what was installed on them: a key may always go."""

    def delete(self, found: Found) -> list[str]:
        delete_once(self._client, f"ssh-keys/{found['id']}", doing=f"delete {self.title}")
        return []

    def remaining(self, found: Found) -> list[str]:
        return []


def find_ssh_keys(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_ssh_key_info`` returns: the owner's keys with one of these labels, ids, fingerprints, and all these tags."""
    listed = client.read_list(keys_path(params), "ssh_keys", doing=f"list the SSH keys of the {params['owner']}")
    facts = [ssh_key_facts(key) for key in listed]
    for option, name in (("labels", "label"), ("ids", "id"), ("fingerprints", "fingerprint")):
        if params[option] is not None:
            facts = [key for key in facts if key[name] in params[option]]
    facts = [key for key in facts if set(params["tags"] or []) <= set(key["tags"])]
    return {"ssh_keys": sorted(facts, key=lambda key: (str(key["label"]), str(key["id"])))}
