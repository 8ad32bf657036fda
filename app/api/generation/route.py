"""A text that grows, as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from chumoku.app.api.answer import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.generation.schema import GenerateRequest
from chumoku.app.http.deps import state_of, wanted_by
from chumoku.app.http.observe import seen
from chumoku.app.http.stream import EventStream
from chumoku.app.services import sizes
from chumoku.app.services.events import Event
from chumoku.app.services.generation import Session, Steps
from chumoku.app.services.work import Work

router = APIRouter(prefix="/api", tags=["generation"])
RESPONSES: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


@dataclass(frozen=True)
class Begun:
    """A generation, and its first event."""

    session: Session
    start: Event


async def opened(request: GenerateRequest, http: Request) -> AsyncIterator[Begun]:
    """The requested generation, which holds its place and room for its answer until the stream ends.

    A dependency, so that an error in the request is a normal answer: the stream has not started yet.
    """
    state, about = state_of(http), seen(http.scope)
    work, limits, entry = state.work, state.settings, state.library.find(request.model)
    about.model, about.text = entry.name, request.sentence.text
    with work.room.claim() as claim, work.stream(), state.library.lease(entry) as lease:

        def job() -> Begun:
            session = Session(lease.subject, request, limits.max_text_chars, limits.max_new_tokens, state.prefixes)
            claim.take(sizes.of_generation(session.plan, request))
            return Begun(session, session.start())

        begun = (await work.run(job, kind="prompt", wanted=wanted_by(http))).value
        session = begun.session
        about.n_tokens = len(session.prompt)
        try:
            yield begun
        finally:
            about.n_new = session.n_new


@router.post("/generate", response_class=Response, responses=RESPONSES)
async def generate(begun: Annotated[Begun, Depends(opened)], http: Request) -> EventStream:
    """Let the model continue, one server-sent event per token, under the run's masks, PADs and interventions.

    Without the causal mask, a new token changes earlier rows, so each step recomputes all of them.

    `start` has the prompt's tokens and the first prediction; each `step` the new token, the number u that drew it, its
    probability before and after the sampling settings, its `rows`, and the next prediction; `end` the reason. `rows`
    has, by the id of each attention of the stack that writes, the token's weights in all layers and heads, [layer head
    key]: round(255·w) as bytes in base64. It is null if `rows` is off. `error` has the usual error shape. Closing the
    connection stops the work.
    """
    state = state_of(http)
    return EventStream(events(begun, state.work, state.steps), "a generation")


async def events(begun: Begun, work: Work, steps: Steps) -> AsyncGenerator[Event, None]:
    """Each step is one call into a worker thread, so that generations take turns with other work: with the steps of
    other generations that wait, if they can be one forward pass."""
    session, group = begun.session, begun.session.group
    yield begun.start
    while session.ended is None:
        if group is None:
            event = (await work.run(session.step, kind="step", patient=True)).value
        else:
            event = await steps.run(session, group)
        work.metrics.tokens.inc()
        yield event
    yield session.end()
