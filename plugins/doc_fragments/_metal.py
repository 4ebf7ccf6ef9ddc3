# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of every module that speaks the Metal API."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  metal_api_url:
    description:
      - Address of the Metal API, with its path, for example V(https://metal.example.com/metal/v1). Plain C(http) is possible.
      - Needed, here or in the environment variable E(METAL_API_URL). There is no default, since the hosted Equinix Metal service closed
        on 30 June 2026.
    type: str
  metal_api_token:
    description:
      - Token for the Metal API, of a user or of a project.
      - Needed, here or in one of the environment variables E(METAL_AUTH_TOKEN), E(METAL_API_TOKEN), E(PACKET_API_TOKEN),
        E(PACKET_AUTH_TOKEN) and E(PACKET_TOKEN), the first that is set and not empty.
    type: str
    aliases:
      - api_token
      - auth_token
  metal_api_timeout:
    description:
      - How long one call may take until the last byte of its answer, in seconds; more than 0.
    type: float
    default: 30
  metal_api_retries:
    description:
      - How often one call is tried again.
      - Calls the API refused because of their number (status 429) are always repeated, after the time the API asked for.
        Lost connections and faults of the API (status 500, 502, 503, 504) are repeated for reads and deletes only.
        After a create whose answer was lost, the object is searched before another try, so that nothing is ordered twice.
    type: int
    default: 8
  metal_api_ca_path:
    description:
      - A CA bundle (PEM), or a folder of CA certificates, to trust instead of the default ones.
      - Without it, here or in the environment variable E(METAL_API_CA_PATH), E(REQUESTS_CA_BUNDLE) and E(CURL_CA_BUNDLE) are heeded.
    type: path
  metal_api_proxy:
    description:
      - Address of a proxy, for example V(http://proxy.example.com:3128). May hold a user and a password, so it is never shown.
      - Without it, here or in the environment variable E(METAL_API_PROXY), E(HTTPS_PROXY), E(HTTP_PROXY) and E(NO_PROXY) are heeded.
    type: str
  metal_ua_prefix:
    description:
      - A prefix of the C(User-Agent) of each request, to identify your calls.
      - It can also be in the environment variable E(METAL_UA_PREFIX).
    type: str
  cluster_lock:
    description:
      - The run that this task belongs to, as M(equinix_metal.openshift.metal_cluster_lock) returns it, on the same computer. The task then
        takes that run's cluster lock before its first write, reads everything again, and writes only while it holds the lock. It fails when
        another run holds the lock.
      - V(none) lets the task write without any lock.
      - Without it, M(equinix_metal.openshift.metal_device_set) takes the lock of its ownership tags for the time of the task, and waits
        for other runs as long as its C(wait_timeout) allows. Other modules take no lock.
    type: str
notes:
  - The module ends with an error, and sends no further request, when its playbook does not run any more.
  - An option by which something is found is refused where it is given and empty, as that of a variable which was cleared. Only C(tags),
    C(description) and C(details) may be empty, where another option says which one is meant.
  - An option that takes the id of an object accepts a UUID, in upper or lower case and with blanks around it, and the words that its
    description names. Anything else is refused before a call is made.
requirements:
  - Python 3.11 or newer
  - packet-python >= 1.44.3
  - requests
"""

    # Modules of objects with tags.
    OWNERSHIP = r"""
options:
  ownership_tags:
    description:
      - Ownership tags. An object without all of them is an error, whatever option it was found by. It has another owner, and is neither
        changed nor deleted.
      - To create an object, O(tags) have to contain them.
    type: list
    elements: str
"""

    # Modules that work in one project.
    PROJECT = r"""
options:
  project_id:
    description:
      - The project's id (a UUID).
      - Needed, here or in the environment variable E(METAL_PROJECT_ID), unless the resource is given by its own id.
    type: str
"""
