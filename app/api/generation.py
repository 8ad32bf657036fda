"""Text generation as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fastapi import APIRouter, Request, Response

from chumoku.app.api.answers import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.requests import GenerateRequest, WaysRequest
from chumoku.app.http.backpressure import EventStream, WholeStream
from chumoku.app.http.bodies import DirectRoute
from chumoku.app.http.deps import state_of, wanted_by
from chumoku.app.http.observe import seen
from chumoku.app.services import sizes
from chumoku.app.services.batching import EACH
from chumoku.app.services.generation import Begun, GenerationSession, Steps
from chumoku.app.services.job_queue import JobQueue
from chumoku.app.services.ways import Ways
from chumoku.app.services.wire import Event, Piece, piece

router = APIRouter(prefix="/api", tags=["generation"], route_class=DirectRoute)
Events = AsyncGenerator[Event | Piece, None]
RESPONSES: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


@asynccontextmanager
async def opened(request: GenerateRequest, http: Request) -> AsyncIterator[tuple[Begun, Event]]:
    """The requested generation and its start. It holds a stream slot and memory for its answer until the stream ends.
    Raises what is wrong with the request: as long as no stream has started, the answer is a normal error.
    """
    state, about = state_of(http), seen(http.scope)
    work, limits, entry = state.work, state.settings, state.library.find(request.model)
    about.model, about.text = entry.name, request.sentence.text
    with work.budget.claim() as claim, work.stream(), state.library.lease(entry) as lease:

        def make() -> GenerationSession:
            session = GenerationSession(
                lease.traceable, request, limits.max_text_chars, limits.max_new_tokens, state.prefixes
            )
            claim.take(sizes.of_generation(session.plan, request))
            return session

        wanted = wanted_by(http)

        async def begin() -> tuple[Begun, Event]:
            """A prompt that is not cached is read in a separate turn; `patient`, because it already has a slot."""
            begun = await state.beginnings.run(make, entry.name, wanted)
            if begun.start is not None:
                return begun, begun.start
            read = await work.run(begun.session.start, kind="prompt", wanted=wanted, patient=True)
            return begun, read.value

        begun, start = await work.admit(begin, "prompt")
        session = begun.session
        about.n_tokens = len(session.prompt)
        try:
            yield begun, start
        finally:
            about.n_new = session.n_new


@router.post("/generate", response_class=Response, responses=RESPONSES)
async def generate(request: GenerateRequest, http: Request) -> Response:
    """Let the model continue, one server-sent event per token, under the run's masks, PADs and interventions.

    Without the causal mask, a new token changes earlier rows, so each step recomputes all of them.

    `start` has the prompt's tokens and the first prediction; each `step` the new token, the number u that drew it, its
    probability before and after the sampling settings, its `rows`, and the next prediction; `end` the reason. `rows`
    has, by the id of each attention of the stack that writes, the token's weights in all layers and heads, [layer head
    key]: round(255·w) as bytes in base64. It is null if `rows` is off. `cache` says how many positions there are, how
    many of them this step computed, the bytes it keeps, and the milliseconds of its forward pass, of which `together`
    texts had a part; in `start` also how many tokens of the prompt were `reused`: an earlier request had read them.
    `error` has the usual error shape. Closing the connection stops the work.
    """
    async with AsyncExitStack() as stack:
        begun, start = await stack.enter_async_context(opened(request, http))
        state = state_of(http)
        if isinstance(begun.step, Event) and begun.session.ended is not None:  # one step, as the page takes them
            state.work.metrics.tokens.inc()
            whole = piece([start, begun.step, begun.session.end()])
            return WholeStream(whole, stack.pop_all())
        return EventStream(events_of(begun, start, state.work, state.steps), "a generation", stack.pop_all())


async def events_of(begun: Begun, start: Event, work: JobQueue, steps: Steps) -> Events:
    """Each step is one call into a worker thread, so that generations take turns with other work. Steps of several
    generations that wait at the same time run as one forward pass where possible. Events that are ready together are
    sent together.
    """
    session, group, known = begun.session, begun.session.group, [start]
    if isinstance(begun.step, Exception):
        yield start
        raise begun.step
    if begun.step is not None:
        work.metrics.tokens.inc()
        known.append(begun.step)
    while session.ended is None:
        yield piece(known)
        if group is None:
            known = [(await work.run(session.step, kind="step", patient=True)).value]
        else:
            known = [await steps.run(session, group)]
        work.metrics.tokens.inc()
    yield piece([*known, session.end()])


@asynccontextmanager
async def parted(request: WaysRequest, http: Request) -> AsyncIterator[Events]:
    """The events of the requested ways, which hold one stream slot and memory for their answers."""
    state, about = state_of(http), seen(http.scope)
    work, limits, entry = state.work, state.settings, state.library.find(request.model)
    about.model, about.text = entry.name, request.sentence.text
    with work.budget.claim() as claim, work.stream(), state.library.lease(entry) as lease:

        def begin() -> tuple[Ways, Event]:
            ways = Ways(lease.traceable, request, limits.max_text_chars, limits.max_new_tokens, state.prefixes)
            claim.take(sizes.of_ways(ways.first.plan, request))
            return ways, ways.start()

        ways, start = (await work.run(begin, kind="prompt", wanted=wanted_by(http))).value
        about.n_tokens = len(ways.first.prompt)
        try:
            yield events_of_ways(ways, start, work)
        finally:
            about.n_new = ways.n_new


@router.post("/generate/ways", response_class=Response, responses=RESPONSES)
async def generate_ways(request: WaysRequest, http: Request) -> EventStream:
    """Continue one text several times, each with a seed of its own: to see how its ways part.

    The events are those of a generation. `start` is shared; each `step` and `end` says its `way` and its `seed`. All
    ways read the prompt once, and step in one forward pass where that is possible. A way has the tokens that a single
    generation with its seed has, unless u lies within 1e-5 of a border, or two tokens are equally likely within 1e-4.
    """
    async with AsyncExitStack() as stack:
        events = await stack.enter_async_context(parted(request, http))
        return EventStream(events, "ways on", stack.pop_all())


async def events_of_ways(ways: Ways, start: Event, work: JobQueue) -> Events:
    yield piece([start, *(way.tell(way.session.end()) for way in ways.all if way.session.ended is not None)])
    while jobs := ways.round():
        for job, count in jobs:
            events = (await work.run(job, kind="step", patient=True, more=partial(float, EACH * count))).value
            work.metrics.tokens.inc(count)
            yield piece(events)
