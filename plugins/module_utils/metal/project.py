# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projects, and the organizations they belong to.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import normal_data, normal_tags, reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

PROJECT_OPTIONS = Options(
    {
        "id": identifier(),
        "name": {"type": "str"},
        "organization_id": identifier(aliases=["org_id"]),
        "payment_method_id": identifier(),
        "backend_transfer_enabled": {"type": "bool"},
        "customdata": {"type": "dict", "aliases": ["custom_data"]},
        "tags": {"type": "list", "elements": "str"},
    },
    required_one_of=[["id", "name"]],
).merge(STATE_OPTIONS)

PROJECT_INFO_OPTIONS = Options(
    {
        "names": {"type": "list", "elements": "str", "aliases": ["name"]},
        "organization_id": identifier(aliases=["org_id"]),
        "all_projects": {"type": "bool", "default": False},
    }
)
ORGANIZATION_OPTIONS = Options({"ids": identifiers(), "names": {"type": "list", "elements": "str", "aliases": ["name"]}})

LONGEST_NAME = 80
"""Characters (vendor's OpenAPI text), each of at most three bytes of UTF-8."""


def project_facts(project: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_project`` returns of a project; never its customdata."""
    return {
        "id": project.get("id"),
        "name": project.get("name"),
        "organization_id": reference(project.get("organization")),
        "payment_method_id": _payment_method(project),
        "backend_transfer_enabled": bool(project.get("backend_transfer_enabled")),
        "tags": normal_tags(project.get("tags") or []),
        "created_at": project.get("created_at"),
    }


def _payment_method(project: Mapping[str, Any]) -> str | None:
    """Objects without a route of their own are told as ``#<id>``."""
    found = reference(project.get("payment_method"))
    return found.lstrip("#") if found else None


class Project:
    """A project by its id, else by its name, which in an organization (``organization_id``) or altogether must be one project's only."""

    result_key = "project"
    immutable: Mapping[str, str] = {
        "organization_id": "a project stays in its organization: leave the option out, or delete the project and create another"
    }
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        return f"project {self._params['name'] or self._params['id']}"

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._client.read(f"projects/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                text = f"There is no project with the id {params['id']}. One is created by its name: leave id out for that"
                raise CollectionError(text, error.details) from error
        # The service's filter matches a part of the name as well (known from clients).
        listed = self._client.read_list("projects", "projects", params={"name": params["name"]}, doing=f"look for {self.title}")
        same = [project for project in listed if project.get("name") == params["name"]]
        if params["organization_id"]:
            same = [project for project in same if reference(project.get("organization")) == params["organization_id"]]
        if len(same) > 1:
            ids = ", ".join(sorted(str(project.get("id")) for project in same))
            raise CollectionError(f"{len(same)} projects have the name {params['name']}: {ids}. Say which one is meant by its id")
        return same[0] if same else None

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {name: params[name] for name in ("name", "organization_id", "payment_method_id", "backend_transfer_enabled")}
        wanted["tags"] = None if params["tags"] is None else normal_tags(params["tags"])
        wanted["customdata"] = None if params["customdata"] is None else normal_data(params["customdata"])
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        facts = project_facts(found)
        names = ("name", "organization_id", "payment_method_id", "backend_transfer_enabled", "tags")
        return {**{name: facts[name] for name in names}, "customdata": normal_data(found.get("customdata"))}

    def result(self, found: Found) -> dict[str, Any]:
        return project_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        predicted = {**(found or {}), **{name: value for name, value in changes.items() if name != "customdata"}}
        for name in ("organization", "payment_method"):
            if f"{name}_id" in changes:
                predicted[name] = {"id": changes[f"{name}_id"]}
        return predicted

    def check_creation(self) -> None:
        name = self._params["name"] or ""
        problems = []
        if not name.strip():
            problems.append("to create it, name must be given")
        if len(name) > LONGEST_NAME:
            problems.append(f"name has {len(name)} characters, at most {LONGEST_NAME} are possible")
        if any(ord(character) > 0xFFFF for character in name):
            problems.append("name has a character of four bytes, which the service does not take")
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        names = ("name", "organization_id", "payment_method_id", "backend_transfer_enabled", "customdata", "tags")
        body = self._body([name for name in names if self._params[name] is not None])
        return self._client.write_one("POST", "projects", body, doing=f"create {self.title}", again=False)

    def _body(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: normal_tags(self._params[name]) if name == "tags" else self._params[name] for name in names}

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        body = self._body(changes)
        return self._client.write_one("PUT", f"projects/{found['id']}", body, doing=f"change {', '.join(sorted(body))} of {self.title}")

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"projects/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        devices = [device for device in map(reference, found.get("devices") or []) if device]
        if devices:
            raise CollectionError(
                f"Cannot delete {self.title} ({found.get('id')}): it has {len(devices)} devices. Have them deleted first",
                {"devices": devices},
            )

    def delete(self, found: Found) -> list[str]:
        delete_once(self._client, f"projects/{found['id']}", doing=f"delete {self.title}")
        return []

    def remaining(self, found: Found) -> list[str]:
        return []


def find_projects(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_project_info`` returns: the project of ``project_id``, which has to be there, or those the token may see that fit."""
    if not (params["names"] is not None or params["organization_id"] or params["all_projects"]):
        identity = params["project_id"]
        if not identity:
            raise CollectionError(
                "No project is given: set project_id or the environment variable METAL_PROJECT_ID, or list projects with names, "
                "organization_id or all_projects"
            )
        found = _listed_facts(client.read(f"projects/{identity}", doing=f"read the project {identity} (project_id)"))
        return {"project": found, "projects": [found]}
    facts = [_listed_facts(found) for found in client.read_list("projects", "projects", doing="list the projects")]
    if params["names"] is not None:
        facts = [found for found in facts if found["name"] in params["names"]]
    if params["organization_id"]:
        facts = [found for found in facts if found["organization_id"] == params["organization_id"]]
    return {"project": None, "projects": sorted(facts, key=lambda found: (str(found["name"]), str(found["id"])))}


def _listed_facts(found: Found) -> dict[str, Any]:
    return {**project_facts(found), "max_devices": found.get("max_devices") or {}}


def organizations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_organization_info`` returns: the organizations the token may see, of these ids and names."""
    listed = client.read_list("organizations", "organizations", doing="list the organizations")
    facts = [
        {
            **{name: found.get(name) for name in ("id", "name", "description", "website", "twitter", "created_at")},
            "projects": [project for project in map(reference, found.get("projects") or []) if project],
        }
        for found in listed
    ]
    for option, name in (("ids", "id"), ("names", "name")):
        if params[option] is not None:
            facts = [found for found in facts if found[name] in params[option]]
    return {"organizations": sorted(facts, key=lambda found: (str(found["name"]), str(found["id"])))}
