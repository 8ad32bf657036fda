"""Dependencies of routes: the settings, the loaded models, the queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from app.http.observe import Seen, seen
from app.services.library import Library
from app.services.metrics import Metrics
from app.services.prefixes import Prefixes
from app.services.room import Claim
from app.services.work import Work
from app.settings import Settings

Wanted = Callable[[], Awaitable[bool]]


@dataclass
class State:
    """The state of one app from start to shutdown."""

    settings: Settings
    library: Library
    work: Work
    prefixes: Prefixes


def get_state(request: Request) -> State:
    return cast(State, request.app.state.chumoku)


def get_settings(request: Request) -> Settings:
    return get_state(request).settings


def get_library(request: Request) -> Library:
    return get_state(request).library


def get_work(request: Request) -> Work:
    return get_state(request).work


def get_prefixes(request: Request) -> Prefixes:
    return get_state(request).prefixes


async def get_claim(request: Request) -> AsyncIterator[Claim]:
    """Room for the answer, given back when it is sent or dropped."""
    with get_work(request).room.claim() as claim:
        yield claim


def get_metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


def get_seen(request: Request) -> Seen:
    return seen(request.scope)


def get_wanted(request: Request) -> Wanted:
    """Asks whether the client still waits for its answer: work that nobody waits for is left."""

    async def wanted() -> bool:
        return not await request.is_disconnected()

    return wanted


SettingsDep = Annotated[Settings, Depends(get_settings)]
LibraryDep = Annotated[Library, Depends(get_library)]
WorkDep = Annotated[Work, Depends(get_work)]
PrefixesDep = Annotated[Prefixes, Depends(get_prefixes)]
ClaimDep = Annotated[Claim, Depends(get_claim)]
MetricsDep = Annotated[Metrics, Depends(get_metrics)]
SeenDep = Annotated[Seen, Depends(get_seen)]
WantedDep = Annotated[Wanted, Depends(get_wanted)]
