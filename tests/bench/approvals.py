"""How long a certificate request waits for csr_approval: seen from beside, by a watch of our own."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from sandbox.testing.observer import REQUESTS, cluster_watch

OURS = "equinix_metal.openshift.csr_approval"
PAUSE = 1.0


class Approvals:
    """Watches the requests while inside, from when there is a kubeconfig on. Both ends of a delay come over the same watch."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._stop = threading.Event()
        # A daemon: a watch ends when the cluster does, which may be later.
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._filed: dict[str, float] = {}
        self._approved: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()

    def delays(self, since: float) -> list[float]:
        """Seconds from each request to its approval by csr_approval, the shortest first.

        Of requests that came before ``since`` (seconds of the epoch) they are counted from then on.
        """
        return sorted(moment - max(self._filed[uid], since) for uid, moment in list(self._approved.items()))

    def _watch(self) -> None:
        while not self._stop.wait(PAUSE):
            try:
                if self._kubeconfig.is_file():
                    for request in cluster_watch(self._kubeconfig, REQUESTS):
                        self._see(request, time.time())
            except (httpx.HTTPError, OSError, ValueError):
                continue  # the API is not there yet, or went away: what was missed meanwhile is seen at the next list

    def _see(self, request: Mapping[str, Any], now: float) -> None:
        uid = request["metadata"]["uid"]
        self._filed.setdefault(uid, now)
        conditions = (request.get("status") or {}).get("conditions") or []
        if any(condition["type"] == "Approved" and OURS in condition.get("message", "") for condition in conditions):
            self._approved.setdefault(uid, now)
