"""What is shown of the installer's log: the reason, and nothing that forges a line. Secrets: test_redact.py, tests/ignition."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.programs.installer_log import LIMIT, InstallerLog, read

BEFORE = 'level=error msg=failed to fetch Master Machines: failed to load asset "Install Config": failed to create install config: '
INVALID = 'invalid "install-config.yaml" file: '


def test_the_reason_is_returned_without_the_error_chain() -> None:
    log = read(f'{BEFORE}{INVALID}publish: Invalid value: "Internal": not supported on "none" platform\n', {})
    assert log == InstallerLog(f'{INVALID}publish: Invalid value: "Internal": not supported on "none" platform', [])


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
    assert read(stderr, {}) == InstallerLog("", [unknown, "imageContentSources is deprecated, please use ImageDigestSources"])


@pytest.mark.parametrize(
    ("stderr", "errors"),
    [
        ("", ""),
        (
            "panic: runtime error: nil pointer dereference\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nmain.main()\n",
            "panic: runtime error: nil pointer dereference [signal SIGSEGV] goroutine 1 [running]:",
        ),
        ("level=info msg=Consuming Install Config from target directory\nKilled\n", "Killed"),
    ],
)
def test_output_that_is_no_log(stderr: str, errors: str) -> None:
    assert read(stderr, {}).errors == errors


def test_output_cannot_forge_lines_or_fill_the_screen() -> None:
    shown = read(f"level=error msg=\x1b[2J\u202eevil{'x' * 10 * LIMIT}\n", {}).errors
    assert shown.isprintable()
    assert shown.startswith("\\x1b[2J")
    assert len(shown) <= LIMIT
