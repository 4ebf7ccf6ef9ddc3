# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_image
short_description: Verify the boot images on the server that machines get them from
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Note that this lookup is private to the roles of the collection. Its options and results may change without notice.
  - Reads each image once and compares its checksum with the expected one. Nothing is written to disk. Returns C(url), C(bytes) and
    C(problem) of each image, empty when it is valid. Requests are repeated after lost connections and server errors.
options:
  _terms:
    description: Images, each a dictionary with C(url) and C(sha256).
    type: list
    elements: dict
    required: true
  verify:
    description: V(sha256) reads the complete images, about 1.3 GB for the three of a machine. V(head) only checks that the image exists, as
      the live system does before it reads its root file system, and does not verify its content.
    type: str
    choices: [sha256, head]
    default: sha256
  timeout:
    description: Seconds without data from the server until the request fails.
    type: float
    default: 60
  tries:
    description: Number of requests for an image when connections are lost or the server has errors.
    type: int
    default: 3
"""

import hashlib
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.errors import AnsibleLookupError
from ansible.module_utils.urls import open_url
from ansible.plugins.lookup import LookupBase

CHUNK = 1 << 20


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type information
    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return the result for each image. Raises AnsibleLookupError for a malformed term."""
        self.set_options(var_options=variables, direct=kwargs)
        for term in terms:
            if not isinstance(term, Mapping) or not {"url", "sha256"} <= set(term):
                raise AnsibleLookupError(f"boot_image: an image needs url and sha256, not {term!r}")
        return [self._verify(str(term["url"]), str(term["sha256"])) for term in terms]

    def _verify(self, url: str, sha256: str) -> dict[str, Any]:
        tries = max(1, self.get_option("tries"))
        for left in reversed(range(tries)):
            size, problem, is_temporary = self._request(url, sha256)
            if not (is_temporary and left):
                break
        return {"url": url, "bytes": size, "problem": problem}

    def _request(self, url: str, sha256: str) -> tuple[int, str, bool]:
        """Return the bytes read, the problem, and whether another request may succeed."""
        reads_content = self.get_option("verify") == "sha256"
        size, digest = 0, hashlib.sha256()
        try:
            with open_url(url, method="GET" if reads_content else "HEAD", timeout=self.get_option("timeout"), decompress=False) as answer:
                expected = int(answer.headers.get("content-length") or 0)
                if not reads_content:
                    return expected, "" if expected else "the server reports no size, or the image is empty", False
                while content := answer.read(CHUNK):
                    size += len(content)
                    digest.update(content)
        except HTTPError as problem:
            return size, f"HTTP {problem.code} {problem.reason}", problem.code >= 500
        except (URLError, HTTPException, OSError, ValueError) as problem:
            return size, str(getattr(problem, "reason", None) or problem or type(problem).__name__), True
        if size < expected:
            return size, f"the connection ended after {size} of {expected} bytes", True
        if digest.hexdigest() != sha256.lower():
            return size, f"the sha256 of its {size} bytes is {digest.hexdigest()}, expected {sha256}", False
        return size, "", False
