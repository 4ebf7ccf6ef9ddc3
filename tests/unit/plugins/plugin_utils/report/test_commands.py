"""The commands that reports name, by how this playbook was called."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.commands import Caller

SECRET = "pl4nted"
DEFAULT = ["/etc/ansible/hosts"]


def caller(*playbooks: str, inventory: tuple[str, ...] = ("/etc/ansible/hosts",), **more: Any) -> Caller:
    return Caller({"args": playbooks, "inventory": inventory, **more}, DEFAULT, "/home/me")


@pytest.mark.parametrize(
    ("called", "again", "destroy"),
    [
        (caller("install.yml"), "ansible-playbook install.yml", "ansible-playbook destroy.yml"),
        (
            caller("equinix_metal.openshift.install"),
            "ansible-playbook equinix_metal.openshift.install",
            "ansible-playbook equinix_metal.openshift.destroy",
        ),
        (caller("site.yml"), "ansible-playbook site.yml", "ansible-playbook equinix_metal.openshift.destroy"),
        (
            caller("install.yml", inventory=("/home/me/my clusters/prod", "/etc/hosts.yml")),
            "ansible-playbook -i 'my clusters/prod' -i /etc/hosts.yml install.yml",
            "ansible-playbook -i 'my clusters/prod' -i /etc/hosts.yml destroy.yml",
        ),
        (Caller({}), "ansible-playbook install.yml", "ansible-playbook destroy.yml"),
    ],
)
def test_a_command_is_as_this_one_was(called: Caller, again: str, destroy: str) -> None:
    assert called.again == again
    assert called.sibling("destroy") == destroy


@pytest.mark.parametrize("option", ["extra_vars", "vault_ids", "vault_password_files", "ask_vault_pass"])
def test_what_is_not_shown_is_said_and_no_value_of_it_is(option: str) -> None:
    called = caller("install.yml", **{option: (f"metal_api_token={SECRET}",)})
    assert SECRET not in called.again + called.sibling("destroy") + called.same
    assert "same" in called.same
    assert caller("install.yml").same == ""
