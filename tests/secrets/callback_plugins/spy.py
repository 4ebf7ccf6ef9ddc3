"""Writes down everything a callback is given to show: results, arguments of tasks, included files, statistics."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: spy
type: notification
short_description: Everything a callback is given to show
description: Written to the file named in SPY_FILE.
requirements: [enable it]
"""


def _read(value: Any) -> Any:
    """What is in a result, an included file, the statistics or a task. A task with ``no_log`` is not to be shown."""
    if hasattr(value, "_result"):
        return {"task": value._task.get_name(), "result": value._result}
    if hasattr(value, "_filename"):
        return {"included": value._filename, "arguments": value._args, "vars": value._vars}
    if hasattr(value, "custom"):
        return {"statistics": value.custom}
    if hasattr(value, "args"):
        return {"task": value.get_name(), "arguments": "hidden" if value.no_log else value.args}
    return value if isinstance(value, (str, int, float, bool, dict, list, type(None))) else type(value).__name__


def _writing(event: str) -> Callable[..., None]:
    def write(_self: Any, *arguments: Any, **more: Any) -> None:
        with Path(os.environ["SPY_FILE"]).open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(f"{event} {_read(each)!r}\n" for each in (*arguments, *more.values()))

    return write


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no type information
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "spy"
    CALLBACK_NEEDS_ENABLED = True

    # Every event there is, also those that a later ansible-core adds; v2_on_any is deprecated.
    for _event in [name for name in dir(CallbackBase) if name.startswith("v2_") and name != "v2_on_any"]:
        locals()[_event] = _writing(_event)
