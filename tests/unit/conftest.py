"""Services that scripts of nodes call."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.metadata_service import MetadataService


@pytest.fixture
def metadata_service() -> Iterator[MetadataService]:
    with MetadataService() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
