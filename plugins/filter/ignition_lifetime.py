# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ignition_lifetime
short_description: When the certificates in a bootstrap.ign begin and end
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the certificates that C(openshift-install) has put below C(/opt/openshift/tls) of its bootstrap config. They are made when the
    config is made, so the first of them to begin tells its birthday, however often the file was copied since; and the first of them to end
    tells how long a cluster can be begun with it.
  - Certificates elsewhere in the config, such as those of a trust bundle, are somebody else's and say nothing of it.
positional: _input
options:
  _input:
    description:
      - The text of C(bootstrap.ign).
    type: str
    required: true
  max_age:
    description:
      - Seconds after which the config is too old to begin an installation with it. Left out, it may be of any age.
    type: int
  min_validity:
    description:
      - Seconds for which all certificates still have to be valid to begin an installation.
    type: int
    default: 0
  now:
    description:
      - The time to judge by, in seconds since 1970. Left out, it is the current time.
    type: int
requirements:
  - cryptography
"""

EXAMPLES = r"""
- name: Tell how long these files can be used
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'bootstrap.ign') | equinix_metal.openshift.ignition_lifetime).ends_at }}"
"""

RETURN = r"""
_value:
  description: What the certificates tell.
  type: dict
  contains:
    born:
      description: From when on all certificates made with the config are meant to be used, in seconds since 1970.
      type: int
      sample: 1787400000
    born_at:
      description: The same as text.
      type: str
      sample: "2026-08-22T12:00:00+00:00"
    ends:
      description: When the first of them ends, in seconds since 1970.
      type: int
      sample: 1787486400
    ends_at:
      description: The same as text.
      type: str
      sample: "2026-08-23T12:00:00+00:00"
    first_to_end:
      description: Path of the certificate that ends first, as it will be on the bootstrap machine.
      type: str
      sample: /opt/openshift/tls/aggregator-signer.crt
    problem:
      description: Why an installation cannot begin with the config, or an empty text.
      type: str
      sample: they are 13.0 hours old, and may be used for 12.0 hours (openshift_ignition_max_age)
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
    """What the contents of a file are: a data URL (RFC 2397), perhaps compressed. Raises ValueError or OSError."""
    scheme, _unused, rest = str(contents["source"]).partition(":")
    head, comma, body = rest.partition(",")
    if scheme != "data" or not comma:
        raise ValueError("not a data URL")
    content = unquote_to_bytes(body)
    if head.endswith(";base64"):
        content = base64.b64decode(content, validate=True)
    return gzip.decompress(content) if contents.get("compression") == "gzip" else content


def _certificates(config: Mapping[str, Any]) -> Iterator[tuple[str, x509.Certificate]]:
    """Path and certificate of each one the installer made; a bundle has several. Raises what reading something else leads to."""
    for entry in config["storage"]["files"]:
        path = str(entry["path"])
        if path.startswith(FOLDER) and path.endswith(".crt"):
            yield from ((path, certificate) for certificate in x509.load_pem_x509_certificates(_content(entry["contents"])))


def _problem(lifetime: Mapping[str, Any], max_age: Any, min_validity: Any, now: Any) -> str:
    """Return why an installation cannot begin with such a config, or nothing."""
    moment = int(time.time() if now is None else now)
    age, left = moment - lifetime["born"], lifetime["ends"] - moment
    ends = f"{lifetime['ends_at']} ({lifetime['first_to_end']})"
    if age < 0:
        return f"their certificates are not valid before {lifetime['born_at']}: the clock of this computer went back since they were made"
    if left <= 0:
        return f"their first certificate ended at {ends}"
    if left < int(min_validity):
        needed = f"an installation needs {int(min_validity) / 3600:.1f} hours (openshift_ignition_min_validity)"
        return f"their first certificate ends at {ends}, and {needed}"
    if max_age is not None and age > int(max_age):
        limit = f"may be used for {int(max_age) / 3600:.1f} hours (openshift_ignition_max_age)"
        return f"they are {age / 3600:.1f} hours old, and {limit}"
    return ""


def ignition_lifetime(text: Any, max_age: Any = None, min_validity: Any = 0, now: Any = None) -> dict[str, Any]:
    """Return when the certificates in this bootstrap.ign begin and end, and whether an installation can begin with them.

    Raises AnsibleFilterError for what is no bootstrap.ign or has no certificates.
    """
    if MISSING is not None:
        raise AnsibleFilterError(f"ignition_lifetime: the Python library cryptography is needed: {MISSING}")
    try:
        found = list(_certificates(json.loads(text)))
    except (KeyError, TypeError, ValueError, OSError, EOFError) as problem:
        # Without what was read: it has the keys of a cluster in it.
        raise AnsibleFilterError(f"ignition_lifetime: this is no bootstrap.ign of openshift-install ({type(problem).__name__})") from None
    if not found:
        raise AnsibleFilterError(f"ignition_lifetime: no certificate below {FOLDER}: this is no bootstrap.ign of openshift-install")
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
