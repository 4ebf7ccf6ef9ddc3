# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong and is expected to: everything a module tells its user instead of showing a traceback.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable

LONGEST_MESSAGE = 20_000
"""Characters of an error: one of hundreds of machines has a sentence for each."""


class CollectionError(Exception):
    """An expected failure.

    ``message`` says what was attempted on what, what the other side answered and what to do next. ``details`` is plain data
    for programs (JSON types only, no secrets); a module returns it as ``failure``. ``acted``: something was changed before it came.

    A message is one line, whatever is in the names and texts that it quotes.
    """

    acted = False

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return self.message

    @property
    def message(self) -> str:
        return self._message

    @message.setter
    def message(self, text: str) -> None:
        self._message = printable(text, LONGEST_MESSAGE)


class MetalError(CollectionError):
    """The API refused, failed or could not be understood. ``status`` is the HTTP status, or nothing when there was no answer."""

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
        self.method = method
        self.path = path
        self.status = status
        self.errors = list(errors)
        self.request_id = request_id

    def says(self, text: str) -> bool:
        """Whether one of the API's own sentences contains ``text``, whatever its case."""
        return any(text.lower() in error.lower() for error in self.errors)


class NotFoundError(MetalError):
    """404, said by the API itself (in JSON), not by something on the way."""


class DeniedError(MetalError):
    """401 or 403: the token is wrong, or may not do this or see this."""


class ValidationError(MetalError):
    """422 or another 4xx: the API will not do this. ``errors`` has all its reasons."""


class RateLimitedError(MetalError):
    """429 to the last try."""


class UnreachableError(MetalError):
    """No connection, or no answer to a read within the time limit, to the last try."""


class ServerError(MetalError):
    """5xx to the last try."""


class UnreadableError(MetalError):
    """An answer that is not the JSON the API gives."""


class LostAnswerError(MetalError):
    """A write was sent and its effect is unknown: the connection was lost, the API failed, or its answer could not be read.

    ``late``: it may still happen, since nobody said that it is over: there was no answer in time, from the API or behind a gateway.
    """

    late = False


class NotYetError(CollectionError):
    """What was asked for cannot be done now, and will be possible by itself. ``waiting``: what has to pass, one text each."""

    def __init__(self, message: str, waiting: Sequence[str], details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, {**(details or {}), "waiting": list(waiting)})
        self.waiting = list(waiting)


class StillExistsError(CollectionError):
    """A deletion was accepted, and what was to be deleted is there all the same."""


class ReadOnlyError(MetalError):
    """A write in check mode. It was not sent: this is a mistake in the collection, never in what the user asked for."""


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
    """A write was to be sent without the cluster lock having been held since before the module read anything: acquire it, and begin anew.

    ``lost``: why the lock is not held any more; empty when it never was.
    """

    def __init__(self, lost: str = "") -> None:
        super().__init__(lost or "the cluster lock is not held")
        self.lost = lost


class PlayEndedError(Exception):
    """The playbook that this module belongs to does not run any more: nothing more is sent, and nobody reads the result."""


class DeviceFailedError(CollectionError):
    """A device will never be as wanted: its provisioning has failed. ``gone``: the API has taken it back already."""

    gone = False


class ClusterError(CollectionError):
    """The cluster's API refused, or could not be understood."""


class ClusterUnreachableError(ClusterError):
    """No address of the cluster's API gave an answer that can be used: while a cluster starts, something to wait for."""


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
    """409: the object is not any more what was read before."""


def together(heading: str, problems: list[str]) -> str:
    """One message for several problems, so that a user mends them in one go: the heading alone with a single problem."""
    if len(problems) == 1:
        return f"{heading}: {problems[0]}"
    return f"{heading}, {len(problems)} problems: " + "; ".join(f"({number}) {problem}" for number, problem in enumerate(problems, 1))
