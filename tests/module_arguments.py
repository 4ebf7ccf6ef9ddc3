"""``patch_module_args`` of ansible-core, also for the versions that do not have it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ansible.module_utils import basic
from ansible.module_utils.common.parameters import PASS_VARS

try:
    from ansible.module_utils.testing import patch_module_args
except ImportError:  # ansible-core 2.17 and 2.18

    @contextmanager
    def patch_module_args(args: dict[str, Any] | None = None) -> Iterator[None]:
        """Let an ``AnsibleModule`` that is created within this context read these arguments."""
        with mock.patch.object(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": args or {}}).encode()):
            yield


# Since ansible-core 2.21 a result has its `invocation` only where the controller asks for it.
INVOCATION = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}

__all__ = ["INVOCATION", "patch_module_args"]
