# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that speak to the cluster share: their options, their client, and how they wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import missing_required_lib

from ..base.argspec import WAIT_OPTIONS, Options
from ..base.errors import ClusterConflictError, ClusterRefusedError, ClusterUnreachableError, CollectionError
from ..base.play import find_play
from ..base.wait import Waiter
from ..clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ..clients.pod_exec import WEBSOCKET_IMPORT_ERROR
from ..joining.pkcs10 import CRYPTOGRAPHY_IMPORT_ERROR
from ..lock.cluster_lock import Gate
from .base import ModuleFrame

CLUSTER_OPTIONS = Options(
    {
        "kubeconfig": {"type": "path", "required": True},
        "api_addresses": {"type": "list", "elements": "str", "default": []},
        "api_timeout": {"type": "float", "default": 15},
    }
)
"""Documented in the fragment ``_cluster``."""


REFUSED_FOR_GOOD = 180.0
"""Seconds of refusals without a break after which a wait ends. Shorter ones pass: a server that is restarted does not accept a certificate
yet, or has its roles not there yet. What is still refused then is a matter of the kubeconfig: waiting does not help."""


class ClusterModule(ModuleFrame):
    """A module that speaks to the cluster; used as ``with ClusterModule(OPTIONS) as module``."""

    def __init__(self, options: Options, *, shorten: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        super().__init__(CLUSTER_OPTIONS.merge(WAIT_OPTIONS, options), shorten=shorten)
        self.gate = Gate(find_play())
        """A wait ends with the playbook; a module with the options of the Metal API may also have it keep the cluster lock."""
        self._refused_since: float | None = None
        for library, problem in (
            ("kubernetes", KUBERNETES_IMPORT_ERROR),
            ("cryptography", CRYPTOGRAPHY_IMPORT_ERROR),
            ("websocket-client", WEBSOCKET_IMPORT_ERROR),
        ):
            if problem:
                self.module.fail_json(msg=missing_required_lib(library), exception=problem)

    def client(self) -> ClusterClient:
        return ClusterClient(
            self.params["kubeconfig"],
            addresses=self.params["api_addresses"],
            timeout=self.params["api_timeout"],
            read_only=self.check_mode,
            directory=self.module.tmpdir,
        )

    @property
    def waits(self) -> bool:
        return bool(self.params["wait"]) and not self.check_mode

    def wait_for(self, poll: Callable[[], list[str]], what: str, *, sleep: Callable[[float], None] | None = None) -> None:
        """Poll until nothing is pending, by the options of the fragment ``_wait``; once without ``wait`` and in check mode.

        ``poll`` returns one text for each pending condition. An API that does not answer, or has another state than was read, is waited
        for as well, and one that refuses for REFUSED_FOR_GOOD seconds.
        """
        if not self.waits:
            poll()
            return
        waiter = Waiter.by_options(self.params, sleep=sleep or self.gate.sleep, tick=self.gate.tick, report=self.report_progress)

        def poll_once() -> list[str]:
            # A job may outlive its play, which deletes the kubeconfig with the cluster's files.
            if not Path(self.params["kubeconfig"]).is_file():
                raise CollectionError(f"{what} is not waited for any longer: {self.params['kubeconfig']} was deleted")
            try:
                missing = poll()
            except (ClusterUnreachableError, ClusterConflictError) as problem:
                missing = [problem.message]
            except ClusterRefusedError as refused:
                return self._outlast(refused)
            self._refused_since = None
            return missing

        waiter.until_nothing_pending(poll_once, what)

    def _outlast(self, refused: ClusterRefusedError) -> list[str]:
        """What is missing while the API refuses; raises the refusal once it has lasted."""
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        if now - self._refused_since >= REFUSED_FOR_GOOD:
            raise refused
        return [refused.message]
