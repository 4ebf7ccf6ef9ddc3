"""The failure report shown in docs/troubleshooting.md has the lines that the page explains, and names a phase of install.yml."""

from __future__ import annotations

import re

import yaml

from tests.failure.page import PAGE, written

PHASES = yaml.safe_load((PAGE.parent.parent / "playbooks" / "install.yml").read_text(encoding="utf-8"))[0]["vars"]["play_phases"]


def labels() -> list[str]:
    found = [match[1] for line in written() if (match := re.match(r"  (\w+): ", line))]
    return list(dict.fromkeys(found))


def test_the_example_names_a_phase_of_the_playbook() -> None:
    title = re.fullmatch(r"Install of \S+ failed in phase (\d+) of (\d+), (.*) \(after \w+\)", written()[0])
    assert title
    assert int(title[2]) == len(PHASES)
    assert PHASES[int(title[1]) - 1] == title[3]


def test_every_line_of_the_example_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)))
    assert labels() == ["Task", "Object", "Reason", "Next", "Continue", "Release", "Billed", "Bundle"]
    assert set(labels()) <= set(explained)
