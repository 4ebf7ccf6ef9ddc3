"""The picture of the README is that of the recorded run, whose phases are those of the playbook."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import yaml

from tools.terminal_picture import FOLDER, PICTURE, TRANSCRIPT, draw

PLAYBOOK = FOLDER.parents[1] / "playbooks" / "install.yml"


def test_the_picture_is_drawn_from_the_transcript() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert picture == draw(TRANSCRIPT.read_text(encoding="utf-8")), "run: python -m tools.terminal_picture"
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - drawn by this repository
    assert "url(http" not in picture


def test_the_phases_of_the_transcript_are_those_of_the_playbook() -> None:
    shown = re.findall(r"(?m)^\[\d/\d\] (.+?)(?: \(elapsed .*)?$", TRANSCRIPT.read_text(encoding="utf-8"))
    assert shown
    phases = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))[0]["vars"]["play_phases"]
    assert set(shown) <= set(phases)
