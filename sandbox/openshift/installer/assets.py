# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The asset directory: its inputs, which are removed, its outputs, and its state file.

As with the real one, inputs are consumed: ``install-config.yaml`` disappears with ``create manifests``, ``manifests/`` and
``openshift/`` disappear with ``create ignition-configs``. Answers are remembered in ``.openshift_install_state.json``, and
that file wins: a new install-config in an old directory is removed but changes nothing, expired certificates are
written out again, all without a message. Manifests on disk, edited or added, win over remembered ones.
"""

from __future__ import annotations

import base64
import json
import secrets
import string
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from . import certificates, ignition, install_config, manifests
from .catalogue import Release
from .certificates import KeyPair
from .errors import InstallerError
from .install_config import InstallConfig
from .kubeconfig import Kubeconfig
from .log import Log
from .manifests import ClusterIdentity

STATE_FILE: Final = ".openshift_install_state.json"
_MANIFEST_DIRECTORIES: Final = ("manifests", "openshift")
_MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json")
_PASSWORD_LETTERS: Final = "".join(set(string.ascii_letters + string.digits) - set("0O1lI"))

# Sections of the state file, named by the Go types the real one uses.
_INSTALL_CONFIG: Final = "*installconfig.InstallConfig"
_CLUSTER_ID: Final = "*installconfig.ClusterID"
_PASSWORD: Final = "*password.KubeadminPassword"  # noqa: S105 - the name of a section, not a password
_TLS: Final = "*tls.RootCA"
_SERVICE_ACCOUNT: Final = "*tls.ServiceAccountKeyPair"
_SSH: Final = "*tls.BootstrapSSHKeyPair"
_MANIFESTS: Final = "*manifests.Manifests"
_IGNITION: Final = "*bootstrap.Bootstrap"


class Assets:
    """One asset directory during one command."""

    def __init__(self, directory: Path, release: Release, log: Log, *, strict: bool = False) -> None:
        self._directory = directory
        self._release = release
        self._log = log
        self._strict = strict
        self._state = _read_state(directory / STATE_FILE)
        self._config: InstallConfig | None = None

    # --- the three targets -------------------------------------------------------------------------------------------

    def create_install_config(self) -> None:
        config = self._install_config("Install Config")
        self._save()
        _write(self._directory / install_config.FILE, config.dump())
        self._log.info(f"Install-Config created in: {self._shown()}")

    def create_manifests(self) -> None:
        files = self._manifests("Master Machines")
        self._save()
        self._consume(install_config.FILE)
        for path, content in files.items():
            _write(self._directory / path, content)
        self._log.info(f"Manifests created in: {self._shown('manifests')} and {self._shown('openshift')}")

    def create_ignition_configs(self) -> None:
        made = self._ignition("Bootstrap Ignition Config")
        self._save()
        self._consume(install_config.FILE)
        for name in _MANIFEST_DIRECTORIES:
            self._consume(name)
        for path, content in made.items():
            # A file that is still there (and perhaps edited) is an input like any other: it is kept.
            if not (self._directory / path).exists():
                _write(self._directory / path, content)
        self._log.info(f"Ignition-Configs created in: {self._shown()} and {self._shown('auth')}")

    # --- assets, each from the state if it was made before --------------------------------------------------------------

    def _install_config(self, target: str) -> InstallConfig:
        if self._config is None:
            self._config = self._read_install_config(target)
        return self._config

    def _read_install_config(self, target: str) -> InstallConfig:
        path = self._directory / install_config.FILE
        on_disk = path.read_bytes() if path.exists() else None
        if on_disk is not None:
            self._log.info("Consuming Install Config from target directory")
        if _INSTALL_CONFIG in self._state:
            return InstallConfig(self._state[_INSTALL_CONFIG]["config"])
        if on_disk is None:
            # The real one prompts at the terminal. Without an answer it ends with this error.
            raise InstallerError(
                f'failed to fetch {target}: failed to fetch dependency of "{target}": failed to fetch dependency of '
                '"Install Config": failed to generate asset "SSH Key": failed UserInput: EOF'
            )
        try:
            config = install_config.read(on_disk, self._release, self._log, strict=self._strict)
        except InstallerError as error:
            raise InstallerError(f"failed to fetch {target}: {error.message}", error.code, level="error") from error
        self._state[_INSTALL_CONFIG] = {"config": config.data, "file": _encoded({install_config.FILE: config.dump()})}
        return config

    def _identity(self, config: InstallConfig) -> ClusterIdentity:
        if _CLUSTER_ID not in self._state:
            letters = string.ascii_lowercase + string.digits
            suffix = "".join(secrets.choice(letters) for _unused in range(5))
            # Longest prefix that leaves room for "-" and five characters in 27; dots are no part of resource names.
            prefix = config.name.replace(".", "-")[:21].rstrip("-")
            self._state[_CLUSTER_ID] = {"UUID": str(uuid.uuid4()), "InfraID": f"{prefix}-{suffix}"}
        return ClusterIdentity(self._state[_CLUSTER_ID]["UUID"], self._state[_CLUSTER_ID]["InfraID"])

    def _password(self) -> str:
        if _PASSWORD not in self._state:
            password = "-".join("".join(secrets.choice(_PASSWORD_LETTERS) for _unused in range(5)) for _unused in range(4))
            self._state[_PASSWORD] = {"Password": password}
        return str(self._state[_PASSWORD]["Password"])

    def _pairs(self, specs: Mapping[str, certificates.CertificateSpec]) -> dict[str, KeyPair]:
        held = _decoded(self._state.get(_TLS, {}))
        pairs = {name[:-4]: KeyPair(held[name], held[f"{name[:-4]}.key"]) for name in held if name.endswith(".crt")}
        missing = {name: spec for name, spec in specs.items() if name not in pairs}
        if missing:
            pairs |= certificates.generate(missing, pairs)
            held |= {f"{name}.crt": pair.certificate for name, pair in pairs.items()}
            held |= {f"{name}.key": pair.key for name, pair in pairs.items()}
            self._state[_TLS] = _encoded(held)
        return pairs

    def _service_account_keys(self) -> dict[str, bytes]:
        """Return path below /opt/openshift -> content."""
        if _SERVICE_ACCOUNT not in self._state:
            made: dict[str, bytes] = {}
            for name in ("service-account", "bound-service-account-signing-key"):
                made[f"tls/{name}.key"], made[f"tls/{name}.pub"] = certificates.service_account_keys()
            self._state[_SERVICE_ACCOUNT] = _encoded(made)
        return _decoded(self._state[_SERVICE_ACCOUNT])

    def _ssh_public_key(self) -> str:
        """The installer's own key, with which `gather bootstrap` logs in; its private half is kept in the state."""
        if _SSH not in self._state:
            private, public = certificates.ssh_keys()
            self._state[_SSH] = {"Priv": base64.b64encode(private).decode(), "Pub": base64.b64encode(public).decode()}
        return base64.b64decode(self._state[_SSH]["Pub"]).decode()

    def _manifests(self, target: str) -> dict[str, bytes]:
        config = self._install_config(target)
        on_disk = self._manifests_on_disk()
        if on_disk:
            for name in ("Common Manifests", "Openshift Manifests", "Master Machines", "Worker Machines"):
                self._log.info(f"Consuming {name} from target directory")
            if self._state.get(_MANIFESTS) != _encoded(on_disk):
                self._state[_MANIFESTS] = _encoded(on_disk)
                self._discard_ignition()
        if _MANIFESTS in self._state:
            return _decoded(self._state[_MANIFESTS])
        pairs = self._pairs(certificates.specs_for_manifests(config.cluster_domain))
        if config.compute_replicas == 0:
            self._log.warning("Making control-plane schedulable by setting MastersSchedulable to true for Scheduler cluster settings")
        for label, name in (("MCS CA cert", "root-ca"), ("MCS TLS cert", "machine-config-server")):
            certificate, _key = pairs[name].loaded
            not_after, not_before = (
                moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in (certificate.not_valid_after_utc, certificate.not_valid_before_utc)
            )
            self._log.info(f"Successfully populated {label} information: root-ca {not_after} {not_before}")
        made = manifests.manifests(
            config,
            self._identity(config),
            self._release,
            pairs,
            pointers={role: ignition.pointer(config.cluster_domain, role, pairs["root-ca"].certificate) for role in ("master", "worker")},
        )
        self._state[_MANIFESTS] = _encoded(made)
        return made

    def _discard_ignition(self) -> None:
        """Remove Ignition configs that were made from other manifests; keys are kept."""
        if self._state.pop(_IGNITION, None) is None:
            return
        for name, path in (("Bootstrap", "bootstrap.ign"), ("Master", "master.ign"), ("Worker", "worker.ign")):
            if (self._directory / path).exists():
                self._log.warning(
                    f"Discarding the {name} Ignition Config that was provided in the target directory because its dependencies "
                    "are dirty and it needs to be regenerated"
                )
                (self._directory / path).unlink()

    def _manifests_on_disk(self) -> dict[str, bytes]:
        return {
            f"{name}/{path.name}": path.read_bytes()
            for name in _MANIFEST_DIRECTORIES
            for path in sorted((self._directory / name).glob("*"))
            if path.is_file() and path.suffix in _MANIFEST_SUFFIXES
        }

    def _ignition(self, target: str) -> dict[str, bytes]:
        config = self._install_config(target)
        files = self._manifests(target)
        if _IGNITION in self._state:
            return _decoded(self._state[_IGNITION])
        made = self._ignition_files(config, files)
        self._state[_IGNITION] = _encoded(made)
        return made

    def _ignition_files(self, config: InstallConfig, files: Mapping[str, bytes]) -> dict[str, bytes]:
        identity = self._identity(config)
        pairs = self._pairs(
            certificates.specs_for_manifests(config.cluster_domain)
            | certificates.specs_for_bootstrap(config.cluster_domain, config.service_address)
        )
        domain = config.cluster_domain
        ca_bundle = certificates.bundle(pairs[name] for name in certificates.API_SIGNERS)
        admin = Kubeconfig(config.name, f"https://api.{domain}:6443", ca_bundle, "admin", pairs["admin-kubeconfig-client"])
        internal = replace(admin, server=f"https://api-int.{domain}:6443")
        metadata: dict[str, Any] = {
            "clusterName": config.name,
            "clusterID": identity.cluster_id,
            "infraID": identity.infra_id,
            "featureSet": "",
            "customFeatureSet": None,
        }
        content = dict(files) | self._service_account_keys()
        content |= manifests.ignored_by_cvo(files)
        content |= certificates.tls_files(pairs)
        content |= {
            "auth/kubeconfig": internal.dump(),
            "auth/kubeconfig-kubelet": replace(internal, user="kubelet", client=pairs["kubelet-client"]).dump(),
            "auth/kubeconfig-loopback": replace(
                admin, server="https://localhost:6443", user="loopback", ca_bundle=pairs["kube-apiserver-localhost-signer"].certificate
            ).dump(),
        }
        root_ca = pairs["root-ca"].certificate
        return {
            "bootstrap.ign": ignition.bootstrap(config, self._release, content, ssh_key=self._ssh_public_key()),
            "master.ign": ignition.pointer(domain, "master", root_ca),
            "worker.ign": ignition.pointer(domain, "worker", root_ca),
            "metadata.json": json.dumps(metadata, separators=(",", ":")).encode(),
            "auth/kubeconfig": admin.dump(),
            "auth/kubeadmin-password": self._password().encode(),
        }

    # --- files ---------------------------------------------------------------------------------------------------------

    def _consume(self, name: str) -> None:
        path = self._directory / name
        if path.is_dir():
            for file in path.iterdir():
                if file.suffix in _MANIFEST_SUFFIXES and file.is_file():
                    file.unlink()
            if not any(path.iterdir()):  # other files were not read and are kept
                path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def _save(self) -> None:
        _write(self._directory / STATE_FILE, json.dumps(self._state, indent=4).encode())

    def _shown(self, name: str = "") -> str:
        return str(self._directory / name) if name else str(self._directory)


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InstallerError(f"failed to create asset store: failed to unmarshal state file {path}: {error}") from error
    return dict(state)


def _encoded(files: Mapping[str, bytes]) -> dict[str, Any]:
    return {"FileList": [{"Filename": name, "Data": base64.b64encode(data).decode()} for name, data in sorted(files.items())]}


def _decoded(section: Mapping[str, Any]) -> dict[str, bytes]:
    return {entry["Filename"]: base64.b64decode(entry["Data"]) for entry in section.get("FileList", [])}


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    path.touch(mode=0o640)
    path.write_bytes(content)
