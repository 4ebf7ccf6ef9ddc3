"""Writes the example of a failure report into docs/troubleshooting.md: ``python -m tests.failure.page``.

The example is from a run that fails, and takes two minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sandbox.testing.process import REPOSITORY
from tests.e2e.harness import NAME, User

PAGE = REPOSITORY / "docs" / "troubleshooting.md"
BEGIN, END = "<!-- failure-report: made by `python -m tests.failure.page` -->\n", "<!-- end of failure-report -->"
HOME = "/home/me/openshift"
SPEED = 1800.0


def example(user: User) -> list[str]:
    """The report of an install in which the service cannot deliver one device."""
    # Half a minute in which the failed device can still be asked why; then it is gone.
    user.sandbox.call("PUT", "settings", json={"durations": {"failed_visible": SPEED * 30}})
    user.sandbox.call("POST", "faults", json={"hostname": f"master-1.{NAME}", "body": "Memory test failed in slot 3"})
    try:
        run = user.play("install.yml")
    finally:
        user.sandbox.call("DELETE", "faults")
    assert run.code == 2, run.tail
    output = run.output[run.output.rindex(f"\nInstall of {NAME} failed") + 1 :]
    lines = output[: output.index("\n\nTASK")].splitlines()
    return [line.replace(str(user.folder), HOME).replace(f"{REPOSITORY}/", "") for line in lines]


def write(lines: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    block = "\n".join(f"    {line}".rstrip() for line in lines)
    PAGE.write_text(f"{before}{BEGIN}\n{block}\n\n{after}", encoding="utf-8")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="failure-page-") as folder:
        user = User(Path(folder), speed=SPEED)
        with user.at_work():
            lines = example(user)
            user.destroy().ended_well()
    write(lines)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
