# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that speak to the cluster share: their options, their client, and the one place that leaves the module.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import WAIT_OPTIONS, Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils._cluster_client import KUBERNETES_IMPORT_ERROR, ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils._pkcs10 import CRYPTOGRAPHY_IMPORT_ERROR
from ansible_collections.equinix_metal.openshift.plugins.module_utils._wait import StillWaiting, Waiter

CLUSTER_OPTIONS = Options(
    {
        "kubeconfig": {"type": "path", "required": True},
        "api_addresses": {"type": "list", "elements": "str", "default": []},
        "api_timeout": {"type": "float", "default": 15},
    }
)
"""Documented in the fragment ``_cluster``."""


class Look(Protocol):
    """One look at the cluster."""

    def __call__(self, *, patient: bool) -> list[str]: ...


class ClusterModule:
    """The frame of a module that speaks to the cluster.

    Used as a context manager: what the module found so far is in ``result``, and leaving the block answers with it: as a success, as a
    failure with ``msg`` and ``failure`` when a :class:`CollectionError` came up, or, when one slice of a longer wait is over, with
    ``waiting``. Anything unexpected keeps its traceback.
    """

    def __init__(self, options: Options) -> None:
        self.module = AnsibleModule(**CLUSTER_OPTIONS.merge(WAIT_OPTIONS, options).arguments(), supports_check_mode=True)
        self.params: dict[str, Any] = self.module.params
        self.check_mode: bool = self.module.check_mode
        self.result: dict[str, Any] = {"changed": False}
        for library, problem in (("kubernetes", KUBERNETES_IMPORT_ERROR), ("cryptography", CRYPTOGRAPHY_IMPORT_ERROR)):
            if problem:
                self.module.fail_json(msg=missing_required_lib(library), exception=problem)

    def client(self) -> ClusterClient:
        """A client of the cluster; in check mode it cannot write."""
        return ClusterClient(
            self.params["kubeconfig"],
            addresses=self.params["api_addresses"],
            timeout=self.params["api_timeout"],
            read_only=self.check_mode,
            directory=self.module.tmpdir,
        )

    def wait_for(self, look: Look, what: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Look until nothing is missing, as the options of the fragment ``_wait`` say; a single time without ``wait`` and in check mode.

        ``look`` returns one text for each thing that is missing. With ``patient`` an API that does not answer is one of these.
        """
        if self.check_mode or not self.params["wait"]:
            look(patient=False)
            return
        waiter = Waiter(self.params["wait_timeout"], self.params["wait_interval"], self.params["progress_interval"], sleep=sleep)

        def once() -> list[str]:
            # A job beside a play may outlive it: when the cluster is given back its files go, and nobody waits for it any more.
            if not Path(self.params["kubeconfig"]).is_file():
                raise CollectionError(f"{what} is not waited for any longer: {self.params['kubeconfig']} is gone")
            return look(patient=True)

        waiter.until_nothing_missing(once, what)

    def __enter__(self) -> ClusterModule:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(problem, StillWaiting):
            self.module.exit_json(**{**self.result, "waiting": problem.waiting})
        if isinstance(problem, CollectionError):
            self.module.fail_json(msg=problem.message, failure={"type": type(problem).__name__, **problem.details}, **self.result)
        if problem is None:
            self.module.exit_json(**self.result)
