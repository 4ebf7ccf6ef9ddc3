"""Draw docs/images/install.svg, the picture of the README, from the recorded run beside it: ``python -m tools.terminal_picture``.

``install.txt`` is what ``ansible-playbook install.yml`` printed in the sandbox; a line ``...`` stands for lines that are left out. To
record another run: ``make sandbox``, and in a second terminal the playbook, with its output copied to the file.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
TRANSCRIPT: Final = FOLDER / "install.txt"
PICTURE: Final = FOLDER / "install.svg"
WIDTH: Final = 124
"""Columns; longer lines end with an ellipsis."""
STYLES: Final = ((r"\$ .*|\[\d/\d\] .*", "bold"), (r"\.\.\.", "dim"), (r".* Ready", "green"))
"""Regular expressions of whole lines, and how the first that matches is drawn: as in a terminal."""


def draw(transcript: str) -> str:
    """Return the picture of a transcript, as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor", force_terminal=True, legacy_windows=False)
    for line in transcript.splitlines():
        style = next((style for pattern, style in STYLES if re.fullmatch(pattern, line)), "")
        console.print(Text(line, style=style), no_wrap=True, overflow="ellipsis")
    svg = console.export_svg(title="ansible-playbook install.yml", unique_id="install")
    # Fonts of another site, which a picture in a page does not load.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw(TRANSCRIPT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
