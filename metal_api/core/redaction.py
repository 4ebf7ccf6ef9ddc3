# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hides secrets in paths, queries and methods before they are recorded.

A client may put its token into a query parameter of any name, or into the path, by mistake. Hidden (``...``) are tokens of this server and
of the request, every text with the form of a token, and the values of query parameters that the API does not have.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote, unquote_plus

# Query parameters whose values are shown. Not userdata, customdata, md5 and keys, though the API has them as parameters.
_NAMES = """
    address address_family asn bulk_disable bulk_enable categories cidr created[after] created[before] default_route deployment_type
    description details distro exclude facility fail_on_approval_required force_delete force_termination from global_ip hostname
    has_termination_time include ip_reservation_id label legacy mac_address metro name next_hop no_ssh_keys organization_id page per_page
    personal plan prefix preserve_data project_id provisionable public quantity query read_only remove_associated_instances reserved
    search slug sort_by sort_direction state tag type types until version virtual_network_id vnid vrf_id vxlan without_projects
"""
_SHOWN = frozenset(_NAMES.split())
# One long word with upper case, lower case and digits: tokens have this form; ids, slugs, hostnames and tags do not.
_LIKE_A_TOKEN = re.compile(r"(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{20,}(?![\w-])", re.ASCII)
HIDDEN = "..."

_MOST_PARAMETERS = 100
_MOST_ENCODINGS = 5
"""How often a text may be percent-encoded. Each level is read once more, and no client needs more than two."""


def without_secrets(path: str, secrets: Collection[str] = ()) -> str:
    """Return a path and its query without secrets."""
    path, mark, query = path.partition("?")
    parameters: list[str] = []
    for parameter in query.split("&", _MOST_PARAMETERS):
        if len(parameters) == _MOST_PARAMETERS:
            # All the others together.
            parameters.append(HIDDEN)
            break
        name, equals, value = parameter.partition("=")
        known = unquote_plus(name).lower().removesuffix("[]") in _SHOWN
        # A parameter without value may be a token itself.
        shown = hide(value, secrets) if known else HIDDEN if value else ""
        parameters.append(f"{name if known else hide(name, secrets)}{equals}{shown}")
    return hide(path, secrets) + mark + "&".join(parameters)


def hide(text: str, secrets: Collection[str] = ()) -> str:
    """Return ``text`` without ``secrets`` and without texts that have the form of a token, also where they are percent-encoded.

    A text that is percent-encoded more often than :data:`_MOST_ENCODINGS` is hidden as a whole.
    """
    plain = text
    for _level in range(_MOST_ENCODINGS):
        decoded = unquote(plain)
        if decoded == plain:
            break
        plain = decoded
    else:
        if unquote(plain) != plain:
            return HIDDEN
    hidden = plain
    for secret in secrets:
        if secret:
            hidden = hidden.replace(secret, HIDDEN)
    hidden = _LIKE_A_TOKEN.sub(HIDDEN, hidden)
    return text if hidden == plain else hidden
