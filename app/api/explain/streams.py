"""Explanations that are measured step by step and streamed: effects of knockouts, ablations, and times."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from fastapi import APIRouter, Depends, Response

from chumoku.app.api.answers import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.explain.requests import (
    AblationsRequest,
    CachingRequest,
    EffectsRequest,
    PatchesRequest,
    TimingsRequest,
)
from chumoku.app.api.run import RunRequest
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, JobQueueDep, LibraryDep, SeenDep, SettingsDep, WantedDep
from chumoku.app.services import sizes
from chumoku.app.services.explain.answers import (
    AblationsSession,
    EffectsSession,
)
from chumoku.app.services.explain.costs import CachingSession, TimingsSession
from chumoku.app.services.explain.patches import PatchesSession
from chumoku.app.services.job_queue import JobQueue
from chumoku.app.services.memory_budget import Size
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import Event
from chumoku.model.explain.caching import MOST_LENGTHS
from chumoku.model.traceable import TraceableModel

router = APIRouter(prefix="/api/explain", tags=["explain"], route_class=JsonRoute)
STREAMED: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


class Measurement(Protocol):
    """Parts of a run that are measured batch by batch; the last batch is empty."""

    plan: RunPlan

    def start(self) -> Event: ...
    def step(self) -> list[Event]: ...


Asked = TypeVar("Asked", bound=RunRequest)
Session = TypeVar("Session", bound=Measurement)


@dataclass(frozen=True)
class Opening:
    """What a measurement needs to begin."""

    library: LibraryDep
    settings: SettingsDep
    work: JobQueueDep
    seen: SeenDep
    wanted: WantedDep
    claim: ClaimDep

    @asynccontextmanager
    async def session(
        self,
        make: Callable[[TraceableModel, Asked, int], Session],
        request: Asked,
        size: Callable[[TraceableModel], Size],
    ) -> AsyncIterator[Session]:
        """A session, which holds a stream slot and its model until the last step."""
        entry = self.library.find(request.model)
        self.seen.model, self.seen.text = entry.name, request.sentence.text
        with self.work.stream(), self.library.lease(entry) as lease:

            def job() -> Session:
                self.claim.take(size(lease.traceable))
                return make(lease.traceable, request, self.settings.max_text_chars)

            session = (await self.work.run(job, kind="effects", wanted=self.wanted)).value
            self.seen.n_tokens = len(session.plan.padded)
            yield session


def get_opening(
    library: LibraryDep, settings: SettingsDep, work: JobQueueDep, seen: SeenDep, wanted: WantedDep, claim: ClaimDep
) -> Opening:
    return Opening(library, settings, work, seen, wanted, claim)


OpeningDep = Annotated[Opening, Depends(get_opening)]


# A session is a dependency, so that an invalid request gets a normal error: the stream has not started yet.


async def opened_effects(request: EffectsRequest, opening: OpeningDep) -> AsyncIterator[EffectsSession]:
    size = sizes.of_effects(request.n if request.edges is None else len(request.edges))
    async with opening.session(EffectsSession, request, lambda _: size) as session:
        yield session


@router.post("/effects", response_class=Response, responses=STREAMED)
async def effects(session: Annotated[EffectsSession, Depends(opened_effects)], work: JobQueueDep) -> EventStream:
    """How far an answer falls when one connection is knocked out: server-sent events, the widest first.

    `start` has the `answer`, its probability `p` and the number of `edges`; each `effect` the edge (`attention`,
    `layer`, `query`, `key`; `head` if it was asked in one), `p` after the cut, and `delta` = ln p after − ln p before.
    Connections that are the only one of their query are left out. Closing the connection stops the work.
    """
    return EventStream(measured_events(session, work), "a measurement of effects")


async def opened_ablations(request: AblationsRequest, opening: OpeningDep) -> AsyncIterator[AblationsSession]:
    def size(traceable: TraceableModel) -> Size:
        return sizes.of_ablations(traceable.description, of_a_row=request.keys_of is not None)

    async with opening.session(AblationsSession, request, size) as session:
        yield session


@router.post("/ablations", response_class=Response, responses=STREAMED)
async def ablations(session: Annotated[AblationsSession, Depends(opened_ablations)], work: JobQueueDep) -> EventStream:
    """What each head and each FFN does for an answer: each is switched off once, in its own pass. Server-sent events.

    A head's z is set to 0 before W_O; what an FFN adds to the stream is set to 0. `start` has the `answer`, its
    probability `p` and the number of `parts`; each `ablation` its `kind` with the head (`attention`, `layer`, `head`),
    the FFN (`stack`, `layer`) or, with `keys_of`, the edge, `p` without it, `delta` = ln p after − ln p before, and
    `kl` = KL(before ‖ after) over all answers, both in nats. An edge also has its `weight` (all heads: their mean),
    the `length` ‖a·v·W_O‖ of what it brings, and what that adds to the answer's logit above the mean one (`logit`, with
    the LayerNorms' scales fixed; null if the query is not the row that answers). Closing the connection stops the work.
    """
    return EventStream(measured_events(session, work), "a measurement of ablations")


async def opened_patches(request: PatchesRequest, opening: OpeningDep) -> AsyncIterator[PatchesSession]:
    async with opening.session(PatchesSession, request, lambda one: sizes.of_patches(one.description)) as session:
        yield session


@router.post("/patches", response_class=Response, responses=STREAMED)
async def patches(session: Annotated[PatchesSession, Depends(opened_patches)], work: JobQueueDep) -> EventStream:
    """Activation patching: which activations of another sentence (`from`) move this one's answer towards the other's.

    Row i of the other run replaces row i of this one, in its own pass: of the `stream` before a layer, of what an
    `attention` adds to it, or of what the `ffn` adds. Server-sent events: `start` has the `answer`, the other one
    (`against`), the logit differences of this run (`difference`) and of the other (`source_difference`), and the other
    run's `ids` on each side. Each `patch` has its place (`stack`, `layer`, `what`, `position`, `attention`), the
    `difference` with it, and `moved` = (difference − this run's) ÷ (the other's − this run's): 0 is this run, 1 the
    other. Where the two are less than 0.1 apart, it is refused. With `paths` (direct path patching), a writer's output
    is the other run's at every position, and one receiver alone sees it, the answer or a head's q, k or v: all between
    is kept, LayerNorms are computed anew. Then each `patch` has the writer's `kind`, as in `/ablations`; those from
    which no path leads there are left out. Closing the connection stops the work.
    """
    return EventStream(measured_events(session, work), "a measurement of patches")


async def measured_events(session: Measurement, work: JobQueue) -> AsyncGenerator[Event, None]:
    """Each batch is one job, so that measurements take turns with other work."""
    yield session.start()
    while batch := (await work.run(session.step, kind="effects", patient=True)).value:
        for event in batch:
            yield event
    yield Event("done", {})


async def opened_caching(request: CachingRequest, opening: OpeningDep) -> AsyncIterator[CachingSession]:
    async with opening.session(CachingSession, request, lambda _: sizes.of_effects(MOST_LENGTHS)) as session:
        yield session


@router.post("/caching", response_class=Response, responses=STREAMED)
async def caching(session: Annotated[CachingSession, Depends(opened_caching)], work: JobQueueDep) -> EventStream:
    """What the KV cache saves as this text grows: each length is read with it and without it. Server-sent events.

    `start` has the `lengths`, the `device` and its `threads`. Each `reading` is of the last of `n` tokens: how many
    positions were `computed`, the `bytes` that are kept, and the `milliseconds` of the forward pass (the fastest of up
    to three tokens), each with the cache and without it; and the largest `difference` between their logits. A run in
    which a query may see a later key is refused. Closing the connection stops the work.
    """
    return EventStream(measured_events(session, work), "a measurement of the cache")


async def opened_timings(
    request: TimingsRequest, library: LibraryDep, work: JobQueueDep, seen: SeenDep
) -> AsyncIterator[TimingsSession]:
    """The measurements, which hold a stream slot. The model is not loaded: only its shape matters."""
    entry = library.find(request.model)
    seen.model = entry.name
    with work.stream():
        yield TimingsSession(entry.about, library.device)


@router.post("/timings", response_class=Response, responses=STREAMED)
async def timings(session: Annotated[TimingsSession, Depends(opened_timings)], work: JobQueueDep) -> EventStream:
    """How long one layer's attention takes here in every mechanism, for 64 to 4,096 tokens: server-sent events.

    `start` has the `forms`, the `lengths`, the `device` and its `threads`; each `point` a `form`, its `n` tokens and
    the `seconds` of its best run, or `seconds: null` and `why`: it would take too much "memory" or "time". `sdpa` is
    torch's fused softmax attention. Projections are not measured. Closing the connection stops the work.
    """
    return EventStream(timings_events(session, work), "a measurement of costs")


async def timings_events(session: TimingsSession, work: JobQueue) -> AsyncGenerator[Event, None]:
    """Each point is one expensive job, so that measurements take turns with other work."""
    yield session.start()
    while point := (await work.run(session.step, kind="timings", patient=True)).value:
        yield point
    yield Event("done", {})
