"""How long one layer's attention takes on this machine, as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from chumoku.app.api.answer import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.explain.schema import TimingsRequest
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import LibraryDep, SeenDep, WorkDep
from chumoku.app.services.explain.model import TimingsSession
from chumoku.app.services.wire import Event
from chumoku.app.services.work import Work

router = APIRouter(prefix="/api/explain", tags=["explain"], route_class=JsonRoute)
RESPONSES: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


async def opened(
    request: TimingsRequest, library: LibraryDep, work: WorkDep, seen: SeenDep
) -> AsyncIterator[TimingsSession]:
    """The measurements, which hold a place among the streams. The model is not loaded: only its shape counts."""
    entry = library.find(request.model)
    seen.model = entry.name
    with work.stream():
        yield TimingsSession(entry.about, library.device)


@router.post("/timings", response_class=Response, responses=RESPONSES)
async def timings(session: Annotated[TimingsSession, Depends(opened)], work: WorkDep) -> EventStream:
    """How long one layer's attention takes here in every mechanism, for 64 to 4,096 tokens: server-sent events.

    `start` has the `forms`, the `lengths`, the `device` and its `threads`; each `point` a `form`, its `n` tokens and
    the `seconds` of its best run, or `seconds: null` and `why`: it would take too much "memory" or "time". `sdpa` is
    torch's fused softmax attention. Projections are not measured. Closing the connection stops the work.
    """
    return EventStream(events(session, work), "a measurement of costs")


async def events(session: TimingsSession, work: Work) -> AsyncGenerator[Event, None]:
    """Each point is one expensive job, so that measurements take turns with other work."""
    yield session.start()
    while point := (await work.run(session.step, kind="timings", patient=True)).value:
        yield point
    yield Event("done", {})
