"""What ``tests.e2e.chaos`` writes to docs/generated/resume.md. Its runs in short form are in test_resume.py."""

from __future__ import annotations

from tests.e2e import resume


def test_the_page_is_generated_from_the_recorded_runs() -> None:
    assert resume.PAGE.read_text(encoding="utf-8") == resume.page(resume.read()), "run: python -m tests.e2e.resume"
