"""Chumoku as an application of Ray Serve: in each replica the same ASGI app, with all models.

`chumoku serve --ray` runs it on this machine. On a cluster, a config file names it (docs/serve.yaml).
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from copy import copy
from logging.config import dictConfig
from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve import Application
from ray.serve.autoscaling_policy import replica_queue_length_autoscaling_policy
from ray.serve.config import (
    AutoscalingConfig,
    AutoscalingContext,
    AutoscalingPolicy,
    BackpressureConfig,
    RequestRouterConfig,
)
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
from ray.serve.schema import LoggingConfig

from chumoku.app.cli.serving import SECONDS_TO_FINISH
from chumoku.app.http import logs
from chumoku.app.main import create_app
from chumoku.app.replicas.cluster import ALIVE
from chumoku.app.services.metrics import MANY
from chumoku.app.services.rooms.limits import PEOPLE, ROOMS
from chumoku.app.settings import Settings

NAME = "chumoku"
BUSY = 16
"""Average number of requests and streams per replica above which another one starts."""
ROUTER = RequestRouterConfig(request_router_class=ConsistentHashRouter)
"""Requests with the same `x-session-id` go to the same replica while it lives: it has their text in its prefix
cache."""


def app_of_replica() -> FastAPI:
    """Called in each replica. Its settings are in the environment."""
    settings = Settings()
    dictConfig(logs.config(settings.log_level, settings.log_text))
    return create_app(settings)


BEAT = 1.0
"""How often a replica shows that it is alive, in seconds."""


async def beat(file: Path) -> None:
    """Shows the process that started this one that its event loop runs: Ray cannot end a process that was stopped, and
    its clients would wait for ever."""
    while True:
        with suppress(OSError):
            file.touch()
        await asyncio.sleep(BEAT)


@serve.ingress(app_of_replica)
class Replica:
    """What a replica can do besides answering HTTP."""

    app: FastAPI

    async def __init__(self) -> None:  # type: ignore[misc]
        # Ray awaits it in the event loop that answers
        if MANY in os.environ:
            self.beating = asyncio.create_task(beat(Path(os.environ[MANY], f"{ALIVE}{os.getpid()}")))

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What Ray asks each replica for: see `without_rooms`."""
        return {ROOM_STREAMS: self.app.state.chumoku.rooms.watch.streams}

    async def stop(self) -> None:
        """Starts no more work, and waits until open streams have sent their last event."""
        work = self.app.state.chumoku.work
        work.stopping, until = True, monotonic() + SECONDS_TO_FINISH
        while (work.streaming or work.taken) and monotonic() < until:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)  # their last events are on the way to the proxy


ROOM_STREAMS = "room_streams"


def without_rooms(context: AutoscalingContext) -> tuple[float, dict[str, Any]]:
    """Ray's own policy on the requests that need a replica: the stream of a room waits, and takes next to nothing."""
    waiting = sum((context.aggregated_metrics or {}).get(ROOM_STREAMS, {}).values())
    asked = copy(context)
    vars(asked)["total_num_requests"] = max(0.0, context.total_num_requests - waiting)
    desired, state = replica_queue_length_autoscaling_policy(asked)
    return float(desired), state


def build(arguments: dict[str, str]) -> Application:
    """The application. `arguments` are the `args` of a config file: `replicas`, as in `CHUMOKU_REPLICAS`."""
    settings = Settings(**arguments)  # type: ignore[arg-type]
    return application(settings, {"num_cpus": settings.model_threads})


def application(settings: Settings, needs: dict[str, Any], metrics: str | None = None) -> Application:
    """The application with as many replicas as the settings say; each `needs` these resources of its machine.

    `metrics`: a folder where the replicas of a machine count together.
    """
    shared = {"runtime_env": {"env_vars": {MANY: metrics}}} if metrics else {}
    deployment = serve.deployment(
        name=NAME,
        max_ongoing_requests=most_requests(settings),
        max_queued_requests=most_requests(settings),
        backpressure_config=BackpressureConfig(retry_after_s=1),
        request_router_config=ROUTER,
        ray_actor_options=needs | shared,
        graceful_shutdown_wait_loop_s=0.2,
        graceful_shutdown_timeout_s=60,  # the longest stream ends
        health_check_period_s=5,
        health_check_timeout_s=20,
        max_constructor_retry_count=3,
        max_surge_percent=100,  # a new replica answers before an old one stops
        logging_config=LoggingConfig(enable_access_log=False, log_level="WARNING"),
        **how_many(settings),
    )
    return deployment(Replica).bind()


def how_many(settings: Settings) -> dict[str, Any]:
    """A fixed number of replicas, or one that follows the requests under way."""
    least, most = settings.replica_range
    if least == most:
        return {"num_replicas": most}
    return {
        "num_replicas": "auto",
        "autoscaling_config": AutoscalingConfig(
            min_replicas=least,
            max_replicas=most,
            target_ongoing_requests=BUSY,
            upscale_delay_s=5,
            downscale_delay_s=300,
            policy=AutoscalingPolicy(policy_function=without_rooms),
        ),
    }


def most_requests(settings: Settings) -> int:
    """More than the app itself accepts, so that its error, which says how many are ahead, is used: streams, jobs that
    run or wait in either queue, streams of rooms, and requests without a model.
    """
    return settings.streams + 2 * (settings.queue + settings.model_threads) + PEOPLE + ROOMS + 100
