# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of resources, and the requests that must not be repeated blindly: a create and a deletion."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..base.errors import (
    CollectionError,
    DeniedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    StillExistsError,
    ValidationError,
    together,
)
from ..base.wait import clock

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .attribute import Attribute

RECHECK_AFTER_LOST_ANSWER = (6.0, 2.0)
"""Timeout and interval in seconds: reads of the API may lag behind its writes (known behaviour)."""

OWNERSHIP: Mapping[str, Any] = {"ownership_tags": {"type": "list", "elements": "str"}}
"""The option of a module whose objects have tags: an object without them is neither changed nor deleted."""

Found = Mapping[str, Any]
"""One object as the API returns it."""


class Resource:
    """What one module manages: one object of the API, found or created by the module's options.

    A resource declares its ``attributes`` and implements ``find_by_options``; the rest has defaults. ``desired`` and ``comparable`` have
    the same keys, the names of options, in the same form and without secrets: their difference is changed, and shown by ``--diff``.
    ``params`` are the module's options.
    """

    result_key: ClassVar[str]
    """Key of the resource in the module's result."""
    kind: ClassVar[str]
    """Its name in messages, such as ``VLAN``."""
    path: ClassVar[str]
    """Path of one object before its id, and of a project's list after the project."""
    created_by: ClassVar[str] = "its name"
    """The options that identify a new object, for messages."""
    attributes: ClassVar[Sequence[Attribute]] = ()
    returned: ClassVar[Sequence[str]] = ("id", "created_at")
    """Fields of the object that the module returns as they are, beside the attributes."""
    included: ClassVar[Mapping[str, str] | None] = None
    """Query parameters of reads and lists: which referred objects the answer has in full."""
    users_included: ClassVar[str] = ""
    """Query parameter ``include`` of a read that lists what uses the object; empty where the API lists no users."""
    update_method: ClassVar[str] = "PUT"
    new_fields: ClassVar[Mapping[str, Any]] = {}
    """Fields of a new object beside its attributes, for the prediction of a creation."""
    after_creation: ClassVar[frozenset[str]] = frozenset()
    """Attributes that can only be set on an existing object."""
    has_rivals: ClassVar[bool] = False
    """Whether two runs may create the same object at the same moment: the run that created the newer one deletes it."""

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self.client = client
        self.params = params
        self.immutable: Mapping[str, str] = {attribute.name: attribute.immutable for attribute in self.attributes if attribute.immutable}
        """Attributes that cannot be changed, each with the reason and what to do instead."""

    @property
    def title(self) -> str:
        """Kind and name, for messages and the head of the diff."""
        return f"{self.kind} {self.params['id'] or self.params['name']}"

    @property
    def list_path(self) -> str:
        """The list the object is in, and where it is created."""
        return f"projects/{self.params['project_id']}/{self.path}"

    # Attributes.

    def desired(self) -> dict[str, Any]:
        requested = {
            attribute.name: attribute.normal(self.params[attribute.name]) for attribute in self._given_attributes() if attribute.compared
        }
        return {name: value for name, value in requested.items() if value is not None}

    def _given_attributes(self) -> list[Attribute]:
        return [attribute for attribute in self.attributes if self.params[attribute.name] is not None]

    def comparable(self, current: Found) -> dict[str, Any]:
        return {attribute.name: attribute.normal(attribute.value(current)) for attribute in self.attributes if attribute.compared}

    def set_attributes(self, current: Found) -> dict[str, Any]:
        """Return the attributes that have a value, in comparable form: what the diff of a deletion shows."""
        return {name: value for name, value in self.comparable(current).items() if value not in (None, "", [], {})}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        """Return what the module returns of an object; no secret."""
        attributes = {attribute.name: attribute.value(current) for attribute in cls.attributes if attribute.compared and attribute.returned}
        return {**{name: current.get(name) for name in cls.returned}, **attributes}

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        """Return the predicted object after these changes, or after its creation (``current`` is None)."""
        predicted = dict(self.new_fields if current is None else current)
        for attribute in self.attributes:
            if attribute.name in changes:
                predicted |= attribute.fields(attribute.sent(self.params[attribute.name]))
        return predicted

    # Reading.

    def find(self) -> Found | None:
        """Return the object that the options name, None if there is none.

        Raises CollectionError for an unknown id, several objects, and one without the ownership tags, which another owner may need.
        """
        current = self.find_by_id() if self.params.get("id") else self.find_by_options()
        if current is not None and (lacking := self._lacking_tags(current.get("tags"))):
            raise CollectionError(f"Cannot change {self.title} ({current.get('id')}): it does not have the tags {lacking}")
        return current

    def _lacking_tags(self, tags: Any) -> str:
        """Return the ownership tags that are not among these, as a text."""
        owned = tags if isinstance(tags, list) else []
        return ", ".join(tag for tag in self.params.get("ownership_tags") or () if tag not in owned)

    def find_by_id(self) -> Found | None:
        """Return the object with the given id, None if there is none with state=absent. Raises CollectionError for an unknown id."""
        identity = self.params["id"]
        try:
            return self.read(identity, f"read {self.title}")
        except NotFoundError as error:
            if self.params["state"] == "absent":
                return None
            message = f"{self.kind} {identity} does not exist. To create one, leave id out and set {self.created_by}"
            raise CollectionError(message, error.details) from error

    def find_by_options(self) -> Found | None:
        """Return the object that the options other than id name."""
        raise NotImplementedError

    def read(self, identity: str, doing: str) -> Found:
        """Return the object with this id. Raises NotFoundError."""
        return self.client.read(f"{self.path}/{identity}", params=self.included, doing=doing)

    def refresh(self, current: Found) -> Found:
        """Return the object as it is now. Raises MetalError when it is gone."""
        return self.read(str(current["id"]), f"read {self.title}")

    def complete(self, current: Found) -> Found:
        """Return a listed object with the attributes that a list may leave out."""
        return current

    # state=present

    def check_creation(self) -> None:
        """Raise CollectionError with all reasons when it cannot be created from these options."""
        if problems := self.creation_problems():
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def creation_problems(self) -> list[str]:
        needed = [attribute.name for attribute in self.attributes if attribute.required]
        problems = [f"to create it, {name} must be given" for name in needed if self.params[name] in (None, "")]
        lacking = self._lacking_tags(self.params.get("tags"))
        return problems + ([f"to create it, tags must contain the ownership tags {lacking}"] if lacking else [])

    def body(self, names: Container[str] | None = None) -> dict[str, Any]:
        """Return the body of a request with those of these attributes (None: all) that are set."""
        return {
            attribute.name: attribute.sent(self.params[attribute.name])
            for attribute in self._given_attributes()
            if names is None or attribute.name in names
        }

    def create(self) -> Found:
        return self.client.write_one("POST", self.list_path, self.body(), doing=f"create {self.title}", again=False)

    def namesakes(self) -> list[Found]:
        """Return the objects with the same name as this one. Used if ``has_rivals``."""
        return []

    def older_duplicate(self, own: Found, others: Iterable[Found]) -> Found | None:
        """Return which of ``others`` another run created before ``own`` as the same object, if any."""
        return None

    def check_replacement(self) -> None:
        """Raise CollectionError when the object cannot be replaced."""

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        """Return what blocks these changes now."""
        return []

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        doing = f"change {', '.join(sorted(changes))} of {self.title}"
        return self.client.write_one(self.update_method, f"{self.path}/{current['id']}", self.body(changes), doing=doing)

    def pending(self, current: Found) -> list[str]:
        """Return what is pending until the desired state is reached. Raises CollectionError when it cannot be reached."""
        return []

    # state=absent

    def is_deleting(self, current: Found) -> bool:
        return False

    def check_deletion(self, current: Found) -> None:
        """Raise CollectionError when it cannot be deleted."""

    def delete(self, current: Found) -> list[str]:
        """Request its deletion; returns what blocks it, empty when it is deleted or being deleted."""
        try:
            delete_once(self.client, f"{self.path}/{current['id']}", doing=f"delete {self.title}", is_deleting=self.is_deleting)
        except ValidationError:
            # Its users may be newer than ``current``: the error names them.
            if self.users_included:
                self.check_deletion(self.refresh(current))
            raise
        return []

    def with_users(self, current: Found) -> Found:
        """Return the object with the names of its users, or unchanged (with their ids) when that cannot be read."""
        doing, query = f"list what uses {self.title}", {"include": self.users_included}
        try:
            return self.client.read(f"{self.path}/{current['id']}", params=query, doing=doing)
        except MetalError:
            return current

    def remaining(self, current: Found) -> list[str]:
        """Return what still exists of it."""
        try:
            current = self.client.read(f"{self.path}/{current['id']}", doing=f"check whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return []
            raise
        return self.undeleted(current)

    def undeleted(self, current: Found) -> list[str]:
        """Return the state of an object that the API still returns after its deletion; empty when that state means deleted."""
        return [f"{self.title} is {current.get('state')}" if self.is_deleting(current) else f"{self.title} is not deleted yet"]


def only_one(matching: Sequence[Found], several: str, selector: str) -> Found | None:
    """Return the only object of a list, if any. Raises CollectionError for several; ``selector``: how to select one."""
    if len(matching) > 1:
        ids = ", ".join(sorted(str(item.get("id")) for item in matching))
        raise CollectionError(f"{len(matching)} {several}: {ids}. Select one by {selector}")
    return matching[0] if matching else None


def matches(result: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Return whether a result matches all filters: one value of a list, all tags, the same value; None and an empty metro match all."""
    return all(_matches(result.get(name), name, value) for name, value in filters.items())


def _matches(value: Any, name: str, expected: Any) -> bool:
    if expected is None or (name == "metro" and not expected):
        return True
    if name == "tags":
        return set(expected) <= set(value or [])
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return value in expected
    return bool(value == (expected.lower() if name == "metro" else expected))


class Created(NamedTuple):
    """A created object. ``ordered``: by this call, and not by another run that was found before a further try."""

    current: Found
    ordered: bool = True


def create_once(
    create: Callable[[], Found],
    find: Callable[[], Found | None],
    *,
    find_first: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    attempts: int = 3,
) -> Created:
    """Create an object, and find out whether it exists before every further try, so that nothing is ordered twice.

    ``find`` identifies the object as every run does: by hostname with ownership tags, or by other options. It found nothing just before
    the first try (``find_first``: or some time ago, so it is called again). After a lost answer it finds the ordered object; after a
    pause it may find one that another run ordered. An id for a single create would have to be stored in fields of the user (tags,
    customdata) and identify no better.

    An order that may still be carried out (no answer in time) is searched for and never repeated: it may appear later.
    """
    lost = paused = 0
    while True:
        if find_first and (existing := find()) is not None:
            return Created(existing, ordered=False)
        try:
            return Created(create())
        except PausedError as pause:
            paused += pause.counts
            if paused > pause.retries:
                raise pause.error from pause
            find_first = True
        except LostAnswerError as error:
            lost += 1
            for _elapsed in clock(*RECHECK_AFTER_LOST_ANSWER, sleep=sleep):
                existing = find()
                if existing is not None:
                    return Created(existing)
            if error.late:
                error.message += ", and the API may still carry it out, so it is not repeated. Run again to continue with its result"
            if error.late or lost == attempts:
                raise
            find_first = False


def delete_once(
    client: MetalClient,
    path: str,
    *,
    doing: str,
    is_deleting: Callable[[Found], bool] = lambda _found: False,
    params: Mapping[str, Any] | None = None,
) -> None:
    """Delete an object that was just found, and verify that it is deleted or ``is_deleting``. ``params``: query parameters of the DELETE.

    A success may be the answer of a gateway: if the object still exists, the request is sent again. ``not found`` counts as deleted when a
    read does not find the object either.

    Raises StillExistsError when it still exists, and NotFoundError when it can be read but not deleted with this token.
    """

    def exists() -> bool:
        return still_exists(client, path, doing=f"check whether it is deleted (to {doing})", is_deleting=is_deleting)

    problem: CollectionError
    try:
        client.delete(path, doing=doing, params=params)
        if not exists():
            return
        client.delete(path, doing=doing, params=params)
        problem = StillExistsError(f"Cannot {doing}: the API accepted the request twice, but the object still exists")
    except NotFoundError as error:
        error.message += ", but it still exists. Check that the token may delete it"
        problem = error
    for _elapsed in clock(*RECHECK_AFTER_LOST_ANSWER):
        if not exists():
            return
    raise problem


def still_exists(client: MetalClient, path: str, *, doing: str, is_deleting: Callable[[Found], bool]) -> bool:
    """Return whether a read finds the object and it is not ``is_deleting``."""
    try:
        return not is_deleting(client.read(path, doing=doing))
    except MetalError as error:
        if is_gone(error):
            return False
        raise


def is_gone(error: MetalError) -> bool:
    """Return whether the error of a read means that the object is deleted.

    404, or 403: failed and deleted devices are moved to a project that the token may not read (known from terraform-provider-equinix and
    cluster-api-provider-packet). An invalid token gives 401.
    """
    return isinstance(error, NotFoundError) or (isinstance(error, DeniedError) and error.status == 403)


def has_tags(item: Found, params: Mapping[str, Any]) -> bool:
    """Return whether an object has all tags of the options, or all ownership tags: with them a task may change the other tags."""
    return any(set(params[name]) <= set(item.get("tags") or []) for name in ("tags", "ownership_tags") if params.get(name))


def identified_by_tags(items: Sequence[Found], tags: Sequence[str], **texts: str | None) -> list[Found]:
    """Return the items with exactly these tags, otherwise those with an equal text.

    An object with further tags is another one: it must not be taken for this one and lose its tags.
    """
    exact = [item for item in items if set(item.get("tags") or []) == set(tags)]
    return exact or [item for item in items if any(text and item.get(name) == text for name, text in texts.items())]


def fail_if_unidentified(items: Iterable[Found], identity: Mapping[str, Any], is_match: Callable[[Found], bool], title: str) -> None:
    """Raise CollectionError when the API left out identifying fields of an object that may be this one: creating would be a duplicate.

    ``identity``: the identifying fields with their values as the API lists them.
    """
    for item in items:
        unidentified = sorted(name for name in identity if name not in item)
        if unidentified and is_match({**identity, **item}):
            raise CollectionError(
                f"Cannot identify {title}: the API returned no {' and no '.join(unidentified)} for {item.get('id')}, which may be it",
                {"id": item.get("id"), "unidentified": unidentified},
            )


def limited(comparable: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """Return the desired attributes with their current values."""
    return {name: comparable.get(name) for name in desired}
