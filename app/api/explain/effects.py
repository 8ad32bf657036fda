"""The effects of cuts, as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from chumoku.app.api.answer import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.explain.schema import EffectsRequest
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, LibraryDep, SeenDep, SettingsDep, WantedDep, WorkDep
from chumoku.app.services import sizes
from chumoku.app.services.explain.answers import EffectsSession
from chumoku.app.services.wire import Event
from chumoku.app.services.work import Work

router = APIRouter(prefix="/api/explain", tags=["explain"], route_class=JsonRoute)
RESPONSES: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


async def opened(
    request: EffectsRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: WorkDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> AsyncIterator[EffectsSession]:
    """The requested effects, which hold a place among the streams until the last.

    A dependency, so that an error in the request is a normal answer: the stream has not started yet.
    """
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> EffectsSession:
            claim.take(sizes.of_effects(request.n if request.edges is None else len(request.edges)))
            return EffectsSession(lease.traceable, request, settings.max_text_chars)

        session = (await work.run(job, kind="effects", wanted=wanted)).value
        seen.n_tokens = len(session.plan.padded)
        yield session


@router.post("/effects", response_class=Response, responses=RESPONSES)
async def effects(session: Annotated[EffectsSession, Depends(opened)], work: WorkDep) -> EventStream:
    """How far an answer falls when one look is cut: server-sent events, the widest first.

    `start` has the `answer`, its probability `p` and the number of `edges`; each `effect` the edge (`attention`,
    `layer`, `query`, `key`), `p` after the cut in all heads of the layer, and `delta` = ln p after − ln p before.
    Looks that are the only one of their query are left out. Closing the connection stops the work.
    """
    return EventStream(events(session, work), "a measurement of effects")


async def events(session: EffectsSession, work: Work) -> AsyncGenerator[Event, None]:
    """Each batch is one job, so that measurements take turns with other work."""
    yield session.start()
    while batch := (await work.run(session.step, kind="effects", patient=True)).value:
        for event in batch:
            yield event
    yield Event("done", {})
