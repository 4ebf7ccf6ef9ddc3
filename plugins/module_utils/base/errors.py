# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expected failures, which a module returns as an error message in place of a traceback."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .printable import printable

LONGEST_MESSAGE = 20_000
"""Characters of an error message, which may have a sentence for each of hundreds of machines."""

AnyError = TypeVar("AnyError", bound="CollectionError")

_NAMES_REQUEST = re.compile(r"[(,] ?request \S")


class CollectionError(Exception):
    """An expected failure.

    ``message``: what failed, on which object, the server's answer, and the next step. ``details``: plain data for programs (JSON types
    only, no secrets), which a module returns as ``failure``. ``acted``: something was changed before the failure.

    A message is one line of printable text.
    """

    acted = False

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return self.message

    def add_origin(self, last_answer: str) -> None:
        """Add the request that the last answer belongs to, unless the message already names a request."""
        if last_answer and not _NAMES_REQUEST.search(self.message):
            self.message += f" (last answer: {last_answer})"

    @property
    def message(self) -> str:
        return self._message

    @message.setter
    def message(self, text: str) -> None:
        self._message = printable(text, LONGEST_MESSAGE)


class MetalError(CollectionError):
    """The API refused a request, failed, or returned a malformed answer. ``status``: the HTTP status; None without an answer."""

    def __init__(  # noqa: PLR0913 - all of it is what one answer was; passed by keyword
        self,
        message: str,
        *,
        method: str = "",
        path: str = "",
        status: int | None = None,
        errors: Sequence[str] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(
            message,
            {"method": method, "path": path, "status": status, "errors": list(errors), "request_id": request_id},
        )
        self.status = status
        self.errors = list(errors)
        self.request_id = request_id

    def mentions(self, text: str) -> bool:
        """Return whether one of the API's error messages contains ``text``, case-insensitive."""
        return any(text.lower() in error.lower() for error in self.errors)


class NotFoundError(MetalError):
    """404 by the API itself (in JSON), not by a proxy."""


class DeniedError(MetalError):
    """401 or 403: the token is invalid or has no permission."""


class ValidationError(MetalError):
    """422 or another 4xx: the API refuses the request. ``errors`` has all its reasons."""


class RateLimitedError(MetalError):
    """429 after the last retry."""


class UnreachableError(MetalError):
    """No connection, or no answer to a read within the time limit, after the last retry."""


class ServerError(MetalError):
    """5xx after the last retry."""


class UnreadableError(MetalError):
    """An answer that is not JSON in the API's form."""


class LostAnswerError(MetalError):
    """A write was sent and its effect is unknown: the connection was lost, the API failed, or its answer could not be read.

    ``late``: it may still take effect, since neither the API nor a gateway answered in time.
    """

    late = False


class NotYetError(CollectionError):
    """The request is not possible yet, and will be without any action. ``waiting``: what it waits for, one text each."""

    def __init__(self, message: str, waiting: Sequence[str], details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, {**(details or {}), "waiting": list(waiting)})
        self.waiting = list(waiting)


class StillExistsError(CollectionError):
    """A deletion was accepted, and the object still exists."""


class ReadOnlyError(MetalError):
    """A write in check mode. It was not sent: this is a defect of the collection, never of the user's input."""


class LockedError(CollectionError):
    """Another run holds the cluster lock. ``details`` has that lock as ``lock``."""


class PausedError(Exception):
    """A create was not carried out, and the pause before its next try is over: whether it is still needed has to be read again.

    ``error``: what to raise when there is no next try. ``retries``: how many there may be. ``counts``: whether this was a failed try.
    """

    def __init__(self, error: CollectionError, *, retries: int, counts: bool = True) -> None:
        super().__init__(error.message)
        self.error = error
        self.retries = retries
        self.counts = counts


class LockNeededError(Exception):
    """A write without a cluster lock that was held before the module's first read. The module acquires the lock and starts again.

    ``lost``: why the lock is not held any more; empty if it was never held.
    """

    def __init__(self, lost: str = "") -> None:
        super().__init__(lost or "the cluster lock is not held")
        self.lost = lost


class PlayEndedError(Exception):
    """The module's playbook has ended: no more requests are sent, and no process reads the result."""


class DeviceFailedError(CollectionError):
    """A device will never reach the desired state: its provisioning has failed. ``gone``: the API has already deleted it."""

    gone = False


class ClusterError(CollectionError):
    """The cluster's API refused a request, or returned a malformed answer."""


class ClusterUnreachableError(ClusterError):
    """No address of the cluster's API returned a usable answer. Waits retry this, since it is normal while a cluster starts."""


class ClusterRefusedError(ClusterError):
    """The cluster's API answered, with an error about the request.

    ``status`` is the HTTP status, ``answer`` the server's own message, ``causes`` what it gives as causes, each a reason and a message.
    """

    def __init__(self, message: str, status: int, answer: str = "", causes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message, {"status": status})
        self.status = status
        self.answer = answer
        self.causes = tuple(causes)


class ClusterConflictError(ClusterRefusedError):
    """409: the object has changed since it was read."""


def together(heading: str, problems: list[str]) -> str:
    """Return one message for several problems, so that a user can fix all at once; a single problem has no number."""
    if len(problems) == 1:
        return f"{heading}: {problems[0]}"
    return f"{heading}, {len(problems)} problems: " + "; ".join(f"({number}) {problem}" for number, problem in enumerate(problems, 1))
