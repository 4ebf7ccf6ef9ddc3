"""One device is documented twice, by itself and as a machine of a set: in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ansible_collections.equinix_metal.openshift.plugins.modules import metal_device, metal_device_info, metal_device_set

SET_WORDS = {"O(machines[].": "O("}


def told(value: Any) -> Any:
    """As the page of ``metal_device`` writes it."""
    if isinstance(value, dict):
        return {name: told(item) for name, item in value.items()}
    if isinstance(value, list):
        return [told(item) for item in value]
    if isinstance(value, str):
        for ours, theirs in SET_WORDS.items():
            value = value.replace(ours, theirs)
    return value


def test_a_machine_of_a_set_has_the_options_of_a_device_in_the_same_words() -> None:
    device = yaml.safe_load(metal_device.DOCUMENTATION)["options"]
    machine = yaml.safe_load(metal_device_set.DOCUMENTATION)["options"]["machines"]["suboptions"]
    own = {"hostname", "id", "ownership_tags", "on_drift", "state"}
    assert set(device) - own == set(machine) - {"hostname"}
    for name in set(machine) - {"hostname"}:
        assert told(machine[name]) == device[name], name


def test_a_device_is_returned_in_the_same_words_everywhere() -> None:
    one = yaml.safe_load(metal_device.RETURN)["device"]["contains"]
    assert yaml.safe_load(metal_device_set.RETURN)["devices"]["contains"] == one
    assert yaml.safe_load(metal_device_info.RETURN)["devices"]["contains"] == one


def test_every_module_is_documented_from_its_first_version() -> None:
    folder = Path(metal_device.__file__).parent
    for path in folder.glob("metal_*.py"):
        assert "version_added: 0.1.0" in path.read_text(encoding="utf-8"), path.name
