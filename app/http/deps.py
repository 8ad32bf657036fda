"""Dependencies of routes: the settings, the loaded models, the queue.

All are coroutines: FastAPI calls plain functions in threads, which cost more than the rest of a small request. Each
dependency costs something, so frequent routes have only one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.types import Message

from chumoku.app.http.conditional import Built
from chumoku.app.http.observe import Seen, seen
from chumoku.app.services.generation import Beginnings, Steps
from chumoku.app.services.job_queue import JobQueue, Wanted
from chumoku.app.services.library import Library
from chumoku.app.services.memory_budget import Claim, MemoryBudget
from chumoku.app.services.metrics import Metrics
from chumoku.app.services.opening import Openings
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.request_coalescing import RequestCoalescing
from chumoku.app.services.rooms.watch import Rooms
from chumoku.app.settings import Settings


@dataclass
class State:
    """The state of one app from start to shutdown."""

    settings: Settings
    library: Library
    work: JobQueue
    prefixes: Prefixes
    coalescing: RequestCoalescing
    beginnings: Beginnings
    steps: Steps
    decoding: MemoryBudget
    """Memory for decoding uploaded pictures: as much as the largest one takes."""
    rooms: Rooms
    openings: Openings


def state_of(request: Request) -> State:
    return cast(State, request.app.state.chumoku)


async def get_settings(request: Request) -> Settings:
    return state_of(request).settings


async def get_library(request: Request) -> Library:
    return state_of(request).library


async def get_job_queue(request: Request) -> JobQueue:
    return state_of(request).work


async def get_claim(request: Request) -> AsyncIterator[Claim]:
    """Memory for the answer, freed when it is sent or dropped."""
    with state_of(request).work.budget.claim() as claim:
        yield claim


async def get_decoding(request: Request) -> MemoryBudget:
    return state_of(request).decoding


async def get_built(request: Request) -> Built:
    return cast(Built, request.app.state.built)


async def get_metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


async def get_seen(request: Request) -> Seen:
    return seen(request.scope)


async def get_wanted(request: Request) -> Wanted:
    """Checks whether the client is still connected; work for a disconnected client stops."""
    return wanted_by(request)


def wanted_by(request: Request) -> Wanted:
    """Polls for the client's disconnect message. `Request.is_disconnected` does the same with a cancelled scope, which
    takes ten times as long.
    """
    left = False

    async def wanted() -> bool:
        nonlocal left
        message = cast(Coroutine[Any, Any, Message], request.receive())
        try:
            message.send(None)  # as far as it comes without waiting
        except StopIteration as came:
            left = left or came.value["type"] == "http.disconnect"
        finally:
            message.close()
        return not left

    return wanted


SettingsDep = Annotated[Settings, Depends(get_settings)]
LibraryDep = Annotated[Library, Depends(get_library)]
JobQueueDep = Annotated[JobQueue, Depends(get_job_queue)]
ClaimDep = Annotated[Claim, Depends(get_claim)]
DecodingDep = Annotated[MemoryBudget, Depends(get_decoding)]
BuiltDep = Annotated[Built, Depends(get_built)]
MetricsDep = Annotated[Metrics, Depends(get_metrics)]
SeenDep = Annotated[Seen, Depends(get_seen)]
WantedDep = Annotated[Wanted, Depends(get_wanted)]
