# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_image
short_description: Whether images that machines boot are what they have to be, where machines get them
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads each image once, from its beginning to its end, and compares the checksum of what came with the one it has to have. Nothing is
    kept on a disk. What cannot be read is no error here, but told.
  - Lost connections and errors of the server are tried again.
options:
  _terms:
    description:
      - Images, each a dictionary with C(url) and C(sha256).
    type: list
    elements: dict
    required: true
  verify:
    description:
      - V(sha256) reads all of an image, about 1.3 GB for a machine's three. V(head) only asks whether it is there, as the live system does
        before it reads its root file system; whether it is the right one is not known then.
    type: str
    choices: [sha256, head]
    default: sha256
  timeout:
    description:
      - Seconds without a word of the server after which it is given up.
    type: float
    default: 60
  tries:
    description:
      - How often an image is asked for when connections are lost or the server has errors.
    type: int
    default: 3
"""

EXAMPLES = r"""
- name: See what is wrong with a kernel on a mirror
  ansible.builtin.debug:
    msg: "{{ lookup('equinix_metal.openshift.boot_image', {'url': 'http://mirror.example.com/live-kernel', 'sha256': '0' * 64}).problem }}"
"""

RETURN = r"""
_list:
  description:
    - For each term C(url), C(bytes), which is what came or what the server says will, and C(problem), empty when the image is good.
  type: list
  elements: dict
  sample: [{url: "http://mirror.example.com/live-kernel", bytes: 15000000, problem: ""}]
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
    """Lookup of images by their address and checksum."""

    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Raises AnsibleLookupError for a term that is no image."""
        self.set_options(var_options=variables, direct=kwargs)
        for term in terms:
            if not isinstance(term, Mapping) or not {"url", "sha256"} <= set(term):
                raise AnsibleLookupError(f"boot_image: an image needs url and sha256, not {term!r}")
        return [self._seen(str(term["url"]), str(term["sha256"])) for term in terms]

    def _seen(self, url: str, sha256: str) -> dict[str, Any]:
        tries = max(1, self.get_option("tries"))
        for left in reversed(range(tries)):
            size, problem, again = self._asked(url, sha256)
            if not (again and left):
                break
        return {"url": url, "bytes": size, "problem": problem}

    def _asked(self, url: str, sha256: str) -> tuple[int, str, bool]:
        """How many bytes came, what is wrong with them, and whether it may be otherwise when it is tried again."""
        whole = self.get_option("verify") == "sha256"
        size, digest = 0, hashlib.sha256()
        try:
            with open_url(url, method="GET" if whole else "HEAD", timeout=self.get_option("timeout"), decompress=False) as answer:
                told = int(answer.headers.get("content-length") or 0)
                if not whole:
                    return told, "" if told else "the server does not tell its size, or it is empty", False
                while content := answer.read(CHUNK):
                    size += len(content)
                    digest.update(content)
        except HTTPError as problem:
            return size, f"HTTP {problem.code} {problem.reason}", problem.code >= 500
        except (URLError, HTTPException, OSError, ValueError) as problem:
            return size, str(getattr(problem, "reason", None) or problem or type(problem).__name__), True
        if size < told:
            return size, f"the connection ended after {size} of {told} bytes", True
        if digest.hexdigest() != sha256.lower():
            return size, f"its sha256 is {digest.hexdigest()} ({size} bytes), it has to be {sha256}", False
        return size, "", False
