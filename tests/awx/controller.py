"""A stand-in for the API of AWX: as much of it as the modules of awx.awx use for the objects of playbooks/awx.yml.

It refuses references to objects that do not exist, a second object of a name, the deletion and other inputs of a credential type in use, a
second credential of a type, and job templates of a project that was not fetched. Updates of projects and sources end at once.
"""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.awx.objects import RefusedError

TOKEN = "planted-token"
REFERENCES = {
    "organization": "organizations",
    "inventory": "inventories",
    "project": "projects",
    "source_project": "projects",
    "execution_environment": "execution_environments",
    "default_environment": "execution_environments",
    "credential": "credentials",
    "credential_type": "credential_types",
    "workflow_job_template": "workflow_job_templates",
}
UNIFIED = {"job_templates": "job_template", "projects": "project", "workflow_job_templates": "workflow_job_template"}
UNIQUE_IN = {"inventory_sources": "inventory", "workflow_job_template_nodes": "workflow_job_template"}
APPROVAL = ("name", "description", "timeout")

Item = dict[str, Any]


class ForbiddenError(Exception):
    """What AWX answers with 403."""


class Controller:
    """The server; ``objects``: what exists by collection and id, ``calls``: method and path of each request."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[int, Item]] = {}
        self.calls: list[tuple[str, str]] = []
        self._number = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                with outer._lock:
                    outer.calls.append((self.command, url.path))
                    if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                        code, content = 401, {"detail": "Authentication credentials were not provided."}
                    else:
                        try:
                            code, content = outer.answer(self.command, url.path, dict(parse_qsl(url.query)), json.loads(body or b"{}"))
                        except RefusedError as problem:
                            code, content = 400, {"detail": str(problem)}
                        except ForbiddenError as problem:
                            code, content = 403, {"detail": str(problem)}
                text = b"" if content is None else json.dumps(content).encode()
                self.send_response(code)
                self.send_header("X-API-Product-Name", "AWX")
                self.send_header("X-API-Product-Version", "24.6.1")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return self._answer
                raise AttributeError(name)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the tests' output is theirs."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.environment = {"CONTROLLER_HOST": f"http://127.0.0.1:{self._server.server_address[1]}", "CONTROLLER_OAUTH_TOKEN": TOKEN}

    def __enter__(self) -> Controller:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if call[0] != "GET"]

    def names(self, collection: str) -> list[str]:
        return sorted(str(item.get("name") or item.get("identifier")) for item in self.objects.get(collection, {}).values())

    def one(self, collection: str, name: str) -> Item:
        (found,) = [item for item in self.objects[collection].values() if item.get("name") == name]
        return found

    # --- requests ------------------------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, query: dict[str, str], body: Item) -> tuple[int, Any]:
        """Return status and content."""
        parts = path.strip("/").split("/")[2:]
        if parts in ([], ["ping"]):
            return 200, {"current_version": "/api/v2/", "version": "24.6.1"}
        collection, *rest = parts
        if not rest:
            return (200, self._listed(collection, query)) if method == "GET" else (201, self._created(collection, body))
        items = self.objects.get(collection, {})
        if not rest[0].isdecimal() or int(rest[0]) not in items:
            return 404, {"detail": "Not found."}
        item = items[int(rest[0])]
        if len(rest) > 1:
            return self._below(collection, item, rest[1], method, body)
        if method == "DELETE":
            self._deleted(collection, item)
            return 204, None
        if method == "PATCH":
            self._check(collection, {**item, **body}, own=item["id"])
            item.update(self._known(collection, body))
        return 200, self._shown(item)

    def _listed(self, collection: str, query: dict[str, str]) -> Item:
        found = []
        for name in UNIFIED if collection == "unified_job_templates" else (collection,):
            found += [self._shown(item) for item in self.objects.get(name, {}).values()]
        asked = {name: value for name, value in query.items() if name not in ("page", "page_size", "order_by")}
        either = {name.removeprefix("or__"): value for name, value in asked.items() if name.startswith("or__")}
        every = {name: value for name, value in asked.items() if not name.startswith("or__")}
        found = [item for item in found if all(str(self._value(item, name)) == value for name, value in every.items())]
        found = [item for item in found if not either or any(str(self._value(item, name)) == value for name, value in either.items())]
        return {"count": len(found), "next": None, "previous": None, "results": found}

    def _value(self, item: Item, field: str) -> Any:
        """Return a field, or with ``organization__name`` that of the object that the field refers to."""
        name, _unused, of = field.partition("__")
        return self.objects[REFERENCES[name]][int(item[name])].get(of) if of and item.get(name) else item.get(field)

    def _created(self, collection: str, body: Item) -> Item:
        self._check(collection, body)
        self._number += 1
        item = {
            "id": self._number,
            "url": f"/api/v2/{collection}/{self._number}/",
            "type": UNIFIED.get(collection, collection.removesuffix("s")),
        }
        item |= self._known(collection, body)
        item["below"] = {"survey_spec": {}}
        self.objects.setdefault(collection, {})[self._number] = item
        if collection == "projects":
            item["scm_revision"] = ""
            # AWX fetches a new project at once. The update is the current one until it has ended.
            running = {"current_update": {"id": self._updated(collection, item)["id"]}}
            return {**self._shown(item), "summary_fields": running}
        if collection == "inventory_sources":
            item["status"] = "never updated"
        return self._shown(item)

    def _updated(self, collection: str, item: Item) -> Item:
        """Return the update of a project or an inventory source, which has ended."""
        kind = {"projects": "project_updates", "inventory_sources": "inventory_updates"}[collection]
        item["status"] = "successful"
        self._number += 1
        ended = {"status": item["status"], "failed": False, "finished": "2026-01-01T00:00:00Z", "elapsed": 1}
        made = {
            "id": self._number,
            "url": f"/api/v2/{kind}/{self._number}/",
            "name": item["name"],
            "type": kind,
            "scm_revision": "",
            "unified_job_template": item["id"],
            **ended,
        }
        self.objects.setdefault(kind, {})[self._number] = made | {"below": {}}
        return made

    def _shown(self, item: Item) -> Item:
        related = {name: f"{item['url']}{name}/" for name in ("survey_spec", "credentials", "notification_templates_error", "update")}
        summary = {}
        if "credential_type" in item:
            summary["credential_type"] = {"name": self.objects["credential_types"][item["credential_type"]]["name"]}
        if item["type"] == "workflow_job_template_node" and item.get("unified_job_template") in self.objects.get(
            "workflow_approval_templates", {}
        ):
            related["unified_job_template"] = f"/api/v2/workflow_approval_templates/{item['unified_job_template']}/"
        return {**{name: value for name, value in item.items() if name != "below"}, "related": related, "summary_fields": summary}

    def _below(self, collection: str, item: Item, name: str, method: str, body: Item) -> tuple[int, Any]:
        below = item["below"]
        if name == "update":
            return 202, self._updated(collection, item)
        if name == "survey_spec":
            if method == "POST":
                below[name] = body
            elif method == "DELETE":
                below[name] = {}
            return 200, below[name]
        if name == "create_approval_template":
            made = self._created("workflow_approval_templates", body)
            item["unified_job_template"] = made["id"]
            return 201, made
        source = collection if name.endswith("_nodes") else name.removesuffix("_error").removeprefix("galaxy_")
        linked = below.setdefault(name, [])
        if method == "GET":
            found = [self._shown(self.objects[source][number]) for number in linked]
            return 200, {"count": len(found), "next": None, "results": found}
        number = int(body["id"])
        if number not in self.objects.get(source, {}):
            raise RefusedError(f"{source} {number} does not exist")
        if body.get("disassociate"):
            linked.remove(number)
            return 204, None
        kinds = [self.objects[source][each].get("credential_type") for each in linked] if source == "credentials" else []
        if kinds and self.objects[source][number]["credential_type"] in kinds:
            raise RefusedError("Cannot assign multiple credentials of the same type")
        linked.append(number)
        return 204, None

    def _deleted(self, collection: str, item: Item) -> None:
        """Delete an object with what is in it, as AWX does."""
        if collection == "credential_types" and self._is_in_use(item["id"]):
            raise ForbiddenError("Credential types that are in use cannot be deleted")
        del self.objects[collection][item["id"]]
        for updates in (self.objects.get("project_updates", {}), self.objects.get("inventory_updates", {})):
            for number in [number for number, each in updates.items() if each["unified_job_template"] == item["id"]]:
                del updates[number]
        field = {name: key for key, name in REFERENCES.items()}.get(collection)
        if collection in ("organizations", "inventories", "workflow_job_templates") and field:
            for name, items in list(self.objects.items()):
                for each in [each for each in items.values() if each.get(field) == item["id"]]:
                    self._deleted(name, each)

    # --- what AWX refuses ----------------------------------------------------------------------------------------------------

    def _is_in_use(self, credential_type: int) -> bool:
        return any(each["credential_type"] == credential_type for each in self.objects.get("credentials", {}).values())

    @staticmethod
    def _known(collection: str, body: Item) -> Item:
        return {name: value for name, value in body.items() if collection != "workflow_approval_templates" or name in APPROVAL}

    def _check(self, collection: str, item: Item, own: int = 0) -> None:
        for field, source in REFERENCES.items():
            if item.get(field) is not None and int(item[field]) not in self.objects.get(source, {}):
                raise RefusedError(f"{field}: {source} {item[field]} does not exist")
        if collection == "workflow_approval_templates":
            return
        scope = UNIQUE_IN.get(collection, "organization")
        name = "identifier" if collection == "workflow_job_template_nodes" else "name"
        if not item.get(name):
            raise RefusedError(f"{name}: This field is required")
        for other in self.objects.get(collection, {}).values():
            if other["id"] != own and other.get(name) == item[name] and other.get(scope) == item.get(scope):
                raise RefusedError(f"{collection} with this {name} already exists")
        if collection == "credential_types" and own and self._is_in_use(own) and item["inputs"] != self.objects[collection][own]["inputs"]:
            raise ForbiddenError("Modifications to inputs are not allowed for credential types that are in use")
        if collection == "job_templates" and self.objects["projects"][int(item["project"])]["status"] != "successful":
            raise RefusedError("playbook: Playbook not found for project.")
        if "extra_vars" in item and not isinstance(item["extra_vars"], str):
            raise RefusedError("extra_vars has to be text")
