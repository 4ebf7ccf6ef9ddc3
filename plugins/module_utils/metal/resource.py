# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of resources, and the steps of their life that all of them take in the same way.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    DeniedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    StillThereError,
    ValidationError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import clock

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.attribute import Attribute

LOOKS_AFTER_LOST_CREATE = (6.0, 2.0)
"""For so many seconds, so often: what the service shows may be behind what was made or deleted a moment ago (its known behaviour)."""

Found = Mapping[str, Any]
"""One object as the API gives it."""


class Resource:
    """What one module manages: one object of the API, found or created by the module's options.

    A resource declares its ``attributes`` and says how it is found (``find_by_options``); the rest has defaults. ``desired`` and
    ``comparable`` have the same names, those of the options, in one form, and hold no secret: their difference is what will be changed,
    and what ``--diff`` shows. ``params`` are the module's options.
    """

    result_key: ClassVar[str]
    """Key of the resource in the module's result."""
    kind: ClassVar[str]
    """What it is called in messages, such as ``VLAN``."""
    path: ClassVar[str]
    """Path of one object before its id, and of a project's list after the project."""
    created_by: ClassVar[str] = "its name"
    """What an object is created by where no id is given."""
    attributes: ClassVar[Sequence[Attribute]] = ()
    returned: ClassVar[Sequence[str]] = ("id", "created_at")
    """Fields of the object that the module returns as they are, beside the attributes."""
    included: ClassVar[Mapping[str, str] | None] = None
    """Query parameters of reads and lists: which referred objects the answer has in full."""
    users_included: ClassVar[str] = ""
    """What a read has to include to list by name what uses an object and blocks its deletion; empty where the service lists no users."""
    update_method: ClassVar[str] = "PUT"
    new_fields: ClassVar[Mapping[str, Any]] = {}
    """Fields of a new object beside its attributes, for the prediction of a creation."""
    after_creation: ClassVar[frozenset[str]] = frozenset()
    """Attributes that can only be set on what exists already."""

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self.client = client
        self.params = params
        self.immutable: Mapping[str, str] = {each.name: each.immutable for each in self.attributes if each.immutable}
        """Attributes that cannot be changed, each with the reason and what to do instead."""

    @property
    def title(self) -> str:
        """Kind and name, for messages and the head of the diff."""
        return f"{self.kind} {self.params['id'] or self.params['name']}"

    @property
    def list_path(self) -> str:
        """The list the object is in, and where it is created."""
        return f"projects/{self.params['project_id']}/{self.path}"

    # What it is like.

    def desired(self) -> dict[str, Any]:
        """Return the attributes that were given, in comparable form."""
        given = {each.name: each.normal(self.params[each.name]) for each in self._given_attributes() if each.compared}
        return {name: value for name, value in given.items() if value is not None}

    def _given_attributes(self) -> list[Attribute]:
        return [each for each in self.attributes if self.params[each.name] is not None]

    def comparable(self, current: Found) -> dict[str, Any]:
        """Return the attributes as they are, in comparable form."""
        return {each.name: each.normal(each.value(current)) for each in self.attributes if each.compared}

    def set_attributes(self, current: Found) -> dict[str, Any]:
        """Return the attributes that have a value, in comparable form: what the diff of a deletion shows."""
        return {name: value for name, value in self.comparable(current).items() if value not in (None, "", [], {})}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        """Return what the module returns of an object; no secret."""
        attributes = {each.name: each.value(current) for each in cls.attributes if each.compared and each.returned}
        return {**{name: current.get(name) for name in cls.returned}, **attributes}

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        """Return the object as it will be, as far as that can be known; None: one that is to be created."""
        predicted = dict(self.new_fields if current is None else current)
        for each in self.attributes:
            if each.name in changes:
                predicted |= each.fields(each.sent(self.params[each.name]))
        return predicted

    # Reading.

    def find(self) -> Found | None:
        """Return the object that the options name, None if there is none. Raises CollectionError for an unknown id, or several objects."""
        return self.find_by_id() if self.params.get("id") else self.find_by_options()

    def find_by_id(self) -> Found | None:
        """Return the object with the id that is given; None if it is to be absent and is."""
        identity = self.params["id"]
        try:
            return self.read(identity, f"look for {self.title}")
        except NotFoundError as error:
            if self.params["state"] == "absent":
                return None
            message = f"There is no {self.kind} with the id {identity}. One is created by {self.created_by}: leave id out for that"
            raise CollectionError(message, error.details) from error

    def find_by_options(self) -> Found | None:
        """Return the object that the options other than id name."""
        raise NotImplementedError

    def read(self, identity: str, doing: str) -> Found:
        """Return the object with this id. Raises NotFoundError."""
        return self.client.read(f"{self.path}/{identity}", params=self.included, doing=doing)

    def refresh(self, current: Found) -> Found:
        """Return the object as it is now. Raises MetalError when it is gone."""
        return self.read(str(current["id"]), f"look at {self.title}")

    # state=present

    def check_creation(self) -> None:
        """Raise CollectionError when it cannot be created from these options: with all reasons at once."""
        if problems := self.creation_problems():
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def creation_problems(self) -> list[str]:
        """Return why it cannot be created from these options."""
        needed = [each.name for each in self.attributes if each.required]
        return [f"to create it, {name} must be given" for name in needed if self.params[name] in (None, "")]

    def body(self, names: Container[str] | None = None) -> dict[str, Any]:
        """Return the body of a request with these attributes, or all, as far as they were given."""
        return {each.name: each.sent(self.params[each.name]) for each in self._given_attributes() if names is None or each.name in names}

    def create(self) -> Found:
        """Order it."""
        return self.client.write_one("POST", self.list_path, self.body(), doing=f"create {self.title}", again=False)

    def note_order(self, created: Found) -> Found:
        """Note that this call ordered ``created``, and return the object to go on with."""
        return created

    def check_replacement(self) -> None:
        """Raise CollectionError when another object cannot be ordered in its place."""

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        """Return what has to end before these changes can be made."""
        return []

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """Make the changes; returns the object as it is then."""
        doing = f"change {', '.join(sorted(changes))} of {self.title}"
        return self.client.write_one(self.update_method, f"{self.path}/{current['id']}", self.body(changes), doing=doing)

    def pending(self, current: Found) -> list[str]:
        """Return what has to happen until it is as desired. Raises CollectionError when that will never be."""
        return []

    def memory(self) -> dict[str, Any]:
        """Return what the next call that waits for it has to know; no secret."""
        return {}

    def notes(self) -> dict[str, Any]:
        """Return what the result has besides the object, and show warnings that are due at the end."""
        return {}

    # state=absent

    def is_deleting(self, current: Found) -> bool:
        """Return whether it is being deleted already."""
        return False

    def check_deletion(self, current: Found) -> None:
        """Raise CollectionError when the service would refuse to delete it."""

    def delete(self, current: Found) -> list[str]:
        """Request its deletion; returns what has to end before, nothing when it is gone or being deleted."""
        try:
            delete_once(self.client, f"{self.path}/{current['id']}", doing=f"delete {self.title}", is_deleting=self.is_deleting)
        except ValidationError:
            # Something may use it by now: then the error names it.
            if self.users_included:
                self.check_deletion(self.refresh(current))
            raise
        return []

    def with_users(self, current: Found) -> Found:
        """Return the object with the names of its users: a list has their ids only, which will do where names cannot be read."""
        doing, query = f"see who uses {self.title}", {"include": self.users_included}
        try:
            return self.client.read(f"{self.path}/{current['id']}", params=query, doing=doing)
        except MetalError:
            return current

    def remaining(self, current: Found) -> list[str]:
        """Return what still exists of it."""
        try:
            current = self.client.read(f"{self.path}/{current['id']}", doing=f"see whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return []
            raise
        return [f"{self.title} is {current.get('state')}" if self.is_deleting(current) else f"{self.title} is still there"]


def only_one(found: Sequence[Found], several: str, by: str) -> Found | None:
    """Return the only object of a list, if any. Raises CollectionError for more: ``several`` says what they are, ``by`` what to give."""
    if len(found) > 1:
        ids = ", ".join(sorted(str(each.get("id")) for each in found))
        raise CollectionError(f"{len(found)} {several}: {ids}. Say which one is meant by {by}")
    return found[0] if found else None


def matches(result: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Return whether filters let this result through: one of a list, all of the tags, the same value; None lets all through."""
    return all(_matches(result.get(name), name, value) for name, value in filters.items())


def _matches(value: Any, name: str, wanted: Any) -> bool:
    if wanted is None:
        return True
    if name == "tags":
        return set(wanted) <= set(value or [])
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return value in wanted
    return bool(value == (wanted.lower() if name == "metro" else wanted))


class Created(NamedTuple):
    """What a create came to. ``ordered``: by this call; not, when another run had created it by the time of a second look."""

    found: Found
    ordered: bool = True


def create_once(
    create: Callable[[], Found],
    find: Callable[[], Found | None],
    *,
    look_first: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    attempts: int = 3,
) -> Created:
    """Create, and look whether it is there before every further try, so that nothing is ever ordered twice.

    ``find`` looks by our own mark (hostname with ownership tags, or what else the options name the object by). It found nothing just before
    the first try (``look_first``: or some time ago, so that it has to look again). After a try whose answer was lost, what it finds is what
    was ordered; after a pause it may be what another run has ordered meanwhile. The mark is what makes the object ours at every later run
    too: a mark made for one create only would have to be written into something the user sees and owns (tags, customdata), and would say
    no more.

    An order that may still be carried out (there was no answer in time) is looked for and never repeated: the look may come too early.
    """
    lost = paused = 0
    while True:
        if look_first and (found := find()) is not None:
            return Created(found, ordered=False)
        try:
            return Created(create())
        except PausedError as pause:
            paused += pause.counts
            if paused > pause.retries:
                raise pause.error from pause
            look_first = True
        except LostAnswerError as error:
            lost += 1
            for _elapsed in clock(*LOOKS_AFTER_LOST_CREATE, sleep=sleep):
                found = find()
                if found is not None:
                    return Created(found)
            if error.late:
                error.message += ", and it may still be done, so it is not ordered again. Run again to go on with what has come of it"
            if error.late or lost == attempts:
                raise
            look_first = False


def update_once(resource: Resource, found: Found, changes: Mapping[str, Any]) -> Found:
    """Update, and when the answer was lost look what is left to do before trying again."""
    try:
        return resource.update(found, changes)
    except LostAnswerError:
        found = resource.refresh(found)
        left = differences(resource.comparable(found), changes)
        return resource.update(found, left) if left else found


class Deleting(Protocol):
    """What of a client it takes to delete something."""

    def delete(self, path: str, *, doing: str, missing_ok: bool = True, params: Mapping[str, Any] | None = None) -> bool: ...

    def read(self, path: str, *, doing: str) -> Found: ...


def delete_once(
    client: Deleting,
    path: str,
    *,
    doing: str,
    is_deleting: Callable[[Found], bool] = lambda _found: False,
    params: Mapping[str, Any] | None = None,
) -> None:
    """Delete what was found a moment ago, and see that it is gone or ``is_deleting``. ``params``: query parameters of the DELETE.

    An answer that says yes may have been somebody else's, such as a gateway's: what is there all the same is asked for a second time.
    ``not found`` is believed when a look finds nothing either: it went meanwhile.

    Raises StillThereError when it stays, and NotFoundError when it stays and is not found: a token which may not delete it gets an error.
    """

    def stays() -> bool:
        return still_there(client, path, doing=f"see whether it is gone (to {doing})", is_deleting=is_deleting)

    problem: CollectionError
    try:
        client.delete(path, doing=doing, missing_ok=False, params=params)
        if not stays():
            return
        client.delete(path, doing=doing, missing_ok=False, params=params)
        problem = StillThereError(f"Could not {doing}: the service accepted it 2 times, and it is still there")
    except NotFoundError as error:
        error.message += ", and it is still there. May the token delete it?"
        problem = error
    for _elapsed in clock(*LOOKS_AFTER_LOST_CREATE):
        if not stays():
            return
    raise problem


def still_there(client: Deleting, path: str, *, doing: str, is_deleting: Callable[[Found], bool]) -> bool:
    """Whether it is there, looked at now, and not ``is_deleting``."""
    try:
        return not is_deleting(client.read(path, doing=doing))
    except MetalError as error:
        if is_gone(error):
            return False
        raise


def is_gone(error: MetalError) -> bool:
    """Whether a read of one object says that it is gone.

    404, or 403: the service moves failed and deleted devices to a project of its own, where the caller may not see them (known from
    terraform-provider-equinix and cluster-api-provider-packet, which both read it so). A token that is wrong altogether gives 401.
    """
    return isinstance(error, NotFoundError) or (isinstance(error, DeniedError) and error.status == 403)


def settle_drift(
    resource: Resource, current: Found, changes: Mapping[str, Any], on_drift: str, warn: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the changes that are left to make, and the drift for which the object is to be replaced.

    Drift is what differs and cannot be changed. ``on_drift`` is ``ignore``, ``replace`` or ``fail``. Raises CollectionError for ``fail``,
    and when the object cannot be deleted or created anew; nothing was changed then.
    """
    drift = {name: changes[name] for name in sorted(changes) if name in resource.immutable}
    if not drift:
        return dict(changes), {}
    if on_drift == "replace":
        resource.check_deletion(current)
        resource.check_creation()
        return {}, drift
    comparable = resource.comparable(current)
    texts = {name: f"{name} is {comparable.get(name)!r}, wanted is {value!r}" for name, value in drift.items()}
    if on_drift == "ignore":
        warn(f"{resource.title} stays as it is (on_drift=ignore): {'; '.join(texts.values())}")
        return {name: value for name, value in changes.items() if name not in drift}, {}
    raise CollectionError(
        together(f"Cannot change {resource.title}", [f"{text}; {resource.immutable[name]}" for name, text in texts.items()]),
        {"fixed": {name: {"current": comparable.get(name), "wanted": value} for name, value in drift.items()}},
    )


def changes_after_creation(resource: Resource, created: Found, desired: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes to make to what was just created: those that a create cannot carry."""
    left = differences(resource.comparable(created), desired)
    return {name: value for name, value in left.items() if name in resource.after_creation}


def meant_by_tags(items: Sequence[Found], tags: Sequence[str], **texts: str | None) -> list[Found]:
    """Of objects with all these tags those that are meant by them: with no others, else those of which a text that was given is so.

    Who gives a tag to one object and this and another tag to the next has two; one is not to take the other's place, and its tags.
    """
    exact = [item for item in items if set(item.get("tags") or []) == set(tags)]
    return exact or [item for item in items if any(text and item.get(name) == text for name, text in texts.items())]


def refuse_to_guess(items: Iterable[Found], marks: Mapping[str, Any], is_meant: Callable[[Found], bool], title: str) -> None:
    """Raise CollectionError when one of these may be what is meant, but the service leaves out what it would be known by.

    ``marks``: the attributes it is known by, as the service would list them. Ordering another one would be a guess.
    """
    for item in items:
        untold = sorted(name for name in marks if name not in item)
        if untold and is_meant({**marks, **item}):
            raise CollectionError(
                f"Could not look for {title}: the service tells no {' and no '.join(untold)} of {item.get('id')}, which may be it",
                {"id": item.get("id"), "untold": untold},
            )


def limited(view: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a view that speaks of what was given."""
    return {name: view.get(name) for name in wanted}
