"""What is shown of the installer's log: the reason, and no secret of the install-config."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.programs.installer_log import LIMIT, InstallerLog, read

BEFORE = 'level=error msg=failed to fetch Master Machines: failed to load asset "Install Config": failed to create install config: '
INVALID = 'invalid "install-config.yaml" file: '
PASSWORD, TOKEN = "planted-p@ss/w:rd", "cGxhbnRlZDpzZWNyZXQtdG9rZW4="
PULL_SECRET = json.dumps({"auths": {"quay.io": {"auth": TOKEN, "email": "ada@example.com"}}})
CONFIG: dict[str, Any] = {
    "metadata": {"name": "demo"},
    "pullSecret": PULL_SECRET,
    "proxy": {"httpProxy": f"http://ada:{PASSWORD}@10.128.0.5:3128", "httpsProxy": "http://10.0.0.9:3128"},
}


def quoted(text: str) -> str:
    """As Go's %q has it, of what is used here."""
    return json.dumps(text, ensure_ascii=False)


def test_the_reason_is_returned_without_the_error_chain() -> None:
    log = read(f'{BEFORE}{INVALID}publish: Invalid value: "Internal": not supported on "none" platform\n', CONFIG)
    assert log == InstallerLog(f'{INVALID}publish: Invalid value: "Internal": not supported on "none" platform', [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"proxy.httpProxy: Invalid value: {quoted(CONFIG['proxy']['httpProxy'])}: proxy value is part of the cluster networks",
            "is part of",
        ),
        (f"pullSecret: Invalid value: {quoted(PULL_SECRET)}: auths required", "auths required"),
        (f"pullSecret: Invalid value: {quoted(PULL_SECRET[:-2])}: unexpected end of JSON input", "unexpected end of JSON input"),
        (f"proxy.httpsProxy: Invalid value: {quoted(f'http://ada:{PASSWORD}@')}: invalid URI", "invalid URI"),
    ],
)
def test_no_secret_is_shown(text: str, reason: str) -> None:
    shown = read(f"{BEFORE}{INVALID}{text}\n", CONFIG).errors
    assert reason in shown
    assert "planted" not in shown
    assert TOKEN not in shown


@pytest.mark.parametrize("field", ["sshKey", "additionalTrustBundle"])
def test_long_texts_are_not_repeated(field: str) -> None:
    text = 'a "quoted" line\n' * 200
    log = read(f"{BEFORE}{INVALID}{field}: Invalid value: {quoted(text)}: invalid block\n", CONFIG)
    assert log.errors == f"{INVALID}{field}: Invalid value: (the whole text): invalid block"


def test_warnings_are_returned_once_and_those_caused_by_the_role_never() -> None:
    unknown = 'failed to parse first occurrence of unknown field: failed to unmarshal install-config.yaml: json: unknown field "arbiter"'
    stderr = "".join(
        f"level={level} msg={text}\n"
        for level, text in (
            ("info", "Consuming Install Config from target directory"),
            ("warning", unknown),
            ("warning", "Making control-plane schedulable by setting MastersSchedulable to true for Scheduler cluster settings"),
            ("warning", unknown),
            ("warning", "imageContentSources is deprecated, please use ImageDigestSources"),
            ("info", "Manifests created in: manifests and openshift"),
        )
    )
    assert read(stderr, CONFIG) == InstallerLog("", [unknown, "imageContentSources is deprecated, please use ImageDigestSources"])


def test_a_log_with_times_and_of_several_errors() -> None:
    log = read('time="2026-01-01T00:00:00Z" level=error msg=one\ntime="2026-01-01T00:00:00Z" level=fatal msg=two\n', CONFIG)
    assert log.errors == "one two"


@pytest.mark.parametrize(
    ("stderr", "errors"),
    [
        ("", ""),
        (
            "panic: runtime error: nil pointer dereference\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nmain.main()\n",
            "panic: runtime error: nil pointer dereference [signal SIGSEGV] goroutine 1 [running]:",
        ),
        ("./openshift-install: cannot execute binary file\n", "./openshift-install: cannot execute binary file"),
        ("level=info msg=Consuming Install Config from target directory\nKilled\n", "Killed"),
    ],
)
def test_output_that_is_no_log(stderr: str, errors: str) -> None:
    assert read(stderr, CONFIG).errors == errors


def test_output_cannot_forge_lines_or_fill_the_screen() -> None:
    shown = read(f"level=error msg=\x1b[2J\u202eevil{'x' * 10 * LIMIT}\n", CONFIG).errors
    assert shown.isprintable()
    assert shown.startswith("\\x1b[2J")
    assert len(shown) <= LIMIT
