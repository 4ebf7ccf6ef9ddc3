"""Planted secrets are shown by no callback: of modules and roles that are given them in any type, in includes and in loops."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.role_play import played

from .keeping import keeping

ROOT = Path(__file__).resolve().parents[2]
CORE = "planted-7f3a91"
SHOWN = "shown-7f3a91"
"""No secret: everything that keeps what is shown has it."""
SECRET = f'it\'s "{CORE}" \\ zürich\nand a second line'
PLANTED = {"the secret": CORE, "the number": "730519461"}
WRONG: dict[str, Any] = {
    "text": SECRET,
    "number": 730519461,
    "list": [SECRET],
    "dictionary": {"a": SECRET},
    "dictionary of a key alone": {CORE: None},
    "JSON": json.dumps({"a": SECRET}),
}
PROJECT = "2b70eb8f-fa18-47c0-aba7-222a842362fd"
METAL = {"metal_api_url": "http://127.0.0.1:9/metal/v1", "metal_api_retries": 0, "project_id": PROJECT}
ZONE = {"server": "127.0.0.1", "port": 9, "zone": "metal.test", "key_name": "key", "timeout": 0.2, "records": []}


def role_options() -> dict[str, dict[str, Any]]:
    """The argument specs of the roles, of those options that hold secrets."""
    found = {}
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        options = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"].get("options") or {}
        if secret := {name: option for name, option in options.items() if option.get("no_log")}:
            found[path.parents[1].name] = secret
    return found


def planted() -> dict[str, Any]:
    """Variables of the play, by the names that its tasks use: an error quotes the lines of a play, and junit its arguments."""
    machine = {"hostname": "worker-0", "userdata": SECRET}
    machines = [SECRET, [SECRET], [CORE], {"userdata": SECRET}, [[machine]], json.dumps([machine]), [machine, CORE], [machine]]
    return {"secret": SECRET, "wrong": list(WRONG.values()), "machines": machines}


def tasks() -> list[dict[str, Any]]:
    """Modules and argument specs of roles with these, each by a template. All types for all modules: ``test_secrets`` of the modules."""
    ours = "equinix_metal.openshift."
    found: list[dict[str, Any]] = [
        {"name": f"Machines {number}", f"{ours}metal_device_set": {"ownership_tags": ["a=b"], "machines": f"{{{{ machines[{number}] }}}}"}}
        for number in range(len(planted()["machines"]))
    ]
    for number, title in enumerate(WRONG):
        value = f"{{{{ wrong[{number}] }}}}"
        if title in {"text", "list", "dictionary"}:
            found += [
                {"name": f"Userdata as {title}", f"{ours}metal_device": {"hostname": "worker-0", "userdata": value}},
                {"name": f"Token as {title}", f"{ours}metal_vlan_info": {"metal_api_token": value}},
                {"name": f"Key as {title}", f"{ours}dns_records": {**ZONE, "key_secret": value}},
            ]
        found += [
            {
                "name": f"Role {role}, {name} as {title}",
                "ansible.builtin.validate_argument_spec": {"argument_spec": {name: option}, "provided_arguments": {}},
                "vars": {name: value},
            }
            for role, options in role_options().items()
            for name, option in options.items()
        ]
    found.append({"name": "A typing error", f"{ours}metal_vlan_info": {"metal_api_tokn": "{{ secret }}"}})
    found.append({"name": "In a loop", f"{ours}metal_vlan_info": {"metal_api_token": "{{ secret }}"}, "loop": ["a", "b"]})
    found.append({"name": "In an include", "ansible.builtin.include_tasks": "included.yml", "vars": {"inner": "{{ secret }}"}})
    # The last one, since the callback tree keeps the last result of each host.
    found.append({"name": "Show it", "ansible.builtin.debug": {"msg": SHOWN}})
    return [{**task, "ignore_errors": True} for task in found]


@pytest.mark.parametrize("callback", ["ansible.builtin.default", "ansible.posix.json", "equinix_metal.openshift.steps"])
def test_no_callback_shows_a_planted_secret(callback: str, tmp_path: Path) -> None:
    play = {
        "name": "Plant",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "module_defaults": {
            "group/equinix_metal.openshift.metal": {**METAL, "metal_api_token": "{{ secret }}", "metal_api_proxy": "{{ secret }}"}
        },
        "tasks": tasks(),
    }
    included = [{"name": "Included", "equinix_metal.openshift.metal_vlan_info": {"metal_api_token": "{{ inner }}"}, "ignore_errors": True}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
    (tmp_path / "included.yml").write_text(yaml.safe_dump(included), encoding="utf-8")
    (tmp_path / "planted.json").write_text(json.dumps(planted()), encoding="utf-8")
    with keeping(tmp_path / "kept") as keeper:
        environment = {
            **os.environ,
            **keeper.environment,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_STDOUT_CALLBACK": callback,
        }
        arguments = ["-i", "localhost,", "-vvv", "--diff", "-e", f"@{tmp_path / 'planted.json'}"]
        code, output = played(tmp_path / "play.yml", *arguments, environment=environment)
    assert code == 0, output[-3000:]
    assert "Traceback" not in output
    assert keeper.revealed(PLANTED, output) == []
    keepers = {entry.split(" in ")[1].split(":")[0].split("/")[0] for entry in keeper.revealed({"the text": SHOWN})}
    assert keepers >= {"spy", "log_plays", "tree", "syslog"}


@pytest.mark.parametrize("title", WRONG)
def test_the_check_of_variables_shows_none_either(title: str) -> None:
    from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.variables import variable_errors  # noqa: PLC0415
    from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES  # noqa: PLC0415

    secret = [name for name, variable in VARIABLES.items() if variable.no_log]
    assert len(secret) >= 4
    for name in secret:
        assert CORE not in "".join(variable_errors({name: WRONG[title]}))
