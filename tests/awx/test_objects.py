"""The objects of AWX that playbooks/awx.yml creates: their data, and the playbook against a stand-in for AWX's API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from sandbox.testing.process import REPOSITORY
from tests.awx.controller import TOKEN, Controller
from tests.awx.objects import container_environment, inject, read_objects
from tests.e2e.harness import RECAP
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


FEW = {
    "controller_templates": [each for each in read_objects()["controller_templates"] if "' status'" in each or "' orphans'" in each],
    "controller_workflows": [],
}
"""Of each kind of object that users attach something to some: each module of awx.awx takes seconds."""


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """What a first run creates: with a branch and an image."""
    given = {**FEW, "openshift_awx_project": {"url": URL, "branch": "release"}, "openshift_awx_image": "image:1"}
    with Controller() as running:
        # AWX has both from its own installation.
        running.answer("POST", "/api/v2/credential_types/", {}, {"name": GALAXY, "inputs": {"fields": []}, "injectors": {}})
        own = credential(running, "Ansible Galaxy", GALAXY)
        code, output = play(running, tmp_path_factory.mktemp("awx"), "-e", json.dumps(given))
        assert code == 0, output
        assert running.one("organizations", "OpenShift")["below"]["galaxy_credentials"] == [own]
        yield running


def play(controller: Controller, folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CONTROLLER_", "TOWER_"))}
    environment |= {"ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **controller.environment}
    command = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        "-i",
        os.devnull,
        str(REPOSITORY / "playbooks" / "awx.yml"),
        *arguments,
    ]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert TOKEN not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def changed(output: str) -> int:
    return sum(map(int, RECAP.findall(output)))


def test_surveys_are_those_of_the_table() -> None:
    assert awx_surveys.FILE.read_text(encoding="utf-8") == awx_surveys.page(), "run: python -m tools.awx_surveys"


def test_questions_have_the_types_of_their_variables() -> None:
    questions = {each["variable"]: each for survey in awx_surveys.surveys().values() for each in survey["survey_spec"].get("spec", [])}
    assert set(questions) <= {f"{awx_surveys.PREFIX}{name}" for name in VARIABLES}
    types = {(VARIABLES[name.removeprefix(awx_surveys.PREFIX)].type, question["type"]) for name, question in questions.items()}
    assert types <= {
        ("str", "text"),
        ("raw", "text"),
        ("list", "text"),
        ("int", "integer"),
        ("bool", "multiplechoice"),
        ("str", "multiplechoice"),
        ("str", "password"),
    }
    assert questions["survey_openshift_destroy_confirm"]["required"]
    assert awx_surveys.question(VARIABLES["metal_api_token"])["type"] == "password"
    assert awx_surveys.question(VARIABLES["openshift_publish"])["choices"] == ["controller", "host", "object_storage"]


def test_every_playbook_of_the_templates_exists(data: dict[str, Any]) -> None:
    playbooks = re.findall(r"'playbook': '([^']+)'", str(data["controller_templates"]))
    assert len(playbooks) == len(data["controller_templates"])
    assert [name for name in playbooks if not (REPOSITORY / name).is_file()] == []
    sources = [source["source_path"] for source in data["controller_inventory_sources"]]
    assert [name for name in sources if not (REPOSITORY / name).is_file()] == []


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


def test_other_credentials_are_variables_of_the_collection(data: dict[str, Any]) -> None:
    """Those of an optional service are injected as variables: an inventory without them needs no line."""
    (store, running) = [kind for kind in data["controller_credential_types"] if "extra_vars" in kind["injectors"]]
    injected = store["injectors"]["extra_vars"]
    secrets = {field["id"] for field in store["inputs"]["fields"] if field.get("secret")}
    named = {name.removeprefix(awx_surveys.PREFIX) for name in injected}
    assert {name for name in named if VARIABLES[name].no_log} == {
        f"openshift_{'state' if secret == 'password' else 'publish'}_{secret}" for secret in secrets
    }
    assert injected["openshift_state_store"] == "object_storage"
    # A text with several lines is a file.
    assert running["injectors"]["extra_vars"] == {"openshift_kubeconfig": "{{ tower.filename.kubeconfig }}"}
    assert running["injectors"]["file"] == {"template.kubeconfig": "{{ kubeconfig }}"}


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
    """Check mode writes nothing, a second run changes nothing, and of what was created the organization alone is left."""
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

    code, output = play(controller, tmp_path, *given)
    assert (code, changed(output)) == (0, 0), output
    controller.calls.clear()
    code, output = play(controller, tmp_path, *given, "-e", json.dumps({"openshift_awx_project": {"branch": "release"}}), "--check")
    assert (code, changed(output), controller.writes) == (0, 1, []), output

    code, output = play(controller, tmp_path, *given, "-e", "openshift_awx_state=absent")
    assert code == 0, output
    assert {name: names for name in controller.objects if (names := controller.names(name)) and name != "workflow_approval_templates"} == {
        "organizations": ["OpenShift"]
    }
    code, output = play(controller, tmp_path, *given, "-e", "openshift_awx_state=absent")
    assert (code, changed(output)) == (0, 0), output


def credential(controller: Controller, name: str, kind: str) -> int:
    """Create a credential as a user does in AWX, and return its ID."""
    fields = {"name": name, "credential_type": controller.one("credential_types", kind)["id"], "inputs": {}}
    code, made = controller.answer("POST", "/api/v2/credentials/", {}, fields)
    assert code == 201
    number: int = made["id"]
    return number


@pytest.mark.long
def test_a_run_keeps_what_it_is_not_given(controller: Controller, created: Controller, tmp_path: Path) -> None:
    """Credentials, variables, branch, image and schedule; also what a user has attached."""
    controller.copy_of(created)
    metal = credential(controller, "Metal", "Metal API")
    store = credential(controller, "Store", "OpenShift state store")
    status = controller.one("job_templates", "OpenShift status")
    controller.answer("POST", f"{status['url']}credentials/", {}, {"id": store})
    controller.answer("PATCH", status["url"], {}, {"extra_vars": "---\n# By hand\nopenshift_least_workers: 3\n"})
    (schedule,) = controller.objects["schedules"].values()
    controller.answer("PATCH", schedule["url"], {}, {"enabled": False})

    given = {**FEW, "openshift_awx_credentials": ["Metal"], "openshift_awx_extra_vars": {"openshift_publish": "host"}}
    code, output = play(controller, tmp_path, "-e", json.dumps(given))
    assert code == 0, output
    # No output has the variables of templates, which may be secret.
    assert "openshift_publish" not in output
    assert sorted(status["below"]["credentials"]) == sorted([store, metal])
    assert json.loads(status["extra_vars"]) == {"openshift_least_workers": 3, "openshift_publish": "host"}
    others = [each for each in controller.objects["job_templates"].values() if each is not status]
    assert {tuple(each["below"]["credentials"]) for each in others} == {(metal,)}

    controller.calls.clear()
    code, output = play(controller, tmp_path, "-e", json.dumps(FEW))
    assert (code, changed(output), controller.writes) == (0, 0, []), output
    assert schedule["enabled"] is False
    assert controller.one("projects", "OpenShift project")["scm_branch"] == "release"
    assert controller.one("execution_environments", "OpenShift execution environment")["image"] == "image:1"


@pytest.mark.long
def test_absent_keeps_credential_types_in_use(controller: Controller, created: Controller, tmp_path: Path) -> None:
    controller.copy_of(created)
    credential(controller, "Metal", "Metal API")
    code, output = play(controller, tmp_path, "-e", json.dumps(FEW | {"openshift_awx_state": "absent"}))
    assert code == 0, output
    assert controller.names("credential_types") == [GALAXY, "Metal API"]
    assert controller.names("job_templates") == controller.names("projects") == []
    assert "not deleted: Metal API. Delete their credentials in AWX" in " ".join(output.split())


@pytest.mark.long
def test_a_project_that_could_not_be_fetched_is_fetched_again(controller: Controller, tmp_path: Path) -> None:
    """The failure is that of the project, and no template is tried."""
    project = ("-e", json.dumps(FEW | {"openshift_awx_project": {"url": URL}}))
    controller.has_repository = False
    for attempt in range(2):
        code, output = play(controller, tmp_path, *project)
        assert code != 0
        assert "Create the project and fetch it" in output
        assert "question_name" not in output, attempt
        assert controller.names("job_templates") == []
    controller.has_repository = True
    code, output = play(controller, tmp_path, *project)
    assert code == 0, output
    assert len(controller.names("job_templates")) == len(FEW["controller_templates"])
    assert [each["status"] for each in controller.objects["inventory_sources"].values()] == ["successful", "never updated"]


def test_the_address_of_the_project_is_required(controller: Controller, tmp_path: Path) -> None:
    code, output = play(controller, tmp_path)
    assert code != 0
    assert "openshift_awx_project has no url" in " ".join(output.split())
    assert controller.writes == []
