"""The tests of the API, with nodes of an Ironic as the machines of the plan that they order most: its conformance has no backend.

Other plans are simulated beside them. The fixture ``sandbox`` is that of this folder.
"""

from __future__ import annotations

from typing import Final

# ruff: noqa: F403
from tests.metal_api.test_accounts import *
from tests.metal_api.test_bgp import *
from tests.metal_api.test_catalogue import *
from tests.metal_api.test_client_bodies import *
from tests.metal_api.test_contract import *
from tests.metal_api.test_devices import *
from tests.metal_api.test_gateways import *
from tests.metal_api.test_http import *
from tests.metal_api.test_network import *  # type: ignore[assignment] # both have a helper vlan

OTHERWISE: Final = {
    "test_capacity": "the capacity is that of the nodes and no setting",
    "test_no_server_in_any_of_the_facilities": "the capacity is that of the nodes and no setting",
    "test_a_failed_provisioning_vanishes": "a device whose server failed stays, with its server, until it is deleted",
}
"""Tests of what servers do otherwise, and why."""

for _name in OTHERWISE:
    del globals()[_name]
