# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys, certificates and files of one cluster that its etcd, kube-apiserver and kube-controller-manager read, wherever these run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from sandbox.openshift import pki
from sandbox.openshift.api import ClusterAPI
from sandbox.openshift.assets import Assets
from sandbox.openshift.installer.certificates import KeyPair
from sandbox.openshift.installer.kubeconfig import Kubeconfig

_logger = logging.getLogger(__name__)

BOOTSTRAPPER: Final = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
BOOTSTRAPPER_GROUPS: Final = ("system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts")

# The cluster's own components; longer than any sandbox lives.
_INTERNAL_LIFETIME: Final = timedelta(days=3650)
# What the installer makes for 24 hours is followed up by a successor for 30 days, well before its end (as the operators of a
# real cluster do 16 to 22 hours after the install).
_ROTATE_BEFORE: Final = timedelta(hours=8)
_ROTATED_LIFETIME: Final = timedelta(days=60)

_KUBELETS_SIGNER: Final = "kube-apiserver-to-kubelet-signer"
_OWN: Final = ("internal-signer", "internal-admin", _KUBELETS_SIGNER)
"""Keys that no process of a control plane reads."""
CONTROLLERS: Final = "internal-controllers"
SCHEDULER: Final = "internal-scheduler"
"""Names of the certificates of clients that are processes of a control plane."""
KUBELETS_CLIENT: Final = "system:kube-apiserver"
"""User name of the API server at kubelets."""


class ControlPlaneKeys:
    """``directory``: where they are, across restarts."""

    def __init__(self, directory: Path, assets: Assets) -> None:
        self.directory = directory
        self._assets = assets

    def prepare(self) -> None:
        """Write all keys and files that the processes read, and the administrator's certificate."""
        own = pki.KeyPair.read(self.directory / "internal-signer")
        if own is None:
            own = pki.self_signed_ca("sandbox-internal-signer", _INTERNAL_LIFETIME)
            own.write(self.directory / "internal-signer")
        identities: dict[str, tuple[str, tuple[str, ...]]] = {
            "internal-admin": ("system:admin", ("system:masters",)),
            CONTROLLERS: ("system:kube-controller-manager", ()),
            SCHEDULER: ("system:kube-scheduler", ()),
        }
        for name, (user, organizations) in identities.items():
            if pki.KeyPair.read(self.directory / name) is None:
                pki.client(own, user, organizations, _INTERNAL_LIFETIME).write(self.directory / name)
        kubelets = pki.KeyPair.read(self.directory / _KUBELETS_SIGNER)
        if kubelets is None:
            kubelets = pki.self_signed_ca(_KUBELETS_SIGNER, _INTERNAL_LIFETIME)
            kubelets.write(self.directory / _KUBELETS_SIGNER)
            pki.client(kubelets, KUBELETS_CLIENT, ("kube-master",), _INTERNAL_LIFETIME).write(self.directory / "kubelet-client")
        pki.write_file(self.directory / "service-account.key", self._assets.files["tls/service-account.key"])
        # The CA bundle with which pods verify the API.
        pki.write_file(self.directory / "root-ca.crt", self._assets.kubelet_ca_bundle)
        groups = ",".join(BOOTSTRAPPER_GROUPS)
        line = f'{self._assets.token},{BOOTSTRAPPER},node-bootstrapper,"{groups}"\n'
        pki.write_file(self.directory / "tokens.csv", line.encode())
        self.refresh()

    def refresh(self) -> None:
        """Write serving certificates, signer of node certificates and client CAs, with successors for those near their end.

        kube-apiserver and kube-controller-manager read these files again when they change.
        """
        for name, signer_name in self._assets.servers.items():
            serving = pki.KeyPair.read(self.directory / name) or self._pair(name)
            if serving.remaining < _ROTATE_BEFORE:
                _logger.info("making a new %s for %s", name, self._assets.domain)
                serving = pki.successor(self._pair(signer_name), serving.certificate, _ROTATED_LIFETIME)
            serving.write(self.directory / name)
        signer = self.node_certificate_signer
        signers = self.directory / "csr-signers.crt"
        trusted = signers.read_bytes() if signers.exists() else signer.certificate
        if signer.remaining < _ROTATE_BEFORE:
            _logger.info("making a new signer of node certificates for %s", self._assets.domain)
            name = f"openshift-kube-controller-manager-operator_csr-signer-signer@{int(time.time())}"
            signer = pki.self_signed_ca(name, _ROTATED_LIFETIME)
            trusted += signer.certificate
        signer.write(self.directory / "csr-signer")
        pki.write_file(signers, trusted)
        bundles = ("kube-control-plane-ca-bundle", "kubelet-bootstrap-kubeconfig-ca-bundle")
        extra = (self._assets.files.get(f"tls/{name}.crt") for name in bundles)
        internal = (self.directory / "internal-signer.crt").read_bytes()
        pki.write_file(
            self.directory / "client-ca.crt",
            b"".join((self._assets.certificate("admin-kubeconfig-ca-bundle"), trusted, internal, *(pem for pem in extra if pem))),
        )

    @property
    def node_certificate_authorities(self) -> bytes:
        """PEM of all signers whose node certificates are in use (ConfigMap csr-controller-ca)."""
        return (self.directory / "csr-signers.crt").read_bytes()

    @property
    def kubelet_client_ca_bundle(self) -> bytes:
        """PEM of the CAs whose clients a kubelet accepts (its kubelet-ca.crt): the API server's, and the signers of node certificates."""
        return pki.KeyPair.paths(self.directory / _KUBELETS_SIGNER)[0].read_bytes() + self.node_certificate_authorities

    @property
    def node_certificate_signer(self) -> pki.KeyPair:
        """The present signer of node certificates."""
        return pki.KeyPair.read(self.directory / "csr-signer") or self._pair("kubelet-signer")

    async def rotate(self, then: Callable[[], None] = lambda: None) -> None:
        """Refresh the files every hour, and call ``then`` after it, until cancelled."""
        while True:
            await asyncio.sleep(3600)
            try:
                await asyncio.to_thread(self.refresh)
                then()
            except OSError:
                _logger.exception("certificates of %s could not be renewed; trying again in an hour", self._assets.domain)

    def _pair(self, name: str) -> pki.KeyPair:
        return pki.KeyPair(self._assets.certificate(name), self._assets.key(name))

    def kubeconfig(self, client: str, address: str, port: int) -> bytes:
        """Return the kubeconfig of ``client``, a process of a control plane, for the API server at this address."""
        pair = KeyPair(*(path.read_bytes() for path in pki.KeyPair.paths(self.directory / client)))
        ca_bundle, name = self._assets.certificate("kube-apiserver-lb-signer"), f"api-int.{self._assets.domain}"
        return Kubeconfig("internal", f"https://{address}:{port}", ca_bundle, client, pair, server_name=name).dump()

    def client(self, address: str, port: int) -> ClusterAPI:
        """Return an administrator's client of the API server at this address."""
        return ClusterAPI(
            f"https://{address}:{port}",
            server_name=f"api-int.{self._assets.domain}",
            ca_pem=self._assets.certificate("kube-apiserver-lb-signer"),
            cert=(self.directory / "internal-admin.crt", self.directory / "internal-admin.key"),
        )

    def files(self) -> dict[str, bytes]:
        """Return the files that the processes of a control plane machine read, by their names."""
        # A file that is being written has the suffix .new.
        paths = [path for path in self.directory.iterdir() if path.stem not in _OWN and path.suffix != ".new"]
        return {path.name: path.read_bytes() for path in paths}
