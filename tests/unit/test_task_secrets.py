"""Tasks that would show a secret are found by ``tools.task_secrets``, and those of the collection show none."""

from pathlib import Path

import pytest

from tools.task_secrets import ROOT, find, main

SPECS = """
argument_specs:
  main:
    options:
      part_name: {type: str}
      part_password: {type: str, no_log: true}
      part_public_key: {type: str, no_log: false}
"""
VARS = """
__part_login: "{{ part_name }}:{{ part_password }}"
__part_header: "Basic {{ __part_login | b64encode }}"
__part_fingerprint: "{{ __part_login | hash('sha256') }}"
__part_bearer: "{{ lookup('ansible.builtin.file', part_folder ~ '/bearer') }}"
__part_manifests: "{{ part_manifests | equinix_metal.openshift.rule('ignition.user_manifests') }}"
__part_title: "{{ part_name }} of a part"
__part_refusal: "{{ refused.stderr | equinix_metal.openshift.redact(secrets=[part_password]) }}"
"""

BAD = {
    "apply-shows-values": [
        "ansible.builtin.include_tasks: {file: x.yml, apply: {module_defaults: {amazon.aws.s3_object: {secret_key: '{{ x }}'}}}}",
        "ansible.builtin.include_role: {name: x, apply: {vars: {a: '{{ x }}'}}}",
        "ansible.builtin.include_tasks: x.yml\n  args: {apply: {module_defaults: {amazon.aws.s3_object: {secret_key: x}}}}\n  no_log: true",
    ],
    "loop-shows-contents": [
        "ansible.builtin.copy: {content: '{{ item.content }}', dest: '{{ item.name }}'}\n  loop: '{{ files }}'\n  diff: false",
        "ansible.builtin.uri: {url: x, headers: '{{ item }}'}\n  loop: '{{ headers }}'",
        "ansible.builtin.uri: {url: '{{ item.value.url }}'}\n  loop: '{{ signed | dict2items }}'",
        "ansible.builtin.debug: {msg: '{{ each.text }}'}\n  loop: '{{ files }}'\n  loop_control: {loop_var: each, label: '{{ each.a }}'}",
        "ansible.builtin.debug: {msg: '{{ found }}'}\n  vars: {found: '{{ item.content }}'}\n  loop: '{{ files }}'",
        "ansible.builtin.copy: {content: '{{ item.content }}', dest: x}\n  loop: '{{ files }}'\n  no_log: false",
        "ansible.builtin.copy: {content: '{{ item.content }}', dest: x}\n  loop: '{{ files }}'\n  no_log: \"{{ item.name == 'a' }}\"",
        "no_log: true\n  block:\n    - ansible.builtin.copy: {content: '{{ item.content }}', dest: x}\n"
        "      loop: '{{ files }}'\n      no_log: false",
        "ansible.builtin.copy: {content: '{{ item[1].content }}', dest: x}\n  with_nested: ['{{ files }}', '{{ names }}']",
        "ansible.builtin.copy: content={{ item.content }} dest=x\n  with_items: '{{ files }}'",
    ],
    "secret-is-shown": [
        "ansible.builtin.debug: {msg: '{{ part_password }}'}",
        "ansible.builtin.uri: {url: x, headers: {Authorization: 'Bearer {{ __part_bearer }}'}}",
        "ansible.builtin.copy: {content: x, dest: '{{ part_password }}'}\n  diff: false",
        "ansible.builtin.debug: {msg: '{{ item }}'}\n  loop: '{{ __part_manifests }}'",
    ],
    "diff-shows-file": [
        "ansible.builtin.copy: {src: '{{ folder }}/auth/kubeconfig', dest: x}",
        "ansible.builtin.template: {src: x.j2, dest: '{{ folder }}/kubeconfig'}",
        "ansible.builtin.copy: {content: '{{ x }}', dest: '{{ folder }}/bootstrap-pointer.ign'}\n  diff: true",
    ],
    "environment-is-shown": [
        "ansible.builtin.command: {cmd: x}\n  environment: {PASSWORD: '{{ part_password }}'}\n  no_log: true",
        "environment: {PASSWORD: '{{ __part_header }}'}\n  block:\n    - ansible.builtin.command: {cmd: x}",
    ],
}
GOOD = [
    "ansible.builtin.include_tasks: {file: x.yml, apply: {tags: [a], become: true}}",
    "module_defaults: {amazon.aws.s3_object: {secret_key: '{{ part_password }}'}}\n  block:\n    - ansible.builtin.include_tasks: x.yml",
    "ansible.builtin.copy: {content: '{{ item.content }}', dest: x}\n  loop: '{{ files }}'\n  no_log: true",
    "no_log: true\n  block:\n    - ansible.builtin.copy: {content: '{{ item.content }}', dest: x}\n      loop: '{{ files }}'",
    "ansible.builtin.copy: {content: '{{ files[item] }}', dest: '{{ item }}'}\n  loop: '{{ files.keys() }}'",
    "ansible.builtin.copy: {content: '{{ (__part_manifests | first).content }}', dest: x}\n  diff: false\n"
    "  loop: \"{{ __part_manifests | map(attribute='name') }}\"",
    "ansible.builtin.debug: {msg: '{{ part_public_key }} {{ __part_title }} {{ __part_fingerprint }} {{ __part_refusal }}'}",
    "ansible.builtin.copy: {src: '{{ folder }}/auth/kubeconfig', dest: x}\n  diff: false",
    "ansible.builtin.template: {src: x.j2, dest: '{{ folder }}/kubeconfig'}\n  no_log: true",
]


def planted(root: Path, task: str) -> Path:
    """A repository with one role that has this task."""
    for path, text in (("meta/argument_specs.yml", SPECS), ("vars/main.yml", VARS), ("tasks/main.yml", f"- name: Planted\n  {task}\n")):
        place = root / "roles" / "part" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(("rule", "task"), [(rule, task) for rule, tasks in BAD.items() for task in tasks])
def test_a_task_that_shows_something_is_found(rule: str, task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = find(planted(tmp_path, task))
    assert rule in {problem.rule for problem in found}, found
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("roles/part/tasks/main.yml:")


@pytest.mark.parametrize("task", GOOD)
def test_a_task_that_shows_nothing_is_not(task: str, tmp_path: Path) -> None:
    assert find(planted(tmp_path, task)) == []


def test_plays_and_their_blocks_are_looked_through(tmp_path: Path) -> None:
    task = "- ansible.builtin.debug: {msg: '{{ item.data }}'}\n          loop: '{{ x }}'\n"
    play = f"- hosts: x\n  post_tasks:\n    - block: []\n      rescue:\n        {task}"
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "x.yml").write_text(play, encoding="utf-8")
    (problem,) = find(tmp_path)
    assert (str(problem.path), problem.line, problem.rule) == ("playbooks/x.yml", 5, "loop-shows-contents")


def test_the_tasks_of_the_collection_show_no_secret() -> None:
    assert find(ROOT) == []
