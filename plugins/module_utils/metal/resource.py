# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a resource says of itself, and the steps of its life that every resource takes in the same way.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    DeniedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    StillThereError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import clock

LOOKS_AFTER_LOST_CREATE = (6.0, 2.0)
"""For so many seconds, so often: what the service shows may be behind what was made or deleted a moment ago (its known behaviour)."""

Found = Mapping[str, Any]
"""One object as the API gives it."""


class Resource(Protocol):
    """What one module manages. ``view`` and ``wanted`` speak of the same attributes by the names of the options, in comparable form,
    and hold no secret: their difference is what will be changed, and what ``--diff`` shows.
    """

    result_key: str
    """Key of the resource in the module's result."""
    immutable: Mapping[str, str]
    """Attributes that cannot be changed, each with the way out."""
    after_creation: frozenset[str]
    """Attributes that can only be set on what exists already."""

    @property
    def title(self) -> str:
        """Kind and name, for messages and the head of the diff."""

    def find(self) -> Found | None:
        """The object these options mean, or nothing. Raises CollectionError when that cannot be said, or when an id is unknown."""

    def desired(self) -> dict[str, Any]:
        """The attributes that were given."""

    def comparable(self, found: Found) -> dict[str, Any]:
        """The attributes as they are."""

    def check_creation(self) -> None:
        """Raise CollectionError when it cannot be created from these options: everything that is missing, at once."""

    def create(self) -> Found:
        """Order it."""

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        """What has to pass before these changes can be made."""

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        """Make the changes; returns the object as it is then."""

    def refresh(self, found: Found) -> Found:
        """Look at it again. Raises MetalError when it is gone."""

    def pending(self, found: Found) -> list[str]:
        """What is missing until it is as wanted. Raises CollectionError when it will never be."""

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        """The object as it will be, as far as it can be known."""

    def result(self, found: Found) -> dict[str, Any]:
        """What the module returns of it; no secret."""

    def is_deleting(self, found: Found) -> bool:
        """Whether it is being deleted already."""

    def check_deletion(self, found: Found) -> None:
        """Raise CollectionError when the service would refuse to delete it."""

    def delete(self, found: Found) -> list[str]:
        """Ask for its deletion; returns what has to pass before it can be asked for, nothing when it is gone or being deleted by then."""

    def remaining(self, found: Found) -> list[str]:
        """What is still there of it."""


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

    Raises StillThereError when it stays, and NotFoundError when it stays and is not found, so that a token which may not delete it is not
    told that it is gone.
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


def refuse_immutable(resource: Resource, current: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise CollectionError when something is to be changed that cannot be: all of it at once, each with the way out."""
    problems = [
        f"{name} is {current.get(name)!r}, wanted is {changes[name]!r}; {resource.immutable[name]}"
        for name in sorted(changes)
        if name in resource.immutable
    ]
    if problems:
        raise CollectionError(
            together(f"Cannot change {resource.title}", problems),
            {
                "fixed": {
                    name: {"current": current.get(name), "wanted": changes[name]} for name in sorted(changes) if name in resource.immutable
                }
            },
        )


def ignored(resource: Resource, current: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """The warning for differences that are left as they are by choice."""
    told = [f"{name} is {current.get(name)!r}, wanted is {changes[name]!r}" for name in sorted(changes)]
    return f"{resource.title} stays as it is (on_drift=ignore): {'; '.join(told)}"


def meant_by_tags(items: Sequence[Found], tags: Sequence[str], **texts: str | None) -> list[Found]:
    """Of objects with all these tags those that are meant by them: with no others, else those of which a text that was given is so.

    Who gives a tag to one object and this and another tag to the next has two; one is not to take the other's place, and its tags.
    """
    exact = [item for item in items if set(item.get("tags") or []) == set(tags)]
    return exact or [item for item in items if any(text and item.get(name) == text for name, text in texts.items())]


def refuse_to_guess(items: Iterable[Found], marks: Mapping[str, Any], is_meant: Callable[[Found], bool], title: str) -> None:
    """Raise CollectionError when one of these may be what is meant, but the service leaves out what it would be known by.

    ``marks``: what it is known by, as it would be told. Ordering another one would be a guess.
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
