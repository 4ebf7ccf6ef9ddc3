"""The stand-in says of an install-config what the real installer says: every case of install_configs.yml."""

from pathlib import Path

import pytest

from tests.install_configs import InstallConfigCase, cases

CASES = cases()
CODES = {"accepted": 0, "warned": 0, "refused": 3}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_stand_in_says_what_the_installer_says(case: InstallConfigCase, tmp_path: Path) -> None:
    code, log = case.ask_stand_in(tmp_path)
    assert code == case.entry.get("code", CODES[case.installer]), log
    # A text of several lines is several entries of the log.
    result = "\n".join(line.partition(" msg=")[2] or line for line in log.splitlines())
    for text in case.texts:
        assert " ".join(text.split()) in result
    if case.installer != "refused":
        assert ("level=warning" in log) == (case.installer == "warned"), log
