"""Fixtures: each publishing method in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .methods import METHODS, Method, ignition_files


@pytest.fixture(
    scope="module",
    params=[pytest.param("controller"), pytest.param("host", marks=pytest.mark.debian("openssh-server")), pytest.param("object_storage")],
)
def method(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Method]:
    """With Ignition files and nothing published."""
    folder = ignition_files(tmp_path_factory.mktemp(request.param))
    with METHODS[request.param](folder, folder.parent / "workspace") as found:
        try:
            yield found
        finally:
            if (folder / "publish").exists():
                found.run("remove")
