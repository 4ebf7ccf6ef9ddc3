"""One device is documented twice, by itself and as a machine of a set: in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import OPERATION_OPTIONS
from ansible_collections.equinix_metal.openshift.plugins.modules import metal_device, metal_device_info, metal_device_set

ONLY_A_DEVICE = {"Changing it requires O(operation=reinstall).": "It cannot be changed."}
"""What the page of ``metal_device`` says more, since a set has no operations."""


def told(value: Any) -> Any:
    """As the page of ``metal_device_set`` writes it."""
    if isinstance(value, dict):
        return {name: told(item) for name, item in value.items()}
    if isinstance(value, list):
        return [told(item) for item in value]
    if isinstance(value, str):
        for theirs, ours in ONLY_A_DEVICE.items():
            value = value.replace(theirs, ours)
    return value


def test_a_set_and_each_of_its_machines_have_the_options_of_a_device_in_the_same_words() -> None:
    device = yaml.safe_load(metal_device.DOCUMENTATION)["options"]
    options = yaml.safe_load(metal_device_set.DOCUMENTATION)["options"]
    machine = options["machines"]["suboptions"]
    own = {"hostname", "id", "ownership_tags", "on_drift", "state", "force_delete", "wait_timeout"} | set(OPERATION_OPTIONS.argument_spec)
    assert set(device) - own == set(machine) - {"hostname", "placement"}
    for name in set(machine) - {"hostname", "placement"}:
        assert machine[name] == options[name], name
        # One device may be in any of several metros, which of a set is said with placement.
        assert name == "metro" or options[name] == told(device[name]), name
    assert (device["metro"]["type"], options["metro"]["type"]) == ("list", "str")


def test_a_device_is_documented_once() -> None:
    for module in (metal_device_set, metal_device_info):
        description = str(yaml.safe_load(module.RETURN)["devices"]["description"])
        assert "the fields of RV(equinix_metal.openshift.metal_device#module:device)" in description


def test_every_module_is_documented_from_its_first_version() -> None:
    folder = Path(metal_device.__file__).parent
    for path in folder.glob("metal_*.py"):
        assert "version_added: 0.1.0" in path.read_text(encoding="utf-8"), path.name
