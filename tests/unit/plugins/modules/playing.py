"""A module of the collection, played in this process with any parameters: what it is made of, and what it prints."""

import contextlib
import importlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.base import BaseModule
from tests.module_arguments import INVOCATION, patch_module_args

FOLDER = Path(__file__).resolve().parents[4] / "plugins" / "modules"
# A module that only prints has no program: it is its action plugin.
MODULES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py") if "\ndef main(" in path.read_text(encoding="utf-8"))
PACKAGE = "ansible_collections.equinix_metal.openshift.plugins.modules"
PROJECT = "2b70eb8f-fa18-47c0-aba7-222a842362fd"
ID = "7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11"
NOWHERE = {"metal_api_url": "http://127.0.0.1:9/metal/v1", "metal_api_token": "a-token", "metal_api_retries": 0, "project_id": PROJECT}
"""Where nobody answers: what gets that far has passed the checks of its options."""
OTHERS: dict[str, dict[str, Any]] = {
    "dns_records": {"provider": "octodns", "service": "octodns_cloudflare.CloudflareProvider"},
    "metal_bgp_session": {"address_family": "ipv4", "device_id": ID},
    "metal_capacity_info": {"servers": [{"plan": "c3.small.x86", "quantity": 1, "metro": "da"}]},
    "metal_device": {"hostname": "a"},
    "metal_device_set": {"ownership_tags": ["a=b"]},
    "metal_gateway": {"virtual_network_id": ID},
    "metal_ip_assignment": {"ip_reservation_id": ID, "device_id": ID},
    "metal_ip_reservation": {"details": "a"},
    "metal_port": {"device_id": ID, "name": "bond0"},
    "metal_project": {"name": "a"},
    "metal_ssh_key": {"label": "a"},
    "metal_vlan": {"vxlan": 5},
    "metal_vrf": {"name": "a"},
}
"""What else has to be given for an option to be looked at. Beside an object's own id it is nothing."""


class _TakenError(Exception):
    """The module got as far as its options."""


def options_of(module: str) -> Options:
    """Return the options of a module with those of its frame."""
    taken: list[Options] = []

    def take(_self: BaseModule, options: Options) -> None:
        taken.append(options)
        raise _TakenError

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(_TakenError):
        patch.setattr(BaseModule, "__init__", take)
        importlib.import_module(f"{PACKAGE}.{module}").main()
    return taken[0]


def play(module: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the module's result and all that it printed."""
    output = io.StringIO()
    with patch_module_args({**INVOCATION, **params}), contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        importlib.import_module(f"{PACKAGE}.{module}").main()
    text = output.getvalue()
    result: dict[str, Any] = json.loads(text)
    return result, text


def walk(spec: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every option and suboption with the way to it."""
    for name, option in spec.items():
        yield (*path, name), option
        yield from walk(option.get("options") or {}, (*path, name))


def with_required(spec: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, and something for each option without which there is nothing to do."""
    fillers = {"str": "x", "path": "/nowhere", "int": 4, "bool": True, "list": [], "dict": {}, "float": 1.0}
    needed = {
        name: PROJECT if "identifier" in option else option["choices"][0] if option.get("choices") else fillers[option.get("type", "str")]
        for name, option in spec.items()
        if option.get("required") and name not in given
    }
    return {**{name: value for name, value in NOWHERE.items() if name in spec}, **needed, **given}
