# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one lifecycle of all modules that speak the Metal API, and the one place that leaves them.

A resource says what it is (``Resource`` in ``_resource``); :class:`MetalModule` finds, compares, predicts, refuses, acts, waits and
reports.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from ansible.module_utils.basic import AnsibleModule, env_fallback, missing_required_lib

from ansible_collections.equinix_metal.openshift.plugins.module_utils import _metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils._diff import differences, digest, shown
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_client import MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import (
    Found,
    Resource,
    create_once,
    refuse_fixed,
    update_once,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._wait import StillWaiting, Waiter

METAL_OPTIONS = Options(
    {
        "metal_api_url": {"type": "str", "fallback": (env_fallback, ["METAL_API_URL"])},
        "metal_api_token": {
            "type": "str",
            "no_log": True,
            "aliases": ["auth_token"],
            "fallback": (env_fallback, ["METAL_AUTH_TOKEN", "METAL_API_TOKEN", "PACKET_API_TOKEN"]),
        },
        "metal_api_timeout": {"type": "float", "default": 30},
        "metal_api_retries": {"type": "int", "default": 8},
        "project_id": {"type": "str", "fallback": (env_fallback, ["METAL_PROJECT_ID"])},
    }
)
"""Documented in the fragments ``_metal`` and ``_metal.project``."""

SHOWN_AS_DIGEST = ("userdata", "customdata")
"""Options that are never shown, also not by -vvv, which prints what a module was called with."""


class _QuietModule(AnsibleModule):  # type: ignore[misc]  # ansible-core has no type information
    """AnsibleModule that does not write its options to the system's log.

    The log is made of ``str()`` of nested options, in which a userdata of several lines is no longer the text that ``no_log`` looks for.
    """

    def log(self, msg: str, log_args: Mapping[str, Any] | None = None) -> None:
        super().log("Invoked" if log_args else msg)


class MetalModule:
    """A module that speaks the Metal API; used as ``with MetalModule(OPTIONS) as module``.

    Leaving the block ends the process: with the result, with an expected error (CollectionError) as a message and ``failure``,
    or with the traceback of a mistake in the collection. ``reading``: the module never writes. ``in_project``: it needs a project unless
    the option ``id`` is given.
    """

    def __init__(self, options: Options, *, reading: bool = False, in_project: bool = False) -> None:
        self._ansible = _QuietModule(supports_check_mode=True, **METAL_OPTIONS.merge(options).arguments())
        self.params: dict[str, Any] = dict(self._ansible.params)
        self.check_mode = bool(self._ansible.check_mode)
        self.result: dict[str, Any] = {"changed": False}
        self._reading = reading
        self._in_project = in_project
        self._client: MetalClient | None = None
        self._waiter: Waiter | None = None

    def __enter__(self) -> MetalModule:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Literal[False]:
        result = {**self.result, "invocation": {"module_args": _without_secrets(self.params)}}
        if error is None:
            self._ansible.exit_json(**result)
        if isinstance(error, StillWaiting):
            self._ansible.exit_json(waiting=error.waiting, **result)
        if isinstance(error, CollectionError):
            self._ansible.fail_json(msg=error.message, failure={"type": type(error).__name__, **error.details}, **result)
        return False

    @property
    def client(self) -> MetalClient:
        """The API by this module's options, read-only in check mode. Raises CollectionError telling all options that are missing."""
        if self._client is None:
            if _metal_client.LIBRARY_ERROR is not None:
                self._ansible.fail_json(msg=missing_required_lib("packet-python"), exception=_metal_client.LIBRARY_ERROR)
            problems = []
            if not self.params["metal_api_url"]:
                problems.append("the address of the API is not given: set metal_api_url or the environment variable METAL_API_URL")
            if not self.params["metal_api_token"]:
                problems.append("no token is given: set metal_api_token or the environment variable METAL_AUTH_TOKEN")
            if self._in_project and not self.params["project_id"] and not self.params.get("id"):
                problems.append("no project is given: set project_id or the environment variable METAL_PROJECT_ID")
            if problems:
                raise CollectionError(together("Cannot reach the Metal API", problems))
            self._client = MetalClient(
                url=self.params["metal_api_url"],
                token=self.params["metal_api_token"],
                timeout=self.params["metal_api_timeout"],
                retries=self.params["metal_api_retries"],
                read_only=self.check_mode or self._reading,
            )
        return self._client

    @property
    def waiter(self) -> Waiter:
        """The time this call may wait, by the options of the fragment ``_wait``."""
        if self._waiter is None:
            self._waiter = Waiter(self.params["wait_timeout"], self.params["wait_interval"], self.params["progress_interval"])
        return self._waiter

    def warn(self, text: str) -> None:
        """Show a warning to whoever runs the playbook."""
        self._ansible.warn(text)

    def converge(self, resource: Resource) -> None:
        """Bring the resource to the state that is wanted."""
        if self.params["state"] == "absent":
            self._remove(resource)
        else:
            self._provide(resource)

    # state=present

    def _provide(self, resource: Resource) -> None:
        found = resource.find()
        wanted = resource.wanted()
        created = found is None
        if found is None:
            resource.check_creation()
            if self.check_mode:
                self._report(resource, resource.predict(None, wanted), {}, wanted)
                return
            before: dict[str, Any] = {}
            found = create_once(resource.create, resource.find)
            self._report(resource, found, before, wanted)
        else:
            before = _limited(resource.view(found), wanted)
            resource.missing(found)  # says at once when it can never be as wanted
            self._report(resource, found, before, before)

        changes = differences(resource.view(found), wanted)
        if created:
            changes = {name: value for name, value in changes.items() if name in resource.after_creation}
        refuse_fixed(resource, resource.view(found), changes)
        if changes and self.check_mode:
            self._report(resource, resource.predict(found, changes), before, {**before, **changes})
            return
        if changes:
            found = self._pass(resource, found, changes)
            found = update_once(resource, found, changes)
            self._report(resource, found, before, {**before, **changes})
        if self.check_mode:
            return
        if self.params.get("wait", False):
            found = self._wait(resource, found)
        # What really is, not what was meant.
        self._report(resource, found, before, _limited(resource.view(found), wanted))

    def _pass(self, resource: Resource, found: Found, changes: Mapping[str, Any]) -> Found:
        """Let pass what stands in the way of these changes."""
        texts = resource.hindrances(found, changes)
        if texts and not self.params.get("wait", False):
            raise CollectionError(
                f"Could not change {', '.join(sorted(changes))} of {resource.title} now: {'; '.join(texts)}. Use wait=true"
            )
        return self._look(resource, found, lambda current: resource.hindrances(current, changes), f"Changing {resource.title}")

    def _wait(self, resource: Resource, found: Found) -> Found:
        return self._look(resource, found, resource.missing, f"What was asked for of {resource.title}")

    def _look(self, resource: Resource, found: Found, missing: Callable[[Found], list[str]], what: str) -> Found:
        """Wait until nothing is missing. The first look is at what is known, so that a quiet run makes no call for it."""
        current = found
        first = True

        def look() -> list[str]:
            nonlocal current, first
            if not first:
                current = resource.refresh(current)
                self.result[resource.name] = resource.facts(current)
            first = False
            return missing(current)

        self.waiter.until_nothing_missing(look, what)
        return current

    # state=absent

    def _remove(self, resource: Resource) -> None:
        found = resource.find()
        if found is None:
            self.result["diff"] = shown({}, {}, resource.title)
            return
        gone = found
        wait = bool(self.params.get("wait", False))
        before = {name: value for name, value in resource.view(found).items() if value not in (None, "", [], {})}
        if resource.leaving(found):
            self.result["diff"] = shown({}, {}, resource.title)
        else:
            resource.check_removal(found)
            if not self.check_mode:
                if wait:
                    self.waiter.until_nothing_missing(lambda: resource.delete(gone), f"Deleting {resource.title}")
                elif texts := resource.delete(found):
                    raise CollectionError(f"Could not delete {resource.title} now: {'; '.join(texts)}. Use wait=true")
            self.result.update(changed=True, diff=shown(before, {}, resource.title))
        if wait and not self.check_mode:
            self.waiter.until_nothing_missing(lambda: resource.remaining(gone), f"The end of {resource.title}")

    def _report(self, resource: Resource, found: Found, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Write down what is so by now: also an error later on returns it."""
        self.result["diff"] = shown(before, after, resource.title)
        self.result["changed"] = self.result["changed"] or dict(before) != dict(after)
        self.result[resource.name] = resource.facts(found)


def _limited(view: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: view.get(name) for name in wanted}


def _without_secrets(value: Any, name: str = "") -> Any:
    """The options as they may be shown; ``no_log`` takes care of the token."""
    if name in SHOWN_AS_DIGEST and value is not None:
        return digest(value if isinstance(value, str) else repr(value))
    if isinstance(value, Mapping):
        return {key: _without_secrets(item, key) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_secrets(item) for item in value]
    return value
