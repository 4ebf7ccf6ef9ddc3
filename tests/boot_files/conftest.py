"""Each way in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .ways import WAYS, Way, ignition_files


@pytest.fixture(
    scope="module",
    params=[pytest.param("controller"), pytest.param("host", marks=pytest.mark.debian("openssh-server")), pytest.param("object_storage")],
)
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    """With Ignition files and nothing published."""
    folder = ignition_files(tmp_path_factory.mktemp(request.param))
    with WAYS[request.param](folder, folder.parent / "ground") as found:
        try:
            yield found
        finally:
            if (folder / "publish").exists():
                found.run("remove")
