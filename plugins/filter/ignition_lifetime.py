# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ignition_lifetime
short_description: Issue time and expiry of the certificates in a bootstrap.ign
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the certificates that C(openshift-install) writes below C(/opt/openshift/tls) of its bootstrap config. They are issued when the
    config is created, so the earliest start of their validity is the issue time of the config, and the earliest expiry is the end of the
    time in which an installation can begin with it.
  - Certificates elsewhere in the config, such as those of a trust bundle, are not issued by C(openshift-install) and are ignored.
positional: _input
options:
  _input:
    description:
      - Content of C(bootstrap.ign).
    type: str
    required: true
  max_age:
    description:
      - Seconds after the issue time until the config is too old to begin an installation with. Unset, there is no limit.
    type: int
  min_validity:
    description:
      - Seconds that all certificates have to remain valid to begin an installation.
    type: int
    default: 0
  now:
    description:
      - The current time in seconds since 1970. Unset, the time of the controller.
    type: int
requirements:
  - cryptography
"""

EXAMPLES = r"""
- name: Print when the Ignition files expire
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'bootstrap.ign') | equinix_metal.openshift.ignition_lifetime).ends_at }}"
"""

RETURN = r"""
_value:
  description: Issue time and expiry.
  type: dict
  contains:
    born:
      description: Issue time of the config, in seconds since 1970.
      type: int
      sample: 1787400000
    born_at:
      description: The same in ISO 8601.
      type: str
      sample: "2026-08-22T12:00:00+00:00"
    ends:
      description: When the first certificate expires, in seconds since 1970.
      type: int
      sample: 1787486400
    ends_at:
      description: The same in ISO 8601.
      type: str
      sample: "2026-08-23T12:00:00+00:00"
    first_to_end:
      description: Path on the bootstrap machine of the certificate that expires first.
      type: str
      sample: /opt/openshift/tls/aggregator-signer.crt
    problem:
      description: Why an installation cannot begin with the config. Empty when it can.
      type: str
      sample: they are 13.0 hours old, the limit is 12.0 hours (openshift_ignition_max_age)
"""

import base64
import gzip
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from ansible.errors import AnsibleFilterError

try:
    from cryptography import x509
except ImportError as problem:
    MISSING: ImportError | None = problem
else:
    MISSING = None

FOLDER = "/opt/openshift/tls/"


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
        if path.startswith(FOLDER) and path.endswith(".crt"):
            yield from ((path, certificate) for certificate in x509.load_pem_x509_certificates(_content(entry["contents"])))


def _problem(lifetime: Mapping[str, Any], max_age: Any, min_validity: Any, now: Any) -> str:
    """Return why an installation cannot begin with this config; empty when it can."""
    current = int(time.time() if now is None else now)
    age, left = current - lifetime["born"], lifetime["ends"] - current
    ends = f"{lifetime['ends_at']} ({lifetime['first_to_end']})"
    if age < 0:
        return f"their certificates are not valid before {lifetime['born_at']}: the controller's clock was set back after they were issued"
    if left <= 0:
        return f"their first certificate expired at {ends}"
    if left < int(min_validity):
        needed = f"an installation needs {int(min_validity) / 3600:.1f} hours (openshift_ignition_min_validity)"
        return f"their first certificate expires at {ends}, and {needed}"
    if max_age is not None and age > int(max_age):
        limit = f"the limit is {int(max_age) / 3600:.1f} hours (openshift_ignition_max_age)"
        return f"they are {age / 3600:.1f} hours old, {limit}"
    return ""


def ignition_lifetime(text: Any, max_age: Any = None, min_validity: Any = 0, now: Any = None) -> dict[str, Any]:
    """Return issue time and expiry of the certificates in a bootstrap.ign, and whether an installation can begin with them.

    Raises AnsibleFilterError for a malformed bootstrap.ign, or one without certificates.
    """
    if MISSING is not None:
        raise AnsibleFilterError(f"ignition_lifetime: the Python library cryptography is not installed on the controller: {MISSING}")
    try:
        found = list(_certificates(json.loads(text)))
    except (KeyError, TypeError, ValueError, OSError, EOFError) as problem:
        # Without the content, which has the keys of a cluster.
        raise AnsibleFilterError(f"ignition_lifetime: not a bootstrap.ign of openshift-install ({type(problem).__name__})") from None
    if not found:
        raise AnsibleFilterError(f"ignition_lifetime: not a bootstrap.ign of openshift-install: no certificate below {FOLDER}")
    born = min(certificate.not_valid_before_utc for unused, certificate in found)
    first, certificate = min(found, key=lambda each: each[1].not_valid_after_utc)
    ends = certificate.not_valid_after_utc
    lifetime = {
        "born": int(born.timestamp()),
        "born_at": born.isoformat(),
        "ends": int(ends.timestamp()),
        "ends_at": ends.isoformat(),
        "first_to_end": first,
    }
    return {**lifetime, "problem": _problem(lifetime, max_age, min_validity, now)}


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ignition_lifetime": ignition_lifetime}
