"""A text that grows, as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse, ServerSentEvent

from chumoku.app.api.answer import BUSY, REFUSALS, as_json
from chumoku.app.api.generation.schema import GenerateRequest
from chumoku.app.http.deps import ClaimDep, LibraryDep, PrefixesDep, SeenDep, SettingsDep, StepsDep, WantedDep, WorkDep
from chumoku.app.http.stream import server_sent
from chumoku.app.services import sizes
from chumoku.app.services.events import Event
from chumoku.app.services.generation import Session, Steps
from chumoku.app.services.work import Work

router = APIRouter(prefix="/api", tags=["generation"])


@dataclass(frozen=True)
class Begun:
    """A generation, and its first event."""

    session: Session
    start: Event


async def opened(
    request: GenerateRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: WorkDep,
    prefixes: PrefixesDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> AsyncIterator[Begun]:
    """The requested generation, which holds its place until the stream ends.

    A dependency, so that an error in the request is a normal answer: the stream has not started yet.
    """
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> Begun:
            session = Session(lease.subject, request, settings.max_text_chars, settings.max_new_tokens, prefixes)
            claim.take(sizes.of_generation(session.plan, request))
            return Begun(session, session.start())

        begun = (await work.run(job, kind="prompt", wanted=wanted)).value
        session = begun.session
        seen.n_tokens = len(session.prompt)
        try:
            yield begun
        finally:
            seen.n_new = session.n_new


@router.post("/generate", response_class=EventSourceResponse, responses=as_json(REFUSALS | BUSY))
async def generate(
    begun: Annotated[Begun, Depends(opened)], work: WorkDep, steps: StepsDep
) -> AsyncIterator[ServerSentEvent]:
    """Let the model continue, one server-sent event per token, under the run's masks, PADs and interventions.

    Without the causal mask, a new token changes earlier rows, so each step recomputes all of them.

    `start` has the prompt's tokens and the first prediction; each `step` the new token, the number u that drew it, its
    probability before and after the sampling settings, its `rows`, and the next prediction; `end` the reason. `rows`
    has, by the id of each attention of the stack that writes, the token's weights in all layers and heads, [layer head
    key]: round(255·w) as bytes in base64. It is null if `rows` is off. `error` has the usual error shape. Closing the
    connection stops the work.
    """
    async for event in server_sent(events(begun, work, steps), "a generation"):
        yield event


async def events(begun: Begun, work: Work, steps: Steps) -> AsyncIterator[Event]:
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
