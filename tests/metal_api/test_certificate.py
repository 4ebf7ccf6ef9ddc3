"""The certificate of the API is renewed for as long as the server runs."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from metal_api.certificate import Certificate
from metal_api.tls import new_context


async def test_a_certificate_is_renewed_after_any_error_of_the_attempt_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that renews it ended, and the API with the certificate."""
    later = datetime(2099, 1, 1, tzinfo=UTC)
    issued: list[Any] = [(new_context(), datetime.now(UTC)), RuntimeError("an error of the server"), (new_context(), later)]

    def source() -> Any:
        if isinstance(found := issued.pop(0), Exception):
            raise found
        return found

    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda _seconds: sleep(0.001))
    shown = Certificate(source)
    task = asyncio.create_task(shown.keep_valid())
    while issued:
        assert not task.done()
        await sleep(0.001)
    task.cancel()
    assert shown.expires == later
