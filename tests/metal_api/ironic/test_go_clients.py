"""The models of equinix-sdk-go, on which metal-cli and the Terraform provider stand, read the answers about nodes of an Ironic, too.

As in test_conformance.py: the fixture ``sandbox`` is that of this folder.
"""

from __future__ import annotations

import pytest

from tests.metal_api.test_go_clients import go, test_the_models_of_the_go_sdk_read_every_answer

__all__ = ["go", "test_the_models_of_the_go_sdk_read_every_answer"]

pytestmark = pytest.mark.long
