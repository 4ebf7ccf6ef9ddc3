"""``python -m tests.bench.inventory_parts FILE ARGUMENT...``: ``ansible-inventory`` with a stopwatch where it and our plugin meet.

What counts is processor time of the process, which other work on the same computer and waiting for the service do not lengthen.

- ours: loading the plugin and every library it brings, and all of its ``parse`` (the HTTP client's work and decoding included), without
- Ansible's: everything else, and those functions of Ansible that ``parse`` calls.

FILE gets a JSON object: seconds by part, ``whole`` and ``wall`` (seconds by the clock on the wall).
"""

import functools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible.cli.inventory import InventoryCLI
from ansible.inventory import manager
from ansible.inventory.data import InventoryData
from ansible.plugins import loader
from ansible.plugins.cache import CachePluginAdjudicator
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

ANSIBLE = "ansible"
LOAD, READ, ADD, OTHER = "load the plugin", "read and decode", "add the hosts", "the rest of parse"
OURS = (LOAD, READ, ADD, OTHER)

ANSIBLES: dict[type, tuple[str, ...]] = {
    InventoryData: ("add_host", "add_group", "add_child", "set_variable", "get_host"),
    BaseInventoryPlugin: ("parse", "_read_config_data", "get_option"),
    Cacheable: ("load_cache_plugin", "get_cache_key"),
    CachePluginAdjudicator: ("get", "__setitem__"),
    Constructable: ("_set_composite_vars", "_add_host_to_composed_groups", "_add_host_to_keyed_groups"),
}
"""What the plugin calls of Ansible; the plugin inherits or is given all of these."""


class Stopwatch:
    """Gives every moment to the part that was entered last and has not been left."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._parts = [ANSIBLE]
        self._since = 0.0  # of process_time: since the process began

    def _note(self) -> None:
        now = time.process_time()
        self.spent[self._parts[-1]] += now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._note()
        self._parts.append(name)
        try:
            yield
        finally:
            self._note()
            self._parts.pop()

    def wrap(self, owner: Any, name: str, part: str) -> None:
        setattr(owner, name, self.timed(getattr(owner, name), part))

    def timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        # No context manager here: this is called some hundred thousand times, and its own time is measured too.
        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            self._note()
            self._parts.append(part)
            try:
                return function(*arguments, **named)
            finally:
                self._note()
                self._parts.pop()

        return timed


def watch(stopwatch: Stopwatch) -> None:
    """Put the stopwatch at every border. The plugin's own functions are known once it is loaded."""
    for owner, names in ANSIBLES.items():
        for name in names:
            stopwatch.wrap(owner, name, ANSIBLE)
    if hasattr(manager, "_InventoryDataWrapper"):  # ansible-core 2.19 and newer: what a plugin is given for its inventory
        stopwatch.wrap(manager._InventoryDataWrapper, "set_variable", ANSIBLE)
    load = loader.inventory_loader._load_module_source

    def watched(**named: Any) -> Any:
        if not named["path"].endswith("equinix_metal/openshift/plugins/inventory/metal.py"):
            return load(**named)
        with stopwatch.part(LOAD):
            module = load(**named)
        kind = module.InventoryModule
        stopwatch.wrap(kind, "parse", OTHER)
        stopwatch.wrap(kind, "_read", READ)
        adding = kind._adding

        def timed_adding(self: Any, *arguments: Any) -> Any:
            return stopwatch.timed(adding(self, *arguments), ADD)

        kind._adding = timed_adding
        return module

    loader.inventory_loader._load_module_source = watched


def main() -> None:
    target = Path(sys.argv[1])
    stopwatch = Stopwatch()
    watch(stopwatch)
    started = time.monotonic()
    try:
        InventoryCLI.cli_executor(["ansible-inventory", *sys.argv[2:]])
    except SystemExit as end:
        if end.code != 0:
            raise
    stopwatch._note()
    spent = dict(stopwatch.spent)
    target.write_text(json.dumps({**spent, "whole": sum(spent.values()), "wall": time.monotonic() - started}), encoding="utf-8")


if __name__ == "__main__":
    main()
