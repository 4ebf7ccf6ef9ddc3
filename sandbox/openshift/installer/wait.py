# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``wait-for bootstrap-complete`` and ``wait-for install-complete``: the steps, limits and texts of the newer installers.

Both only read the cluster and can be run again at any time; the latter also adds the ingress CA to ``auth/kubeconfig``.
Where the real one watches this one asks again every two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from . import errors, kubeconfig
from .api import Api, UnreachableError
from .errors import InstallerError
from .log import Log

Found = TypeVar("Found")

_INTERVAL: Final = 2.0
_LIKE_THE_LAST: Final = 15
"""An error that repeats is logged once in so many times."""

API_LIMIT: Final = timedelta(minutes=20)
BOOTSTRAP_LIMIT: Final = timedelta(minutes=45)
ETCD_MEMBER_LIMIT: Final = timedelta(minutes=5)
INSTALL_LIMIT: Final = timedelta(minutes=40)
STABLE_LIMIT: Final = timedelta(minutes=30)
CONSOLE_LIMIT: Final = timedelta(minutes=2)
STABLE_FOR: Final = timedelta(seconds=30)

_API_TEXT: Final = (
    "Failed waiting for Kubernetes API. This error usually happens when there is a problem on the bootstrap host that "
    "prevents creating a temporary control plane."
)
_BOOTSTRAP_TEXT: Final = (
    "Failed to wait for bootstrapping to complete. This error usually happens when there is a problem with control plane "
    "hosts that prevents the control plane operators from creating the control plane."
)
_INITIALIZATION_TEXT: Final = (
    "Cluster initialization failed because one or more operators are not functioning properly.\n"
    "The cluster should be accessible for troubleshooting as detailed in the documentation linked below,\n"
    "https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-installations.html\n"
    "The 'wait-for install-complete' subcommand can then be used to continue the installation"
)


class Waiter:
    """One wait-for command. ``speed`` divides limits and intervals, not what the texts say of them."""

    def __init__(self, directory: Path, log: Log, *, speed: float = 1.0, failures: Iterable[str] = ()) -> None:
        self._directory = directory
        self._kubeconfig = directory / "auth" / "kubeconfig"
        self._log = log
        self._speed = speed
        self._failures = frozenset(failures)
        self._started = time.monotonic()

    # --- bootstrap-complete --------------------------------------------------------------------------------------------

    def bootstrap_complete(self) -> int:
        with Api(self._kubeconfig) as api:
            try:
                self._wait_for_api(api)
                self._wait_for_bootstrap(api)
                self._wait_for_etcd_member(api)
            except _StepError as failure:
                self._log_operators(api)
                self._log.info("Use the following commands to gather logs from the cluster")
                self._log.info("openshift-install gather bootstrap --help")
                self._log.error(f"Bootstrap failed to complete: {failure.cause}")
                raise InstallerError(failure.text, errors.BOOTSTRAP, level="error") from failure
        self._log.info("It is now safe to remove the bootstrap resources")
        self._log_elapsed()
        return 0

    def _wait_for_api(self, api: Api) -> None:
        if "bootstrap" in self._failures:
            raise _StepError("timed out waiting for the condition: failed on demand", _BOOTSTRAP_TEXT)
        self._log.info(f"Waiting up to {_until(API_LIMIT)} for the Kubernetes API at {api.server}...")

        def version() -> str | None:
            return str((api.get("/version") or {}).get("gitVersion") or "") or None

        found, last = self._poll(API_LIMIT, version, "the Kubernetes API")
        if found is None:
            raise _StepError(last, _API_TEXT)
        self._log.info(f"API {found} up")

    def _wait_for_bootstrap(self, api: Api) -> None:
        self._log.info(f"Waiting up to {_until(BOOTSTRAP_LIMIT)} for bootstrapping to complete...")
        seen: list[str] = []

        def complete() -> bool | None:
            found = api.get("/api/v1/namespaces/kube-system/configmaps/bootstrap")
            status = str(((found or {}).get("data") or {}).get("status", ""))
            if status and status not in seen[-1:]:
                seen.append(status)
                self._log.debug(f"Bootstrap status: {status}")
            return status == "complete" or None

        found, last = self._poll(BOOTSTRAP_LIMIT, complete, "bootstrapping to complete")
        if found is None:
            raise _StepError(last, _BOOTSTRAP_TEXT)

    def _wait_for_etcd_member(self, api: Api) -> None:
        self._log.info("Waiting for the bootstrap etcd member to be removed...")

        def removed() -> bool | None:
            etcd = api.get("/apis/operator.openshift.io/v1/etcds/cluster")
            return _condition(etcd, "EtcdBootstrapMemberRemoved").get("status") == "True" or None

        found, last = self._poll(ETCD_MEMBER_LIMIT, removed, "the bootstrap etcd member to be removed")
        if found is None:
            raise _StepError(last, "Bootstrap etcd member was not removed: timed out waiting for the condition")
        self._log.info("Bootstrap etcd member has been removed")

    # --- install-complete ----------------------------------------------------------------------------------------------

    def install_complete(self) -> int:
        with Api(self._kubeconfig) as api:
            try:
                self._wait_for_initialized(api)
            except _StepError as failure:
                self._log_operators(api)
                self._log.error(failure.text)
                raise InstallerError(f"failed to initialize the cluster: {failure.cause}", errors.INSTALL, level="error") from failure
            self._add_ingress_ca(api)
            self._wait_for_stable_operators(api)
            console = self._console(api)
        self._log_complete(console)
        self._log_elapsed()
        return 0

    def _wait_for_initialized(self, api: Api) -> None:
        if "install" in self._failures:
            raise _StepError("failed on demand", _INITIALIZATION_TEXT)
        self._log.info(f"Waiting up to {_until(INSTALL_LIMIT)} for the cluster at {api.server} to initialize...")
        seen = [""]

        def initialized() -> bool | None:
            version = api.get("/apis/config.openshift.io/v1/clusterversions/version")
            status = {kind: _condition(version, kind) for kind in ("Available", "Failing", "Progressing")}
            if [entry.get("status") for entry in status.values()] == ["True", "False", "False"]:
                return True
            for kind in ("Failing", "Progressing"):
                if status[kind].get("status") == "True":
                    message = str(status[kind].get("message", ""))
                    if message != seen[-1]:
                        self._log.debug(f"Still waiting for the cluster to initialize: {message}")
                        seen.append(message)
                    break
            return None

        found, last = self._poll(INSTALL_LIMIT, initialized, "the cluster to initialize")
        if found is None:
            raise _StepError(seen[-1] or last, _INITIALIZATION_TEXT)
        self._log.debug("Cluster is initialized")

    def _add_ingress_ca(self, api: Api) -> None:
        name = "default-ingress-cert"
        try:
            found = api.get(f"/api/v1/namespaces/openshift-config-managed/configmaps/{name}")
        except UnreachableError as error:
            raise InstallerError(f"fetching {name} configmap from openshift-config-managed namespace: {error}") from error
        ca = ((found or {}).get("data") or {}).get("ca-bundle.crt")
        if not ca:
            raise InstallerError(f'fetching {name} configmap from openshift-config-managed namespace: configmaps "{name}" not found')
        changed = kubeconfig.with_ca(self._kubeconfig.read_bytes(), str(ca).encode())
        self._kubeconfig.write_bytes(changed)

    def _wait_for_stable_operators(self, api: Api) -> None:
        self._log.info(f"Waiting up to {_until(STABLE_LIMIT)} to ensure each cluster operator has finished progressing...")

        def stable() -> bool | None:
            steady = [self._steady(operator) for operator in _operators(api)]
            return (bool(steady) and all(steady)) or None

        failed = "operators" in self._failures
        found, last = (None, "failed on demand") if failed else self._poll(STABLE_LIMIT, stable, "the cluster operators")
        if found is None:
            self._log.error(f'Error checking cluster operator Progressing status: "{last}"')
            moving = sorted(_name(operator) for operator in _operators(api) if not self._steady(operator))
            raise InstallerError(
                f"These cluster operators were not stable: [{', '.join(moving)}]", errors.OPERATORS_NOT_STABLE, level="error"
            )
        self._log.info("All cluster operators have completed progressing")

    def _steady(self, operator: Mapping[str, Any]) -> bool:
        progressing = _condition(operator, "Progressing")
        since = _moment(progressing.get("lastTransitionTime"))
        return progressing.get("status") == "False" and since is not None and datetime.now(UTC) - since >= STABLE_FOR / self._speed

    def _console(self, api: Api) -> str:
        self._log.info("Checking to see if there is a route at openshift-console/console...")

        def address() -> str | None:
            route = api.get("/apis/route.openshift.io/v1/namespaces/openshift-console/routes/console")
            if route is None:
                self._log.debug("OpenShift console route does not exist")
                return ""
            for ingress in (route.get("status") or {}).get("ingress") or []:
                if any(entry.get("type") == "Admitted" and entry.get("status") == "True" for entry in ingress.get("conditions") or []):
                    self._log.debug("OpenShift console route is admitted")
                    return f"https://{ingress.get('host') or route['spec']['host']}"
            return None

        found, _last = self._poll(CONSOLE_LIMIT, address, "the console route")
        if not found:
            self._log.warning("Cluster does not have a console available: could not get openshift-console URL")
        return found or ""

    def _log_complete(self, console: str) -> None:
        password = self._directory / "auth" / "kubeadmin-password"
        try:
            text = password.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise InstallerError(f"open {password}: no such file or directory") from error
        self._log.info("Install complete!")
        self._log.info(
            f"To access the cluster as the system:admin user when using 'oc', run\n    export KUBECONFIG={self._kubeconfig.resolve()}"
        )
        if console:
            self._log.info(f"Access the OpenShift web-console here: {console}")
            # In clear, also in the log file, as the real one does: callers have to keep this output to themselves.
            self._log.info(f'Login to the console with user: "kubeadmin", and password: "{text}"')

    # --- both ------------------------------------------------------------------------------------------------------------

    def _poll(self, limit: timedelta, ask: Callable[[], Found | None], what: str) -> tuple[Found | None, str]:
        """Ask until the answer is not None. Returns it and, when the limit was reached first, what was last in the way."""
        last = "timed out waiting for the condition"
        alike = 0
        for _elapsed in self._clock(limit):
            try:
                found = ask()
            except UnreachableError as error:
                alike = alike + 1 if str(error) == last else 0
                last = str(error)
                if alike % _LIKE_THE_LAST == 0:
                    self._log.debug(f"Still waiting for {what}: {error}")
                continue
            if found is not None:
                return found, ""
        return None, last

    def _clock(self, limit: timedelta) -> Iterator[float]:
        start = time.monotonic()
        end = start + limit.total_seconds() / self._speed
        while True:
            yield time.monotonic() - start
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(_INTERVAL / self._speed, left))

    def _log_operators(self, api: Api) -> None:
        try:
            operators = _operators(api)
        except UnreachableError as error:
            self._log.error(f"Attempted to gather ClusterOperator status after wait failure: listing ClusterOperator objects: {error}")
            return
        for operator in operators:
            for entry in (operator.get("status") or {}).get("conditions") or []:
                kind, status = entry.get("type"), entry.get("status")
                if (kind, status) in (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"), ("Upgradeable", "True")):
                    continue
                text = f"Cluster operator {_name(operator)} {kind} is {status} with {entry.get('reason')}: {entry.get('message')}"
                self._log.entry("error" if kind in ("Available", "Degraded") else "info", text)

    def _log_elapsed(self) -> None:
        self._log.info(f"Time elapsed: {_go_duration(timedelta(seconds=round(time.monotonic() - self._started)))}")


class _StepError(Exception):
    """A step did not come to its end: what was in the way, and the text for the user."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.text = text


def _operators(api: Api) -> list[dict[str, Any]]:
    return list((api.get("/apis/config.openshift.io/v1/clusteroperators") or {}).get("items") or [])


def _name(item: Mapping[str, Any]) -> str:
    return str((item.get("metadata") or {}).get("name"))


def _condition(item: Mapping[str, Any] | None, kind: str) -> dict[str, Any]:
    for entry in ((item or {}).get("status") or {}).get("conditions") or []:
        if entry.get("type") == kind:
            return dict(entry)
    return {}


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _until(limit: timedelta) -> str:
    end = datetime.now().astimezone() + limit
    return f"{_go_duration(limit)} (until {end.strftime('%I:%M%p').lstrip('0')} {end.strftime('%Z')})"


def _go_duration(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    hours, minutes = seconds // 3600, seconds // 60
    if hours:
        return f"{hours}h{minutes % 60}m{seconds % 60}s"
    return f"{minutes}m{seconds % 60}s" if minutes else f"{seconds}s"
