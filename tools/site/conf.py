"""Sphinx configuration of the documentation site. tools/site/__main__.py copies it beside the pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "equinix_metal.openshift"
copyright = "equinix_metal.openshift contributors, GPL-3.0-or-later"
root_doc = "README"
include_patterns = [
    "README.md",
    "docs/**.md",
    "tests/README.md",
    "tools/words/README.md",
    "roles/*/README.md",
    "reference/*.rst",
]

extensions = ["myst_parser", "sphinx_antsibull_ext"]
# The anchors that GitHub gives to headings.
myst_heading_anchors = 6

html_theme = "furo"
html_title = project
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

ANSIBLE = "https://docs.ansible.com/projects/ansible/latest"
ANSIBLE_LABELS = {
    "common_return_values": "reference_appendices/common_return_values.html#common-return-values",
    "action_plugins": "plugins/action.html#action-plugins",
    "callback_plugins": "plugins/callback.html#callback-plugins",
    "ansible_configuration_settings": "reference_appendices/config.html#ansible-configuration-settings",
}
"""Labels of Ansible's documentation that antsibull-docs refers to. Its index is not downloaded: the site is built without a network."""

ANSIBLE_PLUGIN = re.compile(r"ansible_collections\.(?P<collection>ansible\.builtin|\w+\.\w+)\.(?P<page>\w+_\w+)$")


def ansible_reference(_app: Sphinx, _env: Any, node: Any, contents: Any) -> nodes.reference | None:
    """Resolve a reference to Ansible's documentation; None for any other, which stays an error."""
    label = str(node.get("reftarget", ""))
    path = ANSIBLE_LABELS.get(label)
    plugin = ANSIBLE_PLUGIN.match(label)
    if plugin and not plugin["collection"].startswith("equinix_metal."):
        path = f"collections/{plugin['collection'].replace('.', '/')}/{plugin['page']}.html"
    return nodes.reference("", "", contents, internal=False, refuri=f"{ANSIBLE}/{path}") if path else None


def setup(app: Sphinx) -> None:
    """Connect the events."""
    app.connect("missing-reference", ansible_reference)
