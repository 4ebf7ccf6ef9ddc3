"""Writes the example of a status into docs/status.md: ``python -m tests.status.page``.

The example is of a cluster in the sandbox that has lost a device; it takes three minutes. With chromium-headless-shell it also makes the
screenshots in docs/images.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.testing.process import REPOSITORY
from tests.e2e.harness import NAME, User, until

PAGE = REPOSITORY / "docs" / "status.md"
IMAGES = REPOSITORY / "docs" / "images"
BEGIN, END = "<!-- status: made by `python -m tests.status.page` -->\n", "<!-- end of status -->"
SPEED = 1200.0
BROWSER = "chromium-headless-shell"


def lose_a_device(user: User, short_name: str) -> None:
    """Delete a device at the Metal API, as somebody does in its console, and return when its Node is NotReady."""
    device = next(device for device in user.devices() if device["hostname"] == f"{short_name}.{NAME}")
    user.ask("DELETE", f"devices/{device['id']}")
    until(lambda: not any(device["hostname"] == f"{short_name}.{NAME}" for device in user.devices()), what="the device is gone")
    until(lambda: short_name in user.nodes("Unknown"), what="the Node is NotReady")


def example(user: User, *arguments: str) -> list[str]:
    """Return the lines that status.yml prints of its status."""
    run = user.play("status.yml", *arguments).ended_well()
    output = run.output[run.output.index(f"\n{NAME}") + 1 :]
    return output[: output.index("\n\nTASK")].splitlines()


def written() -> list[str]:
    """Return the example in the page."""
    text = PAGE.read_text(encoding="utf-8")
    block = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    return [line.removeprefix("    ") for line in block.strip("\n").splitlines()]


def write(lines: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    block = "\n".join(f"    {line}".rstrip() for line in lines)
    PAGE.write_text(f"{before}{BEGIN}\n{block}\n\n{after}", encoding="utf-8")


def screenshot(page: Path, image: Path, *, height: int) -> None:
    """Write a picture of the page."""
    size = f"--window-size=1100,{height}"
    subprocess.run(
        [BROWSER, "--no-sandbox", "--hide-scrollbars", "--disable-gpu", size, f"--screenshot={image}", page.as_uri()], check=True
    )


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="status-page-") as folder:
        user = User(Path(folder), speed=SPEED)
        with user.at_work():
            user.play("install.yml").ended_well()
            lose_a_device(user, "worker-1")
            target = user.folder / "status.html"
            lines = example(user, "-e", f"openshift_status_page={target}")
            if shutil.which(BROWSER):
                screenshot(target, IMAGES / "status.png", height=1250)
                newest = max((user.cluster / "reports").glob("install-*.html"))
                screenshot(newest, IMAGES / "run-report.png", height=1350)
            user.destroy().ended_well()
    write(lines)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
