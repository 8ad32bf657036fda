"""The app, put together."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.types import Lifespan

from chumoku.app import VERSION
from chumoku.app.api import generation as generation_routes
from chumoku.app.api import health, models, opening, pages, rooms, tokens, traces, translation
from chumoku.app.api.explain import routes as explain
from chumoku.app.api.explain import streams as explain_streams
from chumoku.app.http import handlers
from chumoku.app.http.access import Access, Hosts, known_names
from chumoku.app.http.assets import FreshFiles
from chumoku.app.http.bodies import BodyLimit, BodyLimits
from chumoku.app.http.conditional import Built
from chumoku.app.http.deps import State
from chumoku.app.http.middleware import Failures, HeadAsGet, SecurityHeaders
from chumoku.app.http.observe import Observe
from chumoku.app.http.packing import Packing
from chumoku.app.http.routing import FixedPaths
from chumoku.app.page_files import STATIC
from chumoku.app.services import discovery, generation, pictures
from chumoku.app.services.batching import Batching
from chumoku.app.services.job_queue import JobQueue
from chumoku.app.services.library import Library
from chumoku.app.services.memory_budget import MemoryBudget
from chumoku.app.services.metrics import Metrics
from chumoku.app.services.opening import Openings
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.request_coalescing import AnswerCache, RequestCoalescing
from chumoku.app.services.rooms.database import Database
from chumoku.app.services.rooms.watch import Rooms
from chumoku.app.services.run_cache import RunCache
from chumoku.app.settings import Settings
from chumoku.model.pictures.uploads import WORKING

ROUTERS = tuple(resource.router for resource in (
    pages, models, opening, tokens, traces, generation_routes, translation, explain, explain_streams, rooms, health,
))  # fmt: skip
"""In the order of `/docs`."""
DESCRIPTION = "Look into trained Transformers: tokens, every tensor of a forward pass, and generation step by step."


def create_app(settings: Settings | None = None, loaded: Library | None = None) -> FastAPI:
    """The app. Its models are found at startup, unless `loaded` provides them.

    Without `settings`, settings come from the environment (`CHUMOKU_…`).
    """
    settings, metrics = settings or Settings(), Metrics()
    limits = BodyLimits(settings.body_limit, settings.upload_limit)
    around = [
        Middleware(SecurityHeaders),
        Middleware(Observe, metrics=metrics, log_text=settings.log_text),
        Middleware(Failures),
        Middleware(HeadAsGet),
        Middleware(BodyLimit, limits=limits),
        Middleware(Hosts, names=known_names((settings.host, *settings.hosts))),
        Middleware(Access, token=settings.token),
        Middleware(Packing),
    ]
    app = FastAPI(title="Chumoku", version=VERSION, description=DESCRIPTION, docs_url=None, redoc_url=None,
                  openapi_url=None, redirect_slashes=False, middleware=around,
                  lifespan=lifespan_of(settings, loaded))  # fmt: skip
    app.state.body_limits, app.state.metrics = limits, metrics
    app.state.built = Built()
    handlers.install(app)
    app.router.routes.append(FixedPaths(route for router in ROUTERS for route in router.routes))
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", FreshFiles(directory=STATIC), name="static")
    return app


def discovered(settings: Settings) -> Library:
    """The models, in a process that serves: startup objects are frozen out of the GC."""
    library = discovery.discover(settings)
    library.gc_freeze.freeze()
    return library


def lifespan_of(settings: Settings, loaded: Library | None) -> Lifespan[FastAPI]:
    """Creates the models, the caches and the job queue at startup."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        logging.getLogger("chumoku").setLevel(settings.log_level.upper())
        there = await to_thread.run_sync(discovered, settings) if loaded is None else loaded

        def measure_pictures() -> None:
            abouts = (entry.about for entry in there.entries.values())
            app.state.body_limits.pictures = pictures.bytes_in_a_run(abouts)

        measure_pictures()
        there.run_cache = RunCache(settings.trace_cache, app.state.metrics)
        budget = MemoryBudget(settings.answer_room, settings.answer_limit)
        work = JobQueue(settings.model_threads, settings.queue, settings.streams, app.state.metrics, budget)
        prefixes = Prefixes(settings.prefix_cache, app.state.metrics)
        coalescing = RequestCoalescing(there, work, AnswerCache(settings.answer_cache, app.state.metrics))
        beginnings = Batching(work, generation.begin, kind="beginning")
        steps = Batching(work, generation.steps)
        largest = WORKING * settings.upload_pixels
        decoding = MemoryBudget(largest, largest)
        rooms = Rooms(Database(settings.rooms_dir))
        app.state.chumoku = State(settings, there, work, prefixes, coalescing, beginnings, steps, decoding, rooms,
                                  Openings(there, settings, measure_pictures))  # fmt: skip
        async with app.state.metrics.shared(), rooms.kept():
            yield

    return lifespan
