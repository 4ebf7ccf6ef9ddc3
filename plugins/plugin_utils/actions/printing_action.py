# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of the action plugins that only print."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase


class PrintingAction(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """An action plugin that prints on the controller: without a connection, and also in check mode."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = False

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The argument spec."""

    @property
    def options(self) -> Mapping[str, Mapping[str, Any]]:
        return self.OPTIONS

    @abstractmethod
    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Print, and return the result of the task. ``run`` adds ``changed``, and suppresses the result in the output unless it failed."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=dict(self.options))
        result = {"changed": False, **self.print_result(options, task_vars or {})}
        return result if result.get("failed") else {**result, "_ansible_verbose_override": True}
