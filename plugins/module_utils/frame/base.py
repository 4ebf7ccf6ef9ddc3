# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module of the collection has: its ``AnsibleModule``, and the one way out of it.

No result shows a secret, whatever the types of the parameters are, every id is one, and no message is more than one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NoReturn, Self

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.parameters import remove_values

from ..base.argspec import Options
from ..base.errors import CollectionError, PlayEndedError, together
from ..base.live_output import append
from ..base.printable import printable
from ..base.secret_options import secret_values, shown, unusable

LONGEST_MESSAGE = 10_000
"""Characters: room for what failed of hundreds of machines."""
SHOWN = 8
"""Lines of one progress report; the others are counted."""
LONGEST_LINE = 600


class BaseModule(AnsibleModule):  # type: ignore[misc]  # ansible-core has no type information
    """An ``AnsibleModule`` with the options and rules of ``Options``. ``given``: names of the parameters that the task itself has."""

    given: frozenset[str]

    def __init__(self, options: Options) -> None:
        super().__init__(supports_check_mode=True, **options.arguments())
        if problems := [*options.canonical(self.params), *options.out_of_range(self.params)]:
            self.fail_json(msg=together("Cannot use the options", problems))

    def _load_params(self) -> None:
        super()._load_params()
        # Before the environment and defaults fill in what is not.
        self.given = frozenset(name for name, value in self.params.items() if value is not None)
        if problems := unusable(self.argument_spec, self.params):
            # No value is in this message, and none is registered yet that would be taken out of it.
            self.fail_json(msg=f"{together('Cannot use the options', problems)}. Their values are not shown, since they may be secrets")
        self.no_log_values |= secret_values(self.argument_spec, self.params)

    def log(self, msg: str, log_args: Mapping[str, Any] | None = None) -> None:
        """Write to the system's log, without the parameters.

        ansible-core writes ``str()`` of nested ones, in which a userdata of several lines no longer is the text that ``no_log`` replaces.
        """
        super().log("Invoked" if log_args else msg)

    def warn(self, warning: str, **more: Any) -> None:
        super().warn(printable(warning, LONGEST_MESSAGE), **more)

    def display(self, entry: Mapping[str, Any]) -> bool:
        """Have the action plugin display a notice or progress now (``base.live_output``), without secrets; return whether it can."""
        return append(remove_values(entry, self.no_log_values))

    def exit_json(self, **result: Any) -> NoReturn:
        super().exit_json(**self._to_show(result))
        raise AssertionError("exit_json ends the process")

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        # Names, tags and what the API answered stand in it: Ansible prints it as it is.
        super().fail_json(printable(msg, LONGEST_MESSAGE), **self._to_show({"changed": False, **result}))
        raise AssertionError("fail_json ends the process")

    def _to_show(self, result: Mapping[str, Any]) -> dict[str, Any]:
        waiting = {"waiting": [printable(text, LONGEST_MESSAGE) for text in result["waiting"]]} if "waiting" in result else {}
        return {**result, **waiting, "invocation": {"module_args": shown(self.argument_spec, self.params)}}


class ModuleFrame:
    """A module as a context manager: what it found and did so far is in ``result``, and the end of the block ends the process.

    It ends with the result; with ``msg`` and ``failure`` for an expected error (CollectionError); or with the
    traceback of a mistake in the collection. ``shorten`` returns what of the result is returned when the module fails: Ansible prints all
    of that, so it is what helps to understand the failure.
    """

    def __init__(self, options: Options, *, shorten: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        self.module = BaseModule(options)
        self.params: dict[str, Any] = dict(self.module.params)
        self.check_mode = bool(self.module.check_mode)
        self.result: dict[str, Any] = {"changed": False}
        self.stages: Callable[[], Mapping[str, str]] = dict
        """Returns the stage of each thing that is waited for, by name; of most modules nothing."""
        self._shorten = shorten
        self._reported: tuple[list[str], Mapping[str, str]] = ([], {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Literal[False]:
        self.end(error)
        self.report_progress([])
        if error is None:
            self.module.exit_json(**self.result)
        if isinstance(error, (CollectionError, PlayEndedError)):
            details = error.details if isinstance(error, CollectionError) else {}
            self.module.fail_json(msg=str(error), failure={"type": type(error).__name__, **details}, **self._shorten(self.result))
        return False

    def report_progress(self, pending: Sequence[str]) -> None:
        """Have what is pending and the stages displayed, if they have changed (option ``progress_interval``)."""
        if not self.params.get("progress_interval") or not self.params["wait"] or self.check_mode:
            return
        before = self._reported
        lines = [printable(text, LONGEST_LINE) for text in pending[:SHOWN]]
        if len(pending) > SHOWN:
            lines.append(f"and {len(pending) - SHOWN} more")
        self._reported = (lines, self.stages())
        if self._reported != before:
            changed = {name: stage for name, stage in self._reported[1].items() if before[1].get(name) != stage}
            self.module.display({"pending": lines, "stages": changed})

    def end(self, error: BaseException | None) -> None:
        """Do what is due before the module answers, whatever ``error`` the block was left with."""
