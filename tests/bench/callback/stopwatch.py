"""A callback of Ansible that writes down when each task began, for the bench; see ``tests/bench/phases.py``."""

import json
import os
import time
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: stopwatch
type: aggregate
short_description: Write down when each task began
description: One JSON object a line into the file that the environment variable STOPWATCH names.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no type information
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "stopwatch"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file = Path(os.environ["STOPWATCH"])

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        role = task._role.get_name() if task._role else ""
        self._write(role=role, name=task.name, action=task.resolved_action or task.action)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._write(role="", name="", action="")

    def _write(self, **told: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), **told}) + "\n")
