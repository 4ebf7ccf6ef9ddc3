"""The tests of the API, with nodes of an Ironic as the machines of the plan that they order most: its conformance has no backend.

Other plans are simulated beside them. The fixture ``sandbox`` is that of this folder.
"""

from importlib import import_module
from typing import Final

FILES: Final = ("accounts", "bgp", "catalogue", "client_bodies", "contract", "devices", "gateways", "http", "network")

OTHERWISE: Final = {
    "test_capacity": "the capacity is that of the nodes and no setting",
    "test_a_failed_provisioning_vanishes": "a device whose server failed stays, with its server, until it is deleted",
}
"""Tests of what servers do otherwise, and why."""

# Tests and the fixtures of these files, which pytest collects here once more.
for _file in FILES:
    _module = import_module(f"tests.metal_api.test_{_file}")
    globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_") and name not in OTHERWISE})
