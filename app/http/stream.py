"""Events as server-sent events. An error after the stream has started is its last event."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator

from fastapi.sse import ServerSentEvent

from chumoku.app.errors import AppError, internal
from chumoku.app.services.events import Event

log = logging.getLogger("chumoku")


async def server_sent(events: AsyncIterator[Event], what: str) -> AsyncIterator[ServerSentEvent]:
    """`what` names the stream in the log, should it fail."""
    try:
        async for event in events:
            yield ServerSentEvent(event=event.name, raw_data=json.dumps(event.data, allow_nan=False))
    except Exception as error:
        if not isinstance(error, AppError):
            log.exception("%s failed", what)
            error = internal()
        yield ServerSentEvent(event="error", raw_data=json.dumps(error.body()))
