"""The objects of AWX that playbooks/awx.yml creates: their data, and the playbook against a stand-in for AWX's API."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT
from sandbox.testing.process import REPOSITORY
from tests.awx.controller import TOKEN, Controller
from tests.awx.objects import container_environment, inject, read_objects
from tests.e2e.harness import RECAP
from tests.role_play import played
from tools import awx_surveys

HOOK = "https://chat.example.com/hook?key=secret"
GALAXY = "Ansible Galaxy/Automation Hub API Token"
URL = "https://git.example.com/openshift.git"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return read_objects()


@pytest.fixture
def controller() -> Iterator[Controller]:
    with Controller() as running:
        yield running


def play(controller: Controller, folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CONTROLLER_", "TOWER_"))}
    environment |= {"ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **controller.environment}
    code, output = played(REPOSITORY / "playbooks" / "awx.yml", "-i", os.devnull, *arguments, environment=environment)
    assert TOKEN not in output
    return code, output


def changed(output: str) -> int:
    return sum(map(int, RECAP.findall(output)))


def test_surveys_are_those_of_the_table() -> None:
    assert awx_surveys.FILE.read_text(encoding="utf-8") == awx_surveys.page(), "run: python -m tools.awx_surveys"


def test_templates_give_a_job_the_whole_inventory(data: dict[str, Any]) -> None:
    template = data["awx_template"]
    assert template["job_slice_count"] == 1
    assert not any(
        template[name] for name in ("allow_simultaneous", "ask_limit_on_launch", "ask_tags_on_launch", "ask_skip_tags_on_launch")
    )


def test_credentials_are_the_variables_that_the_example_inventory_reads(data: dict[str, Any]) -> None:
    injected = {name for kind in data["controller_credential_types"] for name in kind["injectors"].get("env", {})}
    inventory = (REPOSITORY / "inventory" / "sandbox" / "01-cluster.yml").read_text(encoding="utf-8")
    # Modules read the path of the CA themselves.
    assert injected == set(re.findall(r"ansible.builtin.env', '(\w+)'", inventory)) | set(ENVIRONMENT["metal_api_ca_path"])
    secrets = {field["id"] for kind in data["controller_credential_types"] for field in kind["inputs"]["fields"] if field.get("secret")}
    assert secrets == {"token", "key_secret", "pull_secret", "password", "access_key", "secret_key", "kubeconfig"}


LINES = "-----BEGIN TEXT-----\n\nmQENBGd=\n=abcd\n# comment\n  PATH\n-----END TEXT-----\n"


def test_text_with_several_lines_is_a_file(data: dict[str, Any], tmp_path: Path) -> None:
    """The environment of a container has one line for each variable, so nothing with several lines is injected there."""
    with pytest.raises(ValueError, match="=abcd"):
        container_environment({"OPENSHIFT_RELEASE_KEYRING": LINES})
    assert container_environment({"KEY": "first\nsecond"}) == {"KEY": "first"}
    several = 0
    for kind in data["controller_credential_types"]:
        fields = {field["id"]: LINES if field.get("multiline") else f"value of {field['id']}" for field in kind["inputs"]["fields"]}
        injected = inject(kind, fields, tmp_path)
        environment = container_environment(injected.environment)
        assert environment == injected.environment
        values = {**environment, **injected.variables}.values()
        texts = [Path(value).read_text(encoding="utf-8") if value.startswith(str(tmp_path)) else value for value in values]
        assert sorted(set(texts) - {"object_storage"}) == sorted(set(fields.values())), kind["name"]
        several += sum(text == LINES for text in texts)
        required = {name: value for name, value in fields.items() if name in kind["inputs"]["required"]}
        blank = inject(kind, required, tmp_path).environment
        assert {name for name, value in blank.items() if value.startswith(str(tmp_path))} <= {"OPENSHIFT_PULL_SECRET"}
    assert several == 5


# Each module of awx.awx takes seconds.
@pytest.mark.long
def test_objects_are_created_once_changed_and_deleted(controller: Controller, tmp_path: Path) -> None:
    """Check mode writes nothing, a second run changes nothing, also of what a user has attached, and what is in use is not deleted."""
    hook = {"notification_type": "webhook", "notification_configuration": {"url": HOOK, "http_method": "POST", "headers": {}}}
    given = ("-e", json.dumps({"openshift_awx_project": {"url": URL}, "openshift_awx_notification": hook}))
    code, output = play(controller, tmp_path, *given, "--check")
    assert (code, controller.writes) == (0, []), output
    assert "would be created" in output

    code, output = play(controller, tmp_path, *given)
    assert code == 0, output
    templates = ["scale plan", *awx_surveys.QUESTIONS]
    assert controller.names("job_templates") == sorted(f"OpenShift {name}" for name in templates)
    assert controller.names("workflow_job_templates") == ["OpenShift plan and scale", "OpenShift validate and install"]
    assert controller.names("workflow_job_template_nodes") == ["approval", "approval", "install", "plan", "scale", "validate"]
    assert controller.names("workflow_approval_templates") == ["Approve the install", "Approve the removal and the orders"]
    assert controller.one("job_templates", "OpenShift scale plan")["job_type"] == "check"
    survey = controller.one("job_templates", "OpenShift scale")["below"]["survey_spec"]["spec"]
    assert [question["variable"] for question in survey][:2] == ["survey_openshift_pool_sizes", "survey_openshift_remove"]
    assert controller.one("credential_types", "Metal API")["injectors"]["env"]["METAL_AUTH_TOKEN"] == "{{ token }}"
    (notification,) = controller.objects["notification_templates"].values()
    assert notification["notification_configuration"]["url"] == HOOK
    assert HOOK not in output
    assert {tuple(each["below"]["notification_templates_error"]) for each in controller.objects["job_templates"].values()} == {
        (notification["id"],)
    }
    assert controller.one("inventory_sources", "02.metal.yml")["enabled_var"] == "metal_state"

    # What a user changes and attaches in AWX stays.
    metal, store = credential(controller, "Metal", "Metal API"), credential(controller, "Store", "OpenShift state store")
    status = controller.one("job_templates", "OpenShift status")
    controller.answer("POST", f"{status['url']}credentials/", {}, {"id": store})
    controller.answer("PATCH", status["url"], {}, {"extra_vars": "---\n# By hand\nopenshift_least_workers: 3\n"})
    (schedule,) = controller.objects["schedules"].values()
    controller.answer("PATCH", schedule["url"], {}, {"enabled": False})
    more = {"openshift_awx_credentials": ["Metal"], "openshift_awx_extra_vars": {"openshift_publish": "host"}}
    code, output = play(controller, tmp_path, *given, "-e", json.dumps(more))
    assert code == 0, output
    # No output has the variables of templates, which may be secret.
    assert "openshift_publish" not in output
    assert sorted(status["below"]["credentials"]) == sorted([store, metal])
    assert json.loads(status["extra_vars"]) == {"openshift_least_workers": 3, "openshift_publish": "host"}

    code, output = play(controller, tmp_path, *given)
    assert (code, changed(output)) == (0, 0), output
    assert schedule["enabled"] is False
    controller.calls.clear()
    code, output = play(controller, tmp_path, *given, "-e", json.dumps({"openshift_awx_project": {"branch": "release"}}), "--check")
    assert (code, changed(output), controller.writes) == (0, 1, []), output

    code, output = play(controller, tmp_path, *given, "-e", "openshift_awx_state=absent")
    assert code == 0, output
    assert {name: names for name in controller.objects if (names := controller.names(name)) and name != "workflow_approval_templates"} == {
        "organizations": ["OpenShift"],
        "credentials": ["Metal", "Store"],
        "credential_types": ["Metal API", "OpenShift state store"],
    }
    assert "Delete their credentials in AWX" in " ".join(output.split())
    code, output = play(controller, tmp_path, *given, "-e", "openshift_awx_state=absent")
    assert (code, changed(output)) == (0, 0), output


def credential(controller: Controller, name: str, kind: str) -> int:
    """Create a credential as a user does in AWX, and return its ID."""
    fields = {"name": name, "credential_type": controller.one("credential_types", kind)["id"], "inputs": {}}
    code, made = controller.answer("POST", "/api/v2/credentials/", {}, fields)
    assert code == 201
    number: int = made["id"]
    return number
