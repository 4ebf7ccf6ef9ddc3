"""The picture of the README is that of the recorded run, whose phases are those of the playbook."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from tools.terminal_picture import PICTURE, TRANSCRIPT, draw


def test_the_picture_is_drawn_from_the_transcript() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert picture == draw(TRANSCRIPT.read_text(encoding="utf-8")), "run: python -m tools.terminal_picture"
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - drawn by this repository
    assert "url(http" not in picture
