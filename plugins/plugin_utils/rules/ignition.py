# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the install-config, the Ignition files and openshift-install."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote_to_bytes

from ...module_utils.base.errors import CollectionError
from ...module_utils.release.versions import MIRRORS, read_stream
from ..cluster_folder.ownership import identity_problem
from ..install_config.rendering import render as render_install_config
from ..manifests.chrony import with_bootstrap_time_servers
from ..manifests.cluster_manifests import cluster_manifests as manifests
from ..manifests.images import manifest_images
from ..manifests.node_firewall import with_bootstrap_firewall
from ..manifests.node_network import with_bootstrap_network
from ..manifests.user_manifests import user_manifests
from ..programs import installer_log as log

try:
    from cryptography import x509
except ImportError as problem:
    MISSING: ImportError | None = problem
else:
    MISSING = None

__all__ = [
    "boot_images",
    "bootstrap_ign",
    "identity_problem",
    "installer_log",
    "lifetime",
    "manifest_images",
    "manifests",
    "mirror_url",
    "render_install_config",
    "user_manifests",
]


TLS = "/opt/openshift/tls/"
"""Where openshift-install writes the certificates that it issues."""


def mirror_url(url: str, distribution: str) -> str:
    """Return the URL of the mirror: ``url``, else the public one of the distribution."""
    return str(url or MIRRORS.get(str(distribution), MIRRORS["ocp"]))


def boot_images(output: Any) -> dict[str, Any]:
    """Return the images for booting over the network, of the output of ``openshift-install coreos print-stream-json``."""
    try:
        return asdict(read_stream(output))
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise CollectionError(f"ignition.boot_images: malformed stream metadata: {type(problem).__name__}: {problem}") from problem


def installer_log(stderr: Any, install_config: Any) -> dict[str, Any]:
    """Return ``errors`` and ``warnings`` of openshift-install, without the secrets of the install-config."""
    if not isinstance(install_config, Mapping):
        raise CollectionError("ignition.installer_log: install_config has to be a dictionary")
    return asdict(log.read(str(stderr or ""), install_config))


def bootstrap_ign(content: str | Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the content of bootstrap.ign with the settings of the nodes, which its live system has no manifests for.

    Before ansible-core 2.19 a text of JSON is a dictionary once it was a variable, so it may be either.
    """
    text = content if isinstance(content, str) else json.dumps(content)
    with_network = with_bootstrap_network(text, settings)
    return with_bootstrap_time_servers(with_bootstrap_firewall(with_network, settings), settings)


def lifetime(text: Any, max_age: Any = None, min_validity: Any = 0, now: Any = None) -> dict[str, Any]:
    """Return issue time and expiry of the certificates in a bootstrap.ign, and why an installation cannot begin with them (``problem``).

    They are issued when the config is created, so the earliest start of their validity is the issue time of the config (``born``), and
    the earliest expiry is the end of the time in which an installation can begin with it (``ends``); both in seconds since 1970.

    ``max_age``: seconds after the issue time until the config is too old. ``min_validity``: seconds that all certificates have to remain
    valid. ``now``: the current time in seconds since 1970; None is the time of the controller.
    """
    if MISSING is not None:
        raise CollectionError(f"ignition.lifetime: the Python library cryptography is not installed on the controller: {MISSING}")
    try:
        certificates = list(_certificates(json.loads(text)))
    except (KeyError, TypeError, ValueError, OSError, EOFError) as problem:
        # Without the content, which has the keys of a cluster.
        raise CollectionError(f"ignition.lifetime: not a bootstrap.ign of openshift-install ({type(problem).__name__})") from None
    if not certificates:
        raise CollectionError(f"ignition.lifetime: not a bootstrap.ign of openshift-install: no certificate below {TLS}")
    born = min(certificate.not_valid_before_utc for unused, certificate in certificates)
    first, certificate = min(certificates, key=lambda pair: pair[1].not_valid_after_utc)
    ends = certificate.not_valid_after_utc
    times = {
        "born": int(born.timestamp()),
        "born_at": born.isoformat(),
        "ends": int(ends.timestamp()),
        "ends_at": ends.isoformat(),
        "first_to_end": first,
    }
    return {**times, "problem": _problem(times, max_age, min_validity, now)}


def _content(contents: Mapping[str, Any]) -> bytes:
    """Return the content of a file: a data URL (RFC 2397), possibly compressed. Raises ValueError or OSError."""
    scheme, _unused, rest = str(contents["source"]).partition(":")
    head, comma, body = rest.partition(",")
    if scheme != "data" or not comma:
        raise ValueError("not a data URL")
    content = unquote_to_bytes(body)
    if head.endswith(";base64"):
        content = base64.b64decode(content, validate=True)
    return gzip.decompress(content) if contents.get("compression") == "gzip" else content


def _certificates(config: Mapping[str, Any]) -> Iterator[tuple[str, x509.Certificate]]:
    """Yield path and certificate of those that the installer issued; a bundle has several. Raises the errors of malformed input."""
    for entry in config["storage"]["files"]:
        path = str(entry["path"])
        if path.startswith(TLS) and path.endswith(".crt"):
            yield from ((path, certificate) for certificate in x509.load_pem_x509_certificates(_content(entry["contents"])))


def _problem(times: Mapping[str, Any], max_age: Any, min_validity: Any, now: Any) -> str:
    current = int(time.time() if now is None else now)
    age, left = current - times["born"], times["ends"] - current
    ends = f"{times['ends_at']} ({times['first_to_end']})"
    if age < 0:
        return f"their certificates are not valid before {times['born_at']}: the controller's clock was set back after they were issued"
    if left <= 0:
        return f"their first certificate expired at {ends}"
    if left < int(min_validity):
        needed = f"an installation needs {int(min_validity) / 3600:.1f} hours"
        return f"their first certificate expires at {ends}, and {needed}"
    if max_age is not None and age > int(max_age):
        limit = f"the limit is {int(max_age) / 3600:.1f} hours"
        return f"they are {age / 3600:.1f} hours old, {limit}"
    return ""
