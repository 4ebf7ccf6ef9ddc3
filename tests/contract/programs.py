"""Programs for processes of their own: a module, or ``ansible-inventory``, without the second that Ansible takes to start.

Such processes are forked from a server (``environment``) that has loaded this file and nothing of the tests: what these have imported
or patched does not reach a module. A module with an action plugin is called by it.
"""

import contextlib
import faulthandler
import gc
import http.client
import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients import cluster as cluster_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients import metal as metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining import approval as joining
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining import watch as csr_watch
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import resource
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes import ownership as node_ownership
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions import module_process
from tests.module_arguments import INVOCATION, patch_module_args

ROOT = Path(__file__).resolve().parents[2]
MODULES = "ansible_collections.equinix_metal.openshift.plugins.modules"
ACTION_PLUGINS = "ansible_collections.equinix_metal.openshift.plugins.action"
# Everything is imported by the time that a call is forked: it takes a hundredth of a second, and yet ends as a real process does.
# A module that only prints has no program: it is its action plugin.
FILES = [path for path in sorted((ROOT / "plugins" / "modules").glob("[a-z]*.py")) if "\ndef main(" in path.read_text(encoding="utf-8")]
PROGRAMS = {path.stem: import_module(f"{MODULES}.{path.stem}") for path in FILES}
ACTIONS = {
    path.stem: import_module(f"{ACTION_PLUGINS}.{path.stem}").ActionModule
    for path in FILES
    if (ROOT / "plugins" / "action" / path.name).exists()
}
# What a child never touches it need not be given a copy of.
gc.freeze()


@dataclass(frozen=True)
class Manner:
    """How a program is run: output file, environment variables, ``without_pauses`` and ``page_size`` as in ``environment.run``."""

    said: str
    environment: Mapping[str, str]
    without_pauses: bool
    page_size: int | None

    def settle(self) -> None:
        gc.disable()
        target = os.open(self.said, os.O_WRONLY | os.O_APPEND)
        os.dup2(target, 1)
        os.dup2(target, 2)
        os.close(target)
        os.environ.clear()
        os.environ.update(self.environment)

    def bend(self, client: Any) -> None:
        """Shorten the pauses between retries: other tests check them, here they would only take time."""
        if self.without_pauses:
            client._backoff = lambda failures: 0.01
            client._retry_after = lambda headers: 0.02 if "Retry-After" in headers else None
            client.MAX_PAUSE = 0.05
        if self.page_size is not None:
            client.PAGE_SIZE = self.page_size


def play_module(manner: Manner, module: str, options: Mapping[str, Any]) -> None:
    """One call of a module."""
    manner.settle()
    manner.bend(metal_client)
    if manner.without_pauses:
        resource.RECHECK_AFTER_LOST_ANSWER = (0.2, 0.2)
        csr_watch.Backoff.FIRST = 0.1
        joining._AGAIN = 0.1
        node_ownership.PAUSE = 0.1
    if manner.page_size is not None:
        cluster_client.PAGE = manner.page_size
    if module in ACTIONS:
        _play_action(manner, module, options)
    else:
        _call_module(module, options)


def _call_module(module: str, options: Mapping[str, Any]) -> None:
    module_process._leave_controller()
    with patch_module_args({**INVOCATION, **options}):
        PROGRAMS[module].main()


def _play_action(manner: Manner, module: str, options: Mapping[str, Any]) -> None:
    """Call a module by its action plugin, in this process, and print the result of the plugin behind that of the module."""
    own = {name: value for name, value in options.items() if name.startswith("_ansible_")}

    base: Any = ACTIONS[module]

    class Action(base):  # type: ignore[misc]  # ansible-core has no type information
        def _execute_module(self, *_arguments: Any, **_named: Any) -> dict[str, Any]:
            # A test that reads the progress itself has named a file of its own.
            os.environ.update({name: value for each in self._task.environment for name, value in each.items() if name not in os.environ})
            begin = Path(manner.said).stat().st_size
            with contextlib.suppress(SystemExit):
                _call_module(module, {**own, **self._task.args})
            sys.stdout.flush()
            return last_result(Path(manner.said).read_bytes()[begin:].decode(errors="replace"))

    task = SimpleNamespace(
        args={name: value for name, value in options.items() if name not in own},
        async_val=0,
        check_mode=bool(own.get("_ansible_check_mode")),
        action=module,
        environment=[],
        get_name=lambda: module,
    )
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/nowhere"))
    result = Action(task, connection, SimpleNamespace(), None, None, None).run(task_vars={})
    print(f"\n{json.dumps(result)}")
    sys.exit(bool(result.get("failed")))


def last_result(text: str) -> dict[str, Any]:
    """Return the last result that was printed: on a line of its own, as modules do it."""
    result: dict[str, Any] = json.JSONDecoder().raw_decode(text[text.rindex("\n{") + 1 :])[0]
    return result


LONGEST = 30.0
"""Seconds within which every call without pauses of a module is over, whatever it meets."""
NEXT = "=== the next call ===\n"
"""What is said before each of many calls."""


def play_module_often(manner: Manner, module: str, options: Mapping[str, Any], server: str, calls: int) -> None:
    """So many calls, one after the other. Before each the server is asked for ``/begin/<number>``. The process ends with one that hangs."""
    manner.settle()
    for number in range(calls):
        connection = http.client.HTTPConnection(server, timeout=LONGEST)
        connection.request("GET", f"/begin/{number}")
        connection.getresponse().read()
        connection.close()
        print(NEXT, end="", flush=True)
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            play_module(manner, module, options)
        except SystemExit:
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001 - said as a process says it
            traceback.print_exc()
        faulthandler.cancel_dump_traceback_later()
        if number % 50 == 0:
            gc.collect()


def play_inventory(manner: Manner, source: str) -> None:
    """``ansible-inventory --list`` of one source."""
    manner.settle()
    # Ansible finds collections by itself, and reads its settings when it is imported: those of this environment.
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ansible", "ansible_collections")]:
        del sys.modules[name]
    from ansible.cli.inventory import InventoryCLI  # noqa: PLC0415 - see above
    from ansible.plugins.loader import init_plugin_loader  # noqa: PLC0415
    from ansible.utils.display import Display  # noqa: PLC0415

    init_plugin_loader()
    # ansible-core 2.17 and 2.18 wrap what they say, also where no terminal is.
    Display().columns = 10_000
    manner.bend(import_module(metal_client.__name__))
    InventoryCLI.cli_executor(["ansible-inventory", "-i", source, "--list"])
