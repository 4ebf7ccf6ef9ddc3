# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that use the Metal API.

Note that this doc fragment is private to the collection: it may change without notice.
"""


class ModuleDocFragment:
    # For the inventory plugin, too.
    CONNECTION = r"""
options:
  metal_api_url:
    description:
      - URL of the Metal API, with its path, for example V(https://metal.example.com/metal/v1). C(http) is accepted.
      - Required here or in the environment variable E(METAL_API_URL). There is no default, since Equinix Metal closed on 30 June 2026.
    type: str
  metal_api_token:
    description:
      - Token of a user or of a project for the Metal API.
      - Required here or in one of the environment variables E(METAL_AUTH_TOKEN), E(METAL_API_TOKEN), E(PACKET_API_TOKEN),
        E(PACKET_AUTH_TOKEN) and E(PACKET_TOKEN). The first one that is set and not empty is used.
    type: str
    aliases: [api_token, auth_token]
  metal_api_timeout:
    description: Timeout of one API call in seconds, from the request to the last byte of the response. Must be greater than 0.
    type: float
    default: 30
  metal_api_retries:
    description:
      - Maximum number of retries of one API call.
      - Rate-limited calls (status 429) are always repeated, after the time that the API returns. After lost connections and server errors
        (status 500, 502, 503, 504) only reads and deletions are repeated. If the response to a creation was lost, the module searches for
        the object before it tries again, so nothing is ordered twice.
    type: int
    default: 8
  metal_api_ca_path:
    description:
      - A CA bundle (PEM), or a folder with CA certificates, to trust instead of the system's.
      - Can also be set in E(METAL_API_CA_PATH), or for all programs in E(REQUESTS_CA_BUNDLE) or E(CURL_CA_BUNDLE).
    type: path
  metal_api_proxy:
    description:
      - URL of a proxy, for example V(http://proxy.example.com:3128). It may contain credentials, so it is never displayed.
      - Can also be set in E(METAL_API_PROXY), or for all programs in E(HTTPS_PROXY), E(HTTP_PROXY) and E(NO_PROXY).
    type: str
  metal_ua_prefix:
    description:
      - Prefix of the C(User-Agent) header of requests.
      - Can also be set in E(METAL_UA_PREFIX).
    type: str
"""

    # Annotated: ansible-test reads the assignments of texts, and this is an expression.
    DOCUMENTATION: str = rf"""{CONNECTION}
  project_id:
    description:
      - ID of the project (a UUID).
      - Required here or in the environment variable E(METAL_PROJECT_ID), unless an ID selects the object.
    type: str
  cluster_lock:
    description:
      - RV(equinix_metal.openshift.metal_cluster_lock#module:run) of the run that this task belongs to, on the same computer. Before its
        first write, the task acquires the cluster lock of the run and reads everything again. It fails if another run holds the lock.
      - V(none) lets the task write without a lock.
      - By default, M(equinix_metal.openshift.metal_device_set) acquires the lock of its ownership tags for the duration of the task, and
        waits for other runs up to its C(wait_timeout). Other modules acquire no lock.
    type: str
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.metal) in C(module_defaults) to set the options of the connection once.
    support: full
    membership:
      - equinix_metal.openshift.metal
notes:
  - On failure the module also returns C(failure), a dictionary for programs with the C(type) of the error and further keys, such as
    C(method), C(path), C(status), C(errors) and C(request_id) of the failed request.
  - The module fails, and sends no further request, when its playbook no longer runs.
  - An option that selects an object must not be an empty string or list, such as a variable that was cleared. Only C(tags), C(description)
    and C(details) may be empty if another option selects the object.
  - An option for an ID accepts a UUID and the words in its description. Anything else is refused before the first request.
requirements:
  - Python 3.11 or newer
  - packet-python >= 1.44.3
  - requests
"""

    # For modules of objects with tags.
    OWNERSHIP = r"""
options:
  tags:
    description: All tags of the object. Order and duplicates are ignored.
    type: list
    elements: str
  ownership_tags:
    description:
      - Ownership tags. An object without all of them, however it was found, is never changed or deleted. It is an error.
      - When an object is created, O(tags) have to contain them.
    type: list
    elements: str
"""

    # For modules that list objects with tags.
    FILTERS = r"""
options:
  ids:
    description: List only objects with one of these IDs.
    type: list
    elements: str
  metro:
    description: List only objects in the metro with this code.
    type: str
  tags:
    description: List only objects with all of these tags.
    type: list
    elements: str
"""

    # For modules of objects that they create and delete, and find by ID.
    ID = r"""
options:
  id:
    description: ID of the object. It has to exist.
    type: str
"""

    # For modules of objects that they create and delete.
    STATE = r"""
options:
  state:
    description: State of the object.
    type: str
    choices: [present, absent]
    default: present
"""

    # For modules of SSH keys.
    KEY_OWNER = r"""
options:
  owner:
    description:
      - Owner of the key.
      - V(project) is the project O(project_id), whose devices have the key. V(user) is the user of the token.
    type: str
    choices: [project, user]
    default: project
"""
