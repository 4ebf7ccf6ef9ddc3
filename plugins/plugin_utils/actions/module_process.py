# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules of this computer as forks of Ansible's worker process: the base class of the action plugins of modules.

For each task Ansible packs a module and all files that it imports into an archive, starts Python, compiles the files and imports the
libraries of the APIs: about a second of a task whose one request takes milliseconds. With ``connection: local``, and for Ansible's own
Python, none of this is needed: the main process imports the module once, and each task forks a process that has it. The fork is a process
like that of any module: its result is what it prints, its environment, signals and memory are its own, and the play is found as its parent
(``module_utils/base/play``). ``ansible.netcommon`` runs its modules in the worker itself (ANSIBLE_NETWORK_IMPORT_MODULES).

Everything else takes the usual way: other versions of ansible-core, other hosts, other users (become), another Python, background tasks,
and ANSIBLE_KEEP_REMOTE_FILES.

Each module has an action plugin of its own, most of them empty: a redirect in meta/runtime.yml to one plugin would give the module_defaults
of that one, and of its action groups, to all of them (tried with ansible-core 2.19).
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, NoReturn

from ansible import constants
from ansible.module_utils.common import json as ansible_json
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_version
from ansible.utils.display import Display

MODULES = "ansible_collections.equinix_metal.openshift.plugins.modules"
ACTIONS = "ansible_collections.equinix_metal.openshift.plugins.action."
KNOWN = frozenset({"2.17", "2.18", "2.19", "2.20", "2.21"})
"""Versions of ansible-core that it is tested with (tools/matrix.toml). It uses a part of ansible-core that is not its public interface."""
FAILED = 1
"""Exit code of a module that ends with an exception, as Python's own."""


class ModuleAction(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """Run the module of the same name in a fork of this process where that is possible."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def __init_subclass__(cls, **more: Any) -> None:
        """Import the module where the action plugin is loaded: in the main process, which all workers are forks of."""
        super().__init_subclass__(**more)
        if _has_module(cls):
            import_module(f"{MODULES}.{_name(cls)}")
            _load_filters()

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        answer: dict[str, Any] = self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val)
        return answer

    def _execute_module(
        self,
        module_name: str | None = None,
        module_args: dict[str, Any] | None = None,
        tmp: Any = None,
        task_vars: dict[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        if module_name is not None or not self._can_fork(task_vars or {}):
            answer: dict[str, Any] = super()._execute_module(module_name, module_args, tmp, task_vars, **more)
            return _killed(module_name or _name(type(self)), _ended(answer)) or answer
        arguments = dict(self._task.args if module_args is None else module_args)
        self._update_module_args(self._task.action, arguments, task_vars)
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        name = _name(type(self))
        Display().vvv(f"Running module {MODULES}.{name} in a fork of the worker process")
        ended = run_module(name, _encoded(arguments), environment)
        return _killed(name, ended) or self._parsed(ended)

    def _parsed(self, ended: dict[str, Any]) -> dict[str, Any]:
        """Return the result that a module has printed, as ``_execute_module`` of the installed ansible-core does."""
        # From ansible-core 2.19 on, with the name of the encoding.
        profile = ("legacy",) if "profile" in signature(self._parse_returned_data).parameters else ()
        parsed = self._parse_returned_data(ended, *profile)
        if isinstance(parsed, dict):
            import_module("ansible.vars.clean").remove_internal_keys(parsed)
            return parsed
        # From ansible-core 2.21 on it is an object.
        parsed.remove_internal_keys()
        data: dict[str, Any] = parsed.as_result_dict(for_round_trip=True)
        return data

    def _can_fork(self, task_vars: Mapping[str, Any]) -> bool:
        """Return whether a fork of this process is what Ansible would start for this task."""
        task = self._task
        if not _is_known_version():
            return False
        if task.async_val or task.delegate_to or constants.DEFAULT_KEEP_REMOTE_FILES or not _has_module(type(self)):
            return False
        if self._connection.transport not in ("local", "ansible.builtin.local") or self._connection.become:
            return False
        return bool(self._templar.template(task_vars.get("ansible_python_interpreter")) == sys.executable)


@cache
def _load_filters() -> None:
    """Load the filters here, once: for the first filter of a collection in a process Ansible loads them all, in each worker again."""
    # KeyError: without Ansible's loader of collections, as in unit tests.
    if _is_known_version():
        with suppress(KeyError):
            import_module("ansible.plugins.loader").filter_loader.get("equinix_metal.openshift.redact")


def _is_known_version() -> bool:
    return ".".join(ansible_version.split(".")[:2]) in KNOWN


def _name(action: type) -> str:
    return action.__module__.rpartition(".")[2]


def _has_module(action: type) -> bool:
    """Return whether it is an action plugin, and no base class of some."""
    return action.__module__.startswith(ACTIONS)


def _encoded(arguments: Mapping[str, Any]) -> bytes:
    payload = {"ANSIBLE_MODULE_ARGS": arguments}
    if hasattr(ansible_json, "get_module_encoder"):
        return json.dumps(payload, cls=ansible_json.get_module_encoder("legacy", ansible_json.Direction.CONTROLLER_TO_MODULE)).encode()
    # Before ansible-core 2.19.
    return json.dumps(payload, cls=ansible_json.AnsibleJSONEncoder, vault_to_text=True).encode()


def _ended(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exit code and output of a module that Ansible has started as a program of its own, by a result without one of the module.

    A shell that has started it adds the number of the signal to 128.
    """
    code = answer.get("rc")
    number = code if isinstance(code, int) and "module_stdout" in answer else 0
    return {"rc": 128 - number if number > 128 else number, "stdout": str(answer.get("module_stdout") or "")}


def _killed(name: str, ended: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a module that a signal ended before it printed one; empty if none did."""
    if ended["rc"] >= 0 or ended["stdout"].strip():
        return {}
    number = -ended["rc"]
    reason = " The kernel does this when memory is short: see the log of the kernel (dmesg)." if number == signal.SIGKILL else ""
    return {
        "failed": True,
        "rc": ended["rc"],
        "msg": f"The module {name} was ended by signal {number} ({signal.strsignal(number)}) before it returned a result.{reason} "
        "Run the playbook again: it continues with what exists.",
    }


def run_module(name: str, arguments: bytes, environment: Mapping[str, Any]) -> dict[str, Any]:
    """Run a module in a fork of this process, and return its exit code and output, as ``_parse_returned_data`` takes them."""
    return run_in_fork(lambda: import_module(f"{MODULES}.{name}").main(), arguments, environment)


def run_in_fork(main: Callable[[], None], arguments: bytes, environment: Mapping[str, Any]) -> dict[str, Any]:
    """Call a module's ``main`` in a fork of this process, with the arguments as its stdin: see run_module."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        stdin.write(arguments)
        stdin.flush()
        stdin.seek(0)
        # Python 3.12 and newer warn when other threads run: one of them could hold a lock for ever in the child. The worker has none but
        # those of action plugins that display notices, which hold a lock only while they display, and the child displays nothing.
        child = os.fork()
        if child == 0:
            _become_module(main, environment, stdin.fileno(), printed.fileno(), errors.fileno())
        ended = False
        try:
            _child, status = os.waitpid(child, 0)
            ended = True
        finally:
            # The task's own timeout, for example.
            if not ended:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        return {"rc": os.waitstatus_to_exitcode(status), "stdout": _text(printed), "stderr": _text(errors)}


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", "surrogateescape")
    return text


def _become_module(main: Callable[[], None], environment: Mapping[str, Any], stdin: int, printed: int, errors: int) -> NoReturn:
    """Be the process of a module, in a fork that has just begun: no line of the worker's own code may run in it afterwards."""
    code = FAILED
    try:
        # The worker's handlers end its whole group.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, file in enumerate((stdin, printed, errors)):
            os.dup2(file, number)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", errors="surrogateescape")
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="surrogateescape", write_through=True)
        # With these, a module reads its arguments from stdin.
        sys.argv = [""]
        atexit._clear()
        os.environ.update({str(key): str(value) for key, value in environment.items()})
        _leave_controller()
        code = _exit_code(main)
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        code = FAILED
        traceback.print_exc()
        raise
    finally:
        # Also after an exception: what is above on the stack is the worker's.
        os._exit(code)


def _exit_code(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _leave_controller() -> None:
    """Have warnings returned with the result, as by a module, and not displayed, as by a plugin (ansible-core 2.19 and newer)."""
    with suppress(ImportError):
        import_module("ansible.module_utils._internal").is_controller = False  # type: ignore[attr-defined]
