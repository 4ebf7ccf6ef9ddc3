# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projects, and the organizations they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError, NotFoundError
from . import attribute
from .attribute import Attribute, options_of
from .objects import reference, references
from .resource import Resource, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found


def _payment_method(project: Mapping[str, Any]) -> str | None:
    """Return its id: objects without a route of their own are referred to as ``#<id>``."""
    identity = reference(project.get("payment_method"))
    return identity.lstrip("#") if identity else None


ATTRIBUTES = (
    Attribute(name="name", option={"type": "str"}),
    attribute.link(
        "organization_id",
        "organization",
        option=identifier(aliases=["org_id"]),
        immutable="a project stays in its organization: leave the option out, or delete the project and create another",
    ),
    attribute.link("payment_method_id", "payment_method", read=_payment_method),
    Attribute(
        name="backend_transfer_enabled",
        option={"type": "bool"},
        read=lambda current: bool(current.get("backend_transfer_enabled")),
    ),
    attribute.customdata(aliases=["custom_data"]),
    attribute.tags(),
)

PROJECT_OPTIONS = Options({"id": identifier(), **options_of(ATTRIBUTES)}, required_one_of=[["id", "name"]]).merge(STATE_OPTIONS)

PROJECT_INFO_OPTIONS = Options(
    {
        "names": {"type": "list", "elements": "str", "aliases": ["name"]},
        "organization_id": identifier(aliases=["org_id"]),
        "all_projects": {"type": "bool", "default": False},
        "with_contents": {"type": "bool", "default": False},
    }
)

CONTENTS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "device": ("devices", "devices", {}),
    # Private blocks and public ones of IPv6 belong to the project itself.
    "address block": ("ips", "ip_addresses", {"types": "public_ipv4,global_ipv4,vrf"}),
    "VLAN": ("virtual-networks", "virtual_networks", {}),
    "metal gateway": ("metal-gateways", "metal_gateways", {}),
    "VRF": ("vrfs", "vrfs", {}),
    "hardware reservation": ("hardware-reservations", "hardware_reservations", {}),
    "SSH key": ("ssh-keys", "ssh_keys", {}),
}
"""What a project can have, by kind: path below the project, name of the list in the answer, and parameters."""
ORGANIZATION_OPTIONS = Options({"ids": identifiers(), "names": {"type": "list", "elements": "str", "aliases": ["name"]}})

LONGEST_NAME = 80
"""Characters (vendor's OpenAPI text), each of at most three bytes of UTF-8."""


class Project(Resource):
    """A project by its id, else by its name, which must be unique in the organization (``organization_id``) or for the token."""

    result_key = "project"
    kind = "project"
    path = "projects"
    attributes = ATTRIBUTES

    @property
    def title(self) -> str:
        return f"project {self.params['name'] or self.params['id']}"

    @property
    def list_path(self) -> str:
        return "projects"

    def find_by_options(self) -> Found | None:
        name, organization = self.params["name"], self.params["organization_id"]
        # The API's filter matches a part of the name as well (known from clients).
        listed = self.client.read_list("projects", "projects", params={"name": name}, doing=f"read {self.title}")
        same = [project for project in listed if project.get("name") == name]
        if organization:
            same = [project for project in same if reference(project.get("organization")) == organization]
        return only_one(same, f"projects have the name {name}", "its id")

    def creation_problems(self) -> list[str]:
        name = self.params["name"] or ""
        problems = []
        if not name.strip():
            problems.append("to create it, name must be given")
        if len(name) > LONGEST_NAME:
            problems.append(f"name has {len(name)} characters, at most {LONGEST_NAME} are allowed")
        if any(ord(character) > 0xFFFF for character in name):
            problems.append("name has a character of four bytes, which the API does not accept")
        return problems

    def check_deletion(self, current: Found) -> None:
        if devices := references(current.get("devices")):
            raise CollectionError(
                f"Cannot delete {self.title} ({current.get('id')}): it has {len(devices)} devices. Delete them first",
                {"devices": devices},
            )


def find_projects(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_project_info`` returns: the project of ``project_id``, or the listed projects that match the filters."""
    if not (params["names"] is not None or params["organization_id"] or params["all_projects"]):
        identity = params["project_id"]
        if not identity:
            raise CollectionError(
                "No project is set: set project_id or the environment variable METAL_PROJECT_ID, or list projects with names, "
                "organization_id or all_projects"
            )
        project = _listed_result(client.read(f"projects/{identity}", doing=f"read the project {identity} (project_id)"))
        contents = _contents(client, str(identity)) if params["with_contents"] else None
        return {"project": project, "projects": [project], **({} if contents is None else {"contents": contents})}
    listed = map(_listed_result, client.read_list("projects", "projects", doing="list the projects"))
    filters = {"name": params["names"], "organization_id": params["organization_id"] or None}
    results = [result for result in listed if matches(result, filters)]
    return {"project": None, "projects": sorted(results, key=lambda project: (str(project["name"]), str(project["id"])))}


def _contents(client: MetalClient, identity: str) -> list[str]:
    """Return what is in a project, such as ``2 VLANs``. A kind that the API does not have is not in it."""
    contents = []
    for kind, (path, key, params) in CONTENTS.items():
        try:
            listed = client.read_list(
                f"projects/{identity}/{path}", key, params=dict(params), doing=f"list the {path} of project {identity}"
            )
        except NotFoundError:
            continue
        if listed:
            contents.append(f"{len(listed)} {kind}{'' if len(listed) == 1 else 's'}")
    return contents


def _listed_result(project: Found) -> dict[str, Any]:
    return {**Project.result(project), "max_devices": project.get("max_devices") or {}}


def organizations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_organization_info`` returns: the listed organizations that match the filters."""
    names = ("id", "name", "description", "website", "twitter", "created_at")
    listed = client.read_list("organizations", "organizations", doing="list the organizations")
    results = [
        {**{name: organization.get(name) for name in names}, "projects": references(organization.get("projects"))}
        for organization in listed
    ]
    kept = [result for result in results if matches(result, {"id": params["ids"], "name": params["names"]})]
    return {"organizations": sorted(kept, key=lambda organization: (str(organization["name"]), str(organization["id"])))}
