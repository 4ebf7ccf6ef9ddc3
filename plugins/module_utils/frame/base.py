# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``AnsibleModule`` of every module of the collection: no result shows a secret, whatever the types of the parameters are, every id is
one, and no message is more than one line that says what it says.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.secret_options import secret_values, shown, unusable

LONGEST_MESSAGE = 10_000
"""Characters: room for what failed of hundreds of machines."""


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

        ansible-core writes ``str()`` of nested ones, in which a userdata of several lines is no longer the text that ``no_log`` looks for.
        """
        super().log("Invoked" if log_args else msg)

    def warn(self, warning: str, **more: Any) -> None:
        super().warn(printable(warning, LONGEST_MESSAGE), **more)

    def exit_json(self, **result: Any) -> NoReturn:
        super().exit_json(**self._to_show(result))
        raise AssertionError("exit_json ends the process")

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        # Names, tags and what the service answered stand in it: Ansible prints it as it is.
        super().fail_json(printable(msg, LONGEST_MESSAGE), **self._to_show({"changed": False, **result}))
        raise AssertionError("fail_json ends the process")

    def _to_show(self, result: Mapping[str, Any]) -> dict[str, Any]:
        waiting = {"waiting": [printable(text, LONGEST_MESSAGE) for text in result["waiting"]]} if "waiting" in result else {}
        return {**result, **waiting, "invocation": {"module_args": shown(self.argument_spec, self.params)}}
